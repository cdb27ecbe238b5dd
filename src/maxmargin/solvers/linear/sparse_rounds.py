"""Rounds of proximal Newton steps with a penalty on the 1-norm: what two classes and several have in common.

A round computes the gap, screens out coefficients that are zero in every solution (Ndiaye, Fercoq, Gramfort, Salmon,
"Gap safe screening rules for sparsity enforcing penalties", 2017), and makes steps in working sets of columns. The
quadratic model of a step is minimised by coordinate descent: epochs over the working set, and after each of them epochs
over its nonzero coefficients.
"""

import math
from collections.abc import Callable, Iterator
from typing import ClassVar, Generic

import numpy as np

from maxmargin.data import Points
from maxmargin.data.interruption import InterruptedPassError, ending_when
from maxmargin.data.rows import Rows
from maxmargin.loops.sparse_linear import Model, descend_on_model, measure_columns
from maxmargin.solvers.core import ENTRIES_PER_CALL, Monitor, Options, Result, StallTest, Status
from maxmargin.solvers.core.checkpoint import Declared
from maxmargin.solvers.core.result import InterceptT
from maxmargin.solvers.regression.given_gram import solve_given_gram

# Epochs over the working set in a step, and epochs over its nonzero coefficients after each; an epoch that lowers the
# model by less than this share of the first one is the last.
EPOCHS, EPOCHS_OF_NONZEROS, EPOCH_SHARE = 3, 10, 0.05
# Armijo's rule: the share of the predicted decrease that a step must reach, the factor of the next shorter step, and
# the most reductions. A change of the objective by the last share is rounding.
SUFFICIENT_DECREASE, STEP_REDUCTION, MAX_REDUCTIONS, NO_CHANGE = 0.01, 0.5, 40, 1e-14
# A step that reaches this share of the predicted decrease, half of which is the most of a quadratic function, is tried
# at multiples of its length.
LARGE_DECREASE, EXTENSION, MAX_EXTENSION = 0.6, 1.5, 8.0
# With a Hessian, the violation of a KKT condition that a round leaves, as a share of the one at its start; and the
# share of the diagonal that is added to it: it is singular where columns in use are dependent.
VIOLATION_LEFT, DAMPING = 1e-3, 1e-8
# The certificate counts all rounding errors: this share of the gap is required.
SHARE_OF_TOL = 0.9
# Progress of the stall test: a relative gap below this factor of the last one, or an objective that has fallen by this
# share of the gap.
GAP_FACTOR, GAP_SHARE = 0.999, 1e-3
# A dual constraint that is nearer to equality than this share is not told from one that holds with equality.
SCREENING_SHARE = 1e-9


