"""What kernel support vector classification and regression share."""

import math
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from maxmargin.data import Points, TargetPoints, Tasks, as_configured, as_dense, validate_points
from maxmargin.data.points import only_columns
from maxmargin.data.scikit_learn import Interval, check_is_fitted
from maxmargin.estimators._base import Attempt
from maxmargin.estimators._kernels import KERNEL_CONSTRAINTS, KernelModel
from maxmargin.estimators._parameters import estimator
from maxmargin.estimators._progress import FitLimits
from maxmargin.estimators._regularized import RegularizedModel
from maxmargin.estimators._shared import certificates_of, one_or_all, refuse_other_rows
from maxmargin.problems.kernel_svm import KernelProblem
from maxmargin.problems.kernels import Kernel, Linear
from maxmargin.problems.nu_svm import NEGLIGIBLE_SHARE
from maxmargin.reconciliation import Goal
from maxmargin.solvers.core import Result, Status
from maxmargin.solvers.kernel.base import SMOOptions
from maxmargin.solvers.linear.options import gap_of_width

C_CONSTRAINTS: dict = {"C": [Interval(Real, 0.0, None, closed="right")]}

# The share of ``tol`` at which the solver stops: the rest is for kernel values of single precision, which the
# certificate replaces by those of double precision.
SHARE_OF_TOL = 0.9
# The share of ``tol`` up to which the KKT conditions may be violated. LIBSVM stops at 1; at the same violation its
# decision function was up to 1.2 times nearer to the optimum on benchmark sets, at a half never.
SHARE_OF_VIOLATION = 0.5

# Kernel values of all pairs of classes from which on a fit takes several threads; SMO and certificates need more.
VALUES_WORTH_THREADS = 1 << 20

# Parts of the docstrings of kernel machines: the parameters of all, the attributes of those with one expansion.
KERNEL_PARAMETERS = """
kernel : {"rbf", "linear", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
    A callable takes two matrices, or two sequences of objects such as texts, and returns their Gram matrix, dense or
    sparse; with "precomputed", X is the Gram matrix. "sigmoid" is not positive semidefinite in general, and nothing is
    proven for it.
degree : int, default=3
    Of the polynomial kernel (gamma x·z + coef0)^degree.
gamma : {"scale", "auto"} or float, default="scale"
    1/(d variance of X), 1/d, or a number.
coef0 : float, default=0.0
    Of the polynomial and the sigmoid kernel.
shrinking : bool, default=True
    Whether duals that are fixed at a bound are left out for a while; all are checked before the end.
tol : float, default=1e-3
    The relative duality gap at which to stop, once the KKT conditions hold up to half of it, which is LIBSVM's
    measure.
cache_size : float, default=200
    Megabytes for kernel values.
max_iter : int, default=-1
    The largest number of steps on pairs of duals, checked between blocks of them; -1 for no limit.
max_time : float or None, default=None
    The largest number of seconds to train.
n_jobs : int or None, default=None
    Threads of ``fit`` and of predictions; -1 takes all cores. None takes all cores, too, unlike in scikit-learn:
    threads need no copy of the data, and one thread would make the default slower. The result does not depend on
    it.
verbose : int, default=0
    Whether a line is printed for every block of steps.
"""
EXPANSION_ATTRIBUTES = """
support_ : ndarray of int
    Rows with a dual that is not zero.
support_vectors_ : array or sparse matrix of shape (n_support, d)
    Those rows; empty for a precomputed kernel.
n_support_ : ndarray of int32 of shape (1,)
dual_coef_ : ndarray of shape (1, n_support), or csr_matrix after a fit to sparse rows
coef_ : ndarray of shape (1, d), for the linear kernel
intercept_ : ndarray of shape (1,)
objective_ : float
    The primal objective, rounded up.
fit_status_ : 0 where it is solved to ``tol``, else 1
n_iter_ : int
    Steps on pairs of duals.
shape_fit_ : tuple
status_ : Status
history_ : list of (seconds, primal, dual)
"""


