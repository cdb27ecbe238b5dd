"""The linear support vector machine on partitions: Newton steps in few rounds, from the solution of a subsample."""

import math
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import ClassVar

import numpy as np

from maxmargin.data.blas import one_blas_thread
from maxmargin.engine import Answer, Block, Engine, row_task
from maxmargin.engine.dask import DaskEngine
from maxmargin.loops.newton import (
    LINEAR_NEGATIVE,
    LINEAR_POSITIVE,
    LOSS,
    QUADRATIC_NEGATIVE,
    QUADRATIC_POSITIVE,
    DualSums,
)
from maxmargin.problems.linear_svm import LinearSVMProblem
from maxmargin.problems.partitioned import PartitionedProblem
from maxmargin.solvers.core import Monitor, Options, Result, Status, solver
from maxmargin.solvers.linear.initial_point import StartingPoint
from maxmargin.solvers.linear.line_search import ENOUGH_AHEAD, LENGTHS, root_along, root_in_rounds
from maxmargin.solvers.linear.newton import NewtonRun, ProximalProblem
from maxmargin.solvers.linear.newton_blocks import evaluate_block, largest_change, sum_of_duals
from maxmargin.solvers.linear.partitioned_start import continued, from_subsample

# Far from the solution, where products with the Hessian cost rounds: the factor on the first proximal step size. The
# systems are then well-conditioned as long as much is left to do.
FIRST_SHARE_IN_ROUNDS = 0.1
# Where every product with the Hessian costs a round: the factor on sigma after an outer step all of whose systems were
# solved; it stays where they are too ill-conditioned for that. Larger ones took more rounds, as measured.
GROWTH_IN_ROUNDS = 1.5
# What a checkpoint holds of the incumbent: its duals are a vector of the engine.
OF_INCUMBENT = tuple(f"best.{one.name}" for one in fields(Result) if one.name != "beta")


class PartitionedRun(NewtonRun):
    """A run whose vectors over the rows, and with them the incumbent's duals, belong to the engine."""

    checkpointed: ClassVar[tuple[str, ...]] = (
        *(name for name in NewtonRun.checkpointed if name != "best"),
        *("engine.best_duals", "best_duals_w", "best_duals_linear", "system.sends_rows", "system.systems.basis"),
        *OF_INCUMBENT,
    )
    outcome: ClassVar[tuple[str, ...]] = ("sigma", "engine.best_duals", *OF_INCUMBENT)

    engine: DaskEngine[LinearSVMProblem]
    _has_changes = False

    def __init__(
        self,
        engine: Engine[LinearSVMProblem],
        options: Options,
        monitor: Monitor,
        first: StartingPoint,
        best: Result[float],
    ) -> None:
        super().__init__(engine, options, monitor, first, best)
        # Of the incumbent's duals: their w, with the intercept's entry, and their linear term.
        self.best_duals_w, self.best_duals_linear = np.zeros(self.w.size + 1), 0.0

    def _allocate(self) -> None:
        # Numbers a row are dear: of the start only the size of the change is asked for, and the changes along a step of
        # all rows are there while such steps are made, as a subset is while steps are made on it.
        self.engine.allocate("start", dtype=np.float32)
        self.engine.allocate("duals", "best_duals")
        self.engine.allocate("free", "working_set", dtype=bool)

    def _take_all_rows(self) -> None:
        super()._take_all_rows()
        self.engine.allocate("changes")
        self._has_changes = True

    def _proximal_step(self, *, stalled: bool = False) -> tuple[int | None, Status | None]:
        self._has_changes = False
        found = super()._proximal_step(stalled=stalled)
        if self._has_changes:
            self.engine.drop("changes")
        elif found[1] is None:
            self.engine.drop_subset("working_set")
        return found

    @property
    def counts_rounds(self) -> bool:
        """Whether products with the Hessian, or all answers, cost rounds, so that these count and not the work."""
        return self.system.takes_rounds or self.system.is_far

    def growth(self, inner: int) -> float:
        """Sigma stays where products cost rounds, and systems are too ill-conditioned to be solved in few of them."""
        if self.system.takes_rounds:
            return GROWTH_IN_ROUNDS if self.system.all_solved or self.stall.idle else 1.0
        return super().growth(inner)

    def proximal_problem(self, engine: Engine[LinearSVMProblem]) -> "ProximalProblemInRounds":
        """The problem of an outer step over the duals of an engine's rows."""
        return ProximalProblemInRounds(self, engine)

    def takes_working_set(self, n_rows: int) -> bool:
        """A working set saves work, but no rounds."""
        return not self.counts_rounds and super().takes_working_set(n_rows)

    def ask_final_scores(self, *, all_moved: bool) -> Answer[list[float]]:
        """Where the steps have moved all scores, to compute them anew would cost a pass over the rows."""
        return self.engine.ask_all(largest_change) if all_moved else super().ask_final_scores(all_moved=all_moved)

    def share_of_new_duals(
        self, value: float, multiple: float, w: np.ndarray, linear: float, sums: DualSums
    ) -> tuple[float, float]:
        """The best convex combination of the dual incumbent and the new duals.

        Both lie in the box, and so does every combination; without quadratic terms its value is known without the rows.
        """
        if self.problem.loss.curvature > 0.0:
            return super().share_of_new_duals(value, multiple, w, linear, sums)
        of_intercept = sum_of_duals(sums) / math.sqrt(self.rho) if self.rho > 0.0 else 0.0
        best_w, best_linear = self.best_duals_w, self.best_duals_linear
        change, more = multiple * np.append(w, of_intercept) - best_w, multiple * linear - best_linear
        square = float(change @ change)
        slope = more - float(best_w @ change)
        share = min(1.0, max(0.0, slope / square)) if square > 0.0 else 0.0
        best_w, best_linear = best_w + share * change, best_linear + share * more
        value = best_linear - 0.5 * float(best_w @ best_w)
        if value > self.best.dual:
            self.best_duals_w, self.best_duals_linear = best_w, best_linear
        return share, value

    def proximal_gap(self, sums: DualSums) -> float:
        """The part of the gap of (w, b) and the proximal duals p that an outer step leaves, however exact it is.

        The gap is the sum of the rows' own gaps, loss + conjugate - p f(x), and of 1/2||w - X^T p||², which the Newton
        steps reduce: beyond the other part that is of no use.
        """
        totals, w = sums.totals, sums.positive + sums.negative
        losses = self.problem.C * float(totals[LOSS])
        dual_terms = float(totals[LINEAR_POSITIVE] + totals[LINEAR_NEGATIVE])
        quadratic = 0.5 * float(totals[QUADRATIC_POSITIVE] + totals[QUADRATIC_NEGATIVE])
        return losses + quadratic - dual_terms + float(self.w @ w) + self.b * sum_of_duals(sums)


