"""Newton's method for multinomial logistic regression, with a line search.

    minimise 1/2 ||W||² + C sum_i c_i (log sum_k exp(f_k(x_i)) - f_y(x_i))

The Hessian has the blocks C sum_i c_i p_ik (1[k = l] - p_il) (x_i, 1)(x_i, 1)^T. Small systems are solved directly,
others by conjugate gradients, whose products with the Hessian take two products with X (Lin, Weng, Keerthi, "Trust
region Newton method for large-scale logistic regression", 2008). Their preconditioner is the Hessian with the mean of
diag p_i - p_i p_i^T in place of that of every row, a Kronecker product, whose factors are decomposed.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv

from maxmargin.data import as_dense, centred
from maxmargin.data.blas import one_blas_thread
from maxmargin.data.interruption import InterruptedPassError, ending_when
from maxmargin.data.rows import Matrix, is_sparse
from maxmargin.engine import Block, MemoryEngine, Threads
from maxmargin.loops.logistic_run import COARSE_FORCING, FINE_FORCING
from maxmargin.loops.multinomial import evaluate_classes, loss_along
from maxmargin.loops.multinomial_run import ARMIJO_SHARE, DIAGONAL_SHARE, MAX_HALVINGS
from maxmargin.problems.logistic import certified_radius
from maxmargin.problems.multinomial import MultinomialProblem
from maxmargin.solvers.core import Monitor, Options, Result, StallTest, Status, solver, stage
from maxmargin.solvers.core.conjugate_gradients import ConjugateGradients
from maxmargin.solvers.core.hessian import MAX_CONJUGATE_STEPS
from maxmargin.solvers.regression import small_multinomial
from maxmargin.solvers.regression.logistic import gap_to_reach

# Unknowns of the largest systems that are solved directly: about as many as conjugate gradients take products. Those of
# a problem with a penalty are preconditioned better, and take a dozen or two.
MOST_DIRECT_UNKNOWNS, MOST_DIRECT_WITHOUT_PENALTY = 96, 320
# The Gram matrix of the columns, and its eigenvalues, may take as long as about so many products with the Hessian.
PRODUCTS_PER_GRAM = 32
# Entries of the rows, times the classes, that are multiplied at a time.
PIECE_ENTRIES = 1 << 18
# The residual that conjugate gradients leave in the first steps with the mean Hessian, as a share: these solves are so
# short that more Newton steps take less (measured).
FIRST_FORCING = 0.5
# The least eigenvalue of the classes' matrix in the preconditioner, as a share of its largest.
LEAST_CURVATURE = 1e-3
# A gradient of this share of the one that is small enough ends a run: directions are no more exact than that takes.
SHARE_OF_GOAL = 0.5
# Steps without a smaller gap after which the run has stalled, and steps in which it must be halved.
PATIENCE, HALVING_PATIENCE = 6, 100


@solver()
def solve(
    problem: MultinomialProblem, options: Options, monitor: Monitor, start: Result[np.ndarray] | None = None
) -> Result[np.ndarray]:
    """Make Newton steps until the relative gap is at most ``tol``, or without a penalty all rows are separated."""
    options = replace(options, tol=gap_to_reach(options.tol, problem))
    quiet = np.errstate(over="ignore", invalid="ignore", under="ignore")
    with quiet, one_blas_thread(), Threads(options.n_threads) as threads:
        n_unknowns = problem.n_classes * (problem.points.n_columns + problem.fit_intercept)
        is_small = n_unknowns <= small_multinomial.MOST_UNKNOWNS and problem.is_penalised and options.max_iter > 0
        rows = problem.points.small_rows if is_small else None
        if rows is not None:
            start = initial_result(problem, start)
            status = small_multinomial.run(problem, rows, options, monitor, start)
            if status is not None:
                start.status = status
                return start
        run = MultinomialRun(problem, options, monitor, threads, start)
        run.best.status = run.run()
        return run.best


def initial_result(problem: MultinomialProblem, start: Result[np.ndarray] | None) -> Result[np.ndarray]:
    """Begin at the coefficients of ``start``, or at zero with the best intercepts there."""
    if start is None:
        w = np.zeros((problem.n_classes, problem.points.n_columns))
        return Result(w, problem.initial_intercepts(), np.empty(0))
    return Result(start.w.astype(np.float64), np.asarray(start.intercept, dtype=np.float64), np.empty(0))


class MultinomialRun:
    """The iterate (W, b) with its scores, probabilities, gradient and gap.

    With the best intercepts for W the gap is half the squared norm of the gradient; what the intercepts lack is
    estimated from their part of the gradient. Without a penalty the gap holds up to a norm of the coefficients.
    """

    checkpointed: ClassVar[tuple[str, ...]] = ("W", "b", "engine.scores", "best", "stall", "n_steps")
    outcome: ClassVar[tuple[str, ...]] = ("best",)

    def __init__(
        self,
        problem: MultinomialProblem,
        options: Options,
        monitor: Monitor,
        threads: Threads,
        start: Result[np.ndarray] | None,
    ) -> None:
        self.original, self.options, self.monitor = problem, options, monitor
        self.centring = centred(problem.points, may_move=problem.fit_intercept, weights=problem.weights)
        K, d = problem.n_classes, problem.points.n_columns
        self.problem = MultinomialProblem(
            self.centring.points, problem.codes, problem.weights, K, problem.C, problem.fit_intercept
        )
        self.W = np.zeros((K, d)) if start is None else start.w.astype(np.float64)
        if start is None:
            # Without a single step the model is that of the start.
            self.b = problem.initial_intercepts() if options.max_iter > 0 else np.zeros(K)
        else:
            self.b = start.intercept + self.W @ self.centring.centre
        self.best: Result[np.ndarray] = Result(self.W.copy(), self.b.copy(), np.empty(0))
        self.engine = MemoryEngine(self.problem, threads)
        for name in ("scores", "changes", "probabilities", "derivatives"):
            self.engine[name] = np.zeros((problem.codes.size, K))
        # The probabilities again, one class after the other, as products with the Hessian read them.
        self.engine["shares"] = np.empty((K, problem.codes.size)).T
        self.engine["codes"], self.engine["weights"] = problem.codes, problem.weights
        if self.W.any():
            self.engine.map(_fill_scores, self.W, "scores")
        self.factor = problem.loss_factor
        self.stall = StallTest(
            PATIENCE, gap_factor=0.99, dual_factor=math.inf, gap_share=1e-2, halving_patience=HALVING_PATIENCE
        )
        self.n_steps = 0

    @stage
    def run(self) -> Status:
        """Make steps until there is a reason to stop; a limit also ends a step between two blocks of rows."""
        try:
            with ending_when(self.monitor.must_stop):
                return self._make_steps()
        except InterruptedPassError:
            return self.monitor.status_at_end(self.best, self.options)

    def _make_steps(self) -> Status:
        while True:
            self.monitor.checkpoint(self)
            status = self.evaluate()
            if status is not None:
                return status
            direction, direction_b = self.newton_direction()
            self.search(direction, direction_b)
            self.n_steps += 1
            self.best.n_iter += 1

    def evaluate(self) -> Status | None:
        """Compute objective, gradient and gap; return why to stop, if there is a reason."""
        problem = self.problem
        parts = self.engine.map(_evaluate, self.b)
        self.loss, smallest = math.fsum(part[0] for part in parts), min(part[1] for part in parts)
        self.intercept_hessian = self._hessian_of_intercepts()
        combined = self.engine.sum(_combine, "derivatives")
        totals = self.engine["derivatives"].sum(axis=0)
        self.gradient_b = -self.factor * totals if problem.fit_intercept else np.zeros_like(self.b)
        if problem.is_penalised:
            self.gradient = self.W - self.factor * combined
            self.primal = 0.5 * float(np.vdot(self.W, self.W)) + self.factor * self.loss
            gap = 0.5 * float(np.vdot(self.gradient, self.gradient))
        else:
            self.gradient, self.primal = -combined, self.loss
            gap = self.gap_within_reach(combined)
        dual = max(0.0, self.primal - gap - self.intercept_gap())
        if self.primal - dual <= self.best.primal - self.best.dual or self.primal < self.best.primal:
            intercept = self.b - self.W @ self.centring.centre
            intercept = intercept - np.add.reduce(intercept) / intercept.size if problem.fit_intercept else intercept
            # The same vector added to all w_k changes no probability: their mean is zero in the solution.
            self.best.w, self.best.intercept = self.W - np.add.reduce(self.W) / len(self.W), intercept
            self.best.primal, self.best.dual = self.primal, dual
        if not problem.is_penalised and smallest > 0.0:
            self.monitor.record(self.best)
            return Status.SEPARABLE
        iterate: Result[np.ndarray] = Result(self.W, self.b, self.best.beta, self.primal, dual)
        stalled = self.stall.update(iterate, self.n_steps)
        return self.monitor.check_termination(self.best, self.options, "Newton step", stalled=stalled)

    def gap_within_reach(self, combined: np.ndarray) -> float:
        """The gap among coefficients up to a norm, where they are not penalised."""
        columns = self.problem.columns
        varying = columns.deviations > 0.0
        length = float(np.linalg.norm(combined[:, varying] / columns.deviations[varying]))
        reach = certified_radius(self.W.ravel(), np.tile(columns.deviations, self.problem.n_classes))
        return reach * length - float((self.W * combined).sum())

    def intercept_gap(self) -> float:
        """Estimate how much smaller the objective is at the best intercepts for W."""
        if not self.problem.fit_intercept or not self.gradient_b.any():
            return 0.0
        hessian = self.intercept_hessian
        # The same constant in all intercepts changes nothing: it makes the system definite.
        _, step, failed = dposv(hessian + hessian.trace() / hessian.size, self.gradient_b)
        if failed or not np.isfinite(step).all():
            step = np.linalg.lstsq(hessian, self.gradient_b, rcond=1e-12)[0]
        return max(0.0, float(step @ self.gradient_b))

    def _hessian_of_intercepts(self) -> np.ndarray:
        """C sum_i c_i (diag p_i - p_i p_i')."""
        shares = self.engine["shares"].T
        weighted = shares * self.engine["weights"]
        found: np.ndarray = self.factor * (np.diag(weighted.sum(axis=1)) - weighted @ shares.T)
        return found

    @cached_property
    def points_of_hessian(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Rows of small dense data, with a column of ones for the intercepts, and their outer products."""
        points, size = self.problem.points, self.W.shape[1] + self.problem.fit_intercept
        if points.is_sparse or points.n_rows * size * max(size, len(self.W)) > PIECE_ENTRIES:
            return None
        rows = np.ones((points.n_rows, size))
        rows[:, : points.n_columns] = points.matrix
        return rows, (rows[:, :, None] * rows[:, None, :]).reshape(points.n_rows, -1)

    # Newton directions. The unknowns are an array (n_classes, d + 1), or (n_classes, d) without intercepts.

    def newton_direction(self) -> tuple[np.ndarray, np.ndarray]:
        """Solve H step = -gradient."""
        K, d = self.W.shape
        intercepts, is_penalised = self.problem.fit_intercept, self.problem.is_penalised
        gradient = np.hstack([self.gradient, self.gradient_b[:, None]]) if intercepts else self.gradient
        is_small = gradient.size <= (MOST_DIRECT_UNKNOWNS if is_penalised else MOST_DIRECT_WITHOUT_PENALTY)
        step = self.solve_directly(gradient) if is_small else self.solve_iteratively(gradient)
        return (step[:, :d], step[:, d]) if intercepts else (step, np.zeros(K))

    def solve_directly(self, gradient: np.ndarray) -> np.ndarray:
        """Factorise the Hessian."""
        K, size = gradient.shape
        few = self.points_of_hessian
        if few is None:
            hessian = self.engine.sum(_hessian, size, most=8)
        else:
            hessian = _hessian_of_few_rows(self.engine["probabilities"], self.engine["weights"], *few)
        hessian *= self.factor
        diagonal = hessian.diagonal().copy()
        penalised = np.zeros((K, size))
        if self.problem.is_penalised:
            penalised[:, : self.W.shape[1]] = 1.0
        hessian.flat[:: len(hessian) + 1] += penalised.ravel() + DIAGONAL_SHARE * (diagonal + diagonal.mean() + 1e-300)
        # The same vector added to all w_k, or constant to all b_k, does not change the losses.
        means = diagonal.reshape(K, size).mean(axis=0) / K
        four = hessian.reshape(K, size, K, size)
        for j in np.flatnonzero(penalised[0] == 0.0):
            four[:, j, :, j] += means[j]
        _, step, failed = dposv(hessian, -gradient.ravel(), lower=True)
        if failed or not np.isfinite(step).all():
            step = -gradient.ravel() / (penalised.ravel() + diagonal + 1e-12 * diagonal.max() + 1e-300)
        found: np.ndarray = step.reshape(gradient.shape)
        return found

    def solve_iteratively(self, gradient: np.ndarray) -> np.ndarray:
        """Preconditioned conjugate gradients."""
        d = self.W.shape[1]
        penalised = np.zeros(gradient.shape)
        if self.problem.is_penalised:
            penalised[:, :d] = 1.0

        def image(vector: np.ndarray) -> np.ndarray:
            direction = vector.reshape(gradient.shape)
            product = self.engine.sum(_hessian_product, direction, d)
            found: np.ndarray = (self.factor * product + penalised * direction).ravel()
            return found

        relative = self.best.relative_gap
        coarse = COARSE_FORCING if self.moments is None else FIRST_FORCING
        forcing = min(coarse, max(FINE_FORCING, math.sqrt(relative))) if relative < 1.0 else coarse
        if self.problem.is_penalised:
            length = math.sqrt(float(np.vdot(gradient, gradient)))
            wanted = SHARE_OF_GOAL * math.sqrt(2.0 * self.options.tol * self.primal) / length
            forcing = min(coarse, max(forcing, wanted))
        run = ConjugateGradients(image, -gradient.ravel(), self.preconditioner(penalised))
        step = run.run(forcing, MAX_CONJUGATE_STEPS, self.monitor.must_stop)
        return np.asarray(step).reshape(gradient.shape)

    def preconditioner(self, penalised: np.ndarray) -> np.ndarray | Callable[[np.ndarray], np.ndarray]:
        """The inverse of the mean Hessian, or else of the Hessian's diagonal."""
        if self.moments is not None:
            return _MeanHessian(self.intercept_hessian, self.moments, penalised.shape).solve
        diagonal = self.factor * self.engine.sum(_diagonal, penalised.shape[1]) + penalised
        return np.asarray(1.0 / np.maximum(diagonal, 1e-12 * diagonal.max() + 1e-300).ravel())

    @cached_property
    def moments(self) -> "_Moments | None":
        """The columns' moments, where they are few and the mean Hessian has a penalty."""
        (K, d), n_rows = self.W.shape, self.problem.points.n_rows
        if not self.problem.is_penalised or d * (1.0 + 10.0 * d / n_rows) > 2 * K * PRODUCTS_PER_GRAM:
            return None
        total = float(self.problem.weights.sum())
        means = self.engine.sum(_column_sums) / total if self.problem.fit_intercept else np.zeros(d)
        squares, axes = np.linalg.eigh(self.engine.sum(_gram, means, most=8) / total)
        return _Moments(means, np.maximum(squares, 0.0), axes)

    def search(self, direction: np.ndarray, direction_b: np.ndarray) -> None:
        """Halve the step until the objective falls enough; then take it."""
        self.engine.map(_fill_scores, direction, "changes")
        derivative = float(np.vdot(self.gradient, direction) + self.gradient_b @ direction_b)
        pairs = (self.W, self.W), (self.W, direction), (direction, direction)
        squares = [float(np.vdot(*pair)) for pair in pairs]
        t = 1.0
        for _ in range(MAX_HALVINGS):
            loss = math.fsum(self.engine.map(_loss_along, self.b + t * direction_b, t))
            value = self.factor * loss
            if self.problem.is_penalised:
                value += 0.5 * (squares[0] + 2.0 * t * squares[1] + t * t * squares[2])
            # Near the optimum the decrease is a rounding error.
            if value <= self.primal + ARMIJO_SHARE * t * derivative + 1e-14 * abs(self.primal):
                break
            t *= 0.5
        self.W += t * direction
        self.b = self.b + t * direction_b
        self.engine["scores"] += t * self.engine["changes"]


class _Moments(NamedTuple):
    """Means of the columns, and the eigenvalues and eigenvectors of their covariance matrix; weighted as the rows."""

    means: np.ndarray
    squares: np.ndarray
    axes: np.ndarray


class _MeanHessian:
    """The Hessian with the mean of C c_i (diag p_i - p_i p_i^T), of all rows, in place of that of every row.

    It is a Kronecker product with the second moments of the columns. Around their means the intercepts, which are not
    penalised, are independent of the coefficients; in both factors' eigenvectors the matrix is diagonal.

    Parameters
    ----------
    of_classes : ndarray of shape (n_classes, n_classes)
        The sum of the rows' matrices.
    moments : _Moments
    shape : tuple of int
        (n_classes, d + 1), or (n_classes, d) without intercepts.
    """

    def __init__(self, of_classes: np.ndarray, moments: _Moments, shape: tuple[int, ...]) -> None:
        curvatures, self._classes = np.linalg.eigh(of_classes)
        # The same constant in all intercepts does not change the losses: that direction has no curvature.
        curvatures = np.maximum(curvatures, LEAST_CURVATURE * curvatures[-1])[:, None]
        self._moments, self._shape = moments, shape
        self._of_intercepts = 1.0 / curvatures
        self._of_coefficients = 1.0 / (1.0 + curvatures * moments.squares)

    def solve(self, vector: np.ndarray) -> np.ndarray:
        """Multiply by the inverse."""
        means, _, axes = self._moments
        right, solution = self._classes.T @ vector.reshape(self._shape), np.empty(self._shape)
        d = means.size
        around = right[:, :d] - right[:, d:] * means if self._shape[1] > d else right
        solution[:, :d] = ((around @ axes) * self._of_coefficients) @ axes.T
        if self._shape[1] > d:
            solution[:, d] = (right[:, d:] * self._of_intercepts)[:, 0] - solution[:, :d] @ means
        return (self._classes @ solution).ravel()


# Tasks on a block of rows.


def _rows(block: Block[MultinomialProblem]) -> Matrix:
    """The rows of a block in double precision."""
    rows = block.problem.points.matrix[block.rows]
    return rows if rows.dtype == np.float64 else rows.astype(np.float64)


def _fill_scores(block: Block[MultinomialProblem], W: np.ndarray, name: str) -> None:
    block[name][:] = _rows(block) @ np.ascontiguousarray(W.T)


def _evaluate(block: Block[MultinomialProblem], b: np.ndarray) -> tuple[float, float]:
    """Compute probabilities and derivatives of the losses; return the loss and the smallest margin."""
    vectors = block["codes"], block["weights"], block["probabilities"], block["derivatives"]
    found: tuple[float, float] = evaluate_classes(block["scores"], b, *vectors)
    block["shares"][:] = block["probabilities"]
    return found


def _loss_along(block: Block[MultinomialProblem], b: np.ndarray, t: float) -> float:
    value: float = loss_along(block["scores"], block["changes"], t, b, block["codes"], block["weights"])
    return value


def _combine(block: Block[MultinomialProblem], name: str) -> np.ndarray:
    """D'X, of shape (n_classes, d)."""
    return np.ascontiguousarray((_rows(block).T @ block[name]).T)


def _hessian_product(block: Block[MultinomialProblem], direction: np.ndarray, d: int) -> np.ndarray:
    rows, shares, weights = _rows(block), block["shares"].T, block["weights"]
    # One class after the other: the other order takes twice as long.
    changes = direction[:, :d] @ rows.T
    if direction.shape[1] > d:
        changes += direction[:, d:]
    changes -= np.add.reduce(shares * changes, axis=0)
    changes *= shares
    changes *= weights
    product = np.empty(direction.shape)
    product[:, :d] = changes @ rows
    if direction.shape[1] > d:
        product[:, d] = np.add.reduce(changes, axis=1)
    return product


def _column_sums(block: Block[MultinomialProblem]) -> np.ndarray:
    return np.asarray(_rows(block).T @ block["weights"])


def _gram(block: Block[MultinomialProblem], means: np.ndarray) -> np.ndarray:
    """sum_i c_i (x_i - means)(x_i - means)^T."""
    rows, weights, total = _rows(block), block["weights"], np.zeros((means.size, means.size))
    step = max(1, PIECE_ENTRIES // max(1, means.size))
    for start in range(0, rows.shape[0], step):
        part = slice(start, start + step)
        around = as_dense(rows[part]) - means
        total += (around * weights[part, None]).T @ around
    return total


def _diagonal(block: Block[MultinomialProblem], size: int) -> np.ndarray:
    rows, P = _rows(block), block["probabilities"]
    curvatures = block["weights"][:, None] * P * (1.0 - P)
    squares = rows.multiply(rows) if is_sparse(rows) else rows * rows
    diagonal = (squares.T @ curvatures).T
    return diagonal if size == diagonal.shape[1] else np.hstack([diagonal, curvatures.sum(axis=0)[:, None]])


def _hessian_of_few_rows(P: np.ndarray, weights: np.ndarray, rows: np.ndarray, products: np.ndarray) -> np.ndarray:
    """The Hessian of the losses, given the rows and their outer products."""
    (n_rows, K), size = P.shape, rows.shape[1]
    weighted = weights[:, None] * P
    outer = (P[:, :, None] * rows[:, None, :]).reshape(n_rows, -1)
    hessian: np.ndarray = -(outer.T @ (weights[:, None] * outer))
    of_classes, every = (weighted.T @ products).reshape(K, size, size), np.arange(K)
    hessian.reshape(K, size, K, size)[every, :, every] += of_classes
    return hessian


def _hessian(block: Block[MultinomialProblem], size: int) -> np.ndarray:
    """The Hessian of the losses, of shape (n_classes size, n_classes size)."""
    P, weights, matrix = block["probabilities"], block["weights"], block.problem.points.matrix
    K, first = P.shape[1], block.rows.start or 0
    total = np.zeros((K, size, K, size))
    step = max(1, PIECE_ENTRIES // (K * size))
    for start in range(0, len(P), step):
        part = slice(start, min(start + step, len(P)))
        rows = matrix[first + part.start : first + part.stop]
        dense = as_dense(rows).astype(np.float64, copy=False)
        if size > dense.shape[1]:
            dense = np.hstack([dense, np.ones((len(dense), 1))])
        roots = np.sqrt(weights[part])[:, None] * P[part]
        outer = (roots[:, :, None] * dense[:, None, :]).reshape(len(dense), K * size)
        total -= (outer.T @ outer).reshape(total.shape)
        for k in range(K):
            total[k, :, k] += dense.T @ ((weights[part] * P[part, k])[:, None] * dense)
    return total.reshape(K * size, K * size)
