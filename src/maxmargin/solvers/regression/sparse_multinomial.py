"""Multinomial logistic regression with an L1 penalty, by proximal Newton steps on one class after the other.

    minimise l1 ||W||_1 + l2/2 ||W||² + C sum_i c_i (log sum_k exp(f_k(x_i)) - f_y(x_i))

A round computes the gap and screens out coefficients that are zero in every solution (Ndiaye, Fercoq, Gramfort, Salmon,
"Gap safe screening rules for sparsity enforcing penalties", 2017). Then for every class in turn the quadratic model of
the losses in its scores, with the penalties, is minimised over a working set of columns by coordinate descent, and a
step of a length is made that lowers the objective enough (Friedman, Hastie, Tibshirani, "Regularization paths for
generalized linear models via coordinate descent", 2010, with a line search). The free intercepts are minimised
jointly after every round.
"""

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np

from maxmargin.data import centred
from maxmargin.data.blas import one_blas_thread
from maxmargin.data.interruption import InterruptedPassError, ending_when
from maxmargin.loops.sparse_linear import Model, add_columns, descend_on_model, measure_columns
from maxmargin.problems.multinomial import multinomial_losses, softmax
from maxmargin.problems.sparse_multinomial import MODULUS, SparseMultinomialProblem
from maxmargin.solvers.core import ENTRIES_PER_CALL, Monitor, Options, Result, StallTest, Status, solver, stage

# Coefficients of a class that are new in its first working set; the number doubles where others violate more.
FEW_COLUMNS = 64
# Epochs over the working set in a step, and epochs over its nonzero coefficients after each; an epoch that lowers the
# model by less than this share of the first one is the last.
EPOCHS, EPOCHS_OF_NONZEROS, EPOCH_SHARE = 3, 10, 0.05
# The least curvature of a row, as a share of its weight: without any, a column could not be moved to zero.
LEAST_CURVATURE = 1e-9
# Armijo's rule: the share of the predicted decrease that a step must reach, the factor of the next shorter step, and
# the most reductions. A change of the objective by the last share is rounding.
SUFFICIENT_DECREASE, REDUCTION, MAX_REDUCTIONS, ROUNDING = 0.01, 0.5, 40, 1e-14
# The certificate counts all rounding errors: this share of the gap is required.
SHARE_OF_TOL = 0.9
# Rounds without progress after which the run has stalled: a relative gap below this factor of the last one, or an
# objective that has fallen by this share of the gap.
PATIENCE, GAP_FACTOR, GAP_SHARE = 50, 0.999, 1e-3
# So has a run whose gap is not halved in so many: of nearly equal columns it shrinks a little in each, for ever.
HALVING_PATIENCE = 2000


@solver({"a positive penalty on the 1-norm": lambda problem, _: problem.l1 > 0.0})
def solve(
    problem: SparseMultinomialProblem, options: Options, monitor: Monitor, start: Result[np.ndarray] | None = None
) -> Result[np.ndarray]:
    """Make rounds until the relative gap is at most ``tol``, from the coefficients of ``start`` or from zero."""
    options = replace(options, tol=SHARE_OF_TOL * options.tol)
    with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"), one_blas_thread():
        run = SparseMultinomialRun(problem, options, monitor, start)
        run.best.status = run.run()
        return run.best


