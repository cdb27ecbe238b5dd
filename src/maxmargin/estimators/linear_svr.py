"""Linear support vector regression as a scikit-learn estimator."""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from maxmargin.certificates import SVMGap, measure_gap
from maxmargin.data import TargetPoints, validate_points, validate_targets
from maxmargin.estimators._base import refuse_other_rows
from maxmargin.estimators._linear_svm import LinearSVM
from maxmargin.problems.linear_svm import REGRESSION_LOSSES, LinearSVMProblem, weights_of
from maxmargin.solvers.core import Result


class LinearSVR(RegressorMixin, LinearSVM):
    r"""Linear support vector regression, solved to a certified duality gap.

    .. math:: \min_{w, b} \tfrac12 \lVert w \rVert^2 + C \sum_i \max(0, |y_i - w \cdot x_i - b| - \epsilon)

    or with the square of that loss. The intercept b is not penalised.

    Parameters
    ----------
    epsilon : float, default=0.0
        Residuals up to this size have no loss.
    C : float, default=1.0
        Inverse regularisation strength: the factor on the losses.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
    fit_intercept, penalize_intercept, intercept_scaling, tol, solver, selection, max_iter, max_time, n_jobs, \
random_state, warm_start, verbose
        As for LinearSVC.

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
    status_ : Status
    certificate_ : RegressionGap

    References
    ----------
    Ho, Lin, "Large-scale linear support vector regression", 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import LinearSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearSVR(C=10.0, epsilon=5.0).fit(X, y)
    >>> model.certificate_.relative <= 1e-4
    True
    """

    _parameter_constraints: dict = {
        **LinearSVM._parameter_constraints,
        "epsilon": [Interval(Real, 0.0, 1e140, closed="left")],
        "loss": [StrOptions(set(REGRESSION_LOSSES))],
    }

    def __init__(
        self,
        *,
        epsilon=0.0,
        C=1.0,
        loss="epsilon_insensitive",
        fit_intercept=True,
        penalize_intercept=False,
        intercept_scaling=1.0,
        tol=1e-4,
        solver="auto",
        selection="random",
        max_iter=None,
        max_time=None,
        n_jobs=None,
        random_state=None,
        warm_start=False,
        verbose=0,
    ):
        self.epsilon = epsilon
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.solver = solver
        self.selection = selection
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LinearSVR":
        """Learn until the relative duality gap is at most ``tol``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of numbers of shape (n,)
        sample_weight : array of shape (n,), optional
            Factors on C: a weight of 2 is the same as the row given twice.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        """Compute f(x) = w·x + b.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        return validate_points(self, X).scores(self.coef_) + self.intercept_[0]

    def slack(self, X: Any, y: Any) -> np.ndarray:
        """Compute xi_i = max(0, |y_i - f(x_i)| - epsilon), the slack of each row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of numbers of shape (n,)

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        data = validate_targets(self, X, y, reset=False)
        scores = data.points.scores(self.coef_) + self.intercept_[0]
        return np.maximum(0.0, np.abs(data.targets - scores) - self.epsilon)

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> TargetPoints:
        return validate_targets(self, X, y, sample_weight=sample_weight)

    def _data_to_certify(self, X: Any, y: Any, sample_weight: Any) -> TargetPoints:
        return validate_targets(self, X, y, sample_weight=sample_weight, reset=False)

    def _problem(self, task: TargetPoints) -> LinearSVMProblem:
        weights = weights_of(task.points, task.weights)
        loss = REGRESSION_LOSSES[self.loss](task.targets, weights, self.C, self.epsilon)
        return LinearSVMProblem(task.points, loss, self._intercept_penalty)

    def _attributes_so_far(self, labelled: Any, results: Sequence[Any]) -> dict[str, Any]:
        w, b, _ = (np.zeros(labelled.points.n_columns), 0.0, None) if results[0] is None else results[0]
        return {"coef_": w, "intercept_": np.array([b])}

    def _set_attributes(self, tasks: Any, results: Sequence[Result[Any]]) -> None:
        super()._set_attributes(tasks, results)
        self.coef_ = results[0].w

    def _certify_task(self, task: int, problem: LinearSVMProblem) -> SVMGap:
        refuse_other_rows(problem.points.n_rows, self.dual_coef_.shape[1])
        vectors = self.coef_, float(self.intercept_[0]), self.dual_coef_[task]
        return measure_gap(problem, *vectors, n_threads=self._n_threads())

    def _finish(self, tasks: Any, problems: Sequence[Any], results: Sequence[Any]) -> None:  # noqa: ARG002
        self.objective_ = self.certificate_.primal  # type: ignore[union-attr]
