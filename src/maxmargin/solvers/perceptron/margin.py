"""The margin perceptron and the incremental search for its guess of the margin.

Margin perceptron: with a guess of the margin, update on every mistake and on every point nearer to the hyperplane than
half the guess, until there is none. If guess <= gamma_opt, at most 8R²/gamma_opt² + 4R/gamma_opt <= 12R²/guess² updates
are made, and the hyperplane has a margin of at least guess/2.

Incremental search: guess = R; run the margin perceptron; if it has made 12R²/guess² updates, then guess > gamma_opt:
halve it and start again. The hyperplane found has a margin of at least gamma_opt/4, after O(R²/gamma_opt²) updates in
all.

After M updates of step eta from zero, the duals divided by their sum are hull weights, so gamma_opt <= ||w||/(eta M):
a run on inseparable data proves how small any margin must be. The search's last guess is the smallest margin of
interest: where even that needs more updates than the theorem allows, no hyperplane has it.

Y. Tao, "Linear Classification: Maximizing the Margin", "Margin Perceptron" and "An Incremental Algorithm".
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from maxmargin.loops.perceptron import MarginViolations
from maxmargin.problems import PerceptronProblem
from maxmargin.solvers.core import Monitor, Options, Positions, Status, solver, stage
from maxmargin.solvers.perceptron.epochs import Epoch, EpochHistory, result_of
from maxmargin.solvers.perceptron.online import OnlineRun
from maxmargin.solvers.perceptron.result import EpochOptions, PerceptronResult, Start


@dataclass(frozen=True)
class MarginOptions(Options):
    """Options of the margin perceptrons.

    Attributes
    ----------
    gamma : float or None
        The only guess of the margin; None searches.
    min_gamma : float
        The smallest guess of a search, relative to R.
    shuffle : bool
    """

    gamma: float | None = None
    min_gamma: float = 1e-3
    shuffle: bool = True


@dataclass
class MarginResult(PerceptronResult):
    """A result with the guess of its last round and the updates of every round."""

    gamma_guess: float = math.nan
    updates_per_round: tuple[int, ...] = ()


@solver()
def solve(
    problem: PerceptronProblem,
    options: MarginOptions,
    monitor: Monitor,
    start: None = None,  # noqa: ARG001
) -> MarginResult:
    """Run with the given guess, or search for one. Every round starts at zero, where the theorems hold."""
    radius = float(np.max(np.sqrt(problem.squared_norms) / problem.lengths))
    searching = options.gamma is None
    smallest_guess = options.min_gamma * radius
    guess = radius if options.gamma is None else options.gamma
    epoch_options = EpochOptions(tol=None, shuffle=options.shuffle, seed=options.seed)
    epochs: list[Epoch] = []
    updates_per_round: list[int] = []
    while True:
        epochs_left = options.max_iter - len(epochs)
        run = MarginRun(problem, replace(epoch_options, max_iter=epochs_left), monitor, guess, radius)
        ended = run.until_no_violation(smallest_guess if searching else 0.0)
        status: Status | None = None if ended is Status.RUNNING else ended
        epochs += run.history.epochs
        updates_per_round.append(sum(epoch.updates for epoch in run.history.epochs))
        if status is None and (not searching or guess <= smallest_guess):
            status = Status.NO_SUCH_MARGIN
        status = status or monitor.check_work(len(epochs), options)
        if status is not None:
            break
        guess = max(guess / 2.0, smallest_guess)
    return MarginResult(
        **vars(result_of(run, status, epochs)),
        gamma_guess=guess,
        updates_per_round=tuple(updates_per_round),
    )


class MarginRun(OnlineRun):
    """One round: the margin perceptron from zero with one guess."""

    def __init__(
        self, problem: PerceptronProblem, options: EpochOptions, monitor: Monitor, guess: float, radius: float
    ) -> None:
        super().__init__(problem, options, Start())
        self.monitor, self.history = monitor, EpochHistory(options, monitor, self)
        ratio = radius / guess if guess > 0.0 else 0.0
        # A product overflows to infinity, a power of Python's floats to an error.
        update_limit = math.ceil(min(12.0 * ratio * ratio, 2.0**62))
        self.margin_rule = MarginViolations(
            distance=guess / 2.0,
            lengths=problem.lengths,
            squared_norms=problem.squared_norms,
            squared_length=np.zeros(1),
            updates_left=np.array([update_limit]),
        )
        self.rule = self.margin_rule

    @property
    def checkpointed(self) -> tuple[str | Positions, ...]:  # type: ignore[override]
        """What the next epochs depend on."""
        return (*super().checkpointed, "margin_rule.squared_length", "margin_rule.updates_left", "history")

    @property
    def outcome(self) -> tuple[str | Positions, ...]:
        """What the next round, or the result, depends on."""
        return self.checkpointed

    @stage
    def until_no_violation(self, smallest_guess: float) -> Status:
        """Run epochs until one has no violation; RUNNING where the update limit was reached first."""
        history = self.history
        status = self.monitor.check_limits()
        while status is None:
            self.monitor.checkpoint(self)
            for epoch in self.epochs(self.monitor, history.epochs_until_check()):
                status = history.add(epoch)
            w, b = self.coefficients.w, self.coefficients.intercept[0]
            self.margin_rule.squared_length[0] = np.square(w).sum() + b**2
            if self.margin_rule.updates_left[0] < 0:
                return Status.RUNNING
            if status is not Status.SOLVED and self.upper_bound() < smallest_guess:
                status = Status.NO_SUCH_MARGIN
        return status

    def upper_bound(self) -> float:
        """||w||/(eta M): no hyperplane has a larger margin."""
        total = float(self.coefficients.alpha @ self.problem.lengths)
        return math.sqrt(self.margin_rule.squared_length[0]) / total if total else math.inf
