"""The matrix of weighted rows, M = diag(own) + factor sum weights_i (x_i, 1)(x_i, 1)^T, and systems with it."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from maxmargin.data import Points
from maxmargin.engine.threads import ThreadEngine
from maxmargin.loops.newton import hessian_diagonal, hessian_product, update_gram

# Matrices up to this size are factorised.
LARGEST_DIRECT = 2048
# Rows are gathered for BLAS in pieces of this many entries.
GATHERED_ENTRIES = 1 << 20
# The most floats that the blocks' own matrices may take together.
MATRIX_ENTRIES = 1 << 22
CONJUGATE_STEPS = 300
# How much faster BLAS multiplies than a loop does.
FASTER_BY_BLAS = 12.0
# A singular system is that of an intercept that no row holds; this keeps its step finite.
SLIGHT = 1e-12


@dataclass(frozen=True)
class HessianOperator:
    """The matrix M, given by its parts.

    Attributes
    ----------
    points : Points
    chosen : ndarray of uint32, the rows that count
    weights : ndarray of shape (n,), of all rows
    own : ndarray of shape (d + 1,), what M has on its diagonal without any row
    factor : float
    has_intercept : bool
        Whether the last unknown, the intercept's, is tied to the rows.
    """

    points: Points
    chosen: np.ndarray
    weights: np.ndarray
    own: np.ndarray
    factor: float
    has_intercept: bool

    def factorised(self, gradient: np.ndarray, gram: np.ndarray) -> np.ndarray:
        """Solve M step = -gradient by Cholesky, given the lower triangle of the weighted rows' products."""
        matrix = self.factor * gram
        if not self.has_intercept:
            matrix[-1, :-1] = 0.0
            matrix[-1, -1] = 0.0
        places = np.diag_indices_from(matrix)
        matrix[places] += self.own
        matrix[-1, -1] += SLIGHT * (1.0 + self.factor)
        return -solved(matrix, gradient)

    def conjugate_gradients(self, gradient: np.ndarray, blocks: ThreadEngine, forcing: float) -> tuple[np.ndarray, int]:
        """Solve M step = -gradient until the residual has fallen to the share ``forcing``; return the steps, too."""
        rows, chosen, weights, factor = self.points.rows, self.chosen, self.weights, self.factor
        of_rows = np.zeros(gradient.size)
        hessian_diagonal(rows, chosen, weights, of_rows)
        if not self.has_intercept:
            of_rows[-1] = 0.0
        preconditioner = 1.0 / (self.own + factor * of_rows + SLIGHT)

        def times(direction: np.ndarray) -> np.ndarray:
            def of_block(first: int, last: int) -> np.ndarray:
                part = np.zeros(direction.size)
                hessian_product(rows, chosen[first:last], weights, direction[:-1], direction[-1], part)
                return part

            image = np.add.reduce(blocks.each(chosen.size, of_block, 4))
            if not self.has_intercept:
                image[-1] = 0.0
            return self.own * direction + factor * image

        return preconditioned_conjugate_gradients(times, preconditioner, gradient, forcing)


def preconditioned_conjugate_gradients(
    times: Callable[[np.ndarray], np.ndarray], preconditioner: np.ndarray, gradient: np.ndarray, forcing: float
) -> tuple[np.ndarray, int]:
    """Solve M step = -gradient until the residual has fallen to the share ``forcing``; return the steps, too.

    ``times`` multiplies by M, and ``preconditioner`` is about the inverse of its diagonal.
    """
    result, residual = np.zeros_like(gradient), -gradient
    scaled = preconditioner * residual
    direction, square = scaled.copy(), float(residual @ scaled)
    goal = forcing**2 * square
    n_steps = 0
    while n_steps < CONJUGATE_STEPS and goal < square < math.inf:
        image = times(direction)
        bent = float(direction @ image)
        if not bent > 0.0:
            break
        length = square / bent
        result += length * direction
        residual -= length * image
        scaled = preconditioner * residual
        square, before = float(residual @ scaled), square
        direction = scaled + (square / before) * direction
        n_steps += 1
    return result, n_steps


def gram_parts(
    points: Points,
    blocks: ThreadEngine,
    chosen: np.ndarray,
    weights: np.ndarray,
    n_joining: int,
    place: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Matrices that add up to sum weights_i (x_i, 1)(x_i, 1)^T, in the lower triangle.

    The first ``n_joining`` of the chosen rows are added, the others are taken away. From dense rows a ``place`` can be
    taken first.
    """
    size = points.n_columns + 1

    def of_block(first: int, last: int) -> np.ndarray:
        part, n_added = chosen[first:last], max(0, n_joining - first)
        if sp.issparse(points.matrix):
            return _sparse_gram(points, part, weights, n_added)
        return _dense_gram(points, part, weights, n_added, place)

    return blocks.each(
        chosen.size,
        of_block,
        max(1, min(8, MATRIX_ENTRIES // size**2, 2 * chosen.size // size)),
    )


def _sparse_gram(points: Points, chosen: np.ndarray, weights: np.ndarray, n_joining: int) -> np.ndarray:
    part = np.zeros((points.n_columns + 1,) * 2)
    update_gram(points.rows, chosen, weights, n_joining, part)
    return part


def _dense_gram(
    points: Points, chosen: np.ndarray, weights: np.ndarray, n_joining: int, place: np.ndarray | None
) -> np.ndarray:
    """The same through BLAS, on rows gathered in pieces."""
    total = np.zeros((points.n_columns + 1,) * 2)
    size = max(1, GATHERED_ENTRIES // max(1, points.n_columns))
    for rows, sign in ((chosen[:n_joining], 1.0), (chosen[n_joining:], -1.0)):
        for start in range(0, rows.size, size):
            part = rows[start : start + size]
            root = np.sqrt(weights[part])
            gathered = np.empty((part.size, points.n_columns + 1))
            entries = points.matrix[part]
            np.multiply(entries if place is None else entries - place, root[:, None], out=gathered[:, :-1])
            gathered[:, -1] = root
            product = gathered.T @ gathered
            if sign > 0.0:
                total += product
            else:
                total -= product
    return total


def solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Cholesky on the lower triangle; where rounding has made it indefinite, with a little more on the diagonal."""
    extra = 0.0
    for _ in range(12):
        try:
            shifted = matrix + extra * np.eye(len(matrix)) if extra else matrix
            # LAPACK reads by columns: the lower triangle is the upper one to it.
            return cho_solve(cho_factor(shifted.T, lower=False, check_finite=False), right, check_finite=False)
        except LinAlgError:
            extra = max(10.0 * extra, 1e-12 * float(np.trace(matrix)))
    return right / np.maximum(1.0, np.diag(matrix))
