"""The linear system of a Newton step with the intercept eliminated.

    M = diag(own) + factor sum_i weights_i (x_i - m)(x_i - m)^T,   m the mean row in these weights.

The intercept that is best for every w makes up for the mean row: so columns far from zero do no harm.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from maxmargin.data import Points
from maxmargin.engine.threads import ThreadEngine
from maxmargin.loops.newton import hessian_diagonal, hessian_product
from maxmargin.solvers.core.hessian import gram_parts, preconditioned_conjugate_gradients, solved
from maxmargin.solvers.core.transposed_product import transposed_product

# Where w has no price the matrix may be singular: this share of how the columns vary is added to its diagonal
# (Marquardt), and this one of their squares, of which rounding leaves about as much in a column that does not vary.
DAMPING, DAMPING_OF_WHOLE = 1e-5, 1e-14
# A diagonal is not taken to be smaller than this share of what it is without m.
LEAST_OF_WHOLE = 1e-8
BLOCKS_OF_SUMS = 4


@dataclass(frozen=True)
class SchurComplement:
    """The matrix M, given by its parts.

    Attributes
    ----------
    points : Points
    blocks : ThreadEngine
    weights : ndarray of shape (n,)
    factor : float
    priced : bool
        Whether the length of w has a price: then ``own`` is one.
    has_intercept : bool
        Without an intercept m is zero.
    place : ndarray of shape (d,) or None
        Gradients and steps of the intercept are those of planes w·(x - place) + b.
    """

    points: Points
    blocks: ThreadEngine
    weights: np.ndarray
    factor: float
    priced: bool
    has_intercept: bool
    place: np.ndarray | None

    def factorised(self, gradient: np.ndarray, gradient_b: float) -> tuple[np.ndarray, float]:
        """Solve by Cholesky; return the steps of w and b."""
        everything = self._everything
        # Sparse rows stay as they are: to take the place from them would fill them.
        place = None if sp.issparse(self.points.matrix) else self.place
        parts = gram_parts(self.points, self.blocks, everything, self.weights, everything.size, place)
        gram = np.add.reduce(parts)
        total, inner = float(gram[-1, -1]), gram[:-1, :-1]
        mean = _quotient(gram[-1, :-1], total)
        varying = np.diag(inner) - total * np.square(mean)
        whole = np.diag(inner) + (0.0 if place is None else total * np.square(place))
        if self.has_intercept:
            inner -= np.outer(total * mean, mean)
        matrix = self.factor * inner
        places = np.diag_indices_from(matrix)
        matrix[places] += self._own(varying, whole)
        # With ones on its diagonal, what keeps a singular matrix definite is small for every column.
        roots = 1.0 / np.sqrt(np.maximum(matrix[places], np.finfo(float).tiny))
        matrix *= roots[:, None]
        matrix *= roots
        seen = mean if place is not None else self._from_place(mean)
        step = -roots * solved(matrix, roots * (gradient - gradient_b * seen))
        return step, self._step_b(step, seen, total, gradient_b)

    def conjugate_gradients(self, gradient: np.ndarray, gradient_b: float, forcing: float) -> tuple[np.ndarray, float]:
        """Solve until the residual has fallen to the share ``forcing``; return the steps of w and b."""
        everything, rows, size = self._everything, self.points.rows, gradient.size
        diagonal = np.zeros(size + 1)
        hessian_diagonal(rows, everything, self.weights, diagonal)
        whole, total = diagonal[:-1], float(diagonal[-1])
        mean = _quotient(transposed_product(self.points, self.blocks, self.weights), total)
        varying = np.maximum(whole - total * np.square(mean), LEAST_OF_WHOLE * whole)
        own = self._own(varying, whole)
        if not self.has_intercept:
            mean, varying = np.zeros(size), whole

        def times(direction: np.ndarray) -> np.ndarray:
            at_mean = float(mean @ direction)

            def of_block(first: int, last: int) -> np.ndarray:
                part = np.zeros(size + 1)
                hessian_product(rows, everything[first:last], self.weights, direction, -at_mean, part)
                return part

            image = np.add.reduce(self.blocks.each(everything.size, of_block, BLOCKS_OF_SUMS))
            return own * direction + self.factor * (image[:-1] - image[-1] * mean)

        preconditioner = 1.0 / (own + self.factor * varying)
        seen = self._from_place(mean)
        step, _ = preconditioned_conjugate_gradients(times, preconditioner, gradient - gradient_b * seen, forcing)
        return step, self._step_b(step, seen, total, gradient_b)

    @property
    def _everything(self) -> np.ndarray:
        return np.arange(self.points.n_rows, dtype=np.uint32)

    def _from_place(self, mean: np.ndarray) -> np.ndarray:
        return mean if self.place is None else mean - self.place

    def _own(self, varying: np.ndarray, whole: np.ndarray) -> np.ndarray:
        if self.priced:
            return np.ones(whole.size)
        damping = DAMPING * np.maximum(varying, 0.0) + DAMPING_OF_WHOLE * whole
        return self.factor * np.where(damping > 0.0, damping, 1.0)

    def _step_b(self, step: np.ndarray, mean: np.ndarray, total: float, gradient_b: float) -> float:
        if not self.has_intercept or total <= 0.0:
            return 0.0
        return -gradient_b / (self.factor * total) - float(mean @ step)


def _quotient(sums: np.ndarray, total: float) -> np.ndarray:
    return sums / total if total > 0.0 else np.zeros_like(sums)
