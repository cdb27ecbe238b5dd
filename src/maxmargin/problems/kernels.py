"""Mercer kernels, one class each: k(x, z) as an inner product in a feature space (theory B11)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn import config_context
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel, sigmoid_kernel

UNIT = 2.0**-53


class Kernel(Protocol):
    """What an algorithm asks of a kernel."""

    def gram(self, rows: Any, others: Any) -> np.ndarray:
        """k(x, z) for every row x and every other row z, in float64."""

    def diagonal(self, rows: Any) -> np.ndarray:
        """k(x, x) for every row."""

    def error(self, largest_norm: float, longest_row: int) -> float:
        """A bound on |computed - exact| of any entry of ``gram``, for rows of at most this norm and length."""


def _inner_error(largest_norm: float, longest_row: int) -> float:
    return 2.0 * (longest_row + 4) * UNIT * largest_norm**2


@dataclass(frozen=True)
class Linear:
    """k(x, z) = x·z"""

    def gram(self, rows: Any, others: Any) -> np.ndarray:
        return linear_kernel(rows, others, dense_output=True)

    def diagonal(self, rows: Any) -> np.ndarray:
        return _squared_norms(rows)

    def error(self, largest_norm: float, longest_row: int) -> float:
        return _inner_error(largest_norm, longest_row)


@dataclass(frozen=True)
class Polynomial:
    """k(x, z) = (gamma x·z + coef0)^degree"""

    gamma: float
    degree: float
    coef0: float

    def gram(self, rows: Any, others: Any) -> np.ndarray:
        return polynomial_kernel(rows, others, degree=self.degree, gamma=self.gamma, coef0=self.coef0)

    def diagonal(self, rows: Any) -> np.ndarray:
        return (self.gamma * _squared_norms(rows) + self.coef0) ** self.degree

    def error(self, largest_norm: float, longest_row: int) -> float:
        base = self.gamma * largest_norm**2 + abs(self.coef0)
        inner = self.gamma * _inner_error(largest_norm, longest_row) + 4.0 * UNIT * base
        return self.degree * (base + inner) ** max(0.0, self.degree - 1.0) * inner + 8.0 * UNIT * base**self.degree


@dataclass(frozen=True)
class RadialBasis:
    """k(x, z) = exp(-gamma ||x - z||²)"""

    gamma: float

    def gram(self, rows: Any, others: Any) -> np.ndarray:
        return rbf_kernel(rows, others, gamma=self.gamma)

    def diagonal(self, rows: Any) -> np.ndarray:
        return np.ones(rows.shape[0])

    def error(self, largest_norm: float, longest_row: int) -> float:
        # ||x||² - 2 x·z + ||z||² loses digits where x is near z; exp is 1-Lipschitz below 0.
        return 8.0 * self.gamma * _inner_error(largest_norm, longest_row) + 8.0 * UNIT


@dataclass(frozen=True)
class Sigmoid:
    """k(x, z) = tanh(gamma x·z + coef0); not positive semidefinite in general"""

    gamma: float
    coef0: float

    def gram(self, rows: Any, others: Any) -> np.ndarray:
        return sigmoid_kernel(rows, others, gamma=self.gamma, coef0=self.coef0)

    def diagonal(self, rows: Any) -> np.ndarray:
        return np.tanh(self.gamma * _squared_norms(rows) + self.coef0)

    def error(self, largest_norm: float, longest_row: int) -> float:
        return self.gamma * _inner_error(largest_norm, longest_row) + 8.0 * UNIT * (1.0 + abs(self.coef0))


@dataclass(frozen=True)
class UserFunction:
    """A user's function of two matrices that returns their gram matrix; its values are taken as exact."""

    function: Callable[[Any, Any], Any]

    def gram(self, rows: Any, others: Any) -> np.ndarray:
        values = np.asarray(self.function(rows, others), dtype=np.float64)
        if values.shape != (rows.shape[0], others.shape[0]):
            raise ValueError(
                f"kernel returned shape {values.shape}; for {rows.shape[0]} and {others.shape[0]} rows it must return "
                f"{(rows.shape[0], others.shape[0])}."
            )
        if not np.isfinite(values).all():
            raise ValueError("kernel returned values that are not finite.")
        return values

    def diagonal(self, rows: Any) -> np.ndarray:
        return np.array([self.gram(rows[[i]], rows[[i]])[0, 0] for i in range(rows.shape[0])])

    def error(self, largest_norm: float, longest_row: int) -> float:  # noqa: ARG002
        return 0.0


def gram_in_float64(kernel: Kernel, rows: Any, others: Any) -> np.ndarray:
    """Evaluate a kernel on validated rows, without checking them again, widened to float64 first."""
    with config_context(assume_finite=True):
        return np.asarray(kernel.gram(_widened(rows), _widened(others)), dtype=np.float64)


def _widened(rows: Any) -> Any:
    return rows if rows.dtype == np.float64 else rows.astype(np.float64)


def _squared_norms(rows: Any) -> np.ndarray:
    rows = _widened(rows)
    return np.vecdot(rows, rows) if isinstance(rows, np.ndarray) else np.asarray((rows * rows).sum(axis=1)).ravel()


def kernel_by_name(
    name: str | Callable[[Any, Any], Any], *, gamma: float, degree: float = 3, coef0: float = 0.0
) -> Kernel:
    """Make the kernel that a user named."""
    if callable(name):
        return UserFunction(name)
    makers: dict[str, Callable[[], Kernel]] = {
        "linear": Linear,
        "poly": lambda: Polynomial(gamma, degree, coef0),
        "rbf": lambda: RadialBasis(gamma),
        "sigmoid": lambda: Sigmoid(gamma, coef0),
    }
    return makers[name]()