@estimator
class KernelSVM(KernelModel, RegularizedModel):
    """Parameters, options and attributes that kernel support vector classification and regression share."""

    kernel: str | Callable[..., Any] = "rbf"
    degree: int = 3
    gamma: str | float = "scale"
    coef0: float = 0.0
    shrinking: bool = True
    tol: float = 1e-3
    cache_size: float = 200
    max_iter: int = -1
    max_time: float | None = None
    n_jobs: int | None = None
    verbose: int = 0

    _advice_for_collections: ClassVar[str] = (
        "map the rows by an approximate kernel, for example sklearn.kernel_approximation.Nystroem fitted to a sample, "
        "and use LinearSVC or LinearSVR"
    )

    @property
    def _advice_at_max_iter(self) -> str:  # type: ignore[override]
        # scikit-learn's sentence, by which programs know this warning.
        return (
            f"Solver terminated early (max_iter={self.max_iter}).  Consider pre-processing your data with "
            "StandardScaler or MinMaxScaler, or raise max_iter"
        )

    _private_attributes: ClassVar[tuple[str, ...]] = ("_kernel", "_duals", "_n_rows", "_objects")
    # Nothing is random.
    random_state = 0

    support_: np.ndarray = field(init=False)
    support_vectors_: Any = field(init=False)
    _duals: np.ndarray = field(init=False)
    intercept_: np.ndarray = field(init=False)
    _kernel: Kernel | None = field(init=False)

    _parameter_constraints: ClassVar[dict] = {
        **KERNEL_CONSTRAINTS,
        "shrinking": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "cache_size": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "max_time": [Interval(Real, 0.0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def _fit(self, X: Any, y: Any, sample_weight: Any = None, **start: Any) -> Self:
        if self.kernel == "precomputed" and sp.issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported: pass X.toarray().")
        return super()._fit(X, y, without_negative(sample_weight), **start)

    def _data_to_certify(self, X: Any, y: Any, sample_weight: Any) -> Any:
        return super()._data_to_certify(X, y, without_negative(sample_weight))  # type: ignore[safe-super]

    @property
    def _gamma(self) -> float:
        """The number that ``gamma`` is for the rows of the fit, by the name of scikit-learn's private attribute."""
        check_is_fitted(self)
        return float(getattr(self._kernel, "gamma", 0.0))

    @property
    def dual_coef_(self) -> Any:
        """The duals of the support vectors, sparse after a fit to sparse rows, as scikit-learn's are."""
        check_is_fitted(self)
        return as_configured(self._duals) if sp.issparse(self.support_vectors_) else self._duals

    @dual_coef_.setter
    def dual_coef_(self, duals: Any) -> None:
        self._duals = as_dense(duals)

    @property
    def objective_(self) -> Any:
        """The primal objective, rounded up; the certificate states it."""
        return one_or_all([proof.objective for proof in self._task_certificates()])

    def _task_certificates(self) -> list[Any]:
        """The certificates of all tasks; a model that was read from a file of LIBSVM has none."""
        check_is_fitted(self)
        return certificates_of(self.certificate_, self.intercept_.size)

    _if_not_measurable: ClassVar[str] = " The dual coefficients or intercepts are not finite without that."

    def _most_steps(self) -> int | None:
        # Steps on pairs are counted, and callbacks are called after blocks of them.
        return None

    def _threads_of(self, tasks: Tasks) -> int:
        """The threads of a fit; few kernel values take one, and asking joblib takes as long as many of them."""
        n_values = tasks.points.n_rows**2 * len(getattr(tasks, "classes", "1"))
        return 1 if self.n_jobs is None and n_values < VALUES_WORTH_THREADS else self._n_threads()

    def _options(self, tasks: Tasks) -> SMOOptions:
        tol = SHARE_OF_TOL * self.tol
        return SMOOptions(
            # LIBSVM's termination test: a small gap alone leaves decision functions farther from the optimum.
            max_violation=math.inf if math.isinf(self.C) else SHARE_OF_VIOLATION * self.tol,
            tol=gap_of_width(tol) if math.isinf(self.C) else tol,
            max_iter=math.inf if self.max_iter == -1 else self.max_iter,
            # Small pairs of classes run several at once and take one thread each, large ones take all of them.
            n_threads=self._threads_of(tasks),
            cache_size=self.cache_size,
            shrinking=self.shrinking,
        )

    def _set_attributes(self, tasks: Any, results: Sequence[Result[Any]]) -> None:
        self.intercept_ = np.array([self._scaled(result.beta, result.intercept)[1] for result in results])
        self.history_ = one_or_all([result.history for result in results])
        self.shape_fit_ = tasks.points.matrix.shape

    def _finer_attempt(
        self, problems: Sequence[KernelProblem], results: Sequence[Result[Any]], attempt: Attempt
    ) -> Attempt | None:
        """Continue in double precision where kernel values of single precision fall short of ``tol``."""
        stalled = any(result.status is Status.STALLED for result in results)
        options, whole = attempt[1], problems[0].whole or problems[0]
        if not stalled or options.dtype_for(whole) is np.float64 or whole.may_be_indefinite:
            return None
        return results, replace(options, exact=True)

    def _finish(self, tasks: Any, results: Sequence[Any], limits: FitLimits) -> None:  # noqa: ARG002
        self.fit_status_ = int(self.status_ is not Status.SOLVED)

    def _set_certified_attributes(self, proofs: Sequence[Any]) -> None:
        """Nothing: the objective is a property, and so is the margin."""

    def _expansion_so_far(self, data: Any, betas: Any, results: Sequence[Any]) -> dict[str, Any]:
        """The attributes of the expansion with these duals, and its intercepts."""
        so_far = self._without_fit()
        so_far._kernel = self._kernel
        so_far._set_duals(data, betas)
        so_far.intercept_ = np.array(
            [0.0 if result is None else self._scaled(result[2], result[1])[1] for result in results]
        )
        return {name: value for name, value in vars(so_far).items() if self._is_fitted_attribute(name)}

    def _scaled(self, beta: np.ndarray, intercept: Any) -> tuple[np.ndarray, float]:
        """Coefficients and intercept of the decision function, given those of a solver."""
        return beta, intercept

    def _set_duals(self, data: Any, betas: Any) -> None:
        """Set the support vectors and their duals."""
        raise NotImplementedError

    def _support_vectors_at(self, points: Points, support: np.ndarray) -> Any:
        """The rows that predictions need; with a Gram matrix their positions are enough."""
        if self._kernel is None:
            return np.empty((0, 0))
        vectors = points.matrix[support]
        return as_configured(vectors) if sp.issparse(vectors) else vectors

    def _coef_of(self, coefficients: np.ndarray) -> Any:
        """w of every task, for the linear kernel."""
        if not isinstance(self._kernel, Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        vectors, d = self.support_vectors_, self.n_features_in_
        if sp.issparse(vectors):
            # A dense array of all columns may be too large for memory.
            columns = np.unique(vectors.indices)
            narrow = sp.csr_array(coefficients @ only_columns(vectors, columns))
            return as_configured(
                sp.csr_array((narrow.data, columns[narrow.indices], narrow.indptr), (len(narrow.indptr) - 1, d))
            )
        coef = coefficients @ vectors
        coef.flags.writeable = False
        return coef


def without_negative(sample_weight: Any) -> Any:
    """Weights with zero in place of negative ones: LIBSVM leaves out rows whose weight is not positive."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight)
    if weights.dtype.kind not in "biuf" or not (weights <= 0).any():
        return sample_weight
    if (weights <= 0).all():
        raise ValueError(
            "Invalid input - all samples have zero or negative weights: sample_weight needs a positive one."
        )
    return np.maximum(weights, 0)


class SingleExpansion(KernelSVM):
    """One kernel expansion, as of a regression or a one-class machine: its attributes, and its values."""

    @property
    def n_support_(self) -> np.ndarray:
        """The number of support vectors."""
        check_is_fitted(self)
        return np.array([self.support_.size], dtype=np.int32)

    @property
    def coef_(self) -> Any:
        """w of the linear kernel."""
        check_is_fitted(self)
        return self._coef_of(self._duals)

    def _scores(self, X: Any) -> np.ndarray:
        """f(x) of the rows of X, in blocks."""
        return self._scores_of_points(validate_points(self._as_fitted(), X))[:, 0]

    def _task_coefficients(self) -> np.ndarray:
        return self._duals.T

    def _set_attributes(self, tasks: Any, results: Sequence[Result[Any]]) -> None:
        super()._set_attributes(tasks, results)
        self._set_duals(tasks, self._scaled(results[0].beta, results[0].intercept)[0])
        self.n_iter_ = results[0].n_iter

    def _set_duals(self, data: TargetPoints, beta: np.ndarray) -> None:
        self.support_ = np.flatnonzero(beta).astype(np.int32)
        self._duals = beta[self.support_][None, :]
        self.support_vectors_ = self._support_vectors_at(data.points, self.support_)
        self._n_rows = data.points.n_rows

    def _attributes_so_far(self, labelled: Any, results: Sequence[Any]) -> dict[str, Any]:
        beta = np.zeros(labelled.points.n_rows) if results[0] is None else self._scaled(results[0][2], results[0][1])[0]
        return self._expansion_so_far(labelled, beta, results)

    def _beta(self, n_rows: int) -> np.ndarray:
        """The signed duals of all rows."""
        refuse_other_rows(n_rows, self._n_rows)
        beta = np.zeros(n_rows)
        beta[self.support_] = self._duals[0]
        return beta


class KernelRegressor(SingleExpansion):
    """Kernel regressions: the expansion is the prediction."""

    def predict(self, X: Any) -> np.ndarray:
        """Compute f(x), in blocks of rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or the Gram matrix with the training rows, of shape (n, n_train)

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._scores(X)


def nu_goal(tol: float, problem: Any | None) -> Goal:
    """The goal of a machine with nu: its optimum may be zero, where only a negligible gap can be proven."""
    negligible = 0.0 if problem is None else NEGLIGIBLE_SHARE * tol * problem.largest_value
    return Goal(tol, lambda proof: proof.gap <= negligible)