class SparseMultinomialRun:
    """The state of a run: coefficients, intercepts, scores, the products of the duals with the columns, and the gap."""

    checkpointed: ClassVar[tuple[str, ...]] = ("W", "b", "alive", "best", "size", "stall")
    outcome: ClassVar[tuple[str, ...]] = ("best",)

    def __init__(
        self,
        problem: SparseMultinomialProblem,
        options: Options,
        monitor: Monitor,
        start: Result[np.ndarray] | None,
    ) -> None:
        losses = problem.losses
        self.options, self.monitor = options, monitor
        self.centring = centred(losses.points, may_move=losses.fit_intercept, weights=losses.weights)
        self.problem = replace(problem, losses=replace(losses, points=self.centring.points))
        self.points, self.n_classes = self.problem.points, losses.n_classes
        shape = self.n_classes, self.points.n_columns
        self.W = np.zeros(shape) if start is None else start.w.astype(np.float64)
        self.b = losses.initial_intercepts() if start is None else start.intercept + self.W @ self.centring.centre
        self.weights = losses.C * losses.weights
        self.deviations = np.sqrt(self.problem.columns.squared_deviations)
        self.alive = np.ones(shape, dtype=bool)
        self.size = FEW_COLUMNS
        self.totals, self.squares = np.zeros(shape[1]), np.zeros(shape[1])
        self.stall = StallTest(
            PATIENCE,
            gap_factor=GAP_FACTOR,
            dual_factor=math.inf,
            gap_share=GAP_SHARE,
            halving_patience=HALVING_PATIENCE,
        )
        self.best: Result[np.ndarray] = Result(self.W.copy(), self.intercepts_there(), np.empty(0))

    def intercepts_there(self) -> np.ndarray:
        """The intercepts for columns that are not centred."""
        return self.b - self.W @ self.centring.centre

    def stopped(self) -> bool:
        """Whether the run has to stop now."""
        return self.monitor.check_limits() is not None

    @stage
    def run(self) -> Status:
        """Make rounds until there is a reason to stop; a limit also ends an evaluation between two passes."""
        try:
            with ending_when(self.stopped):
                return self._make_rounds()
        except InterruptedPassError:
            return self.monitor.check_limits() or Status.INTERRUPTED

    def _make_rounds(self) -> Status:
        while True:
            self.monitor.checkpoint(self)
            self.evaluate()
            stalled = self.stall.update(self.best, self.best.n_iter)
            status = self.monitor.check_termination(self.best, self.options, "round", stalled=stalled)
            if status is not None:
                return status
            self.screen()
            for k, chosen in enumerate(self.choose()):
                if self.stopped():
                    break
                self.make_step(k, chosen)
            self.best.n_iter += 1

    def evaluate(self) -> None:
        """Compute scores, the best intercepts, duals and both values from the coefficients alone."""
        problem, losses, best = self.problem, self.problem.losses, self.best
        self.scores = self.points.scores(self.W.T)
        if losses.fit_intercept:
            self.b = losses.best_intercepts(self.scores, self.b)
        self.scores += self.b
        probabilities = softmax(self.scores)
        self.primal = self.loss_of(self.scores) + problem.penalty(self.W)
        duals = -self.weights[:, None] * probabilities
        duals[losses.own] += self.weights
        self.products = np.array([self.points.combination(np.ascontiguousarray(column)) for column in duals.T])
        inside = probabilities > 0.0
        logarithms = np.log(np.where(inside, probabilities, 1.0))
        entropies = -float(self.weights @ (probabilities * logarithms).sum(axis=1))
        self.multiple, self.dual = problem.dual_value(entropies, np.abs(self.products))
        if self.primal <= best.primal or self.primal - self.dual < best.primal - best.dual:
            best.w, best.intercept = self.W.copy(), self.intercepts_there()
            best.primal, best.dual = self.primal, self.dual

    def loss_of(self, scores: np.ndarray) -> float:
        """The losses of all rows."""
        return float(self.weights @ multinomial_losses(scores, self.problem.losses.own))

    def screen(self) -> None:
        """Screen out coefficients that are zero in every solution: no dual in the gap's ball reaches l1."""
        radius = math.sqrt(2.0 * max(0.0, self.primal - self.dual) / MODULUS)
        largest = self.multiple * np.abs(self.products) + radius * self.deviations
        # A coefficient that is not zero yet becomes so in the steps to come.
        self.alive &= ~(largest < self.problem.l1 * (1.0 - 1e-9)) | (self.W != 0.0)

    def choose(self) -> list[np.ndarray]:
        """The working set of every class: nonzero coefficients, and those that violate their KKT condition most."""
        used = self.W != 0.0
        violations = np.where(self.alive & ~used, np.abs(self.products) - self.problem.l1, -math.inf)
        n_violated = int((violations > 0.0).sum(axis=1).max(initial=0))
        if n_violated > self.size:
            self.size = min(2 * self.size, self.W.shape[1])
        chosen = []
        for k in range(self.n_classes):
            # Near zero some of those that are not violated will be when the others have changed.
            order = np.argsort(-violations[k], kind="stable")[: self.size]
            new = order[violations[k, order] > -0.1 * self.problem.l1]
            chosen.append(np.union1d(np.flatnonzero(used[k]), new))
        return chosen

    def make_step(self, k: int, chosen: np.ndarray) -> None:
        """Minimise the model of class k in these columns, and make a step that lowers the objective enough."""
        if not chosen.size:
            return
        problem, losses, columns = self.problem, self.problem.losses, self.points.columns
        shares = softmax(self.scores)[:, k]
        derivatives = self.weights * (shares - (losses.codes == k))
        curvatures = np.maximum(self.weights * shares * (1.0 - shares), LEAST_CURVATURE * self.weights)
        for first, last in self.pieces(chosen):
            measure_columns(columns, chosen, first, last, curvatures, self.totals, self.squares)
        total = float(curvatures.sum())
        has_intercept = losses.fit_intercept and total > 0.0
        totals = self.totals if has_intercept else np.zeros_like(self.totals)
        means = totals / total if total > 0.0 else totals
        of_columns = np.maximum(self.squares - totals * means, LEAST_CURVATURE * self.squares) + problem.l2
        # The step of the intercept at which the model is smallest comes first.
        drift = np.array([-float(derivatives.sum()) / total if has_intercept else 0.0])
        w, slopes = self.W[k].copy(), derivatives.copy()
        model = Model(w, derivatives, drift, curvatures, means, totals, of_columns, problem.l1, problem.l2)
        self.descend(model, chosen)
        old, step = self.W[k, chosen], w[chosen] - self.W[k, chosen]
        changes = np.full(self.scores.shape[0], float(drift[0]))
        moved = np.flatnonzero(step)
        add_columns(columns, chosen[moved], step[moved], changes)
        predicted = problem.l1 * float(np.abs(old + step).sum() - np.abs(old).sum()) + float(slopes @ changes)
        predicted += problem.l2 * float(old @ step)
        self.search(k, chosen, step, changes, float(drift[0]), predicted)

    def descend(self, model: Model, chosen: np.ndarray) -> None:
        """Epochs of coordinate descent on the model."""
        first_decrease = 0.0
        for _ in range(EPOCHS):
            decrease = self.epoch(model, chosen)
            first_decrease = max(first_decrease, decrease)
            nonzero, last = chosen[model.w[chosen] != 0.0], decrease
            for _ in range(EPOCHS_OF_NONZEROS):
                last = self.epoch(model, nonzero)
                if last <= EPOCH_SHARE * decrease or self.stopped():
                    break
            if max(decrease, last) <= EPOCH_SHARE * first_decrease or self.stopped():
                break

    def epoch(self, model: Model, chosen: np.ndarray) -> float:
        """Make one epoch; return by how much the model fell."""
        pieces = self.pieces(chosen)
        return sum(descend_on_model(self.points.columns, model, chosen, first, last) for first, last in pieces)

    def pieces(self, chosen: np.ndarray) -> list[tuple[int, int]]:
        """Ranges of the working set that are short enough for Ctrl-C."""
        points = self.points
        per_column = max(1.0, points.entries_per_row * points.n_rows / max(1, points.n_columns))
        step = max(1, int(ENTRIES_PER_CALL / per_column))
        return [(first, min(first + step, chosen.size)) for first in range(0, chosen.size, step)]

    def search(
        self, k: int, chosen: np.ndarray, step: np.ndarray, changes: np.ndarray, drift: float, predicted: float
    ) -> None:
        """Take the longest step that lowers the objective by a share of what its derivative promises."""
        problem, old = self.problem, self.W[k, chosen]
        before, penalty, t = self.loss_of(self.scores), problem.penalty(old), 1.0
        trial = self.scores.copy()
        for _ in range(MAX_REDUCTIONS):
            if self.stopped():
                return
            trial[:, k] = self.scores[:, k] + t * changes
            change = self.loss_of(trial) - before + problem.penalty(old + t * step) - penalty
            if change <= SUFFICIENT_DECREASE * t * min(0.0, predicted) + ROUNDING * abs(self.primal):
                self.W[k, chosen] = old + t * step
                self.b[k] += t * drift
                self.scores = trial
                return
            t *= REDUCTION
