"""The Hessian of a linear model's objective as an operator, and three ways to solve systems with it.

    H = diag(penalties, intercept penalty) + factor sum_i weights_i (x_i, 1)(x_i, 1)^T

over some of the rows. Systems are solved by Cholesky's factorisation of H, by that of the Schur complement, in which
the intercept is eliminated, or by conjugate gradients on either of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from maxmargin.data import Points, as_dense
from maxmargin.data.exact_numbers import SMALLEST_NORMAL
from maxmargin.data.points import HasPoints
from maxmargin.engine import Block, Engine
from maxmargin.engine.buffers import empty
from maxmargin.loops.products import add_rows, compute_scores, hessian_diagonal, hessian_product, update_gram
from maxmargin.solvers.core.conjugate_gradients import ConjugateGradients

# Columns: matrices up to this size are factorised.
LARGEST_DIRECT = 2048
# Entries: dense rows are gathered for BLAS in pieces of this many, 8 MB.
GATHERED_ENTRIES = 1 << 20
# Fewer are gathered where rows are not long: their product takes much longer than adding it up from so many rows on.
FEWEST_ENTRIES, LEAST_GATHERED = 1 << 18, 1024
# Products: a Gram matrix of sparse rows is computed in pieces of this many, about 0.1 s, between checks of the limits.
GRAM_OPERATIONS = 1 << 27
# Entries: the most that the blocks' own Gram matrices may have together, 32 MB.
MATRIX_ENTRIES = 1 << 22
# Steps of conjugate gradients after which a Newton step is taken as it is.
MAX_CONJUGATE_STEPS = 300
# How much faster BLAS multiplies than a compiled loop does, as measured.
BLAS_SPEEDUP = 12.0
# Added to the intercept's curvature, relative to the factor: H is singular where no row determines the intercept.
INTERCEPT_SHIFT = 1e-12
# Where w is not penalised, H may be singular: these shares of the columns' variation (Marquardt) and of their squares,
# of which rounding leaves about as much in a constant column, are added to its diagonal.
DAMPING, DAMPING_OF_SQUARES = 1e-5, 1e-14
# The computed variation of a column is not taken to be smaller than this share of its squares.
LEAST_VARIATION = 1e-8


@dataclass(frozen=True)
class HessianOperator:
    """The matrix H, given by its parts.

    Attributes
    ----------
    engine : Engine
        Has the rows that are summed over, and their weights.
    weights : str
        The name of the vector of weights.
    factor : float
    is_penalised : bool
        Whether w has the penalty ||w||²/2: then ``penalties`` are ones, else a small damping.
    has_intercept : bool
    intercept_penalty : float, default=0.0
    offset : ndarray of shape (d,), optional
        For the Schur complement: gradients and steps of the intercept are those of w·(x - offset) + b.
    stopped : callable
        Whether the run is to end: conjugate gradients end where they are, and a step by a Gram matrix is undefined.
    """

    engine: Engine[HasPoints]
    weights: str
    factor: float
    is_penalised: bool
    has_intercept: bool
    intercept_penalty: float = 0.0
    offset: np.ndarray | None = None
    stopped: Callable[[], bool] = bool

    @property
    def _points(self) -> Points:
        return self.engine.problem.points

    # Products.

    def product(self, direction: np.ndarray, direction_b: float) -> np.ndarray:
        """Compute sum_i weights_i (x_i, 1) (x_i·direction + direction_b)."""
        return self.engine.sum(_product_of_block, self.weights, direction, direction_b)

    def diagonal(self) -> np.ndarray:
        """Compute the diagonal of sum_i weights_i (x_i, 1)(x_i, 1)^T."""
        return self.engine.sum(_diagonal_of_block, self.weights)

    # The whole system, the intercept's unknown being the last one. It needs a penalty on w.

    def solve_direct(self, gradient: np.ndarray, gram: np.ndarray) -> np.ndarray:
        """Solve H step = -gradient by Cholesky's factorisation, given the lower triangle of the rows' Gram matrix."""
        matrix = self.factor * gram
        if not self.has_intercept:
            matrix[-1, :-1] = 0.0
            matrix[-1, -1] = 0.0
        np.einsum("ii->i", matrix)[...] += self._own_diagonal
        matrix[-1, -1] += INTERCEPT_SHIFT * (1.0 + self.factor)
        return -solve_positive(matrix, gradient)

    def solve_iteratively(self, gradient: np.ndarray, forcing: float) -> tuple[np.ndarray, int]:
        """Solve H step = -gradient by conjugate gradients until the residual has fallen to the share ``forcing``.

        Returns
        -------
        step : ndarray of shape (d + 1,)
        n_steps : int
        """
        run = ConjugateGradients(self.image, -gradient, self.inverse_diagonal(self.diagonal()))
        return run.run(forcing, MAX_CONJUGATE_STEPS, self.stopped), run.n_steps

    def image(self, direction: np.ndarray) -> np.ndarray:
        """Compute H times a vector."""
        return self.image_of_sum(direction, self.product(direction[:-1], direction[-1]))

    def image_of_sum(self, direction: np.ndarray, total: np.ndarray) -> np.ndarray:
        """The same, given its sum over the rows."""
        if not self.has_intercept:
            total[-1] = 0.0
        found: np.ndarray = self._own_diagonal * direction + self.factor * total
        return found

    def inverse_diagonal(self, diagonal: np.ndarray) -> np.ndarray:
        """The inverse of H's diagonal, given its sum over the rows."""
        if not self.has_intercept:
            diagonal[-1] = 0.0
        return 1.0 / (self._own_diagonal + self.factor * diagonal + INTERCEPT_SHIFT)

    @cached_property
    def _own_diagonal(self) -> np.ndarray:
        """H without any row; an intercept that is held at zero has a one."""
        return np.append(np.ones(self._points.n_columns), self.intercept_penalty if self.has_intercept else 1.0)

    # The Schur complement: with m the mean row in these weights,
    #     S = diag(penalties) + factor sum_i weights_i (x_i - m)(x_i - m)^T,
    # so that columns far from zero do no harm. Without an intercept m is zero.

    def solve_schur_direct(self, gradient: np.ndarray, gradient_b: float) -> tuple[np.ndarray, float]:
        """Solve H step = -gradient by Cholesky's factorisation of S; return the steps of w and b."""
        # The offset is not subtracted from sparse rows: it would fill them.
        offset = None if self._points.is_sparse else self.offset
        gram = gram_matrix(self.engine, self.weights, offset, stopped=self.stopped)
        total, inner = float(gram[-1, -1]), gram[:-1, :-1]
        mean = _quotient(gram[-1, :-1], total)
        own = inner.diagonal()
        variation = own - total * np.square(mean)
        squares = own + (0.0 if offset is None else total * np.square(offset))
        if self.has_intercept:
            inner -= (total * mean)[:, None] * mean
        matrix = self.factor * inner
        diagonal = matrix.reshape(-1)[:: len(matrix) + 1]
        diagonal += self._penalties(variation, squares)
        # Scaled to a unit diagonal, so that the shift of a singular matrix is small for every column.
        scales = 1.0 / np.sqrt(np.maximum(diagonal, SMALLEST_NORMAL))
        matrix *= scales[:, None]
        matrix *= scales
        mean = mean if offset is not None else self._from_offset(mean)
        step = -scales * solve_positive(matrix, scales * (gradient - gradient_b * mean))
        return step, self._intercept_step(step, mean, total, gradient_b)

    def solve_schur_iteratively(
        self, gradient: np.ndarray, gradient_b: float, forcing: float
    ) -> tuple[np.ndarray, float]:
        """Solve the same by conjugate gradients until the residual has fallen to the share ``forcing``."""
        diagonal = self.diagonal()
        squares, total = diagonal[:-1], float(diagonal[-1])
        mean = _quotient(self.engine.sum(combination, self.weights), total)
        variation = np.maximum(squares - total * np.square(mean), LEAST_VARIATION * squares)
        penalties = self._penalties(variation, squares)
        if not self.has_intercept:
            mean, variation = np.zeros(gradient.size), squares

        def product(direction: np.ndarray) -> np.ndarray:
            image = self.product(direction, -float(mean @ direction))
            found: np.ndarray = penalties * direction + self.factor * (image[:-1] - image[-1] * mean)
            return found

        from_offset = self._from_offset(mean)
        run = ConjugateGradients(
            product, -(gradient - gradient_b * from_offset), 1.0 / (penalties + self.factor * variation)
        )
        step = run.run(forcing, MAX_CONJUGATE_STEPS, self.stopped)
        return step, self._intercept_step(step, from_offset, total, gradient_b)

    def _from_offset(self, mean: np.ndarray) -> np.ndarray:
        return mean if self.offset is None else mean - self.offset

    def _penalties(self, variation: np.ndarray, squares: np.ndarray) -> np.ndarray:
        if self.is_penalised:
            return np.ones(squares.size)
        damping = DAMPING * np.maximum(variation, 0.0) + DAMPING_OF_SQUARES * squares
        return self.factor * np.where(damping > 0.0, damping, 1.0)

    def _intercept_step(self, step: np.ndarray, mean: np.ndarray, total: float, gradient_b: float) -> float:
        if not self.has_intercept or total <= 0.0:
            return 0.0
        return -gradient_b / (self.factor * total) - float(mean @ step)