class ProximalProblemInRounds(ProximalProblem):
    """The problem of an outer step where answers cost rounds: what the next step needs is asked for early."""

    run: PartitionedRun

    def __init__(self, run: PartitionedRun, engine: Engine[LinearSVMProblem]) -> None:
        super().__init__(run, engine)
        # The sums at the end of the full step, which come with the line search where rows are read from a disk: if the
        # step is taken as it is, that saves a pass.
        self.ahead: Answer[np.ndarray] | None = None

    def ask_sums(self) -> Answer[np.ndarray]:
        """The sums at the end of the full step may be known."""
        ahead, self.ahead = self.ahead, None
        if ahead is None or self.length != 1.0:
            return super().ask_sums()
        self.engine.do(_move_scores, writes=("scores",))
        return ahead

    def ask_about_active_set(self, *, afresh: bool) -> None:
        """Ask for the system's matrix, or images, or the free rows themselves, too."""
        super().ask_about_active_set(afresh=afresh)
        self.images = self.run.system.ask_images(self.engine)
        self.run.system.ask_rows(self.engine)
        may_be_narrowed = self.is_whole and self.is_new and math.isfinite(self.run.radius)
        if self.engine.asks_ahead or not may_be_narrowed:
            self.run.system.ask_gram(self.engine, afresh=afresh)

    def is_small(self, length: float, sums: DualSums) -> bool:
        """Where rounds count, steps end as soon as more of them would hardly reduce the gap."""
        if self.run.counts_rounds:
            return 0.5 * length * length <= self.run.proximal_gap(sums)
        return super().is_small(length, sums)

    def find_root(
        self,
        derivatives: Callable[[Sequence[float]], np.ndarray],
        derivative_at_zero: float,
        derivative_at_one: Callable[[], float],
    ) -> float:
        """Evaluate many lengths in a round; or, where rows are read but vectors are near, the end of the step."""
        if not self.engine.vectors_are_near:
            first = derivatives(LENGTHS) if self.engine.asks_ahead else None
            return root_in_rounds(derivatives, first, derivative_at_zero, derivative_at_one())
        self.ahead = self.engine.ask(_evaluate_ahead, self.sigma, writes=("duals", "free"))
        self.ask_about_active_set(afresh=False)
        return root_along(lambda t: float(derivatives((t,))[0]), derivative_at_zero, derivative_at_one(), ENOUGH_AHEAD)


@solver({"a linear support vector machine": lambda problem, _: isinstance(problem.problem, LinearSVMProblem)})
def solve(
    problem: PartitionedProblem, options: Options, monitor: Monitor, start: Result[float] | None = None
) -> Result[float]:
    """Run until the relative gap is at most ``tol``; the duals of the result are a handle of vectors on the partitions.

    ``start`` is the result of a run that this one continues.
    """
    svm, task = problem.problem, problem.task
    assert isinstance(svm, LinearSVMProblem)
    engine = DaskEngine(svm, task.local)
    engine.allocate("scores", "centers")
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
        first = from_subsample(engine, task, options, monitor) if start is None else continued(engine, start)
        run = PartitionedRun(engine, options, monitor, first, start or Result(first.w, first.b, np.empty(0)))
        if first.far and run.system.takes_rounds:
            run.sigma *= FIRST_SHARE_IN_ROUNDS
        best = run.best
        best.status = run.run()
        best.beta = engine["best_duals"].alone()  # type: ignore[assignment]
        if not math.isfinite(best.primal):
            best.w, best.intercept = np.zeros_like(best.w), 0.0
    best.intercept = problem.points.centring.intercept_there(best.w, best.intercept)
    return best


# Tasks on a partition.


def _evaluate_ahead(block: Block[LinearSVMProblem], sigma: float) -> np.ndarray:
    """Evaluate the end of the full step; the scores stay as they are."""
    at_end = Block(block.problem, block.index, {**block.vectors, "scores": block["scores"].copy()})
    return evaluate_block(at_end, sigma, 1.0)


@row_task
def _move_scores(block: Block[LinearSVMProblem]) -> None:
    """Move the scores by a full step."""
    block["scores"][:] += block["changes"]
