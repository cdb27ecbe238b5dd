"""The linear system of a Newton step: M = diag(1, rho) + factor sum weights_i (x_i, 1)(x_i, 1)^T over the free rows.

It is solved by Cholesky in the space of the columns, whose matrix is kept from step to step and updated by the rows
that became free or ceased to be; in the space of the rows, where few are free; or by conjugate gradients.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.data.rows import rows_of
from maxmargin.engine.threads import ThreadEngine
from maxmargin.loops.newton import compute_scores
from maxmargin.problems.linear_svm import LinearSVMProblem
from maxmargin.solvers.core.hessian import (
    CONJUGATE_STEPS,
    FASTER_BY_BLAS,
    LARGEST_DIRECT,
    SLIGHT,
    HessianOperator,
    gram_parts,
    solved,
)

# In the space of the rows the residual has to fall much further before the plane is near.
FINE_FORCING = 1e-8
# Below this factor, times the square of a row's length, the columns' space has no condition to speak of.
LARGE_FACTOR = 100.0
ROW_BLOCKS = 8
# Few rows that are filled more than this are multiplied faster when they are made dense.
DENSE_SHARE = 0.1
# They end when the residual has fallen to this share: a Newton step need not be exact.
FORCING = 1e-2
# How many steps to expect before any were made.
FEW_CONJUGATE_STEPS = 15


class NewtonSystem:
    """Solves M step = -gradient for changing sets of free rows.

    Parameters
    ----------
    problem : LinearSVMProblem
    blocks : ThreadEngine
    """

    def __init__(self, problem: LinearSVMProblem, blocks: ThreadEngine) -> None:
        self._problem, self._blocks = problem, blocks
        self._points = problem.points
        self._weights = problem.loss.weights
        self._by_columns = self._points.n_columns <= LARGEST_DIRECT
        self._gram: np.ndarray | None = None
        self._held: np.ndarray | None = None
        self._chosen = np.empty(0, dtype=np.uint32)
        self._n_conjugate = FEW_CONJUGATE_STEPS

    def choose(self, rows: np.ndarray) -> None:
        """State which rows can be free from now on."""
        self._chosen = rows
        self._held = None

    def solve(
        self, free: np.ndarray, factor: float, gradient: np.ndarray, gradient_b: float
    ) -> tuple[np.ndarray, float]:
        """Return the steps of w and b, given which of the chosen rows are free."""
        if self._by_columns and self._matrix_pays(free):
            system = self._weighted(self._chosen, factor)
            return self._split(system.factorised(self._whole(gradient, gradient_b), self._updated_gram(free)))
        chosen = self._chosen[free]
        if chosen.size <= min(LARGEST_DIRECT, self._points.n_columns) // 2 or self._rows_pay(chosen, factor):
            return self._through_rows(chosen, factor, gradient, gradient_b)
        return self._split(self._conjugate_gradients(chosen, factor, self._whole(gradient, gradient_b)))

    def _rows_pay(self, chosen: np.ndarray, factor: float) -> bool:
        """Whether conjugate gradients are better off in the rows' space: there, too, a large factor does not hurt."""
        sparse = sp.issparse(self._points.matrix)
        return sparse and chosen.size < self._points.n_columns and factor * self._points.typical_norm**2 > LARGE_FACTOR

    def _matrix_pays(self, free: np.ndarray) -> bool:
        """Whether to bring the matrix up to date and factorise it is less work than conjugate gradients."""
        n_free, size = np.count_nonzero(free), self._points.n_columns + 1
        n_new = n_free if self._held is None else min(n_free, np.count_nonzero(free != self._held))
        per_row = size if not sp.issparse(self._points.matrix) else self._points.entries_per_row * FASTER_BY_BLAS
        update = n_new * min(size, per_row) * self._points.entries_per_row / 2 + size**3 / 6
        return update / FASTER_BY_BLAS <= 2 * n_free * self._points.entries_per_row * self._n_conjugate

    def _whole(self, gradient: np.ndarray, gradient_b: float) -> np.ndarray:
        return np.append(gradient, gradient_b if self._problem.has_intercept else 0.0)

    def _split(self, step: np.ndarray) -> tuple[np.ndarray, float]:
        return step[:-1].copy(), float(step[-1]) if self._problem.has_intercept else 0.0

    def _diagonal(self) -> np.ndarray:
        """What M has without free rows; an intercept that is held at zero is left alone."""
        rho = self._problem.intercept_penalty
        return np.append(np.ones(self._points.n_columns), rho if self._problem.has_intercept else 1.0)

    def _weighted(self, chosen: np.ndarray, factor: float) -> HessianOperator:
        return HessianOperator(
            self._points, chosen, self._weights, self._diagonal(), factor, self._problem.has_intercept
        )

    def _updated_gram(self, free: np.ndarray) -> np.ndarray:
        """The lower triangle of sum weights_i (x_i, 1)(x_i, 1)^T over the free rows."""
        size = self._points.n_columns + 1
        if self._held is None or 2 * np.count_nonzero(free != self._held) > np.count_nonzero(free):
            self._gram, self._held = np.zeros((size, size)), np.zeros_like(free)
        gram = self._gram
        assert gram is not None
        changed = np.flatnonzero(free != self._held)
        signs = np.where(free[changed], 1.0, -1.0)
        # Rows that join come first, those that leave last.
        changed = changed[np.argsort(-signs, kind="stable")]
        chosen, n_joining = self._chosen[changed], int(np.count_nonzero(signs > 0.0))
        parts = gram_parts(self._points, self._blocks, chosen, self._weights, n_joining)
        for part in parts:
            gram += part
        self._held = free.copy()
        return gram

    def _through_rows(
        self, chosen: np.ndarray, factor: float, gradient: np.ndarray, gradient_b: float
    ) -> tuple[np.ndarray, float]:
        """Woodbury's identity for w, the intercept by elimination."""
        root = np.sqrt(factor * self._weights[chosen])
        rows = self._points.matrix[chosen]
        if sp.issparse(rows) and rows.nnz > DENSE_SHARE * chosen.size * rows.shape[1]:
            rows = rows.toarray()
        rows = sp.diags_array(root) @ rows if sp.issparse(rows) else rows * root[:, None]
        solve = self._inverse_of_products(rows)

        def inverse_times(right: np.ndarray) -> np.ndarray:
            return right - rows.T @ solve(rows @ right) if chosen.size else right

        step = -inverse_times(gradient)
        if not self._problem.has_intercept:
            return step, 0.0
        # What is left of the intercept's curvature, root·root - border·(inverse border), without the difference.
        held = solve(root) if chosen.size else root
        border, column = rows.T @ root, rows.T @ held
        curvature = max(float(root @ held) + self._problem.intercept_penalty, SLIGHT * (1.0 + factor))
        step_b = -(gradient_b + float(border @ step)) / curvature
        return step - step_b * column, step_b

    def _inverse_of_products(self, rows: Any) -> Callable[[np.ndarray], np.ndarray]:
        """What multiplies by the inverse of 1 + rows rows^T: Cholesky, or conjugate gradients for many rows."""
        if rows.shape[0] <= LARGEST_DIRECT // 2:
            product = rows @ rows.T
            product = product.toarray() if sp.issparse(product) else product
            product[np.diag_indices_from(product)] += 1.0
            return lambda right: solved(product, right)
        rows = sp.csr_array(rows)
        own, transposed = rows_of(rows), rows_of(sp.csr_array(rows.T))

        def times(direction: np.ndarray) -> np.ndarray:
            middle, image = np.empty(rows.shape[1]), np.empty(rows.shape[0])
            self._blocks.each(
                middle.size,
                lambda first, last: compute_scores(transposed, first, last, direction, 0.0, middle),
                ROW_BLOCKS,
            )
            self._blocks.each(
                image.size, lambda first, last: compute_scores(own, first, last, middle, 0.0, image), ROW_BLOCKS
            )
            return direction + image

        return lambda right: _conjugate(times, right)

    def _conjugate_gradients(self, chosen: np.ndarray, factor: float, gradient: np.ndarray) -> np.ndarray:
        result, n_steps = self._weighted(chosen, factor).conjugate_gradients(gradient, self._blocks, FORCING)
        self._n_conjugate = max(FEW_CONJUGATE_STEPS, n_steps)
        return result


def _conjugate(times: Callable[[np.ndarray], np.ndarray], right: np.ndarray) -> np.ndarray:
    """Conjugate gradients without a preconditioner, to nearly all digits that matter: what is left moves w."""
    result, residual = np.zeros_like(right), right.copy()
    direction, square = residual.copy(), float(residual @ residual)
    goal = FINE_FORCING * FINE_FORCING * square
    for _ in range(CONJUGATE_STEPS):
        if not goal < square < math.inf:
            break
        image = times(direction)
        length = square / float(direction @ image)
        result += length * direction
        residual -= length * image
        square, before = float(residual @ residual), square
        direction = residual + (square / before) * direction
    return result
