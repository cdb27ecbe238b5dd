"""Linear classifiers with an L1 penalty by proximal Newton steps on working sets.

    minimise l1 ||w||_1 + l2/2 ||w||² + C sum_i c_i loss(y_i (w·x_i + b)),   squared hinge or logistic loss

A round computes the gap and screens out columns whose coefficients are zero in every solution (Ndiaye, Fercoq,
Gramfort, Salmon, "Gap safe screening rules for sparsity enforcing penalties", 2017). It then minimises the quadratic
model of the losses, with the penalties, over a working set of columns by coordinate descent, and makes a step of a
length that lowers the objective enough: Yuan, Ho, Lin, "An improved GLMNET for L1-regularized logistic regression",
2012. With few columns the Hessian of the model is computed, and the model solved by it. The free intercept is
eliminated from the model, and minimised after every step.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from maxmargin.data import Points
from maxmargin.data.blas import one_blas_thread
from maxmargin.engine import MemoryEngine, Threads
from maxmargin.loops.sparse_linear import (
    Model,
    add_columns,
    change_coefficients,
    descend_on_model,
    evaluate_rows,
    fill_products,
    intercept_terms,
    loss_along,
    measure_columns,
    slopes_of,
)
from maxmargin.problems.logistic import falling_root
from maxmargin.problems.sparse_linear import SparseLinearProblem
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
from maxmargin.solvers.core.hessian import gram_matrix, matrix_pays
from maxmargin.solvers.core.subsample import subsample_rows
from maxmargin.solvers.regression.given_gram import solve_given_gram
from maxmargin.solvers.regression.gram_matrix import MAX_COLUMNS, GramMatrix
from maxmargin.solvers.regression.lasso import ZERO_VIOLATION

# One of so many rows goes into the subsample, if that leaves enough rows for every column and so many of every class;
# its solution is not nearer to that of all rows than to this relative gap.
STRIDE, ROWS_PER_CLASS, SUBSAMPLE_TOL = 16, 50, 1e-2
# The smallest C of a continuation, in units of the least one at which a coefficient is not zero; the factor between two
# values of C, and the relative gap to which all but the last are solved.
CONTINUATION_FROM, CONTINUATION_FACTOR, CONTINUATION_TOL = 1e4, 5.0, 0.1
# Columns of the first working set.
FEW_COLUMNS = 128
# Epochs of coordinate descent that take as long as the Hessian of all columns at most, where it is computed.
EXPECTED_EPOCHS = 25
# Without it: epochs over the working set in a round, and epochs over its nonzero coefficients after each.
EPOCHS, EPOCHS_OF_NONZEROS = 3, 10
# An epoch that lowers the model by less than this share of the first one is the last.
EPOCH_SHARE = 0.05
# With the Hessian, the violation of a KKT condition that a round leaves, as a share of the one at its start.
VIOLATION_SHARE = 1e-3
# Multiplications in a factorisation of their Hessian, times three, that it may cost for every stored entry.
FACTOR_PRODUCTS_PER_ENTRY = 1500
# The least curvature of a row, as a share of its weight: without any, a column could not be moved to zero.
LEAST_CURVATURE = 1e-12
# The relative size of the last Newton step for the intercept: the error that it leaves is about the square.
INTERCEPT_PRECISION = 1e-8
# A share of the diagonal that is added to a Hessian, which is singular where columns in use are dependent.
DAMPING = 1e-8
# Armijo's rule: the share of the predicted decrease that a step must reach, the factor of the next shorter step, and
# the most reductions. A change of the objective by the last share is rounding.
SUFFICIENT_DECREASE, REDUCTION, MAX_REDUCTIONS, ROUNDING = 0.01, 0.5, 40, 1e-14
# A step that reaches this share of the predicted decrease, half of which is the most of a quadratic function, is tried
# at multiples of its length.
LARGE_DECREASE, EXTENSION, MAX_EXTENSION = 0.6, 1.5, 8.0
# The certificate counts all rounding errors: this share of the gap is required.
SHARE_OF_TOL = 0.9
# Rounds without progress after which the run has stalled: a relative gap below this factor of the last one, or an
# objective that has fallen by this share of the gap.
PATIENCE, GAP_FACTOR, GAP_SHARE = 30, 0.999, 1e-3
# Rounds in which the gap is halved once, or the run has stalled: on nearly dependent columns rounds may creep.
HALVING = 10_000


@solver({"a positive penalty on the 1-norm": lambda problem, _: problem.l1 > 0.0})
def solve(
    problem: SparseLinearProblem, options: Options, monitor: Monitor, start: Result[float] | None = None
) -> Result[float]:
    """Make rounds until the relative gap is at most ``tol``, from the coefficients of ``start`` or from zero.

    Coefficients that are all zero are a solution only where they satisfy the KKT conditions, whatever their gap: a C
    above the least one gives a model that is not empty.
    """
    options = replace(options, tol=SHARE_OF_TOL * options.tol, max_violation=ZERO_VIOLATION * problem.l1)
    if problem.points.factor is not problem.points.matrix:
        problem = problem.with_points(Points(problem.points.factor))
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread(), Threads(options.n_threads) as threads:
        n_iter = 0
        for easier, tol in preparations(problem) if start is None else []:
            coarse = replace(options, tol=max(options.tol, tol))
            part = SparseRun(easier, coarse, monitor.quiet(is_stage=True), threads, start)
            part.best.n_iter = n_iter
            part.run()
            start, n_iter = part.best, part.best.n_iter
            if monitor.check_limits() is not None:
                break
        run = SparseRun(problem, options, monitor, threads, start)
        run.best.n_iter = n_iter
        run.best.status = run.run()
        return run.best


def preparations(problem: SparseLinearProblem) -> Iterator[tuple[SparseLinearProblem, float]]:
    """Yield easier problems to solve first, each from the solution of the one before, and their relative gaps.

    With many rows that is every sixteenth row, with C raised so that it has the same solution on average. With many
    columns and a large C they have rising values of C: the nonzero coefficients, and for the squared hinge the rows
    with a loss, are found one after the other, but hardly all at once.
    """
    every = subsample_rows(problem.points.matrix.shape, problem.weights, problem.signs, [STRIDE], ROWS_PER_CLASS)
    if every is not None:
        share = float(problem.weights.sum()) / float(problem.weights[every].sum())
        yield problem.of_rows(every, share), SUBSAMPLE_TOL
    elif not matrix_pays(problem.points, EXPECTED_EPOCHS):
        scores = np.zeros(problem.points.n_rows)
        if problem.fit_intercept:
            scores += problem.best_intercept(scores)
        products = problem.points.combination(problem.duals(problem.shares(scores)))
        # The least C at which a coefficient is not zero is C divided by this.
        ratio = float(np.abs(products).max(initial=0.0)) / problem.l1 / CONTINUATION_FROM
        for k in range(math.ceil(math.log(ratio, CONTINUATION_FACTOR)) if ratio > 1.0 else 0, 0, -1):
            yield problem.with_factor(CONTINUATION_FACTOR**-k), CONTINUATION_TOL


class SparseRun:
    """The state of a run: coefficients, their scores, products and gap, and the columns not yet screened out."""

    checkpointed = ("w", "b", "best", "size", "stall", Positions("alive", "w"), Positions("last_chosen", "w"))
    outcome = ("best",)

    def __init__(
        self,
        problem: SparseLinearProblem,
        options: Options,
        monitor: Monitor,
        threads: Threads,
        start: Result[float] | None,
    ) -> None:
        self.centring, self.problem = problem.centring, problem.centred
        self.points = self.problem.points
        self.options, self.monitor = options, monitor
        self.w = np.zeros(self.points.n_columns) if start is None else start.w.astype(np.float64)
        self.b = 0.0 if start is None else self.centring.intercept_here(self.w, start.intercept)
        self.best = Result(self.w.copy(), self.centring.intercept_there(self.w, self.b), np.empty(0))
        self.signs, self.weights = self.problem.signs, self.problem.C * self.problem.weights
        self.least_curvatures = LEAST_CURVATURE * self.weights
        self.duals, self.curvatures = np.empty(self.points.n_rows), np.empty(self.points.n_rows)
        self.alive = np.arange(self.w.size)
        self.size, self.last_chosen = FEW_COLUMNS, np.empty(0, dtype=np.intp)
        self.largest_size = self.w.size if self.points.is_sparse else MAX_COLUMNS
        self.stall = StallTest(
            PATIENCE,
            gap_factor=GAP_FACTOR,
            dual_factor=math.inf,
            gap_share=GAP_SHARE,
            halving_patience=HALVING,
        )
        self.engine = MemoryEngine(self.problem, threads)
        self.has_hessian = matrix_pays(self.points, EXPECTED_EPOCHS)
        self.totals, self.squares = np.zeros(self.w.size), np.zeros(self.w.size)

    @cached_property
    def deviations(self) -> np.ndarray:
        """Standard deviations of the columns, by the weights of the rows, times the square root of their sum."""
        return np.sqrt(self.problem.columns.squared_deviations)

    def stopped(self) -> bool:
        """Whether the run has to stop now."""
        return self.monitor.check_limits() is not None

    @stage
    def run(self) -> Status:
        """Make rounds until there is a reason to stop."""
        while True:
            self.monitor.checkpoint(self)
            self.evaluate()
            stalled = self.stall.update(self.best, self.best.n_iter)
            status = self.monitor.check_termination(self.best, self.options, "round", stalled=stalled)
            if status is not None:
                return status
            self.screen()
            self.make_step(self.choose())
            self.best.n_iter += 1

    def evaluate(self) -> None:
        """Compute scores, the best intercept, duals and both values from the coefficients alone."""
        problem, best = self.problem, self.best
        self.scores = self.scores_of_coefficients()
        rows = problem.is_logistic, self.signs, self.weights, self.scores
        if problem.fit_intercept:
            self.b = falling_root(lambda b: intercept_terms(*rows, b), self.b, INTERCEPT_PRECISION)
        loss = evaluate_rows(*rows, self.b, self.duals, self.curvatures)
        np.maximum(self.curvatures, self.least_curvatures, out=self.curvatures)
        self.products = self.products_of_duals()
        self.primal = loss + problem.penalty(self.w)
        shares = problem.shares_of(self.duals)
        self.multiple = problem.best_multiple(shares, self.products)
        dual = problem.dual_terms(self.multiple * shares)
        if problem.l2 > 0.0:
            dual -= problem.excess(self.multiple * self.products)
        self.dual = max(0.0, dual)
        largest = float(np.abs(self.products).max(initial=0.0))
        best.kkt_violation = 0.0 if self.w.any() else max(0.0, largest - problem.l1)
        # The certificate computes the dual point from the coefficients, so that the dual value has to be theirs.
        if self.primal <= best.primal or self.primal - self.dual < best.primal - best.dual:
            best.w, best.intercept = self.w.copy(), self.centring.intercept_there(self.w, self.b)
            best.beta, best.primal, best.dual = self.multiple * self.duals, self.primal, self.dual

    @property
    def by_columns(self) -> bool:
        """Whether scores and products are computed from sparse columns, which descents read anyway."""
        return self.points.is_sparse and not self.has_hessian

    def scores_of_coefficients(self) -> np.ndarray:
        """X w"""
        if not self.by_columns:
            return self.points.scores(self.w)
        scores, used = np.zeros(self.points.n_rows), np.flatnonzero(self.w)
        add_columns(self.points.columns, used, self.w[used], scores)
        return scores

    def products_of_duals(self) -> np.ndarray:
        """X^T beta"""
        if not self.by_columns:
            return self.points.combination(self.duals)
        products = np.empty(self.w.size)
        fill_products(self.points.columns, self.duals, products)
        return products

    def screen(self) -> None:
        """Screen out columns whose coefficients are zero in every solution: no dual in the gap's ball reaches l1."""
        radius = math.sqrt(2.0 * max(0.0, self.primal - self.dual) / self.problem.modulus)
        largest = self.multiple * np.abs(self.products[self.alive]) + radius * self.deviations[self.alive]
        # A coefficient that is not zero yet becomes so in the steps to come.
        self.alive = self.alive[~(largest < self.problem.l1 * (1.0 - 1e-9)) | (self.w[self.alive] != 0.0)]

    def choose(self) -> np.ndarray:
        """The working set: nonzero coefficients, and the columns that are nearest to their dual constraint."""
        alive, used = self.alive, self.w[self.alive] != 0.0
        gradient = self.products - self.problem.l2 * self.w
        violations = np.abs(gradient - self.problem.l1 * np.sign(self.w)) - self.problem.l1 * (self.w == 0.0)
        inside = float(violations[self.last_chosen].max(initial=0.0))
        violations[self.last_chosen] = 0.0
        if float(violations[alive].max(initial=0.0)) > inside:
            # What is left of the gap is outside of the last working set.
            self.size = min(2 * self.size, self.largest_size)
        self.size = max(self.size, 2 * int(np.count_nonzero(used)))
        if alive.size <= self.size:
            self.last_chosen = alive
            return alive
        room = self.problem.l1 - self.multiple * np.abs(self.products[alive])
        deviations = self.deviations[alive]
        distance = np.divide(room, deviations, out=np.full(room.size, math.inf), where=deviations > 0.0)
        distance[used] = -math.inf
        self.last_chosen = np.sort(alive[np.argpartition(distance, self.size)[: self.size]])
        return self.last_chosen

    def minimise_model(self, chosen: np.ndarray) -> tuple[np.ndarray, float]:
        """Minimise the quadratic model over these columns; return their coefficients and the intercept's change."""
        if self.has_hessian:
            return self.minimise_by_hessian(chosen)
        return self.descend(chosen)

    def minimise_by_hessian(self, chosen: np.ndarray) -> tuple[np.ndarray, float]:
        """The minimiser of the model, by its Hessian in all columns."""
        gram = gram_matrix(self.curved_rows(), "curvatures", stopped=self.stopped)
        total, totals = float(gram[-1, -1]), gram[-1, chosen]
        hessian = gram[np.ix_(chosen, chosen)]
        hessian = np.tril(hessian) + np.tril(hessian, -1).T
        means = totals / total if self.problem.fit_intercept and total > 0.0 else np.zeros(chosen.size)
        hessian -= np.outer(totals, means)
        old = self.w[chosen]
        w = old.copy()
        if chosen.size and not self.stopped():
            self.solve_given_hessian(hessian, self.products[chosen] - self.problem.l2 * w, w)
        return w, -float(means @ (w - old))

    def curved_rows(self) -> MemoryEngine[SparseLinearProblem]:
        """The rows whose losses have a curvature: of squared hinges often few have."""
        self.engine["curvatures"], counted = self.curvatures, self.curvatures > self.least_curvatures
        if self.problem.is_logistic or not counted.any():
            return self.engine
        self.engine["counted"] = counted
        return self.engine.subset("counted", "curvatures")

    def solve_given_hessian(self, hessian: np.ndarray, slopes: np.ndarray, w: np.ndarray) -> None:
        """Minimise the model in some columns, in place, given its Hessian and slopes without the penalty on the 1-norm.

        The Hessian is that of the losses alone.
        """
        l1, diagonal = self.problem.l1, np.einsum("ii->i", hessian)
        np.maximum((1.0 + DAMPING) * diagonal, LEAST_CURVATURE * float(diagonal.max()), out=diagonal)
        diagonal += self.problem.l2
        violations = np.where(w != 0.0, np.abs(slopes - l1 * np.sign(w)), np.abs(slopes) - l1)
        goal = VIOLATION_SHARE * max(float(violations.max()), 0.1 * self.options.tol * l1)
        solve_given_gram(hessian, slopes, w, l1, goal, self.stopped)

    def descend(self, chosen: np.ndarray) -> tuple[np.ndarray, float]:
        """Epochs of coordinate descent on the model."""
        problem, totals, squares = self.problem, self.totals, self.squares
        for first, last in self.pieces(chosen):
            measure_columns(self.points.columns, chosen, first, last, self.curvatures, totals, squares)
        total = float(self.curvatures.sum())
        if not (problem.fit_intercept and total > 0.0):
            totals[:] = 0.0
        means = totals / total if total > 0.0 else totals
        of_columns = np.maximum(squares - totals * means, LEAST_CURVATURE * squares) + problem.l2
        drift, w = np.zeros(1), self.w.copy()
        model = Model(w, -self.duals, drift, self.curvatures, means, totals, of_columns, problem.l1, problem.l2)
        gram = GramMatrix(problem.columns.with_weights(self.curvatures), self.stopped)
        first_decrease = 0.0
        for _ in range(EPOCHS):
            decrease = self.epoch(model, chosen)
            first_decrease = max(first_decrease, decrease)
            nonzero, last_decrease = chosen[w[chosen] != 0.0], decrease
            for _ in range(EPOCHS_OF_NONZEROS):
                last_decrease = self.epoch(model, nonzero)
                if last_decrease <= EPOCH_SHARE * decrease or self.stopped():
                    break
            if max(decrease, last_decrease) <= EPOCH_SHARE * first_decrease or self.stopped():
                break
            if last_decrease > EPOCH_SHARE * decrease and self.factor_pays(nonzero) and gram.affordable(nonzero):
                self.solve_nonzeros(model, gram, nonzero)
        return w[chosen], float(drift[0])

    def factor_pays(self, nonzero: np.ndarray) -> bool:
        """Whether a factorisation takes no longer than the epochs that it saves."""
        offsets = self.points.sparse_columns.indptr if self.points.is_sparse else None
        if offsets is None:
            return True
        entries = int((offsets[nonzero + 1] - offsets[nonzero]).sum())
        return nonzero.size**3 <= FACTOR_PRODUCTS_PER_ENTRY * entries

    def solve_nonzeros(self, model: Model, gram: GramMatrix, nonzero: np.ndarray) -> None:
        """Minimise the model in these columns by their Gram matrix."""
        if not nonzero.size:
            return
        hessian, slopes, w = gram.among(nonzero), np.empty(nonzero.size), model.w[nonzero]
        if self.stopped():
            return
        slopes_of(self.points.columns, model, nonzero, slopes)
        self.solve_given_hessian(hessian, slopes, w)
        change_coefficients(self.points.columns, model, nonzero, w - model.w[nonzero])
        model.w[nonzero] = w

    def epoch(self, model: Model, chosen: np.ndarray) -> float:
        """Make one epoch; return by how much the model fell."""
        decrease = 0.0
        for first, last in self.pieces(chosen):
            decrease += descend_on_model(self.points.columns, model, chosen, first, last)
        return decrease

    def pieces(self, chosen: np.ndarray) -> Iterator[tuple[int, int]]:
        """Ranges of the working set that are short enough for Ctrl-C."""
        points = self.points
        per_column = max(1.0, points.entries_per_row * points.n_rows / max(1, points.n_columns))
        step = max(1, int(ENTRIES_PER_CALL / per_column))
        for first in range(0, chosen.size, step):
            yield first, min(first + step, chosen.size)
            if self.stopped():
                break

    def make_step(self, chosen: np.ndarray) -> None:
        """Make a step in these columns, of a length that lowers the objective enough (Armijo's rule)."""
        problem, old = self.problem, self.w[chosen]
        new, drift = self.minimise_model(chosen)
        step = new - old
        changes = self.changes_of(chosen, step) + drift
        predicted = problem.l1 * float(np.abs(new).sum() - np.abs(old).sum()) - float(self.duals @ changes)
        predicted += problem.l2 * float(old @ step)
        rows = problem.is_logistic, self.signs, self.weights, self.scores, self.b, changes
        others, t = problem.penalty(self.w) - problem.penalty(old), 1.0
        for _ in range(MAX_REDUCTIONS):
            value = loss_along(*rows, t) + others + problem.penalty(old + t * step)
            if value - self.primal <= SUFFICIENT_DECREASE * t * min(0.0, predicted) + ROUNDING * abs(self.primal):
                break
            t *= REDUCTION
        else:
            return
        if t == 1.0 and value - self.primal <= LARGE_DECREASE * predicted:
            t = self.extended(t, value, lambda t: loss_along(*rows, t) + others + problem.penalty(old + t * step))
        self.w[chosen] = new if t == 1.0 else old + t * step
        self.b += t * drift

    def extended(self, t: float, value: float, objective: Callable[[float], float]) -> float:
        """A longer step of a smaller objective: where losses are nearly exponential, Newton steps are far too short."""
        while t < MAX_EXTENSION:
            longer = objective(EXTENSION * t)
            if not longer < value:
                break
            t, value = EXTENSION * t, longer
        return t

    def changes_of(self, chosen: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The changes of the scores in a step."""
        if self.has_hessian:
            direction = np.zeros(self.w.size)
            direction[chosen] = step
            return self.points.scores(direction)
        changes, moved = np.zeros(self.scores.size), np.flatnonzero(step)
        add_columns(self.points.columns, chosen[moved], step[moved], changes)
        return changes
