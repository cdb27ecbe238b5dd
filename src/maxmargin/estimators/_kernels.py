"""What all estimators with a kernel share: the parameters of the kernel, and its expansions."""

import time
from abc import abstractmethod
from numbers import Integral, Real
from typing import Any

import numpy as np

from maxmargin.data import Points, Tasks, as_dense
from maxmargin.data.objects import are_objects
from maxmargin.data.scikit_learn import Interval, StrOptions
from maxmargin.estimators._base import SECONDS_PER_KERNEL_TASK, CertifiedModel
from maxmargin.loops.exponential import exponentiate
from maxmargin.problems.kernel_expansion import expansion_scores
from maxmargin.problems.kernels import Kernel, UserFunction, built_in, kernel_by_name
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
    support_: np.ndarray
    support_vectors_: Any
    intercept_: np.ndarray
    _kernel: Kernel | None
    _objects: Any

    def _prepare(self, data: Any) -> None:
        super()._prepare(data)
        refuse_bad_gram(self, data.points)
        self._kernel = make_kernel(self, data.points)

    def _points_of_kernel(self, points: Points) -> Points:
        """The points as the kernel takes them: a user's function gets the matrix as it is."""
        return points.narrow if built_in(self._kernel) else points

    @abstractmethod
    def _task_coefficients(self) -> np.ndarray:
        """The coefficients of the support vectors in every task, (n_support, n_tasks)."""

    def _scores_of_points(self, points: Points) -> np.ndarray:
        """f(x) of every task, (n, n_tasks), for predictions, by compiled exponentials; certificates use NumPy's."""
        support = self.support_ if self._kernel is None else self.support_vectors_
        scores = expansion_scores(
            self._kernel,
            points.matrix,
            support,
            self._task_coefficients(),
            n_threads=self._n_threads(),
            exponentiate=exponentiate,
        )
        found: np.ndarray = scores + self.intercept_
        return found

    def _certificate_seconds(self, tasks: Tasks) -> tuple[float, float]:
        per_entry = seconds_per_entry(self._kernel, tasks.points.narrow, self._n_threads())
        return SECONDS_PER_KERNEL_TASK * tasks.n_tasks, per_entry

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
