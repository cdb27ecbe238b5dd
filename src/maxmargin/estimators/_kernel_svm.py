"""What the classifier and the regression of the kernel support vector machine share."""

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval

from maxmargin.data import Points
from maxmargin.estimators._kernels import KERNEL_CONSTRAINTS
from maxmargin.estimators._support_vector_machine import SupportVectorMachine
from maxmargin.problems.expansion import expansion_scores
from maxmargin.problems.kernels import Kernel
from maxmargin.solvers.gap import GapSettings
from maxmargin.solvers.smo import SMOSettings

# The solver works with kernel values of single precision, the certificate with exact ones: a little is left for that.
SHARE_OF_TOL = 0.9


class KernelSVM(SupportVectorMachine):
    """Parameters, the kernel's expansion, and what has no meaning."""

    kernel: str | Callable[..., Any]
    cache_size: float
    shrinking: bool
    max_iter: int

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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    def _refuse_contradictions(self) -> None:
        self._refuse_extreme("C")
        if self.max_iter == 0:
            raise ValueError("max_iter must be -1, for no limit, or at least 1; it is 0.")

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
