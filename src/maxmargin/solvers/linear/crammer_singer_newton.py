"""The multiclass SVM of Crammer and Singer by a dual proximal-point method with semismooth Newton steps.

Outer step: with duals A and a step sigma, minimise the smooth, piecewise quadratic function of the coefficients V

    Phi = 1/2||W||² + rho/2||b||² + sum_i max_B (-B·z_i - ||B - A_i||²/(2 sigma)),   z_i = V (x_i, 1) - e_{y_i}
    P_i = projection of A_i - sigma z_i onto row i's feasible set
    gradient   (W, rho b) - sum_i P_i (x_i, 1)^T
    Hessian    diag(1, rho) + sigma sum_i J_i ⊗ (x_i, 1)(x_i, 1)^T,   J_i = I_F - 1_F 1_F^T / |F|

over the classes F of a row whose duals no bound holds, by Newton steps with an exact line search, then A <- P. It is
the method of ``newton`` for all classes at once. A step costs far more than an epoch, and needs no well-scaled columns.

X. Li, D. Sun, K. Toh, "A highly efficient semismooth Newton augmented Lagrangian method for solving Lasso problems",
2018, for the method.
"""

import math
from collections.abc import Iterator

import numpy as np
from scipy.linalg import LinAlgError

from maxmargin.data.blocks import row_blocks
from maxmargin.data.rows import as_dense
from maxmargin.engine import Threads
from maxmargin.loops.newton_run import FEW_STEPS, GRADIENT_SHARE, INNER_STEPS
from maxmargin.problems.crammer_singer import CrammerSingerProblem
from maxmargin.solvers.core import Monitor, Options, Result, StallTest, Status, solver, stage
from maxmargin.solvers.core.cholesky import positive_inverse
from maxmargin.solvers.core.hessian import BLAS_SPEEDUP, LARGEST_DIRECT
from maxmargin.solvers.linear.line_search import root_along

# Outer steps without progress after which the run has stalled.
PATIENCE = 8
# sigma grows by this factor after an outer step of few Newton steps, and is halved after one of most.
GROWTH = 4.0
# The share of the mean diagonal that is added to the Hessian: it is singular where all intercepts move together.
SHIFT = 1e-13
# Operations that take as long as what a Newton step costs apart from its sums, and as one product of small matrices.
STEP_OVERHEAD, PRODUCT_OVERHEAD = 2e6, 2e4


def is_possible(problem: CrammerSingerProblem) -> bool:
    """Whether the Hessian is small enough to be factorised."""
    answer: bool = problem.n_classes * (problem.points.n_columns + 1) <= LARGEST_DIRECT
    return answer


def work_of_step(problem: CrammerSingerProblem) -> float:
    """About the operations of a compiled loop that take as long as one Newton step."""
    n_classes, width = problem.n_classes, problem.points.n_columns + 1
    pairs = 0.5 * n_classes * (n_classes + 1)
    products = pairs * (2.0 * problem.points.n_rows * width**2 / BLAS_SPEEDUP + PRODUCT_OVERHEAD)
    value: float = products + (n_classes * width) ** 3 / (3.0 * BLAS_SPEEDUP) + STEP_OVERHEAD
    return value


@solver()
def solve(
    problem: CrammerSingerProblem, options: Options, monitor: Monitor, start: Result[np.ndarray]
) -> Result[np.ndarray]:
    """Run from the incumbents of ``start``, which is continued, until the relative gap is at most ``tol``."""
    with Threads(1) as threads:
        run = _NewtonRun(problem, options, monitor, start, threads)
        run.best.status = run.run()
    return run.best


