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
from collections.abc import Iterator
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
    evaluate_rows,
    fill_negative_gradient,
    fill_products,
    intercept_terms,
    loss_along,
)
from maxmargin.loops.sparse_run import (
    FIRST_SUM,
    INTERCEPT,
    N_SPARSE_VALUES,
    SHARE,
    STEPS,
    WORK,
    SparseState,
    SparseTerms,
    sparse_steps,
)
from maxmargin.loops.termination import LIMIT, NO_PROGRESS
from maxmargin.problems.logistic import falling_root
from maxmargin.problems.sparse_linear import SparseLinearProblem
from maxmargin.solvers.core import (
    ENTRIES_PER_CALL,
    Monitor,
    Options,
    Positions,
    Result,
    Status,
    solver,
    stage,
)
from maxmargin.solvers.core.hessian import gram_matrix, matrix_pays
from maxmargin.solvers.core.subsample import ROWS_PER_CLASS, STRIDE, SUBSAMPLE_TOL, subsample_rows
from maxmargin.solvers.linear.sparse_rounds import SHARE_OF_TOL, SparseRounds
from maxmargin.solvers.regression.gram_matrix import MAX_COLUMNS, GramMatrix
from maxmargin.solvers.regression.lasso import ZERO_VIOLATION

# The smallest C of a continuation, in units of the least one at which a coefficient is not zero; the factor between two
# values of C, and the relative gap to which all but the last are solved.
CONTINUATION_FROM, CONTINUATION_FACTOR, CONTINUATION_TOL = 1e4, 5.0, 0.1
# Columns of the first working set.
FEW_COLUMNS = 128
# Epochs of coordinate descent that take as long as the Hessian of all columns at most, where it is computed.
EXPECTED_EPOCHS = 25
# Multiplications in a factorisation of their Hessian, times three, that it may cost for every stored entry.
FACTOR_PRODUCTS_PER_ENTRY = 1500
# Steps by epochs of coordinate descent: the violations of the KKT conditions fall to this share of tol, at first within
# these shares of the first ones, and in every round to a tenth, but not below the least share: precise models converge
# faster there. That ends where a model takes more epochs, or after this number of visits of a column on average,
# where the Hessian can be computed.
GOAL_SHARE, LEAST_GOAL, MOST_GOAL, NEXT_GOAL = 0.1, 1e-6, 0.1, 0.1
# For a smaller tolerance they end at this share: Newton steps with precise models gain digits beyond it.
PRECISE_TOL, GOAL_IF_PRECISE = 1e-6, 1e-3
MOST_EPOCHS, MOST_PASSES = 60.0, 120.0
# The relative size of the last Newton step for the intercept: the error that it leaves is about the square.
INTERCEPT_PRECISION = 1e-8


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
            if monitor.must_stop():
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


