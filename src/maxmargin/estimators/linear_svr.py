"""Linear support vector regression as a scikit-learn estimator."""

from collections.abc import Sequence
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from maxmargin.certificates import SVMGap, measure_gap
from maxmargin.data import TargetPoints
from maxmargin.data.scikit_learn import Interval, StrOptions
from maxmargin.estimators._linear_svm import LINEAR_PARAMETERS, LinearSVM
from maxmargin.estimators._parameters import estimator, with_blocks
from maxmargin.estimators._predictors import LinearRegressor
from maxmargin.estimators._regularized import EpsilonInsensitiveRegressor
from maxmargin.estimators._shared import refuse_other_rows
from maxmargin.problems.linear_svm import REGRESSION_LOSSES
from maxmargin.problems.partitioned import PartitionedProblem
from maxmargin.solvers.core import Result


@with_blocks(linear_parameters=LINEAR_PARAMETERS)
@estimator
class LinearSVR(LinearSVM, LinearRegressor, EpsilonInsensitiveRegressor):
    r"""Linear support vector regression, solved to a certified duality gap.

    .. math:: \min_{w, b} \tfrac12 \lVert w \rVert^2 + C \sum_i \max(0, |y_i - w \cdot x_i - b| - \epsilon)

    or with the square of that loss: the textbook's problem, whose intercept b is not penalised. scikit-learn's
    LinearSVR() is another one: ``penalize_intercept=True`` gives it.

    Parameters
    ----------
    epsilon : float, default=0.0
        Residuals up to this size have no loss.
    C : float, default=1.0
        Inverse regularisation strength: the factor on the losses.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
    fit_intercept : bool, default=True
    penalize_intercept : bool, default=False
        Add b²/(2 intercept_scaling²) to the objective: the problem that LIBLINEAR and scikit-learn solve.
    dual : bool or "auto", default="auto"
        Accepted as scikit-learn's: every fit gives the primal and the dual solution.
    tol : float, default=1e-4
        The relative duality gap at which to stop: the model's objective is then within this share of the optimum.
    {linear_parameters}
    warm_start : bool, default=False
        Start from the duals of the last fit, which must have had as many rows.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
    intercept_ : ndarray of shape (1,)
    dual_coef_ : ndarray of shape (1, n)
        The signed duals that prove the gap.
    support_ : ndarray of int
        Rows with a dual that is not zero.
    objective_ : float
        The value of the model, rounded up.
    history_ : list of (seconds, primal, dual)
    n_iter_ : int
    rounds_ : int
        After a fit on Dask collections, as for LinearSVC.
    bytes_per_round_ : float
        Likewise: the bytes of numbers in the messages to all partitions and in their answers, per round.
    status_ : Status
    certificate_ : RegressionGap

    See Also
    --------
    SVR : The same problem in the feature space of a kernel.
    Ridge : Squared errors instead.
    RegressionGap : What the certificate says.

    References
    ----------
    Ho, Lin, "Large-scale linear support vector regression", 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import LinearSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearSVR(C=10.0, epsilon=5.0, tol=1e-8).fit(X, y)
    >>> proof = model.certificate_
    >>> print(f"{proof.dual:.0f} <= optimum <= {proof.primal:.0f}")
    248505 <= optimum <= 248505
    """

    epsilon: float = 0.0
    C: float = 1.0
    loss: str = "epsilon_insensitive"

    _parameter_constraints: ClassVar[dict] = {
        **LinearSVM._parameter_constraints,
        "epsilon": [Interval(Real, 0.0, 1e140, closed="left")],
        "loss": [StrOptions(set(REGRESSION_LOSSES))],
    }

    def _problem(self, data: TargetPoints) -> Any:
        return self._problem_of_losses(data, partial(REGRESSION_LOSSES[self.loss], C=self.C, epsilon=self.epsilon))

    def _attributes_so_far(self, labelled: Any, results: Sequence[Any]) -> dict[str, Any]:
        w, b, _ = (np.zeros(labelled.points.n_columns), 0.0, None) if results[0] is None else results[0]
        return {"coef_": w, "intercept_": np.array([b])}

    def _set_attributes(self, tasks: Any, results: Sequence[Result[Any]]) -> None:
        super()._set_attributes(tasks, results)
        self.coef_ = results[0].w

    def _certify_task(self, k: int, problem: Any) -> SVMGap:
        refuse_other_rows(problem.points.n_rows, self.dual_coef_.shape[1])
        if isinstance(problem, PartitionedProblem):
            return self._certify_on_blocks(k, problem, self.coef_, float(self.intercept_[0]))
        return measure_gap(problem, self.coef_, float(self.intercept_[0]), np.asarray(self.dual_coef_[k]))
