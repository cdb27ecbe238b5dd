"""What the classifier and the regression of the kernel support vector machine share."""

import math
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import cpu_count, effective_n_jobs
from sklearn.utils._param_validation import Interval

from maxmargin.data import Points
from maxmargin.estimators._base import CertifiedModel
from maxmargin.estimators._kernels import KERNEL_CONSTRAINTS
from maxmargin.estimators._linear_svm import LARGEST_FACTOR, SMALLEST_FACTOR
from maxmargin.problems.expansion import expansion_scores
from maxmargin.problems.kernels import Kernel
from maxmargin.solvers import Status
from maxmargin.solvers.gap import GapSettings
from maxmargin.solvers.smo import SMOSettings

# The solver works with kernel values of single precision, the certificate with exact ones: a little is left for that.
SHARE_OF_TOL = 0.9


class KernelSVM(CertifiedModel):
    """Parameters, the kernel's expansion, and what has no meaning."""

    C: float
    kernel: str | Callable[..., Any]
    tol: float
    cache_size: float
    shrinking: bool
    max_iter: int
    n_jobs: int | None

    support_: np.ndarray
    support_vectors_: Any
    dual_coef_: np.ndarray
    intercept_: np.ndarray
    _kernel: Kernel | None

    _parameter_constraints: dict = {
        **KERNEL_CONSTRAINTS,
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "shrinking": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "cache_size": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "max_time": [Interval(Real, 0.0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    _advice_when_stalled = "the gap stopped shrinking above tol: rescale the columns of X, or raise tol"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    def _refuse_contradictions(self) -> None:
        if not SMALLEST_FACTOR <= self.C <= LARGEST_FACTOR:
            raise ValueError(
                f"C must be between {SMALLEST_FACTOR:g} and {LARGEST_FACTOR:g}, or squares overflow; it is {self.C!r}."
            )
        if self.max_iter == 0:
            raise ValueError("max_iter must be -1, for no limit, or at least 1; it is 0.")

    def _n_threads(self) -> int:
        return cpu_count() if self.n_jobs is None else effective_n_jobs(self.n_jobs)

    def _smo_settings(self) -> SMOSettings:
        most = math.inf if self.max_iter == -1 else self.max_iter
        until = GapSettings(tol=SHARE_OF_TOL * self.tol, max_iter=most, n_threads=self._n_threads())
        return SMOSettings(until, self.cache_size, self.shrinking)

    def _support_of(self, points: Points, support: np.ndarray) -> Any:
        """The rows that are kept to predict with; a gram matrix is looked up by their places."""
        return np.empty((0, 0)) if self._kernel is None else points.matrix[support]

    def _expansion(self, points: Points, coefficients: np.ndarray) -> np.ndarray:
        """Sums of the kernel with the support vectors, times coefficients (s, k), in blocks of rows."""
        support = self.support_ if self._kernel is None else self.support_vectors_
        return expansion_scores(self._kernel, points.matrix, support, coefficients)

    def _coef_of(self, coefficients: np.ndarray) -> np.ndarray:
        """The planes' w, for the linear kernel."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        vectors = self.support_vectors_
        coef = coefficients @ (vectors.toarray() if sp.issparse(vectors) else vectors)
        coef.flags.writeable = False
        return coef

    def _believe_only_proofs(self, solutions: Sequence[Any]) -> None:
        """A run that saw a gap which the certificate does not confirm has stalled."""
        proof: Any = self.certificate_
        proofs = [proof] if len(solutions) == 1 else list(proof.values())
        for solution, one in zip(solutions, proofs, strict=True):
            if solution.status is Status.SOLVED and one.relative > self.tol:
                solution.status = Status.STALLED
