"""The margin perceptron (theory A10) and the incremental search for its guess (A11).

A10: with a guess of the margin, update on every mistake and on every point nearer to the plane than half the guess,
until there is none. If guess <= gamma_opt, at most 8R²/gamma_opt² + 4R/gamma_opt <= 12R²/guess² updates are made, and
the plane has a margin of at least guess/2.

A11: guess = R; run A10; if it has made 12R²/guess² updates, then guess > gamma_opt: halve it and start again. The plane
found has a margin of at least gamma_opt/4, after O(R²/gamma_opt²) updates in all.

After M updates of step eta from zero, the duals divided by their sum are hull weights, so gamma_opt <= ||w||/(eta M):
a run on data that cannot be separated proves how small any margin must be. The search's last guess is the smallest
margin that is of interest: where even that needs more updates than A10 allows, no plane has it.

Y. Tao, "Linear Classification: Maximizing the Margin", "Margin Perceptron" and "An Incremental Algorithm".
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from maxmargin.loops.perceptron import NearerThan
from maxmargin.problems import PerceptronProblem
from maxmargin.solvers.core import Monitor, Status
from maxmargin.solvers.perceptron.epochs import PassOutcome, PassRecord, result_of
from maxmargin.solvers.perceptron.online import OnlineRun
from maxmargin.solvers.perceptron.result import EpochOptions, PerceptronResult, Start


@dataclass(frozen=True)
class MarginOptions:
    """How to guess: ``gamma`` is the only guess (A10), or None to search (A11) down to ``min_gamma`` R."""

    gamma: float | None = None
    min_gamma: float = 1e-3
    max_iter: int | None = None
    shuffle: bool = True
    seed: int = 0


@dataclass
class MarginResult(PerceptronResult):
    """A result with the guess it ended on and the updates of every round."""

    gamma_guess: float = math.nan
    updates_per_round: tuple[int, ...] = ()


def solve(problem: PerceptronProblem, options: MarginOptions, monitor: Monitor) -> MarginResult:
    """Run A10 with the given guess, or A11."""
    radius = float(np.max(np.sqrt(problem.squared_norms) / problem.lengths))
    searching = options.gamma is None
    smallest_guess = options.min_gamma * radius
    guess = radius if options.gamma is None else options.gamma
    max_iter = math.inf if options.max_iter is None else options.max_iter
    epoch_options = EpochOptions(max_iter=0, tol=None, shuffle=options.shuffle, seed=options.seed)
    outcomes: list[PassOutcome] = []
    updates_per_round: list[int] = []
    while True:
        passes_left = max_iter - len(outcomes)
        run = MarginRun(problem, replace(epoch_options, max_iter=passes_left), guess, radius)
        status, made = run.until_no_violation(monitor, smallest_guess if searching else 0.0)
        outcomes += made
        updates_per_round.append(sum(outcome.updates for outcome in made))
        if status is None and (not searching or guess <= smallest_guess):
            status = Status.NOT_SEPARABLE
        if status is None and len(outcomes) >= max_iter:
            status = Status.ITERATION_LIMIT
        if status is not None:
            break
        guess = max(guess / 2.0, smallest_guess)
    return MarginResult(
        **vars(result_of(run, status, outcomes)),
        gamma_guess=guess,
        updates_per_round=tuple(updates_per_round),
    )


class MarginRun(OnlineRun):
    """One round: A10 from zero with one guess."""

    def __init__(self, problem: PerceptronProblem, options: EpochOptions, guess: float, radius: float) -> None:
        super().__init__(problem, options, Start())
        self._options = options
        budget = math.ceil(min(12.0 * (radius / guess) ** 2, 2.0**62)) if guess > 0.0 else 0
        self.margin_rule = NearerThan(
            distance=guess / 2.0,
            lengths=problem.lengths,
            squared_norms=problem.squared_norms,
            squared_length=np.zeros(1),
            updates_left=np.array([budget]),
        )
        self.rule = self.margin_rule

    def until_no_violation(self, monitor: Monitor, smallest_guess: float) -> tuple[Status | None, list[PassOutcome]]:
        """Make passes until one has no violation; the status is None where the budget ended first."""
        record = PassRecord(self._options, monitor, self)
        status = monitor.check_limits()
        while status is None:
            for outcome in self.make_passes(monitor, record.passes_before_judgement()):
                status = record.add(outcome)
            self.margin_rule.squared_length[0] = np.square(self.plane.w).sum() + self.plane.intercept[0] ** 2
            if self.margin_rule.updates_left[0] < 0:
                status = None
                break
            if status is not Status.SOLVED and self.upper_bound() < smallest_guess:
                status = Status.NOT_SEPARABLE
        return status, record.outcomes

    def upper_bound(self) -> float:
        """||w||/(eta M): no plane has a larger margin."""
        total = float(self.plane.alpha @ self.problem.lengths)
        return math.sqrt(self.margin_rule.squared_length[0]) / total if total else math.inf
