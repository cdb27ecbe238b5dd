"""The lasso and the elastic net by coordinate descent on working sets.

    minimise 1/2 sum_i m_i (y_i - w·x_i - b)² + lam ||w||_1 + ridge/2 ||w||²

A round computes the gap, screens out columns whose coefficients are zero in every solution (Ndiaye, Fercoq, Gramfort,
Salmon, "Gap safe screening rules for sparsity enforcing penalties", 2017), and solves the problem of a working set of
columns. Where these are few, their Gram matrix is used, and once the signs of the coefficients are known, their values
are the solution of a linear system. Rounding errors do not accumulate over rounds, because every round begins with
residuals computed from the coefficients.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from maxmargin.data.blas import one_blas_thread
from maxmargin.data.blocks import blocks_to_transpose
from maxmargin.data.interruption import InterruptedPassError, ending_when
from maxmargin.data.rows import Rows, as_dense, rows_of
from maxmargin.loops.lasso import Descent, descend
from maxmargin.problems.squared_errors import LassoProblem
from maxmargin.solvers.core import (
    ENTRIES_PER_CALL,
    Monitor,
    Options,
    Positions,
    Result,
    StallTest,
    Status,
    solver,
    stage,
)
from maxmargin.solvers.regression.duplicate_columns import duplicates_among
from maxmargin.solvers.regression.given_gram import solve_given_gram
from maxmargin.solvers.regression.gram_matrix import MAX_COLUMNS, GramMatrix

# Columns of the first working set, and of problems that are taken as a whole.
FEW_COLUMNS = 128
# A round that leaves more than this share of the gap is followed by a working set of twice the size.
SLOW = 0.3
# The share of a column's squares that rounding leaves of its squared deviations.
NO_DEVIATION = 1e-14
# Rounds on sparse columns without their Gram matrix: easy problems are solved before it would be computed.
ROUNDS_WITHOUT_GRAM = 1
# Without the Gram matrix: epochs over the working set in a round, and epochs over its nonzero coefficients after each.
EPOCHS = 3
EPOCHS_OF_NONZEROS = 10
# Penalties below this share of the smallest one at which w = 0 are reached by continuation, in steps of this factor.
CONTINUATION_BELOW, CONTINUATION_FACTOR = 0.05, 2.0
# The precision of a working set's solution, as a share of the gap that is required.
WORKING_SET_PRECISION = 0.1
# Coefficients that are all zero are a solution, whatever their gap, only up to this KKT violation: a share of lam.
ZERO_VIOLATION = 1e-9
# Newton steps for the factor of the dual point: every one settles which columns count.
MAX_SHARE_STEPS = 50
# Rounds without progress after which the run has stalled; one that solves the problem of the last working set again
# counts for so many.
PATIENCE, SAME_SET = 30, 6
# Progress: a relative gap below this factor of the last one, or an objective that has fallen by this share of the gap.
GAP_FACTOR, GAP_SHARE = 0.999, 1e-3


@dataclass(frozen=True)
class LassoOptions(Options):
    """Options of the lasso.

    Attributes
    ----------
    shuffle_seed : int or None
        The seed of the order of the coefficients in a working set; None for the order of the columns.
    """

    shuffle_seed: int | None = None


@solver()
def solve(
    problem: LassoProblem, options: LassoOptions, monitor: Monitor, start: Result[float] | None = None
) -> Result[float]:
    """Make rounds until the relative gap is at most ``tol``, from the coefficients of ``start`` or by continuation."""
    options = replace(options, max_violation=ZERO_VIOLATION * problem.lam)
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
        penalties = [*(continuation(problem) if start is None else []), problem.lam]
        run = LassoRun(problem, options, monitor, penalties, None if start is None else start.w)
        run.best.status = run.run()
        return run.best


def continuation(problem: LassoProblem) -> list[float]:
    """Compute falling penalties to solve for first, each from the solution of the one before.

    With more columns than rows and a penalty at which the errors nearly vanish, almost as many coefficients as rows are
    not zero: they are found one after the other, but hardly all at once.
    """
    errors = problem.errors.centred
    n_rows = errors.points.n_rows if errors.weights is None else int(np.count_nonzero(errors.weights))
    if errors.points.n_columns <= n_rows:
        return []
    centred = errors.targets - errors.target_mean
    largest = float(np.abs(errors.points.combination(errors.weighted(centred))).max(initial=0.0))
    if problem.lam == 0.0 or not CONTINUATION_BELOW * largest > problem.lam:
        return []
    n_penalties = math.ceil(math.log(largest / problem.lam) / math.log(CONTINUATION_FACTOR))
    return [largest * (problem.lam / largest) ** (k / n_penalties) for k in range(1, n_penalties)]


class LassoRun:
    """The state of a run: coefficients, their residuals, gradient and gap, and the columns not yet screened out.

    It solves for several penalties one after the other, each from the solution of the one before.
    """

    checkpointed = (
        *("w", "best", "gram", "size", "last_gap", "n_rounds", "stall"),
        Positions("n_solved", "last"),
        Positions("alive", "w"),
        Positions("last_chosen", "w"),
    )
    outcome = ("best",)

    def __init__(
        self,
        problem: LassoProblem,
        options: LassoOptions,
        monitor: Monitor,
        penalties: list[float],
        start: np.ndarray | None = None,
    ) -> None:
        errors, self.problem, self.ridge = problem.errors, problem, problem.ridge
        self.centring, self.errors, self.options, self.monitor = errors.centring, errors.centred, options, monitor
        self.w = np.zeros(errors.points.n_columns) if start is None else start.astype(np.float64)
        if problem.positive:
            np.maximum(self.w, 0.0, out=self.w)
        self.best = Result(self.w, 0.0, np.zeros(0))
        self.targets = self.errors.targets - self.errors.target_mean
        self.curvatures = self.errors.squared_deviations
        if self.w.any():
            # Before the first evaluation: coefficients of duplicates are added to those of the originals.
            self.distinct  # noqa: B018
        self.gram = GramMatrix(self.errors, self.monitor.must_stop)
        self.largest_size = self.w.size if sp.issparse(self.errors.points.factor) else MAX_COLUMNS
        self.rounds_without_gram = ROUNDS_WITHOUT_GRAM if sp.issparse(self.errors.points.factor) else 0
        self.penalties, self.n_solved, self.last = penalties, 0, len(penalties) - 1
        self.begin_penalty()

    @cached_property
    def distinct(self) -> np.ndarray:
        """The columns that vary, without duplicates, whose coefficients are added to those of the originals."""
        varying = self.curvatures > NO_DEVIATION * self.errors.squares_of_columns
        if self.ridge > 0.0 or self.problem.positive:
            # The squared norm is smaller where duplicates share a coefficient, and signs may not be turned.
            self.w[~varying] = 0.0
            return np.flatnonzero(varying)
        copies = duplicates_among(self.errors, np.flatnonzero(varying))
        np.add.at(self.w, copies.originals, copies.signs * self.w[copies.columns])
        varying[copies.columns] = False
        self.w[~varying] = 0.0
        return np.flatnonzero(varying)

    @property
    def alive(self) -> np.ndarray:
        """The columns not yet screened out: all distinct ones, which are looked for when they are first needed."""
        return self.distinct if self._alive is None else self._alive

    @alive.setter
    def alive(self, columns: np.ndarray) -> None:
        self._alive: np.ndarray | None = columns

    @property
    def lam(self) -> float:
        """The penalty that is solved for."""
        return self.penalties[self.n_solved]

    def begin_penalty(self) -> None:
        """Begin with the next penalty."""
        self.best = Result(self.w.copy(), 0.0, np.zeros(0), n_iter=self.best.n_iter)
        self._alive, self.size = None, FEW_COLUMNS
        self.last_gap, self.last_chosen, self.n_rounds = math.inf, np.empty(0, dtype=np.intp), 0
        self.stall = StallTest(PATIENCE, gap_factor=GAP_FACTOR, dual_factor=math.inf, gap_share=GAP_SHARE)

    @stage
    def run(self) -> Status:
        """Solve for all penalties; where one is not solved, the last one comes next."""
        while True:
            status = self.solve_penalty(f"lambda = {self.lam:.3g}, round" if self.n_solved < self.last else "round")
            if self.n_solved == self.last:
                return status
            self.n_solved = self.n_solved + 1 if status is Status.SOLVED else self.last
            self.begin_penalty()

    def solve_penalty(self, step: str) -> Status:
        """Make rounds at a penalty until there is a reason to stop."""
        while True:
            self.monitor.checkpoint(self)
            self.evaluate()
            stalled = self.stall.update(self.best, self.n_rounds)
            status = self.monitor.check_termination(self.best, self.options, step, stalled=stalled)
            if status is not None:
                return status
            self.screen()
            gap = self.primal - self.dual
            if gap > SLOW * self.last_gap:
                self.size = min(2 * self.size, self.largest_size)
            chosen = self.choose()
            with_gram = self.best.n_iter >= self.rounds_without_gram and self.gram.affordable(chosen)
            self.n_rounds += SAME_SET if with_gram and np.array_equal(chosen, self.last_chosen) else 1
            self.last_gap, self.last_chosen = min(gap, self.last_gap), chosen
            if self.options.shuffle_seed is not None:
                # The order depends on the round alone, so that a resumed run has the same one.
                seeds = [self.options.shuffle_seed, self.best.n_iter]
                chosen = np.random.default_rng(seeds).permutation(chosen)
            if with_gram:
                self.solve_with_gram(chosen)
            elif chosen.size:
                self.descend(chosen)
            self.best.n_iter += 1

    def evaluate(self) -> None:
        """Compute residuals, gradient and both values from the coefficients alone."""
        errors, best = self.errors, self.best
        residuals = errors.targets - errors.points.scores(self.w)
        b = errors.mean(residuals)
        self.residuals = residuals - b
        duals = errors.weighted(self.residuals)
        self.products = errors.points.combination(duals)
        self.gradient = self.products - self.ridge * self.w
        squares = float(duals @ self.residuals)
        self.primal = 0.5 * squares + self.lam * float(np.abs(self.w).sum())
        self.primal += 0.5 * self.ridge * float(self.w @ self.w)
        linear = float(duals @ self.targets)
        self.share = best_share(linear, squares, self.problem.sizes(self.products), self.lam, self.ridge)
        self.dual = max(0.0, self.share * linear - 0.5 * self.share * self.share * squares)
        if self.ridge > 0.0:
            excess = np.maximum(0.0, self.share * self.problem.sizes(self.products) - self.lam)
            self.dual = max(0.0, self.dual - 0.5 * float(excess @ excess) / self.ridge)
        largest = float(self.problem.sizes(self.products).max(initial=0.0))
        best.kkt_violation = 0.0 if self.lam == 0.0 or self.w.any() else max(0.0, largest - self.lam)
        # The certificate is computed from the same residuals, so that the dual value has to be theirs, too.
        if self.primal <= best.primal or self.primal - self.dual < best.primal - best.dual:
            best.w, best.beta = self.w.copy(), self.share * duals
            best.intercept = self.centring.intercept_there(self.w, b)
            best.primal, best.dual = self.primal, self.dual

    def screen(self) -> None:
        """Screen out columns whose coefficients are zero in every solution: no dual in the gap's ball reaches lam."""
        radius = math.sqrt(2.0 * max(0.0, self.primal - self.dual))
        sizes = self.problem.sizes(self.products[self.alive])
        largest = self.share * sizes + radius * np.sqrt(self.curvatures[self.alive])
        kept = ~(largest < self.lam * (1.0 - 1e-9))
        self.w[self.alive[~kept]] = 0.0
        self.alive = self.alive[kept]

    def choose(self) -> np.ndarray:
        """The working set: nonzero coefficients, and the columns that are nearest to their dual constraint."""
        alive = self.alive
        used = self.w[alive] != 0.0
        self.size = max(self.size, 2 * int(np.count_nonzero(used)))
        if alive.size <= self.size:
            return alive
        sizes = self.problem.sizes(self.products[alive])
        distance = (self.lam - self.share * sizes) / np.sqrt(self.curvatures[alive])
        distance[used] = -math.inf
        return np.sort(alive[np.argpartition(distance, self.size)[: self.size]])

    def solve_with_gram(self, chosen: np.ndarray) -> None:
        """Solve for these columns alone, given their Gram matrix."""
        if not chosen.size:
            return
        gram, gradient, beta = self.gram.among(chosen), self.gradient[chosen], self.w[chosen]
        if self.monitor.must_stop():
            return
        if self.ridge > 0.0:
            gram[np.diag_indices_from(gram)] += self.ridge
        # Without a penalty on the 1-norm, beside the largest product.
        scale = self.lam if self.lam > 0.0 else float(np.abs(gradient).max())
        goal = scale * min(1e-4, max(1e-12, WORKING_SET_PRECISION * self.options.tol))
        solve_given_gram(gram, gradient, beta, self.lam, goal, self.monitor.must_stop, positive=self.problem.positive)
        self.w[chosen] = beta

    def descend(self, chosen: np.ndarray) -> None:
        """Make epochs of coordinate descent over these columns, with the residuals updated."""
        try:
            with ending_when(self.monitor.must_stop):
                self.columns  # noqa: B018
        except InterruptedPassError:
            return
        roots = None if self.errors.weights is None else np.sqrt(self.errors.weights)
        residuals = self.residuals.copy() if roots is None else self.residuals * roots
        totals = self.errors.total_weight * self.remaining_means
        curvatures = self.curvatures + self.ridge if self.ridge > 0.0 else self.curvatures
        penalties = self.lam, self.ridge, self.problem.positive
        descent = Descent(self.w, residuals, np.zeros(1), curvatures, self.remaining_means, totals, *penalties)
        # The gap is about the root of the remaining decrease of the objective.
        goal = (WORKING_SET_PRECISION * self.options.tol) ** 2 * self.primal
        for _ in range(EPOCHS):
            decrease = self.epoch(descent, chosen)
            nonzero = chosen[self.w[chosen] != 0.0]
            for _ in range(EPOCHS_OF_NONZEROS):
                last_decrease = self.epoch(descent, nonzero)
                if last_decrease <= WORKING_SET_PRECISION * max(decrease, goal) or self.monitor.must_stop():
                    break
            if decrease <= goal or self.monitor.must_stop():
                break

    def epoch(self, descent: Descent, chosen: np.ndarray) -> float:
        """Make one epoch, in calls short enough for Ctrl-C; return by how much the objective fell."""
        errors = self.errors
        per_column = max(1.0, errors.points.entries_per_row * errors.points.n_rows / max(1, errors.points.n_columns))
        step = max(1, int(ENTRIES_PER_CALL / per_column))
        decrease = 0.0
        for first in range(0, chosen.size, step):
            decrease += descend(self.columns, descent, chosen, first, min(first + step, chosen.size))
            if self.monitor.must_stop():
                break
        return decrease

    @property
    def remaining_means(self) -> np.ndarray:
        """The means of ``columns``: zero where they are dense, because those are centred."""
        sparse = sp.issparse(self.errors.points.matrix)
        return self.errors.column_means if sparse else np.zeros_like(self.curvatures)

    @cached_property
    def columns(self) -> Rows:
        """The columns times the roots of the weights, as the loops read rows; dense ones are centred."""
        errors, matrix = self.errors, self.errors.points.matrix
        roots = None if errors.weights is None else np.sqrt(errors.weights)
        if sp.issparse(matrix):
            transposed = self.errors.sparse_columns
            values = transposed.data if roots is None else transposed.data * roots[transposed.indices]
            return rows_of(sp.csr_array((values, transposed.indices, transposed.indptr), shape=transposed.shape[::-1]))
        dense = np.empty(matrix.shape[::-1])
        for rows, part in blocks_to_transpose(*matrix.shape):
            dense[part, rows] = as_dense(matrix)[rows, part].T
            if errors.has_intercept:
                dense[part, rows] -= errors.column_means[part, None]
            if roots is not None:
                dense[part, rows] *= roots[rows]
        return rows_of(dense)


def best_share(linear: float, squares: float, sizes: np.ndarray, lam: float, ridge: float) -> float:
    """The s that maximises the dual value of s times the dual point of the residuals.

    That is s linear - s² squares/2 - sum_j max(0, s sizes_j - lam)²/(2 ridge): its derivative falls, in straight
    pieces.
    """
    # Squares may underflow where the products do not.
    share = linear / squares if linear > 0.0 and squares > 0.0 else 0.0
    largest = float(sizes.max(initial=0.0))
    feasible = min(share, lam / largest) if largest > 0.0 else share
    if ridge == 0.0 or share == feasible:
        return feasible
    share = max(feasible, min(1.0, share))
    for _ in range(MAX_SHARE_STEPS):
        used = sizes[share * sizes > lam]
        new = (linear + lam * float(used.sum()) / ridge) / (squares + float(used @ used) / ridge)
        if not abs(new - share) > 1e-15 * share:
            break
        share = max(feasible, new)
    return share
