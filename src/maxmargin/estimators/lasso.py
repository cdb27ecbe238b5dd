"""The lasso as a scikit-learn regressor."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from maxmargin.certificates.lasso_gap import LassoGap, measure_lasso_gap
from maxmargin.data import TargetPoints
from maxmargin.estimators._base import Solve
from maxmargin.estimators._linear_regression import LinearRegression, penalty_given
from maxmargin.estimators._parameters import estimator
from maxmargin.problems.squared_errors import LassoProblem, SquaredErrors
from maxmargin.solvers.core import Result
from maxmargin.solvers.regression import lasso
from maxmargin.solvers.regression.lasso import LassoOptions


@estimator
class Lasso(LinearRegression):
    r"""The lasso, solved to a certified duality gap.

    .. math:: \min_{w, b} \tfrac12 \sum_i (y_i - w \cdot x_i - b)^2 + \lambda \lVert w \rVert_1

    This is the most probable w where the targets have errors of variance sigma² and every coefficient was drawn from a
    Laplace distribution of a given rate: y_i ~ N(w·x_i + b, sigma²), ``p(w_j) = rate/2 exp(-rate |w_j|)``, with
    lambda = sigma² rate. The intercept b is not penalised: its prior is flat.

    Parameters
    ----------
    alpha : float, optional
        The penalty as scikit-learn means it: lambda is alpha times the number of rows, or the sum of their weights. One
        if nothing is given.
    lam : float, optional
        The penalty lambda on the 1-norm of w, as in the lecture.
    sigma2, rate : float, optional
        The variance of the errors and the rate of the prior, in place of ``lam``. Two of ``alpha``, ``lam`` and these
        are refused.
    positive : bool, default=False
        Whether no coefficient may be negative.
    selection : {"cyclic", "random"}, default="cyclic"
        The order of the coefficients in coordinate descent: in turn, or shuffled for every working set.
    random_state : int, RandomState or None, default=None
        The seed of the random order.
    precompute : bool, default=False
        Accepted as scikit-learn's: a Gram matrix is computed where it saves time.
    copy_X : bool, default=True
        Accepted as scikit-learn's: X is never changed.
    fit_intercept : bool, default=True
    tol : float, default=1e-4
        The relative duality gap at which to stop.
    max_iter : int, optional
        The largest number of rounds, each of which solves the problem of a working set of columns. With more columns
        than rows, a small penalty is reached by continuation from larger ones, whose rounds count, too.
    max_time : float, optional
        The time limit in seconds.
    warm_start : bool, default=False
        Begin with the coefficients of the last fit: for a path, fit with one lambda after the other, from large to
        small.
    verbose : int, default=0

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
    intercept_ : float
    objective_ : float
        The value of the model, rounded up.
    history_ : list of (seconds, primal, dual)
        At the penalty that was asked for, without those of the continuation.
    n_iter_ : int
        Rounds, at all penalties together.
    status_ : Status
    certificate_ : LassoGap
        It also says how many columns are proven to have a coefficient of zero in every solution.

    See Also
    --------
    ElasticNet : With a penalty on the squared norm, too.

    References
    ----------
    Tibshirani, "Regression shrinkage and selection via the lasso", 1996.

    Friedman, Hastie, Tibshirani, "Regularization paths for generalized linear models via coordinate descent", 2010.

    Ndiaye, Fercoq, Gramfort, Salmon, "Gap safe screening rules for sparsity enforcing penalties", 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import Lasso
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Lasso(lam=100.0).fit(X, y)
    >>> model.coef_.nonzero()[0]
    array([1, 2, 3, 6, 8])
    >>> model.certificate_.relative <= 1e-4, model.certificate_.unused
    (True, 5)
    """

    alpha: float | None = None
    lam: float | None = None
    sigma2: float | None = None
    rate: float | None = None
    positive: bool = False
    selection: str = "cyclic"
    random_state: Any = None
    precompute: bool = False
    tol: float = 1e-4
    warm_start: bool = False

    # The number of rows, with their weights: scikit-learn's alpha is a penalty for each of them.
    _private_attributes: ClassVar[tuple[str, ...]] = (*LinearRegression._private_attributes, "_total_weight")

    _parameter_constraints: ClassVar[dict] = {
        **LinearRegression._parameter_constraints,
        "alpha": [Interval(Real, 0.0, None, closed="neither"), None],
        "lam": [Interval(Real, 0.0, None, closed="neither"), None],
        "sigma2": [Interval(Real, 0.0, None, closed="neither"), None],
        "rate": [Interval(Real, 0.0, None, closed="neither"), None],
        "positive": ["boolean"],
        "selection": [StrOptions({"cyclic", "random"})],
        "random_state": ["random_state"],
        "precompute": ["boolean"],
        "warm_start": ["boolean"],
    }

    @property
    def sparse_coef_(self) -> Any:
        """The coefficients as a sparse row, of shape (1, d)."""
        import scipy.sparse as sp

        return sp.csr_array(self.coef_[None])

    @property
    def dual_gap_(self) -> float:
        """The duality gap for each row, as scikit-learn states it."""
        return self.certificate_.gap / self._total_weight

    def _check_parameters(self) -> None:
        if self._penalty() == 0.0:
            raise ValueError("alpha, or lam, must be positive: Ridge(alpha=0) is least squares.")

    def _penalty(self) -> float:
        total = getattr(self, "_total_weight", 1.0)
        return penalty_given(self, "sigma2", "rate", lambda sigma2, rate: sigma2 * rate, total)

    def _prepare(self, data: TargetPoints) -> None:
        super()._prepare(data)
        self._total_weight = float(data.points.n_rows if data.weights is None else data.weights.sum())
        self._penalty()

    def _problem(self, data: TargetPoints) -> LassoProblem:
        errors = SquaredErrors.of(data, self.fit_intercept)
        return LassoProblem(errors, self._penalty(), self._squared_penalty(), self.positive)

    def _squared_penalty(self) -> float:
        """The penalty on half the squared norm."""
        return 0.0

    def _options(self, tasks: Any) -> LassoOptions:
        options = super()._options(tasks)
        seed = options.seed if self.selection == "random" else None
        return LassoOptions(options.tol, options.max_iter, options.seed, options.n_threads, shuffle_seed=seed)

    def _starts(self, tasks: Any) -> Sequence[Result[float] | None]:
        if not (self.warm_start and hasattr(self, "coef_")):
            return [None]
        if self.coef_.shape != (tasks.points.n_columns,):
            raise ValueError("warm_start=True needs as many columns as the last fit; X has others.")
        return [Result(self.coef_, self.intercept_, np.empty(0))]

    def _solver(self, problem: LassoProblem) -> Solve:  # noqa: ARG002
        return lasso.solve

    def _certify_task(self, k: int, problem: LassoProblem) -> LassoGap:  # noqa: ARG002
        return measure_lasso_gap(problem, self.coef_, self.intercept_, dual_point=self._dual_point)
