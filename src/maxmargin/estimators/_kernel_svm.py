"""What kernel support vector classification and regression share."""

import math
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from maxmargin.data import Points, Tasks, as_dense
from maxmargin.data.points import only_columns
from maxmargin.estimators._base import SECONDS_PER_KERNEL_TASK, Attempt, certificates_of, one_or_all
from maxmargin.estimators._kernels import (
    KERNEL_CONSTRAINTS,
    KernelModel,
    kernel_scores,
    make_kernel,
    refuse_bad_gram,
    seconds_per_entry,
)
from maxmargin.estimators._parameters import estimator
from maxmargin.estimators._progress import FitLimits
from maxmargin.estimators._regularized import RegularizedModel
from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.problems.kernels import Kernel, Linear
from maxmargin.solvers.core import Result, Status
from maxmargin.solvers.kernel.base import SMOOptions
from maxmargin.solvers.linear.hard_margin import gap_of_width

# The share of ``tol`` at which the solver stops: the rest is for kernel values of single precision, which the
# certificate replaces by those of double precision.
SHARE_OF_TOL = 0.9


@estimator
class KernelSVM(KernelModel, RegularizedModel):
    """Parameters, options and attributes that kernel support vector classification and regression share."""

    C: float = 1.0
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

    _private_attributes: ClassVar[tuple[str, ...]] = ("_kernel", "_duals", "_n_rows")
    # Nothing is random.
    random_state = 0

    support_: np.ndarray = field(init=False)
    support_vectors_: Any = field(init=False)
    _duals: np.ndarray = field(init=False)
    intercept_: np.ndarray = field(init=False)
    _kernel: Kernel | None = field(init=False)

    _parameter_constraints: ClassVar[dict] = {
        **KERNEL_CONSTRAINTS,
        "C": [Interval(Real, 0.0, None, closed="right")],
        "shrinking": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "cache_size": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "max_time": [Interval(Real, 0.0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    @property
    def dual_coef_(self) -> Any:
        """The duals of the support vectors, sparse after a fit to sparse rows, as scikit-learn's are."""
        check_is_fitted(self)
        return sp.csr_matrix(self._duals) if sp.issparse(self.support_vectors_) else self._duals

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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.max_iter == 0:
            raise ValueError("max_iter must be -1, for no limit, or at least 1; it is 0.")

    def _prepare(self, data: Any) -> None:
        super()._prepare(data)
        refuse_bad_gram(self, data.points)
        self._kernel = make_kernel(self, data.points)

    def _certificate_seconds(self, tasks: Tasks) -> tuple[float, float]:
        return SECONDS_PER_KERNEL_TASK * tasks.n_tasks, seconds_per_entry(
            self._kernel, tasks.points.narrow, self._n_threads()
        )

    def _most_steps(self) -> int | None:
        # Steps on pairs are counted, and callbacks are called after blocks of them.
        return None

    def _options(self, tasks: Tasks) -> SMOOptions:  # noqa: ARG002
        tol = SHARE_OF_TOL * self.tol
        return SMOOptions(
            tol=gap_of_width(tol) if math.isinf(self.C) else tol,
            max_iter=math.inf if self.max_iter == -1 else self.max_iter,
            # Small pairs of classes run several at once and take one thread each, large ones take all of them.
            n_threads=self._n_threads(),
            cache_size=self.cache_size,
            shrinking=self.shrinking,
        )

    def _set_attributes(self, tasks: Any, results: Sequence[Result[Any]]) -> None:
        self.intercept_ = np.array([result.intercept for result in results])
        self.history_ = one_or_all([result.history for result in results])
        self.shape_fit_ = tasks.points.matrix.shape

    def _finer_attempt(
        self, problems: Sequence[KernelSVMProblem], results: Sequence[Result[Any]], attempt: Attempt
    ) -> Attempt | None:
        """Continue in double precision where kernel values of single precision fall short of ``tol``."""
        stalled = any(result.status is Status.STALLED for result in results)
        options, whole = attempt[1], problems[0].whole or problems[0]
        if not stalled or options.dtype_for(whole) is np.float64 or whole.may_be_indefinite:
            return None
        return results, replace(options, exact=True)

    def _finish(self, tasks: Any, limits: FitLimits) -> None:  # noqa: ARG002
        self.fit_status_ = int(self.status_ is not Status.SOLVED)

    def _set_certified_attributes(self, proofs: Sequence[Any]) -> None:
        """Nothing: the objective is a property, and so is the margin."""

    def _expansion_so_far(self, data: Any, betas: Any, results: Sequence[Any]) -> dict[str, Any]:
        """The attributes of the expansion with these duals, and its intercepts."""
        so_far = self._without_fit()
        so_far._kernel = self._kernel
        so_far._set_duals(data, betas)
        so_far.intercept_ = np.array([0.0 if result is None else result[1] for result in results])
        return {name: value for name, value in vars(so_far).items() if self._is_fitted_attribute(name)}

    def _set_duals(self, data: Any, betas: Any) -> None:
        """Set the support vectors and their duals."""
        raise NotImplementedError

    def _support_vectors_at(self, points: Points, support: np.ndarray) -> Any:
        """The rows that predictions need; with a Gram matrix their positions are enough."""
        if self._kernel is None:
            return np.empty((0, 0))
        vectors = points.matrix[support]
        return sp.csr_matrix(vectors) if sp.issparse(vectors) else vectors

    def _expansion(self, points: Points, coefficients: np.ndarray) -> np.ndarray:
        """Kernel expansions over the support vectors with coefficients (s, k), without intercept."""
        support = self.support_ if self._kernel is None else self.support_vectors_
        return kernel_scores(self._kernel, points, support, coefficients, self._n_threads())

    def _coef_of(self, coefficients: np.ndarray) -> Any:
        """w of every task, for the linear kernel."""
        if not isinstance(self._kernel, Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        vectors, d = self.support_vectors_, self.n_features_in_
        if sp.issparse(vectors):
            # A dense array of all columns may be too large for memory.
            columns = np.unique(vectors.indices)
            narrow = sp.csr_matrix(coefficients @ only_columns(vectors, columns))
            return sp.csr_matrix((narrow.data, columns[narrow.indices], narrow.indptr), (len(narrow.indptr) - 1, d))
        coef = coefficients @ vectors
        coef.flags.writeable = False
        return coef