class _NewtonRun:
    """The state of a run: the coefficients V of shape (d + 1, n_classes), scores z, proximal centres A and duals P."""

    checkpointed = ("V", "z", "centers", "sigma", "best", "stall", "n_outer", "stalled")
    outcome = ("best",)

    def __init__(
        self,
        problem: CrammerSingerProblem,
        options: Options,
        monitor: Monitor,
        best: Result[np.ndarray],
        threads: Threads,
    ) -> None:
        self.problem, self.options, self.monitor, self.best = problem, options, monitor, best
        self._threads = threads
        points = problem.points
        self._bounds = problem.box_bounds()
        self._counted = np.flatnonzero(self._bounds > 0.0)
        # With free intercepts rows may be taken from any point, here from their mean: better conditioned.
        self._offset = np.zeros(points.n_columns)
        if problem.has_free_intercept:
            self._offset = points.combination(problem.weights) / float(problem.weights.sum())
        rho = problem.intercept_penalty if problem.has_intercept else 1.0
        self._penalties = np.append(np.ones(points.n_columns), rho)
        w = np.ascontiguousarray(best.w.T)
        self.V = np.vstack([w, best.intercept + self._offset @ w])
        self.centers = best.beta.copy()
        self.z = self._scores(self.V)
        self.z[problem.own] -= 1.0
        # A unit of scores then moves duals by their typical bound.
        self.sigma = float(np.median(self._bounds[self._counted]))
        self.stall, self.n_outer, self.stalled = StallTest(PATIENCE, dual_factor=math.inf), 0, False

    @stage
    def run(self) -> Status:
        """Outer steps until the gap is small, the run has stalled, or a limit is reached."""
        while True:
            self.monitor.checkpoint(self)
            status = self.monitor.check_termination(self.best, self.options, "outer step", stalled=self.stalled)
            if status is not None:
                return status
            try:
                inner, P = self._minimise()
            except LinAlgError:
                # The squares of the rows differ by more than float64 holds.
                return self.monitor.status_at_end(self.best, self.options)
            self.centers = P
            self.n_outer += 1
            if inner < FEW_STEPS:
                self.sigma *= GROWTH
            elif inner >= INNER_STEPS:
                self.sigma *= 0.5
            self.stalled = self.stall.update(self.best, self.n_outer)

    def _minimise(self) -> tuple[int, np.ndarray]:
        """Newton steps on Phi; return their number, and the duals."""
        for inner in range(INNER_STEPS + 1):
            P = self._project(self.centers - self.sigma * self.z)
            gradient = self._penalties[:, None] * self.V - self._combination(P)
            if not self.problem.has_intercept:
                gradient[-1] = 0.0
            self._update_incumbents(P)
            moved = float(np.linalg.norm(P - self.centers)) / math.sqrt(self.sigma)
            is_small = float(np.linalg.norm(gradient)) <= GRADIENT_SHARE * moved
            done = self.best.check_goal(self.options) is not None
            if done or inner == INNER_STEPS or (inner and is_small):
                break
            if self.monitor.check_work(self.best.n_iter, self.options) is not None:
                break
            self._newton_step(P, gradient)
        return inner, P

    def _newton_step(self, P: np.ndarray, gradient: np.ndarray) -> None:
        """Move V to the minimum of Phi along a Newton step."""
        hessian = self._hessian(P)
        inverse = positive_inverse(hessian, self._threads, self.monitor.must_stop)
        step = -inverse(gradient.T.ravel()).reshape(gradient.shape[::-1]).T
        if not np.isfinite(step).all():
            raise LinAlgError
        changes = self._scores(step)
        linear = float(np.vdot(self._penalties[:, None] * self.V, step))
        quadratic = float(np.vdot(self._penalties[:, None] * step, step))

        def derivative(t: float) -> float:
            duals = self._project(self.centers - self.sigma * (self.z + t * changes))
            return linear + t * quadratic - float(np.vdot(duals, changes))

        length = root_along(derivative, float(np.vdot(gradient, step)), derivative(1.0))
        self.V += length * step
        self.z += length * changes
        self.best.n_iter += 1

    def _hessian(self, P: np.ndarray) -> np.ndarray:
        """The Hessian of Phi, with the coefficients of one class together."""
        problem, width = self.problem, self._penalties.size
        size = problem.n_classes * width
        hessian = np.zeros((size, size))
        free = P < 0.0
        free[problem.own] = P[problem.own] < self._bounds
        n_free = np.count_nonzero(free, axis=1)
        for part, rows in self._augmented_rows(np.flatnonzero((n_free > 1) & (self._bounds > 0.0))):
            for m in range(problem.n_classes):
                of_m = np.flatnonzero(free[part, m])
                if of_m.size:
                    self._add_products(hessian, m, rows[of_m], free[part[of_m]], n_free[part[of_m]])
        hessian *= self.sigma
        diagonal = np.einsum("ii->i", hessian)
        diagonal += np.tile(self._penalties, problem.n_classes)
        # Where the intercepts have no curvature of their own, all of them can move together.
        diagonal += SHIFT * np.tile(
            np.append(np.zeros(width - 1), diagonal[width - 1 :: width].max()), problem.n_classes
        )
        return hessian

    def _add_products(
        self, hessian: np.ndarray, m: int, rows: np.ndarray, free: np.ndarray, n_free: np.ndarray
    ) -> None:
        """Add, for class m and those before it, what rows with a free dual of class m give; the lower triangle only."""
        width = rows.shape[1]
        scaled = rows / n_free[:, None]
        own = slice(m * width, (m + 1) * width)
        hessian[own, own] += rows.T @ (rows - scaled)
        for k in range(m):
            both = np.flatnonzero(free[:, k])
            if both.size:
                hessian[own, k * width : (k + 1) * width] -= scaled[both].T @ rows[both]

    def _augmented_rows(self, chosen: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Chosen rows from the offset, with a last column of ones, in pieces: their numbers, and a dense matrix."""
        matrix = self.problem.points.matrix
        for piece in row_blocks(chosen.size, self._penalties.size):
            part = chosen[piece]
            rows = as_dense(matrix[part])
            last = np.full((part.size, 1), float(self.problem.has_intercept))
            yield part, np.hstack([rows.astype(np.float64) - self._offset, last])

    def _project(self, targets: np.ndarray) -> np.ndarray:
        """The duals that are nearest to the targets: B_im <= 0 for other classes, B_iy <= C c_i, sum zero.

        Without the bound of the own class, minus the duals are a point of the simplex of size C c_i: the projection is
        that of Held, Wolfe and Crowder, "Validation of subgradient optimization", 1974.
        """
        heights = -targets
        heights[self.problem.own] += self._bounds
        ordered = -np.sort(-heights, axis=1)
        counts = np.arange(1, heights.shape[1] + 1)
        shifts = (np.cumsum(ordered, axis=1) - self._bounds[:, None]) / counts
        n_free = np.count_nonzero(ordered > shifts, axis=1)
        shift = shifts[np.arange(n_free.size), np.maximum(n_free, 1) - 1]
        duals: np.ndarray = -np.maximum(heights - shift[:, None], 0.0)
        duals[self.problem.own] += self._bounds
        return duals

    def _scores(self, V: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.problem.points.scores(V[:-1]) + (V[-1] - self._offset @ V[:-1])
        return found

    def _combination(self, B: np.ndarray) -> np.ndarray:
        """sum_i (x_i - offset, 1) B_i, of shape (d + 1, n_classes)."""
        totals = B.sum(axis=0)
        return np.vstack([self.problem.coefficients(B).T - np.outer(self._offset, totals), totals])

    def _update_incumbents(self, P: np.ndarray) -> None:
        problem, V = self.problem, self.V
        W, b = V[:-1].T, V[-1] - self._offset @ V[:-1]
        scores = self.z.copy()
        scores[problem.own] += 1.0
        b = b if problem.has_intercept else np.zeros_like(b)
        primal = problem.primal_value(W, b, scores)
        self.best.update_incumbent(primal, W, b)
        duals = problem.feasible(P)
        dual = problem.dual_value(duals, problem.coefficients(duals))
        if dual > self.best.dual:
            self.best.dual, self.best.beta = dual, duals
