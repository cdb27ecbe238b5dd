"""Ridge regression as a scikit-learn regressor."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from maxmargin.data import TargetPoints
from maxmargin.data.partitions import PartitionedTask
from maxmargin.data.scikit_learn import Interval, StrOptions
from maxmargin.estimators._base import Attempt
from maxmargin.estimators._linear_regression import LinearRegression, penalty_given
from maxmargin.estimators._parameters import estimator
from maxmargin.estimators._rows_elsewhere import kind_of_rows
from maxmargin.estimators._solvers import Solve, SolverTable
from maxmargin.problems.partitioned import PartitionedProblem
from maxmargin.problems.squared_errors import LassoProblem, RidgeProblem, SquaredErrors
from maxmargin.solvers.core import Options, Status
from maxmargin.solvers.regression import ridge
from maxmargin.solvers.regression.lasso import LassoOptions


@estimator
class Ridge(LinearRegression):
    r"""Ridge regression, with a certified duality gap.

    .. math:: \min_{w, b} \sum_i (y_i - w \cdot x_i - b)^2 + \lambda \lVert w \rVert^2

    This is the most probable w where the targets have errors of variance sigma² and w was drawn from a normal
    distribution: y_i ~ N(w·x_i + b, sigma²), w ~ N(0, tau² I), with lambda = sigma²/tau². The intercept b is not
    penalised: its prior is flat.

    Parameters
    ----------
    alpha : float or array of shape (n_targets,), optional
        The penalty lambda on the squared norm of w, as scikit-learn calls it, or one for each target; one if nothing is
        given. Zero is least squares; of several w that are equally good, the shortest one.
    lam : float, optional
        The same by the lecture's name.
    sigma2, tau2 : float, optional
        The two variances, in place of ``alpha``. Two of ``alpha``, ``lam`` and these are refused.
    fit_intercept : bool, default=True
    copy_X : bool, default=True
        Accepted; the answer does not depend on it: X is never changed.
    solver : {"auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"}, default="auto"
        scikit-learn's names are taken as "auto": the problem, its solution and the certificate are the same. As there,
        "lbfgs" is the name of a solver with ``positive=True`` alone, which takes no other name but "auto".
    positive : bool, default=False
        Whether no coefficient may be negative; the intercept may. Needs a positive penalty.
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
    coef_ : ndarray of shape (d,), or (n_targets, d) for several targets
    intercept_ : float, or ndarray of shape (n_targets,) where y has columns
    objective_ : float, or a list with one entry a target
        The value of the model, rounded up.
    history_ : list of (seconds, primal, dual), or a list of them
    n_iter_ : int, or an array with one entry a target
        One for a direct solution, of which scikit-learn says None.
    solver_ : str
        The solver's name as it was given.
    rounds_ : int
        After a fit on Dask collections: rounds of messages, loading and certificate included.
    bytes_per_round_ : float
        Likewise: the bytes of numbers in the messages to all partitions and in their answers, per round.
    status_ : Status
    certificate_ : RidgeGap, or PerTarget of them
        With ``positive=True`` a LassoGap, of half the objective.

    See Also
    --------
    Lasso : The 1-norm as penalty, and proven zeros.
    BayesianRegression : The whole posterior.
    RidgeGap : What the certificate says.

    References
    ----------
    Hoerl, Kennard, "Ridge regression: biased estimation for nonorthogonal problems", 1970.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Ridge(sigma2=3000.0, tau2=3e5).fit(X, y)
    >>> print(f"{model.certificate_.dual:.1f} <= optimum <= {model.certificate_.primal:.1f}")
    1276677.0 <= optimum <= 1276677.0
    >>> float(abs(Ridge(alpha=0.01).fit(X, y).coef_ - model.coef_).max().round(6))  # lambda = sigma2/tau2 = alpha
    0.0
    """

    _takes_collections: ClassVar[bool] = True
    _takes_target_columns: ClassVar[bool] = True
    _solvers: ClassVar[SolverTable] = {
        RidgeProblem: "regression.ridge",
        LassoProblem: "regression.lasso",
        PartitionedProblem: "regression.partitioned:solve_ridge",
    }

    alpha: Any = None
    lam: float | None = None
    sigma2: float | None = None
    tau2: float | None = None
    solver: str = "auto"
    positive: bool = False
    random_state: Any = None
    tol: float = 1e-6

    _parameter_constraints: ClassVar[dict] = {
        **LinearRegression._parameter_constraints,
        "alpha": [Interval(Real, 0.0, None, closed="left"), np.ndarray, None],
        "lam": [Interval(Real, 0.0, None, closed="left"), None],
        "sigma2": [Interval(Real, 0.0, None, closed="neither"), None],
        "tau2": [Interval(Real, 0.0, None, closed="neither"), None],
        "solver": [StrOptions({"auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"})],
        "positive": ["boolean"],
        "random_state": ["random_state"],
    }

    @property
    def solver_(self) -> str:
        """The solver's name as it was given."""
        solver: str = self._as_fitted().solver
        return solver

    def _check_parameters(self) -> None:
        penalty = self._penalty()
        if not isinstance(penalty, float) and (penalty.ndim > 1 or not penalty.size):
            raise ValueError(f"alpha must be a number, or an array of one a target; it has shape {penalty.shape}.")
        if self.positive and self.solver not in ("auto", "lbfgs"):
            raise ValueError(
                f"solver={self.solver!r} does not support positive fitting: set solver='auto' or 'lbfgs', or "
                "positive=False."
            )
        if self.solver == "lbfgs" and not self.positive:
            raise ValueError(
                "'lbfgs' solver can be used only when positive=True. Please use another solver, for example 'auto'."
            )
        if self.positive and not np.all(penalty > 0.0):
            raise ValueError("positive=True needs alpha > 0: set a small one, for example alpha=1e-6.")

    def _check_collections(self, X: Any) -> None:
        super()._check_collections(X)
        if self.positive or np.size(self._penalty()) > 1:
            raise ValueError(f"positive=True, and one alpha a target, are not available for {kind_of_rows(X)}.")

    def _penalty(self) -> Any:
        return penalty_given(self, "sigma2", "tau2", lambda sigma2, tau2: sigma2 / tau2)

    def _prepare(self, data: Any) -> None:
        penalty = self._penalty()
        n_penalties, n_targets = 1 if isinstance(penalty, float) else penalty.size, data.n_tasks
        if n_penalties not in (1, n_targets):
            raise ValueError(
                f"Number of targets and number of penalties do not correspond: {n_penalties} != {n_targets}"
            )

    @property
    def _may_centre(self) -> bool:
        return self.fit_intercept

    def _problem(self, data: TargetPoints | PartitionedTask) -> Any:
        problem = self._problem_of_errors(self._errors(data), 0)
        if not isinstance(data, PartitionedTask):
            return problem
        assert isinstance(problem, RidgeProblem)
        return PartitionedProblem(problem, data)

    def _problem_of_errors(self, errors: SquaredErrors, k: int) -> RidgeProblem | LassoProblem:
        penalty = self._penalty()
        lam = penalty if isinstance(penalty, float) else float(penalty[k if penalty.size > 1 else 0])
        return LassoProblem(errors, 0.0, lam, positive=True) if self.positive else RidgeProblem(errors, lam)

    def _options(self, tasks: Any) -> Options:
        options = super()._options(tasks)
        if not self.positive:
            return options
        return LassoOptions(options.tol, options.max_iter, options.seed, options.n_threads)

    @contextmanager
    def _solving(self, problems: Sequence[Any], options: Any) -> Iterator[tuple[Solve, int | None]]:
        if len(problems) > 1 and isinstance(problems[0], RidgeProblem):
            yield ridge.SharedFactors().solve, 1
            return
        with super()._solving(problems, options) as found:
            yield found

    def _finer_attempt(self, problems: Any, results: Sequence[Any], attempt: Attempt) -> Attempt | None:  # noqa: ARG002
        """Refine direct solutions that the certificate does not confirm, once."""
        refinable = any(
            result.status is Status.STALLED and getattr(result, "inverse", None) is not None for result in results
        )
        return (results, attempt[1]) if refinable else None