def fill_scores(block: Block[HasPoints], w: np.ndarray, b: float, name: str) -> None:
    """Compute the scores w·x_i + b of a block as the vector ``name``."""
    compute_scores(block.problem.points.rows, block.index, w, b, block[name])


def combination(block: Block[HasPoints], name: str) -> np.ndarray:
    """Compute X^T c of a block, with the vector ``name`` as c."""
    total = np.zeros(block.problem.points.n_columns)
    add_rows(block.problem.points.rows, block.index, block[name], total)
    return total


def _product_of_block(block: Block[HasPoints], weights: str, direction: np.ndarray, direction_b: float) -> np.ndarray:
    image = np.zeros(direction.size + 1)
    hessian_product(block.problem.points.rows, block.index, block[weights], direction, direction_b, image)
    return image


def _diagonal_of_block(block: Block[HasPoints], weights: str) -> np.ndarray:
    diagonal = np.zeros(block.problem.points.n_columns + 1)
    hessian_diagonal(block.problem.points.rows, block.index, block[weights], diagonal)
    return diagonal


def matrix_pays(points: Points, n_products: int) -> bool:
    """Whether the rows' Gram matrix, and its factorisation, are less work than so many products with the matrix."""
    size, entries = points.n_columns + 1, points.entries_per_row
    if size > LARGEST_DIRECT:
        return False
    per_row = 0.5 * entries * (entries if points.is_sparse else size / BLAS_SPEEDUP)
    answer: bool = points.n_rows * per_row + size**3 / BLAS_SPEEDUP <= 4.0 * points.n_rows * entries * n_products
    return answer