class SparseRounds(Generic[InterceptT]):
    """A run that makes rounds; the coefficients, their scores and the gap are those of the derived class."""

    # What checkpoints keep of a run.
    checkpointed: ClassVar[Declared]
    # The least curvature of a row, as a share of its weight: without any, a column could not be moved to zero.
    least_curvature: ClassVar[float]
    # Of the problem: the penalties, and the strong convexity of the losses' conjugates.
    l1: float
    l2: float
    modulus: float
    # Rounds without progress after which the run has stalled, and rounds in which the gap is halved once.
    patience: ClassVar[float]
    halving_patience: ClassVar[float] = math.inf

    primal: float
    dual: float
    # The factor on the duals that makes them feasible.
    multiple: float

    def __init__(self, points: Points, options: Options, monitor: Monitor, best: Result[InterceptT]) -> None:
        self.points, self.options, self.monitor = points, options, monitor
        self.best: Result[InterceptT] = best
        self.stall = StallTest(
            self.patience,
            gap_factor=GAP_FACTOR,
            dual_factor=math.inf,
            gap_share=GAP_SHARE,
            halving_patience=self.halving_patience,
        )
        self.totals, self.squares = np.zeros(points.n_columns), np.zeros(points.n_columns)

    def evaluate(self) -> None:
        """Compute both values and the products of the duals with the columns, and update the incumbent."""
        raise NotImplementedError

    def screen(self) -> None:
        """Screen out columns whose coefficients are zero in every solution."""
        raise NotImplementedError

    def make_steps(self) -> None:
        """Make the steps of a round."""
        raise NotImplementedError

    def _make_rounds(self) -> Status:
        """Make rounds until there is a reason to stop."""
        while True:
            self.monitor.checkpoint(self)
            self.evaluate()
            stalled = self.stall.update(self.best, self.best.n_iter)
            status = self.monitor.check_termination(self.best, self.options, "round", stalled=stalled)
            if status is not None:
                return status
            try:
                with ending_when(self.monitor.must_stop):
                    self.screen()
                self.make_steps()
            except InterruptedPassError:
                return self.monitor.status_when_stopped()
            self.best.n_iter += 1

    @property
    def columns(self) -> Rows:
        """The columns; a limit ends their copy, and with it the run."""
        with ending_when(self.monitor.must_stop):
            return self.points.columns

    def may_be_used(self, w: np.ndarray, products: np.ndarray, deviations: np.ndarray) -> np.ndarray:
        """Whether coefficients may not be zero in a solution: duals in the gap's ball reach l1, or they are not zero.

        A coefficient that is not zero yet becomes so in the steps to come.
        """
        radius = math.sqrt(2.0 * max(0.0, self.primal - self.dual) / self.modulus)
        largest = self.multiple * np.abs(products) + radius * deviations
        found: np.ndarray = ~(largest < self.l1 * (1.0 - SCREENING_SHARE)) | (w != 0.0)
        return found

    def model_of(
        self,
        chosen: np.ndarray,
        w: np.ndarray,
        derivatives: np.ndarray,
        curvatures: np.ndarray,
        *,
        drift: float,
        has_intercept: bool,
    ) -> Model:
        """The quadratic model of the losses at w, in the columns chosen; ``drift`` is that of the intercept."""
        for first, last in self.pieces(chosen):
            measure_columns(self.columns, chosen, first, last, curvatures, self.totals, self.squares)
        total = float(curvatures.sum())
        totals = self.totals if has_intercept and total > 0.0 else np.zeros_like(self.totals)
        means = totals / total if total > 0.0 else totals
        of_columns = np.maximum(self.squares - totals * means, self.least_curvature * self.squares) + self.l2
        return Model(w, derivatives, np.array([drift]), curvatures, means, totals, of_columns, self.l1, self.l2)

    def minimise_by_epochs(self, model: Model, chosen: np.ndarray) -> None:
        """Epochs of coordinate descent on the model."""
        first_decrease = 0.0
        for _ in range(EPOCHS):
            decrease = self.epoch(model, chosen)
            first_decrease = max(first_decrease, decrease)
            nonzero, last_decrease = chosen[model.w[chosen] != 0.0], decrease
            for _ in range(EPOCHS_OF_NONZEROS):
                last_decrease = self.epoch(model, nonzero)
                if last_decrease <= EPOCH_SHARE * decrease or self.monitor.must_stop():
                    break
            if max(decrease, last_decrease) <= EPOCH_SHARE * first_decrease or self.monitor.must_stop():
                break
            if last_decrease > EPOCH_SHARE * decrease:
                self.after_slow_epochs(model, nonzero)

    def after_slow_epochs(self, model: Model, nonzero: np.ndarray) -> None:
        """What helps where epochs over the nonzero coefficients still lower the model much."""

    def epoch(self, model: Model, chosen: np.ndarray) -> float:
        """Make one epoch; return by how much the model fell."""
        pieces = self.pieces(chosen)
        value: float = sum(descend_on_model(self.points.columns, model, chosen, first, last) for first, last in pieces)
        return value

    def pieces(self, chosen: np.ndarray) -> Iterator[tuple[int, int]]:
        """Ranges of the working set that are short enough for Ctrl-C."""
        points = self.points
        per_column = max(1.0, points.entries_per_row * points.n_rows / max(1, points.n_columns))
        step = max(1, int(ENTRIES_PER_CALL / per_column))
        for first in range(0, chosen.size, step):
            yield first, min(first + step, chosen.size)
            if self.monitor.must_stop():
                break

    def solve_given_hessian(self, hessian: np.ndarray, negative_gradient: np.ndarray, w: np.ndarray) -> None:
        """Minimise the model in some columns, in place, given its Hessian and minus its gradient without the 1-norm.

        The Hessian is that of the losses alone.
        """
        l1, diagonal = self.l1, np.einsum("ii->i", hessian)
        np.maximum((1.0 + DAMPING) * diagonal, self.least_curvature * float(diagonal.max()), out=diagonal)
        diagonal += self.l2
        violations = np.where(w != 0.0, np.abs(negative_gradient - l1 * np.sign(w)), np.abs(negative_gradient) - l1)
        goal = VIOLATION_LEFT * max(float(violations.max()), 0.1 * self.options.tol * l1)
        solve_given_gram(hessian, negative_gradient, w, l1, goal, self.monitor.must_stop)

    def length_of_step(self, change_at: Callable[[float], float], predicted: float) -> float:
        """The longest length of a step that lowers the objective by a share of what is predicted; zero if none does.

        ``change_at`` is the change of the objective at a length. Where losses are nearly exponential, Newton steps are
        far too short: then longer ones are tried.
        """
        t, change = 1.0, change_at(1.0)
        for _ in range(MAX_REDUCTIONS):
            if change <= SUFFICIENT_DECREASE * t * min(0.0, predicted) + NO_CHANGE * abs(self.primal):
                break
            if self.monitor.must_stop():
                return 0.0
            t *= STEP_REDUCTION
            change = change_at(t)
        else:
            return 0.0
        if t < 1.0 or change > LARGE_DECREASE * predicted:
            return t
        while t < MAX_EXTENSION:
            longer = change_at(EXTENSION * t)
            if not longer < change:
                break
            t, change = EXTENSION * t, longer
        return t
