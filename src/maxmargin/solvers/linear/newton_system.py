"""The linear system of a Newton step of the SVM: H = diag(1, rho) + factor sum weights_i (x_i, 1)(x_i, 1)^T.

The sum is over the free rows, those whose duals are not at a bound. The system is solved by Cholesky's factorisation in
the space of the columns, whose Gram matrix is kept and updated by the rows that became free or ceased to be; in the
space of the rows, where few are free; or by conjugate gradients.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.data.rows import rows_of
from maxmargin.engine import ThreadEngine
from maxmargin.loops.newton import compute_scores
from maxmargin.problems.linear_svm import LinearSVMProblem
from maxmargin.solvers.core.conjugate_gradients import ConjugateGradients
from maxmargin.solvers.core.hessian import (
    BLAS_SPEEDUP,
    INTERCEPT_SHIFT,
    LARGEST_DIRECT,
    MAX_CONJUGATE_STEPS,
    HessianOperator,
    gram_parts,
    solve_positive,
)

# Conjugate gradients end when the residual has fallen to this share: a Newton step need not be exact. In the space of
# the rows it has to fall much further, because the step of w is a difference of two vectors.
FORCING, ROW_SPACE_FORCING = 1e-2, 1e-8
# Above this factor, times the squared length of a row, the system is ill-conditioned in the space of the columns.
LARGE_FACTOR = 100.0
# Blocks of rows in a product with the rows' Gram matrix.
ROW_BLOCKS = 8
# Sparse rows are made dense where more than this share of their entries is stored: BLAS is faster then.
DENSE_SHARE = 0.1
# The number of conjugate gradient steps that is expected at least.
EXPECTED_CONJUGATE_STEPS = 15


class NewtonSystem:
    """Solves H step = -gradient for changing sets of free rows.

    Parameters
    ----------
    problem : LinearSVMProblem
    engine : ThreadEngine
    """

    def __init__(self, problem: LinearSVMProblem, engine: ThreadEngine) -> None:
        self._problem, self._engine = problem, engine
        self._points = problem.points
        self._weights = problem.loss.weights
        self._by_columns = self._points.n_columns <= LARGEST_DIRECT
        self._gram: np.ndarray | None = None
        self._held: np.ndarray | None = None
        self._chosen = np.empty(0, dtype=np.uint32)
        self._n_conjugate = EXPECTED_CONJUGATE_STEPS

    def choose(self, rows: np.ndarray) -> None:
        """Set the working set: the rows that can be free from now on."""
        self._chosen = rows
        self._held = None

    def solve(
        self, free: np.ndarray, factor: float, gradient: np.ndarray, gradient_b: float
    ) -> tuple[np.ndarray, float]:
        """Return the steps of w and b, given which of the chosen rows are free."""
        if self._by_columns and self._matrix_pays(free):
            system = self._hessian(self._chosen, factor)
            return self._split(system.solve_direct(self._whole(gradient, gradient_b), self._updated_gram(free)))
        chosen = self._chosen[free]
        if chosen.size <= min(LARGEST_DIRECT, self._points.n_columns) // 2 or self._rows_pay(chosen, factor):
            return self._through_rows(chosen, factor, gradient, gradient_b)
        return self._split(self._conjugate_gradients(chosen, factor, self._whole(gradient, gradient_b)))

    def _rows_pay(self, chosen: np.ndarray, factor: float) -> bool:
        """Whether conjugate gradients converge faster in the space of the rows, where a large factor does no harm."""
        sparse = sp.issparse(self._points.matrix)
        return sparse and chosen.size < self._points.n_columns and factor * self._points.typical_norm**2 > LARGE_FACTOR

    def _matrix_pays(self, free: np.ndarray) -> bool:
        """Whether to update and factorise the matrix is less work than conjugate gradients."""
        n_free, size = np.count_nonzero(free), self._points.n_columns + 1
        n_new = n_free if self._held is None else min(n_free, np.count_nonzero(free != self._held))
        per_row = size if not sp.issparse(self._points.matrix) else self._points.entries_per_row * BLAS_SPEEDUP
        update = n_new * min(size, per_row) * self._points.entries_per_row / 2 + size**3 / 6
        return update / BLAS_SPEEDUP <= 2 * n_free * self._points.entries_per_row * self._n_conjugate

    def _whole(self, gradient: np.ndarray, gradient_b: float) -> np.ndarray:
        return np.append(gradient, gradient_b if self._problem.has_intercept else 0.0)

    def _split(self, step: np.ndarray) -> tuple[np.ndarray, float]:
        return step[:-1].copy(), float(step[-1]) if self._problem.has_intercept else 0.0

    def _hessian(self, rows: np.ndarray, factor: float) -> HessianOperator:
        problem = self._problem
        return HessianOperator(
            self._points,
            self._engine,
            rows,
            self._weights,
            factor,
            True,
            problem.has_intercept,
            problem.intercept_penalty,
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
        # Rows that are added come first.
        changed = changed[np.argsort(-signs, kind="stable")]
        chosen, n_added = self._chosen[changed], int(np.count_nonzero(signs > 0.0))
        parts = gram_parts(self._points, self._engine, chosen, self._weights, n_added)
        for part in parts:
            gram += part
        self._held = free.copy()
        return gram

    def _through_rows(
        self, chosen: np.ndarray, factor: float, gradient: np.ndarray, gradient_b: float
    ) -> tuple[np.ndarray, float]:
        """Solve by Woodbury's identity for w, with the intercept eliminated."""
        root = np.sqrt(factor * self._weights[chosen])
        rows = self._points.matrix[chosen]
        if sp.issparse(rows) and rows.nnz > DENSE_SHARE * chosen.size * rows.shape[1]:
            rows = rows.toarray()
        rows = sp.diags_array(root) @ rows if sp.issparse(rows) else rows * root[:, None]
        solve = self._inverse_of_gram(rows)

        def inverse_times(right: np.ndarray) -> np.ndarray:
            return right - rows.T @ solve(rows @ right) if chosen.size else right

        step = -inverse_times(gradient)
        if not self._problem.has_intercept:
            return step, 0.0
        # The Schur complement of the intercept, root·root - border·(inverse border), without the cancellation.
        held = solve(root) if chosen.size else root
        border, column = rows.T @ root, rows.T @ held
        curvature = max(float(root @ held) + self._problem.intercept_penalty, INTERCEPT_SHIFT * (1.0 + factor))
        step_b = -(gradient_b + float(border @ step)) / curvature
        return step - step_b * column, step_b

    def _inverse_of_gram(self, rows: Any) -> Callable[[np.ndarray], np.ndarray]:
        """Return the product with the inverse of 1 + rows rows^T: by Cholesky, or conjugate gradients for many rows."""
        if rows.shape[0] <= LARGEST_DIRECT // 2:
            product = rows @ rows.T
            product = product.toarray() if sp.issparse(product) else product
            product[np.diag_indices_from(product)] += 1.0
            return lambda right: solve_positive(product, right)
        rows = sp.csr_array(rows)
        own, transposed = rows_of(rows), rows_of(sp.csr_array(rows.T))

        def times(direction: np.ndarray) -> np.ndarray:
            middle, image = np.empty(rows.shape[1]), np.empty(rows.shape[0])
            self._engine.map(
                lambda first, last: compute_scores(transposed, first, last, direction, 0.0, middle),
                middle.size,
                ROW_BLOCKS,
            )
            self._engine.map(
                lambda first, last: compute_scores(own, first, last, middle, 0.0, image), image.size, ROW_BLOCKS
            )
            return direction + image

        return lambda right: ConjugateGradients(times, right).run(ROW_SPACE_FORCING, MAX_CONJUGATE_STEPS)

    def _conjugate_gradients(self, chosen: np.ndarray, factor: float, gradient: np.ndarray) -> np.ndarray:
        step, n_steps = self._hessian(chosen, factor).solve_iteratively(gradient, FORCING)
        self._n_conjugate = max(EXPECTED_CONJUGATE_STEPS, n_steps)
        return step
