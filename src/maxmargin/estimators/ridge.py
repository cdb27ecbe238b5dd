"""Ridge regression as a scikit-learn regressor."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from maxmargin.certificates.ridge_gap import RidgeGap, measure_ridge_gap
from maxmargin.data import TargetPoints
from maxmargin.data.partitions import PartitionedTask
from maxmargin.estimators._base import Attempt, Solve
from maxmargin.estimators._linear_regression import LinearRegression, penalty_given
from maxmargin.estimators._parameters import estimator
from maxmargin.problems.partitioned import PartitionedProblem
from maxmargin.problems.squared_errors import RidgeProblem
from maxmargin.solvers.core import Status
from maxmargin.solvers.regression import partitioned, ridge


@estimator
class Ridge(LinearRegression):
    r"""Ridge regression, with a certified duality gap.

    .. math:: \min_{w, b} \sum_i (y_i - w \cdot x_i - b)^2 + \lambda \lVert w \rVert^2

    This is the most probable w where the targets have errors of variance sigma² and w was drawn from a normal
    distribution: y_i ~ N(w·x_i + b, sigma²), w ~ N(0, tau² I), with lambda = sigma²/tau². The intercept b is not
    penalised: its prior is flat.

    Parameters
    ----------
    alpha : float, optional
        The penalty lambda on the squared norm of w, as scikit-learn calls it; one if nothing is given. Zero is least
        squares; of several w that are equally good, the shortest one.
    lam : float, optional
        The same by the lecture's name.
    sigma2, tau2 : float, optional
        The two variances, in place of ``alpha``. Two of ``alpha``, ``lam`` and these are refused.
    fit_intercept : bool, default=True
    copy_X : bool, default=True
        Accepted as scikit-learn's: X is never changed.
    solver : {"auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"}, default="auto"
        scikit-learn's names are taken as "auto": the problem, its solution and the certificate are the same.
    positive : bool, default=False
        True is refused: ``ElasticNet(positive=True)`` with a small ``l1_ratio`` has coefficients that are not negative.
    random_state : int, RandomState or None, default=None
        Accepted for the sake of scikit-learn's solvers; nothing is random here.
    tol : float, default=1e-6
        The relative duality gap at which to stop. Only large sparse data are solved by iterations, for which this
        matters; all others are solved directly.
    max_iter : int, optional
        The largest number of iterations.
    max_time : float, optional
        The time limit in seconds. With ``lam=0`` the decomposition of X is one call that cannot be stopped.
    verbose : int, default=0

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
    intercept_ : float
    objective_ : float
        The value of the model, rounded up.
    history_ : list of (seconds, primal, dual)
    n_iter_ : int
    rounds_ : int
        After a fit on Dask collections: rounds of messages, loading and certificate included.
    status_ : Status
    certificate_ : RidgeGap

    References
    ----------
    Hoerl, Kennard, "Ridge regression: biased estimation for nonorthogonal problems", 1970.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Ridge(sigma2=3000.0, tau2=3e5).fit(X, y)
    >>> model.certificate_.relative <= 1e-10
    True
    >>> bool(abs(Ridge(alpha=0.01).fit(X, y).coef_ - model.coef_).max() < 1e-9)
    True
    """

    _takes_collections: ClassVar[bool] = True

    alpha: float | None = None
    lam: float | None = None
    sigma2: float | None = None
    tau2: float | None = None
    solver: str = "auto"
    positive: bool = False
    random_state: Any = None
    tol: float = 1e-6

    _parameter_constraints: ClassVar[dict] = {
        **LinearRegression._parameter_constraints,
        "alpha": [Interval(Real, 0.0, None, closed="left"), None],
        "lam": [Interval(Real, 0.0, None, closed="left"), None],
        "sigma2": [Interval(Real, 0.0, None, closed="neither"), None],
        "tau2": [Interval(Real, 0.0, None, closed="neither"), None],
        "solver": [StrOptions({"auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"})],
        "positive": ["boolean"],
        "random_state": ["random_state"],
    }

    def _check_parameters(self) -> None:
        self._penalty()
        if self.positive:
            raise ValueError(
                "positive=True is not solved here: ElasticNet(positive=True), with a small l1_ratio, has coefficients "
                "that are not negative."
            )

    def _penalty(self) -> float:
        return penalty_given(self, "sigma2", "tau2", lambda sigma2, tau2: sigma2 / tau2)

    def _problem(self, data: TargetPoints | PartitionedTask) -> RidgeProblem | PartitionedProblem:
        problem = RidgeProblem(self._errors(data), self._penalty())
        return PartitionedProblem(problem, data) if isinstance(data, PartitionedTask) else problem

    def _solver(self, problem: RidgeProblem | PartitionedProblem) -> Solve:
        return partitioned.solve_ridge if isinstance(problem, PartitionedProblem) else ridge.solve

    def _finer_attempt(self, problems: Any, results: Sequence[Any], attempt: Attempt) -> Attempt | None:  # noqa: ARG002
        """Refine a direct solution that the certificate does not confirm, once."""
        refinable = results[0].status is Status.STALLED and getattr(results[0], "inverse", None) is not None
        return (results, attempt[1]) if refinable else None

    def _certify_task(self, k: int, problem: RidgeProblem) -> RidgeGap:  # noqa: ARG002
        return measure_ridge_gap(problem, self.coef_, self.intercept_, dual_point=self._dual_point)
