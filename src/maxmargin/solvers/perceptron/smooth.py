"""The smooth perceptron: a separating hyperplane after O(R/gamma) epochs instead of O(R²/gamma²) updates.

With points z_i = y_i x_i / R, the margin is the value of a game between a vector v and hull weights c,

    max over v of (min_i z_i·v - ||v||²/2)  =  min over c of ||sum c_i z_i||²/2  =  (gamma_opt/R)²/2.

The perceptron answers v with one worst point; here the answer is spread over all points by a softmax of temperature mu,
which falls as 1/k², and both sides are averaged (Nesterov's excessive gap). The first separating hyperplane is found
after at most 2 sqrt(log n) R/gamma_opt epochs, and every epoch yields a hyperplane and hull weights: a bracket.

N. Soheili, J. Peña, "A smooth perceptron algorithm", SIAM Journal on Optimization 22, 2012.
"""

import math

import numpy as np

from maxmargin.problems import PerceptronProblem
from maxmargin.solvers.core import Monitor, Status, StepReport, solver, stage
from maxmargin.solvers.perceptron.epochs import Epoch, EpochRecord, counts_of
from maxmargin.solvers.perceptron.margin import MarginOptions, MarginResult
from maxmargin.solvers.perceptron.result import Start

# The share of the guess, or without one of the upper bound, that the margin has to reach: that of the margin
# perceptron's theorem.
MARGIN_SHARE = 0.5


@solver()
def solve(
    problem: PerceptronProblem,
    options: MarginOptions,
    monitor: Monitor,
    start: None = None,  # noqa: ARG001
) -> MarginResult:
    """Run until half of the margin asked for, or of the largest one, is reached; or no hyperplane can have it.

    The run starts at the mean of the points, where the theorem holds.
    """
    run = SmoothRun(problem, monitor)
    status = run.run(options)
    w, intercept, alpha = run.result()
    counts = counts_of(run.epochs) | {"n_updates": len(run.epochs)}
    return MarginResult(
        w=w,
        intercept=intercept,
        beta=problem.dataset.signs * alpha,
        status=status,
        criterion_per_pass=counts["online_loss_per_pass"],
        end=Start(w, intercept),
        gamma_guess=run.bracket()[1] if options.gamma is None else options.gamma,
        updates_per_round=(len(run.epochs),),
        **counts,
    )


class SmoothRun(EpochRecord):
    """The vector v, the hull weights c, and the temperature."""

    checkpointed = ("v", "weights", "mean", "scores", "temperature", "n_epochs", "table")
    outcome = checkpointed

    def __init__(self, problem: PerceptronProblem, monitor: Monitor) -> None:
        self.problem, self.monitor, self.epochs = problem, monitor, []
        dataset = problem.dataset
        self.counted = np.ones(dataset.signs.size, dtype=bool)
        if dataset.weights is not None:
            self.counted = dataset.weights > 0.0
        self.radius = (
            float(np.max((np.sqrt(problem.squared_norms) / problem.lengths)[self.counted], initial=0.0)) or 1.0
        )
        # z_i = factor_i (x_i, 1)
        self.factors = np.where(self.counted, dataset.signs / (problem.lengths * self.radius), 0.0)
        self.weights = self.counted / self.counted.sum()
        self.mean = self._combined(self.weights)
        self.v, self.temperature, self.n_epochs = self.mean.copy(), 1.0, 0
        self.scores = self._scores(self.v)
        self.weights = self._answer()
        self.mean = self._combined(self.weights)

    @stage
    def run(self, options: MarginOptions) -> Status:
        """Run epochs until the margin is reached, or no hyperplane can have it."""
        guess = options.gamma
        smallest = options.min_gamma * self.radius if guess is None else guess
        status = self.monitor.check_limits()
        while status is None:
            self.monitor.checkpoint(self)
            self.epochs.append(self.epoch())
            lower, upper = self.bracket()
            ended = None
            if lower >= MARGIN_SHARE * (upper if guess is None else guess) and lower > 0.0:
                ended = Status.SOLVED
            elif upper < smallest:
                ended = Status.NO_SUCH_MARGIN
            status = self.monitor.check(ended, len(self.epochs), options, self.report)
        return status

    def epoch(self) -> Epoch:
        """Move both sides once; the loss is that of the new v."""
        share = 2.0 / (self.n_epochs + 3.0)
        answer = self._combined(self._answer())
        self.v = (1.0 - share) * (self.v + share * self.mean) + share**2 * answer
        self.temperature *= 1.0 - share
        self.scores = self._scores(self.v)
        best = self._answer()
        self.weights = (1.0 - share) * self.weights + share * best
        self.mean = (1.0 - share) * self.mean + share * self._combined(best)
        self.n_epochs += 1
        wrong = self.counted & (self.scores <= 0.0)
        loss = float(np.sum(-self.scores, where=wrong)) * self.radius
        return Epoch(int(np.count_nonzero(wrong)), loss, int(self.counted.sum()))

    def bracket(self) -> tuple[float, float]:
        """The margin of the hyperplane, and the length of the hull point."""
        length = float(np.linalg.norm(self.v))
        lower = float(self.scores.min(where=self.counted, initial=math.inf)) / length if length > 0.0 else -math.inf
        return self.radius * lower, self.radius * float(np.linalg.norm(self.mean))

    def result(self) -> tuple[np.ndarray, float, np.ndarray]:
        """The coefficients, and the hull weights as steps on the rows themselves."""
        intercept = float(self.v[-1]) if self.problem.fit_intercept else 0.0
        return self.v[:-1].copy(), intercept, self.weights / self.problem.lengths

    def report(self) -> StepReport:
        """The bracket after an epoch."""
        lower, upper = self.bracket()
        summary = f"margin {lower:.6g} of at most {upper:.6g}"
        share = max(0.0, lower) / upper if upper > 0.0 else 0.0
        return StepReport(step="pass", number=self.n_epochs, summary=summary, share=share, result=self.result)

    def _answer(self) -> np.ndarray:
        """The softmax of the points with the smallest scores."""
        scores = np.where(self.counted, self.scores, math.inf)
        answer = np.exp((scores.min() - scores) / self.temperature)
        found: np.ndarray = answer / answer.sum()
        return found

    def _scores(self, v: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.factors * (self.problem.dataset.points.scores(v[:-1]) + v[-1])
        return found

    def _combined(self, weights: np.ndarray) -> np.ndarray:
        signed = weights * self.factors
        intercept = float(signed.sum()) if self.problem.fit_intercept else 0.0
        return np.append(self.problem.dataset.points.combination(signed), intercept)
