"""What the classifier and the regression of the kernel support vector machine share."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from maxmargin.data import Points
from maxmargin.data.points import only_columns
from maxmargin.estimators._base import one_or_all
from maxmargin.estimators._kernels import KERNEL_CONSTRAINTS
from maxmargin.estimators._progress import Tasks
from maxmargin.estimators._regularized import RegularizedModel
from maxmargin.problems.kernel_expansion import expansion_scores
from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.problems.kernels import Kernel
from maxmargin.solvers.core import Status
from maxmargin.solvers.kernel.base import SMOOptions
from maxmargin.solvers.linear.hard_margin import gap_of_width

# The solver works with kernel values of single precision, the certificate with exact ones: a little is left for that.
SHARE_OF_TOL = 0.9


class Attempt(NamedTuple):
    """How to solve: options, the seconds that are left, and the results of an attempt before that fell short."""

    options: SMOOptions
    seconds: float | None
    before: Sequence[Any] | None = None

    def before_of(self, task: int) -> Any:
        """What the attempt before found for a task, if there was one."""
        return None if self.before is None else self.before[task]


class KernelSVM(RegularizedModel):
    """Parameters, the kernel's expansion, and what has no meaning."""

    # Whether C = inf, no point in the street, has a meaning.
    _takes_hard_margin = False

    kernel: str | Callable[..., Any]
    cache_size: float
    shrinking: bool
    max_iter: int

    support_: np.ndarray
    support_vectors_: Any
    _duals: np.ndarray
    intercept_: np.ndarray
    _kernel: Kernel | None

    _parameter_constraints: dict = {
        **KERNEL_CONSTRAINTS,
        "C": [Interval(Real, 0.0, None, closed="right")],
        "shrinking": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "cache_size": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "max_time": [Interval(Real, 0.0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    @property
    def dual_coef_(self) -> Any:
        """The duals of the support vectors, sparse after a fit to sparse rows, as scikit-learn's are."""
        check_is_fitted(self)
        return sp.csr_matrix(self._duals) if sp.issparse(self.support_vectors_) else self._duals

    @dual_coef_.setter
    def dual_coef_(self, duals: Any) -> None:
        self._duals = duals.toarray() if sp.issparse(duals) else duals

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    def _check_parameters(self) -> None:
        if not (self._takes_hard_margin and math.isinf(self.C)):
            self._refuse_extreme("C")
        if self.max_iter == 0:
            raise ValueError("max_iter must be -1, for no limit, or at least 1; it is 0.")

    def _smo_options(self) -> SMOOptions:
        most = math.inf if self.max_iter == -1 else self.max_iter
        tol = gap_of_width(SHARE_OF_TOL * self.tol) if math.isinf(self.C) else SHARE_OF_TOL * self.tol
        return SMOOptions(
            tol=tol,
            max_iter=most,
            n_threads=self._n_threads(),
            cache_size=self.cache_size,
            shrinking=self.shrinking,
        )

    def _solve_proven(self, data: Tasks, whole: KernelSVMProblem, solve: Callable[[Attempt], list[Any]]) -> list[Any]:
        """Solve, keep and prove; where kernel values of single precision fall short of it, go on with double ones.

        ``solve`` keeps the duals and returns the results.
        """
        began = time.perf_counter()
        attempt = Attempt(self._smo_options(), self.max_time)
        while True:
            results = solve(attempt)
            self.intercept_ = np.array([result.intercept for result in results])
            self.history_ = one_or_all([result.history for result in results])
            self.certificate_ = self._certify(data)
            self._reconcile(results)
            self.fit_status_ = int(any(result.status is not Status.SOLVED for result in results))
            left = None if self.max_time is None else began + self.max_time - time.perf_counter()
            stalled = any(result.status is Status.STALLED for result in results)
            in_double = attempt.options.dtype_for(whole) is np.float64
            if not stalled or in_double or whole.may_be_indefinite or (left is not None and left <= 0.0):
                return results
            attempt = Attempt(replace(attempt.options, exact=True), left, results)

    def _support_of(self, points: Points, support: np.ndarray) -> Any:
        """The rows that are kept to predict with; a gram matrix is looked up by their places."""
        if self._kernel is None:
            return np.empty((0, 0))
        vectors = points.matrix[support]
        return sp.csr_matrix(vectors) if sp.issparse(vectors) else vectors

    def _expansion(self, points: Points, coefficients: np.ndarray) -> np.ndarray:
        """Sums of the kernel with the support vectors, times coefficients (s, k), in blocks of rows."""
        support = self.support_ if self._kernel is None else self.support_vectors_
        return expansion_scores(self._kernel, points.matrix, support, coefficients)

    def _coef_of(self, coefficients: np.ndarray) -> Any:
        """The planes' w, for the linear kernel."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        vectors, d = self.support_vectors_, self.n_features_in_
        if sp.issparse(vectors):
            # An array of all columns may be too large for memory.
            columns = np.unique(vectors.indices)
            planes = sp.csr_matrix(coefficients @ only_columns(vectors, columns))
            return sp.csr_matrix((planes.data, columns[planes.indices], planes.indptr), (len(planes.indptr) - 1, d))
        coef = coefficients @ vectors
        coef.flags.writeable = False
        return coef


def shape_of(X: Any, points: Points) -> tuple[int, ...]:
    """The shape of what a user gave, which may be a list."""
    return X.shape if hasattr(X, "shape") else (points.n_rows, points.n_columns)
