"""The state of a run of logistic regression, and its duality gap; the base of Newton's method and gradient descent."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from maxmargin.data import centred, estimate_offsets
from maxmargin.engine import Block, MemoryEngine, Threads
from maxmargin.loops.logistic import evaluate_losses, intercept_derivatives
from maxmargin.loops.logistic_run import LAST_DIGITS, LAST_INTERCEPT_STEP, LOGISTIC_STALL_RULE
from maxmargin.problems.logistic import LogisticProblem, certified_radius, falling_root
from maxmargin.problems.multinomial import MultinomialProblem
from maxmargin.solvers.core import Monitor, Options, Result, StallTest, Status
from maxmargin.solvers.core.hessian import combination, fill_scores

# An iterate with a larger gap than the incumbent's is better where its objective is lower by this share of the gap.
GAP_SHARE = 1e-2
# A standard deviation of less than this share of the mean is a rounding error.
ROUNDED_DEVIATION = 1e-12
# A smaller relative gap is a rounding error.
SMALLEST_TOL = 1e-13


@dataclass
class LogisticResult(Result[float]):
    """The incumbent of a run.

    Attributes
    ----------
    separating : tuple of ndarray of shape (d,) and float, or None
        Coefficients and intercept of a hyperplane with no point on its wrong side, where one was found.
    """

    separating: tuple[np.ndarray, float] | None = None


def initial_result(problem: LogisticProblem, start: Result[float] | None) -> LogisticResult:
    """Begin at the coefficients of ``start``, or at zero."""
    if start is None:
        return LogisticResult(np.zeros(problem.points.n_columns), 0.0, np.empty(0))
    return LogisticResult(start.w, start.intercept, np.empty(0))


def gap_to_reach(tol: float, problem: LogisticProblem | MultinomialProblem) -> float:
    """The relative gap at which to stop: that of ``tol``, with a gradient that scikit-learn stops at, too.

    The certificate counts all rounding errors: half of the gap is required. Where w is penalised, the gap is half the
    squared norm of the gradient; scikit-learn's solvers stop where the largest entry of the gradient, divided by C and
    the weight of all rows, is at most ``tol``. Coefficients are then as near to the optimum as theirs, also at a small
    C, whose objective changes little with them. The objective is at most that of zero.
    """
    if not problem.is_penalised:
        return 0.5 * tol
    total = problem.loss_factor * float(problem.weights.sum())
    classes = problem.n_classes if isinstance(problem, MultinomialProblem) else 2
    return min(0.5 * tol, max(SMALLEST_TOL, 0.5 * tol * tol * total / math.log(classes)))


class LogisticRun:
    """An iterate (w, b) with its scores, derivatives and duality gap.

    With the intercept that is best for w, the loss derivatives sum to zero, the probabilities of the other class are a
    dual point, and the gap is half the squared norm of the gradient. Without a penalty on w the gap holds for all
    coefficients up to a radius: the loss is at least sum c_i H(p_i) - ||w|| ||gradient||, in standardised columns.

    With an intercept, columns very far from zero are centred, which changes nothing but the intercept: else the
    rounding errors of scores would be larger than what the last steps gain. Gradients are those of w·(x - offset) + b:
    else the rest of the derivative in the intercept would be multiplied by the means of columns far from zero.

    Parameters
    ----------
    problem : LogisticProblem
    options : Options
    monitor : Monitor
    threads : Threads
    best : LogisticResult
        The initial point, and the incumbent later.
    centres : bool, default=True
        Whether columns are centred where there is an intercept; a given step size is that of the columns as they are.

    Attributes
    ----------
    problem : LogisticProblem
        The problem of the centred columns.
    b : float
        The intercept of this problem.
    offset : ndarray of shape (d,), or None where it is zero
    """

    checkpointed: ClassVar[tuple[str, ...]] = ("w", "b", "engine.scores", "best", "stall_tests")
    outcome: ClassVar[tuple[str, ...]] = ("best",)

    # Steps in a row whose gap or objective is no smaller, after which the run has stalled.
    stall_rule = LOGISTIC_STALL_RULE
    # Steps after which the run has stalled, too, unless the gap has shrunk to a tenth less, or the objective has fallen
    # by a share of the gap.
    slow_patience, slow_share = 10, 1e-2
    # Steps in which the gap must be halved.
    halving_patience = 300

    def __init__(
        self,
        problem: LogisticProblem,
        options: Options,
        monitor: Monitor,
        threads: Threads,
        best: LogisticResult,
        *,
        centres: bool = True,
    ) -> None:
        self.original, self.options, self.monitor, self.best = problem, options, monitor, best
        centres &= problem.fit_intercept
        self.centring = centred(problem.points, may_move=centres, weights=problem.weights)
        if self.centring.points is not problem.points:
            problem = replace(problem, points=self.centring.points)
        self.problem = problem
        self.offset = estimate_offsets(problem.points) if centres else None
        self.w, self.b = best.w.copy(), self.centring.intercept_here(best.w, best.intercept)
        # The scores are those without the intercept.
        self.engine = MemoryEngine(problem, threads)
        self.engine["signs"], self.engine["weights"] = problem.signs, problem.weights
        self.engine.allocate("scores", "changes", "derivatives", "curvatures")
        self.gradient, self.gradient_b = np.empty(0), 0.0
        self.smallest_margin = -math.inf
        self.stall_tests: tuple[StallTest, ...] = (
            StallTest(**self.stall_rule._asdict()),
            StallTest(
                self.slow_patience,
                dual_factor=math.inf,
                gap_share=self.slow_share,
                halving_patience=self.halving_patience,
            ),
        )
        self.engine.map(fill_scores, self.w, 0.0, "scores")

    @property
    def intercept(self) -> float:
        """The intercept of the columns as they were given."""
        return self.centring.intercept_there(self.w, self.b)

    def minimise_intercept(self) -> None:
        """Move the intercept to its minimum for w."""

        def derivatives(b: float) -> tuple[float, float]:
            derivative, curvature = self.engine.sum(_intercept_derivatives, b)
            return float(derivative), float(curvature)

        if self.problem.fit_intercept:
            self.b = falling_root(derivatives, self.b, LAST_INTERCEPT_STEP)

    def evaluate(self, step: str) -> Status | None:
        """Compute objective, gradient and gap of the iterate; return why to stop, if there is a reason."""
        problem = self.problem
        parts = self.engine.map(_evaluate_losses, self.b)
        loss = math.fsum(part[0] for part in parts)
        self.smallest_margin = min(part[1] for part in parts)
        total = float(self.engine["derivatives"].sum()) if problem.fit_intercept else 0.0
        combined = self.engine.sum(combination, "derivatives")
        if self.offset is not None:
            combined -= total * self.offset
        self.gradient_b = -problem.loss_factor * total
        if problem.is_penalised:
            self.gradient = self.w - problem.loss_factor * combined
            primal = 0.5 * float(self.w @ self.w) + problem.loss_factor * loss
            gap = 0.5 * float(self.gradient @ self.gradient)
        else:
            self.gradient = -combined
            primal = loss
            gap = self._gap_within_radius(combined)
        dual = max(0.0, primal - gap - self._intercept_gap())
        self._update_incumbent(primal, dual)
        iterate = Result(self.w, self.b, self.best.beta, primal, dual)
        # Every test takes all iterates.
        stalled = sum(test.update(iterate, self.best.n_iter) for test in self.stall_tests) > 0
        if not (np.isfinite(self.w).all() and math.isfinite(self.b)):
            # Steps of a given size may be far too long.
            return self.monitor.status_at_end(self.best, self.options)
        return self.check_termination(primal, dual, step, stalled=stalled)

    def check_termination(self, primal: float, dual: float, step: str, *, stalled: bool) -> Status | None:  # noqa: ARG002
        """Check whether to stop; a separating hyperplane ends the run where w is not penalised."""
        best = self.best
        if self.separates():
            best.w, best.intercept = self.w.copy(), self.intercept
            best.separating = best.w, best.intercept
            self.monitor.record(best)
            return Status.SEPARABLE
        return self.monitor.check_termination(best, self.options, step, stalled=stalled)

    def separates(self) -> bool:
        """Whether w is not penalised and all rows are on the right side; without an intercept, empty ones may be on it.

        Then the loss has no minimum.
        """
        if self.problem.is_penalised:
            return False
        if self.smallest_margin != 0.0 or self.problem.fit_intercept:
            return self.smallest_margin > 0.0
        counted = self.problem.weights > 0.0
        on_it = self.engine["scores"][counted] == 0.0
        return bool((self.problem.points.squared_norms[counted][on_it] == 0.0).all() and not on_it.all())

    def _update_incumbent(self, primal: float, dual: float) -> None:
        """Keep the iterate with both its values: the certificate computes the duals from the coefficients."""
        best = self.best
        gap, best_gap = primal - dual, best.primal - best.dual
        # Of iterates whose objectives differ in the last digits only, the one with the smaller gap is better.
        smaller_gap = gap < best_gap and primal <= best.primal * (1.0 + LAST_DIGITS)
        is_first = math.isinf(best_gap) and primal <= best.primal
        if smaller_gap or is_first or primal < best.primal - GAP_SHARE * best_gap:
            best.primal, best.dual, best.w, best.intercept = primal, dual, self.w.copy(), self.intercept

    def _gap_within_radius(self, combined: np.ndarray) -> float:
        columns = self.problem.columns
        # A column that is constant but for rounding does no more than the intercept.
        varying = columns.deviations > ROUNDED_DEVIATION * np.abs(columns.offset)
        length = float(np.linalg.norm(combined[varying] / columns.deviations[varying]))
        return certified_radius(self.w, columns.deviations) * length - float(self.w @ combined)

    def _intercept_gap(self) -> float:
        """Estimate how much smaller the objective, and larger the gap, is at the best intercept for w."""
        curvature = self.problem.loss_factor * float(self.engine["curvatures"].sum())
        return self.gradient_b**2 / curvature if curvature > 0.0 else 0.0


# Tasks on a block of rows.


def _evaluate_losses(block: Block[LogisticProblem], b: float) -> tuple[float, float]:
    """Compute the derivatives and curvatures of the losses; return the loss and the smallest margin."""
    signs, weights, scores = block["signs"], block["weights"], block["scores"]
    found: tuple[float, float] = evaluate_losses(signs, weights, scores, b, block["derivatives"], block["curvatures"])
    return found


def _intercept_derivatives(block: Block[LogisticProblem], b: float) -> np.ndarray:
    return np.array(intercept_derivatives(block["signs"], block["weights"], block["scores"], b))
