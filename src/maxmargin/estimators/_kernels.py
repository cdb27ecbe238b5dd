"""What all estimators with a kernel share: the parameters of the kernel, and its expansions."""

import time
from numbers import Integral, Real
from typing import Any

import numpy as np

from maxmargin.data import Points, as_dense
from maxmargin.data.objects import are_objects
from maxmargin.data.scikit_learn import Interval, StrOptions
from maxmargin.estimators._base import CertifiedModel
from maxmargin.loops.exponential import exponentiate
from maxmargin.problems.kernel_expansion import expansion_scores
from maxmargin.problems.kernels import Kernel, UserFunction, kernel_by_name
from maxmargin.problems.semidefinite import is_symmetric

KERNEL_CONSTRAINTS: dict = {
    "kernel": [StrOptions({"rbf", "linear", "poly", "sigmoid", "precomputed"}), callable],
    "degree": [Interval(Integral, 0, None, closed="left")],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "cache_size": [Interval(Real, 0.0, None, closed="left")],
}

# Support vectors and rows whose kernel values are evaluated to measure how long that takes.
SUPPORT_TO_MEASURE, ROWS_TO_MEASURE = 64, 2048


def seconds_per_entry(kernel: Kernel | None, points: Points, n_threads: int) -> float:
    """Measure what an entry of the matrix of rows and support vectors takes in a certificate."""
    if kernel is None:
        return 0.0
    rows, support = points.matrix[:ROWS_TO_MEASURE], points.matrix[-SUPPORT_TO_MEASURE:]
    seconds = []
    # The first evaluation takes longer, for memory that is new.
    for _ in range(3):
        began = time.perf_counter()
        expansion_scores(kernel, rows, support, np.ones((support.shape[0], 1)), n_threads=n_threads)
        seconds.append(time.perf_counter() - began)
    return min(seconds) / (rows.shape[0] * support.shape[0])


class KernelModel(CertifiedModel):
    """An estimator with a kernel: a precomputed one makes X a square matrix.

    A sequence of objects is learned from by the Gram matrix that a user's kernel gives of them, as a precomputed one.
    """

    kernel: Any
    _objects: Any

    def _matrix_of_objects(self, X: Any, *, reset: bool) -> Any:
        """X, or of objects the kernel matrix with those of the fit, which ``reset`` keeps."""
        if not callable(self.kernel):
            return X
        if reset and are_objects(X):
            self._objects = list(X) if isinstance(X, list) else X
        if not hasattr(self, "_objects"):
            return X
        return UserFunction(self.kernel).gram(X, self._objects)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    @property
    def _takes_sparse(self) -> bool:
        return self.kernel != "precomputed"


def make_kernel(model: Any, points: Points) -> Kernel | None:
    """The kernel that a model's parameters name, or None where X is the Gram matrix, also that of objects."""
    if model.kernel == "precomputed" or hasattr(model, "_objects"):
        return None
    gamma = model.gamma
    if gamma == "auto":
        gamma = 1.0 / points.n_columns
    elif gamma == "scale":
        variance = variance_of(points)
        gamma = 1.0 / (points.n_columns * variance) if variance > 0.0 else 1.0
    return kernel_by_name(model.kernel, gamma=gamma, degree=model.degree, coef0=model.coef0)


def refuse_bad_gram(model: Any, points: Points) -> None:
    """Raise ValueError where kernel='precomputed' and X is not a square matrix, symmetric up to rounding.

    The rest of its asymmetry is counted as an error of its entries.
    """
    if hasattr(model, "_objects"):
        if not is_symmetric(as_dense(points.matrix)):
            raise ValueError("kernel is not symmetric on X: k(x, z) and k(z, x) differ by more than rounding.")
        return
    if model.kernel != "precomputed":
        return
    if points.n_rows != points.n_columns:
        raise ValueError(
            f"X has shape {(points.n_rows, points.n_columns)}; with kernel='precomputed' it must be the square "
            "gram matrix of the training rows."
        )
    if not is_symmetric(as_dense(points.matrix)):
        raise ValueError(
            "X is not symmetric up to rounding (1e-12 of its largest entry, 4e-6 in single precision); with "
            "kernel='precomputed' it must be the gram matrix. If it is only computed roughly, pass (X + X.T) / 2."
        )


def variance_of(points: Points) -> float:
    """The variance of all entries of X, as scikit-learn's ``gamma="scale"`` takes it."""
    size = points.n_rows * points.n_columns
    mean = float(points.narrow.matrix.sum(dtype=np.float64)) / size
    return max(0.0, float(points.squared_norms.sum()) / size - mean**2)


def kernel_scores(
    kernel: Kernel | None, points: Points, support: Any, coefficients: np.ndarray, n_threads: int | None = None
) -> np.ndarray:
    """Kernel expansions at all points, without intercept, for predictions.

    The exponentials are compiled; certificates use NumPy's. Parameters and result are as for :func:`expansion_scores`.
    """
    return expansion_scores(
        kernel, points.matrix, support, coefficients, n_threads=n_threads, exponentiate=exponentiate
    )