class SparseRun(SparseRounds[float]):
    """The state of a run: coefficients, their scores, products and gap, and the columns not yet screened out."""

    checkpointed = (
        "epochs_pay",
        "goal",
        "so_far",
        "credit",
        "w",
        "b",
        "best",
        "size",
        "stall",
        Positions("alive", "w"),
        Positions("last_chosen", "w"),
    )
    outcome = ("best",)

    least_curvature = 1e-12
    patience = 30
    # On nearly dependent columns rounds may creep.
    halving_patience = 2000

    def __init__(
        self,
        problem: SparseLinearProblem,
        options: Options,
        monitor: Monitor,
        threads: Threads,
        start: Result[float] | None,
    ) -> None:
        self.centring, self.problem = problem.centring, problem.centred
        points, self.l1, self.l2 = self.problem.points, problem.l1, problem.l2
        self.modulus = self.problem.modulus
        self.w = np.zeros(points.n_columns) if start is None else start.w.astype(np.float64)
        self.b = 0.0 if start is None else self.centring.intercept_here(self.w, start.intercept)
        best = Result(self.w.copy(), self.centring.intercept_there(self.w, self.b), np.empty(0))
        super().__init__(points, options, monitor, best)
        self.signs = np.asarray(self.problem.signs, dtype=np.float64)
        self.weights = self.problem.C * self.problem.weights
        self.least_curvatures = self.least_curvature * self.weights
        self.duals, self.curvatures = np.empty(self.points.n_rows), np.empty(self.points.n_rows)
        self.has_hessian = matrix_pays(self.points, EXPECTED_EPOCHS)
        # Near the solution few rows have a squared hinge, and Hessians take less time than epochs.
        self.epochs_pay = start is None or problem.is_logistic or not self.has_hessian
        self.so_far = np.array([0.0, 1.0, 0.0])
        # Multiplications that a factorisation may cost.
        self.credit = 0.0
        self.least_goal = GOAL_IF_PRECISE if options.tol < PRECISE_TOL else LEAST_GOAL
        self.goal = min(MOST_GOAL, max(self.least_goal, GOAL_SHARE * options.tol))
        self.alive = np.arange(self.w.size)
        self.size, self.last_chosen = FEW_COLUMNS, np.empty(0, dtype=np.intp)
        self.largest_size = self.w.size if self.points.is_sparse else MAX_COLUMNS
        self.engine = MemoryEngine(self.problem, threads)

    @cached_property
    def deviations(self) -> np.ndarray:
        """Standard deviations of the columns, by the weights of the rows, times the square root of their sum."""
        found: np.ndarray = np.sqrt(self.problem.columns.squared_deviations)
        return found

    @stage
    def run(self) -> Status:
        """Make rounds until there is a reason to stop."""
        return self._make_rounds()

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
        """Screen out columns whose coefficients are zero in every solution."""
        alive = self.alive
        self.alive = alive[self.may_be_used(self.w[alive], self.products[alive], self.deviations[alive])]

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
        gram = gram_matrix(self.curved_rows(), "curvatures", stopped=self.monitor.must_stop)
        total, totals = float(gram[-1, -1]), gram[-1, chosen]
        hessian = gram[np.ix_(chosen, chosen)]
        hessian = np.tril(hessian) + np.tril(hessian, -1).T
        means = totals / total if self.problem.fit_intercept and total > 0.0 else np.zeros(chosen.size)
        hessian -= np.outer(totals, means)
        old = self.w[chosen]
        w = old.copy()
        if chosen.size and not self.monitor.must_stop():
            self.solve_given_hessian(hessian, self.products[chosen] - self.problem.l2 * w, w)
        return w, -float(means @ (w - old))

    def curved_rows(self) -> MemoryEngine[SparseLinearProblem]:
        """The rows whose losses have a curvature: of squared hinges often few have."""
        self.engine["curvatures"], counted = self.curvatures, self.curvatures > self.least_curvatures
        if self.problem.is_logistic or not counted.any():
            return self.engine
        self.engine["counted"] = counted
        return self.engine.subset("counted", "curvatures")

    def descend(self, chosen: np.ndarray) -> tuple[np.ndarray, float]:
        """Epochs of coordinate descent on the model."""
        problem = self.problem
        curvatures, fit_intercept = self.curvatures, problem.fit_intercept
        model = self.model_of(chosen, self.w.copy(), -self.duals, curvatures, drift=0.0, has_intercept=fit_intercept)
        self.gram = GramMatrix(problem.columns.with_weights(curvatures), self.monitor.must_stop)
        self.minimise_by_epochs(model, chosen)
        return model.w[chosen], float(model.drift[0])

    def factor_pays(self, nonzero: np.ndarray) -> bool:
        """Whether a factorisation takes no longer than the epochs that it saves, or than the slow ones before."""
        offsets = self.points.sparse_columns.indptr if self.points.is_sparse else None
        if offsets is None:
            return True
        self.credit += FACTOR_PRODUCTS_PER_ENTRY * float((offsets[nonzero + 1] - offsets[nonzero]).sum())
        return float(nonzero.size) ** 3 <= self.credit

    def after_slow_epochs(self, model: Model, nonzero: np.ndarray) -> None:
        """Minimise the model in these columns by their Gram matrix, where that is no more work."""
        if not (nonzero.size and self.factor_pays(nonzero) and self.gram.affordable(nonzero)):
            return
        hessian, negative_gradient, w = self.gram.among(nonzero), np.empty(nonzero.size), model.w[nonzero]
        if self.monitor.must_stop():
            return
        fill_negative_gradient(self.points.columns, model, nonzero, negative_gradient)
        self.solve_given_hessian(hessian, negative_gradient, w)
        self.credit = 0.0
        change_coefficients(self.points.columns, model, nonzero, w - model.w[nonzero])
        model.w[nonzero] = w

    def make_steps(self) -> None:
        """Make steps by epochs of coordinate descent for as long as these are fast, else one with a precise model."""
        if not self.epochs_pay or not self.make_steps_by_epochs():
            self.make_step()

    def make_steps_by_epochs(self) -> bool:
        """Make steps until the violations of the KKT conditions have fallen to the next goal; return whether any."""
        problem, size, n_rows = self.problem, self.w.size, self.points.n_rows
        visits = ENTRIES_PER_CALL / max(1.0, self.points.entries_per_row * n_rows / max(1, size))
        most_work = MOST_PASSES * size if self.has_hessian else math.inf
        terms = SparseTerms(
            *(problem.is_logistic, problem.fit_intercept, self.signs, self.weights),
            *(self.least_curvature, self.l1, self.l2),
        )
        rows, values = np.zeros((6, n_rows)), np.zeros(N_SPARSE_VALUES)
        rows[0], values[INTERCEPT] = self.scores, self.b
        values[[FIRST_SUM, SHARE, WORK]] = self.so_far
        state = SparseState(self.w, self.w.copy(), self.alive.copy(), np.zeros((4, size)), rows, values)
        most_steps = min(self.patience - 1.0, self.options.max_iter - self.best.n_iter)
        ending = LIMIT
        while ending == LIMIT and values[STEPS] < most_steps and values[WORK] < most_work:
            until = min(most_work, values[WORK] + visits)
            ending = sparse_steps(self.columns, terms, state, self.goal, MOST_EPOCHS, most_steps, until)
            if self.monitor.must_stop():
                break
        self.epochs_pay = ending != NO_PROGRESS and values[STEPS] > 0.0 and values[WORK] < most_work
        self.epochs_pay = self.epochs_pay and self.goal > self.least_goal
        self.b, self.so_far = float(values[INTERCEPT]), values[[FIRST_SUM, SHARE, WORK]]
        self.goal = max(self.least_goal, NEXT_GOAL * self.goal)
        self.best.n_iter += max(0, int(values[STEPS]) - 1)
        return bool(values[STEPS] > 0.0)

    def make_step(self) -> None:
        """Make a step in a working set, of a length that lowers the objective enough (Armijo's rule)."""
        chosen = self.choose()
        problem, old = self.problem, self.w[chosen]
        new, drift = self.minimise_model(chosen)
        step = new - old
        changes = self.changes_of(chosen, step) + drift
        predicted = problem.l1 * float(np.abs(new).sum() - np.abs(old).sum()) - float(self.duals @ changes)
        predicted += problem.l2 * float(old @ step)
        rows = problem.is_logistic, self.signs, self.weights, self.scores, self.b, changes
        others = problem.penalty(self.w) - problem.penalty(old) - self.primal

        def change_at(t: float) -> float:
            value: float = loss_along(*rows, t) + others + problem.penalty(old + t * step)
            return value

        t = self.length_of_step(change_at, predicted)
        if t == 0.0:
            return
        self.w[chosen] = new if t == 1.0 else old + t * step
        self.b += t * drift

    def changes_of(self, chosen: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The changes of the scores in a step."""
        if self.has_hessian:
            direction = np.zeros(self.w.size)
            direction[chosen] = step
            return self.points.scores(direction)
        changes, moved = np.zeros(self.scores.size), np.flatnonzero(step)
        add_columns(self.points.columns, chosen[moved], step[moved], changes)
        return changes