def gram_matrix(
    engine: Engine[HasPoints],
    weights: str,
    offset: np.ndarray | None = None,
    added: str | None = None,
    stopped: Callable[[], bool] = bool,
) -> np.ndarray:
    """Compute the lower triangle of sum_i weights_i (x_i, 1)(x_i, 1)^T.

    Where ``stopped()`` becomes true on the way, it is undefined.

    Parameters
    ----------
    engine : Engine
    weights : str
        The name of the vector of weights.
    offset : ndarray of shape (d,), optional
        Subtracted from dense rows first.
    added : str, optional
        The name of a vector that says which rows are added; the others are subtracted.
    stopped : callable
        Whether the run is to end.
    """
    size = engine.problem.points.n_columns + 1
    most = max(1, min(8, MATRIX_ENTRIES // size**2, 2 * engine.n_rows // size))
    # Blocks that lie elsewhere cannot ask.
    ask = stopped if engine.is_local else bool
    return engine.sum(_gram_of_block, weights, offset, added, ask, most=most)


def _gram_of_block(
    block: Block[HasPoints], weights: str, offset: np.ndarray | None, added: str | None, stopped: Callable[[], bool]
) -> np.ndarray:
    chosen = None if added is None else block[added]
    return signed_gram(block.problem.points, block.index, block[weights], chosen, offset, stopped)


def signed_gram(
    points: Points,
    index: np.ndarray,
    weights: np.ndarray,
    added: np.ndarray | None,
    offset: np.ndarray | None = None,
    stopped: Callable[[], bool] = bool,
) -> np.ndarray:
    """The Gram matrix of some rows; those that are not ``added`` are subtracted."""
    gram = np.zeros((points.n_columns + 1,) * 2)
    if not index.size:
        return gram
    if points.is_sparse:
        signed = weights if added is None else np.where(added, weights, -weights)
        size = int(max(1.0, GRAM_OPERATIONS / max(1.0, points.entries_per_row**2)))
        for start in range(0, index.size, size):
            if stopped():
                break
            update_gram(points.rows, index[start : start + size], signed[start : start + size], gram)
    elif added is None:
        _update_dense_gram(as_dense(points.matrix), index, weights, 1.0, gram, offset, stopped)
    else:
        for chosen, sign in ((added, 1.0), (~added, -1.0)):
            _update_dense_gram(as_dense(points.matrix), index[chosen], weights[chosen], sign, gram, offset, stopped)
    return gram


def _update_dense_gram(
    matrix: np.ndarray,
    index: np.ndarray,
    weights: np.ndarray,
    sign: float,
    gram: np.ndarray,
    offset: np.ndarray | None,
    stopped: Callable[[], bool],
) -> None:
    """Update the Gram matrix by BLAS, on rows gathered in pieces."""
    n_columns = matrix.shape[1]
    least, most = (entries // max(1, n_columns) for entries in (FEWEST_ENTRIES, GATHERED_ENTRIES))
    size = max(1, min(index.size, max(least, min(LEAST_GATHERED, most))))
    # The same memory for all pieces.
    all_gathered = empty(size * (n_columns + 1), np.float64).reshape(size, n_columns + 1)
    product: np.ndarray = np.empty_like(gram)
    for start in range(0, index.size, size):
        if stopped():
            break
        part = index[start : start + size]
        root = np.sqrt(weights[start : start + size])
        # Not np.take with a place to write to: fits of covtype took a tenth longer with it.
        gathered, entries = all_gathered[: part.size], matrix[part]
        np.multiply(entries if offset is None else entries - offset, root[:, None], out=gathered[:, :-1])
        gathered[:, -1] = root
        # Not SciPy's dsyrk, which adds to the matrix in its place: it holds the interpreter's lock.
        np.matmul(gathered.T, gathered, out=product)
        if sign > 0.0:
            gram += product
        else:
            gram -= product


def solve_positive(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve by Cholesky's factorisation of the lower triangle, shifted where rounding has made it indefinite."""
    shift = 0.0
    for _ in range(12):
        shifted = matrix + shift * np.eye(len(matrix)) if shift else matrix
        # LAPACK reads by columns: the lower triangle is the upper one to it. SciPy's functions around it take longer
        # than the factorisation of a small matrix.
        factor, order = dpotrf(shifted.T, lower=False, clean=False)
        if order == 0:
            solution: np.ndarray = dpotrs(factor, right, lower=False)[0]
            return solution
        shift = max(10.0 * shift, 1e-12 * float(np.trace(matrix)))
    return right / np.maximum(1.0, np.diag(matrix))


def _quotient(sums: np.ndarray, total: float) -> np.ndarray:
    return sums / total if total > 0.0 else np.zeros_like(sums)
