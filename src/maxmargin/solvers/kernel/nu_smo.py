"""Sequential minimal optimisation of kernel machines with nu, on working sets.

The duals have two sums (:mod:`maxmargin.problems.nu_svm`), so that pairs are of the same kind. As in
:mod:`maxmargin.solvers.kernel.smo` a working set holds the duals that violate the KKT conditions most and free ones of
the last set; a small problem is one working set. Kernel rows come from the whole kernel matrix where it fits into half
of the cache, else from a cache of rows.

C.-C. Chang, C.-J. Lin, "Training nu-support vector classifiers: theory and algorithms", 2001; R.-E. Fan, P.-H. Chen,
C.-J. Lin, "Working set selection using second order information for training support vector machines", 2005.
"""

import math
from dataclasses import dataclass

import numpy as np

from maxmargin.data.blas import one_blas_thread
from maxmargin.data.exact_numbers import UNIT
from maxmargin.data.interruption import InterruptedPassError, ending_when
from maxmargin.engine.threads import RangeThreads
from maxmargin.loops.exponential import exponentiate
from maxmargin.loops.nu_smo import TwoDuals, ascend_pairs_of_kind
from maxmargin.problems.nu_svm import NEGLIGIBLE_SHARE, NuSVMProblem
from maxmargin.solvers.core import Monitor, Options, Positions, Result, Status, solver, stage
from maxmargin.solvers.kernel import smo_full_matrix
from maxmargin.solvers.kernel.base import VIOLATION_SHARE, SMOBase, SMOOptions, patience_on_sets, stall_test
from maxmargin.solvers.kernel.kernel_cache import KernelRows, StoredKernel, add_in_time
from maxmargin.solvers.kernel.kernel_matrix import WORK_PER_COLUMN
from maxmargin.solvers.kernel.smo import (
    ROWS_PER_SAMPLED,
    SETS_TO_SHRINK,
    SETS_WHILE_SHRUNK,
    SHRUNK_SHARE,
    SMALLEST_SAMPLE,
    STEPS_PER_DUAL,
    empty_cache,
    largest_places,
)

# New duals in a working set, and free ones that are kept from the last; up to so many rows are one working set.
WORKING_SET = 512
KEPT = 1024
WHOLE = 3072
# Rows that the cache holds whatever the memory: one new dual of each kind in each direction, and as many kept ones.
FEWEST_CACHED = 8
# Steps on pairs between two termination tests, times the rows of the working set: some tenths of a second.
WORK_PER_CHECK = 1 << 27
# Share of the first KKT violation to which a subsample is solved.
SAMPLE_SHARE = 0.02


@dataclass
class NuResult(Result[np.ndarray]):
    """The incumbent of a run; ``intercept`` holds the two offsets.

    The objective may be negative, as -||w||²/2 of a classifier is: the gap is relative to the larger size of both
    values.

    Attributes
    ----------
    largest_value : float
        The size that the optimum is compared with where it may be zero.
    first_within : tuple of two ndarray, or None
        Duals and offsets, with a positive rho, at the first check at which the KKT conditions held to
        ``max_violation``, where LIBSVM stops. Where the optimum is zero, they have a direction, and it has none.
    """

    largest_value: float = 0.0
    first_within: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def relative_gap(self) -> float:
        """(primal - dual) / max(|primal|, |dual|)"""
        if not math.isfinite(self.primal):
            return math.inf
        scale = max(abs(self.primal), abs(self.dual))
        return (self.primal - self.dual) / scale if scale > 0.0 else 0.0

    def check_goal(self, options: Options) -> Status | None:
        """SOLVED within the tolerance or a negligible gap, else as for other results."""
        negligible = NEGLIGIBLE_SHARE * options.tol * self.largest_value
        if self.primal - self.dual <= negligible and self.kkt_violation <= options.max_violation:
            return Status.SOLVED
        return super().check_goal(options)


def initial_result(problem: NuSVMProblem, start: NuResult | None = None) -> NuResult:
    """The result before the first step; duals, steps and history of an earlier attempt count."""
    # Few rows have duals: a run that ends before its first step has a small model, and a quick certificate.
    above, below = problem.initial_duals()
    beta = above - below
    result = NuResult(np.empty(0), np.zeros(2), beta, largest_value=problem.largest_value)
    if start is not None:
        result.beta, result.intercept = start.beta.copy(), start.intercept
        result.n_iter, result.history = start.n_iter, list(start.history)
    return result


@solver()
def solve(problem: NuSVMProblem, options: SMOOptions, monitor: Monitor, start: NuResult | None = None) -> NuResult:
    """Run until the relative gap is at most ``tol``.

    ``start`` is where an earlier attempt ended. The result has no w: the duals are the coefficients.
    """
    best = initial_result(problem, start)
    engine = RangeThreads(WORK_PER_COLUMN, options.n_threads)
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread(), engine:
        run = NuRun(problem, options, monitor, best, engine, None if start is None else start.beta)
        best.status = run.run()
    return best


class NuRun(SMOBase[NuSVMProblem, np.ndarray]):
    """A run on working sets.

    Parameters
    ----------
    problem : NuSVMProblem
    options, monitor, best :
        As for :class:`SMOBase`.
    engine : RangeThreads
    start : ndarray of shape (n,), optional
        Feasible signed duals to begin with.
    """

    checkpointed = (*("duals", "beta", "scores", "best", "stall", "n_sets"), Positions("working_set", "beta"))
    outcome = ("best",)

    def __init__(
        self,
        problem: NuSVMProblem,
        options: SMOOptions,
        monitor: Monitor,
        best: NuResult,
        engine: RangeThreads,
        start: np.ndarray | None = None,
    ) -> None:
        super().__init__(problem, options, monitor, best)
        self.best: NuResult = best
        self.engine, self.start = engine, start
        self.duals, self.bounds = np.zeros((2, problem.n_rows)), problem.bounds
        self.rows: KernelRows | None = None
        self.working_set = np.empty(0, dtype=np.int64)
        patience = patience_on_sets(problem.n_rows, WORKING_SET)
        # Where the optimum is zero, values of single precision change by more than what is left of the gap for ever.
        self.stall = stall_test(problem, patience, 2.0 * patience)
        self.n_sets = 0

    @property
    def rounding(self) -> float:
        """A KKT violation of this size may be due to the rounding of scores alone."""
        arrays = self.problem.targets, self.scores, self.beta
        targets, scores, beta = (float(np.abs(values).max(initial=0.0)) for values in arrays)
        return UNIT * (targets + scores + self._largest * beta)

    @property
    def _is_noise(self) -> bool:
        """Whether the values of a one-class machine are what rounding to single precision alone may give.

        Around the origin the optimum is zero. A matrix of rounded kernel values has another, which takes millions of
        steps and means nothing; in double precision a few thousand are enough.
        """
        problem, best = self.problem, self.best
        if problem.sum_below > 0.0 or self.options.dtype_for(problem) is np.float64:
            return False
        return bool(max(abs(best.primal), abs(best.dual)) <= np.finfo(np.float32).eps * problem.largest_value)

    @stage
    def run(self) -> Status:
        """Optimise working sets until the termination test ends the run."""
        if not self._load_rows() or (self.n_sets == 0 and not self._begin()):
            return self.monitor.status_at_end(self.best, self.options)
        while True:
            rise, fall = self._gradients_of_kinds()
            can_move = self.violation > self.rounding and not self._is_noise
            status = self.check(self.stall, self.n_sets, can_move=can_move)
            if self.best.first_within is None and self.violation <= self.options.max_violation:
                offsets = self.problem.best_offsets(self.scores)
                self.best.first_within = (self.beta.copy(), np.array(offsets)) if offsets.rho > 0.0 else None
            if status is not None:
                return status
            self.n_sets += 1
            shrinking_is_due = self.options.shrinking and self.n_sets % SETS_TO_SHRINK == 0
            if not (shrinking_is_due and self._shrink(rise, fall)):
                self._optimise(rise, fall)
            self.monitor.checkpoint(self)

    def run_to_violation(self, goal: float, share: float = 0.0) -> None:
        """Optimise working sets until the KKT violation is at most ``goal``, or a share of the first, or a limit."""
        for _ in range(SETS_WHILE_SHRUNK):
            rise, fall = self._gradients_of_kinds()
            goal, share = max(goal, share * self.violation), 0.0
            if self.violation <= goal or self.monitor.check_work(self.best.n_iter, self.options) is not None:
                return
            self._optimise(rise, fall)

    def _load_rows(self) -> bool:
        """Evaluate the kernel matrix, or make an empty cache; return whether there was time for it."""
        try:
            with ending_when(self.monitor.must_stop):
                return self._made_rows()
        except InterruptedPassError:
            return False

    def _made_rows(self) -> bool:
        problem, options = self.problem, self.options
        if smo_full_matrix.fits(problem, options):
            gram = smo_full_matrix.kernel_matrix(problem, options, self.monitor)
            self.rows = None if gram is None else StoredKernel(gram)
        else:
            self.rows = empty_cache(problem, options, self.engine, FEWEST_CACHED)
        return self.rows is not None

    def _begin(self) -> bool:
        """Set the first duals and their scores; return whether there was time for it."""
        if self.start is not None:
            self.duals[:] = self.problem.duals_of(self.start)
        else:
            self.duals[:] = self.problem.initial_duals(self._sample_scores())
        self.beta[:] = self.duals[0] - self.duals[1]
        support = np.flatnonzero(self.beta)
        assert self.rows is not None
        size = min(WORKING_SET, self.rows.capacity)
        return add_in_time(self.rows, support, self.beta[support], self.scores, size, self.monitor)

    def _sample_scores(self) -> np.ndarray | None:
        """Scores of the machine of a subsample: they predict which rows will be beyond the margin.

        Rows are drawn at random, with the number of rows as the seed: the same data have the same result.
        """
        n_rows = self.beta.size
        if n_rows < ROWS_PER_SAMPLED * SMALLEST_SAMPLE:
            return None
        sample = np.sort(np.random.default_rng(n_rows).permutation(n_rows)[: n_rows // ROWS_PER_SAMPLED])
        problem = self.problem
        parts = problem.bounds[:, sample].sum(axis=1)
        shares = np.divide(parts, problem.bounds.sum(axis=1), out=np.zeros(2), where=parts > 0.0)
        part = self._part(sample, (problem.sum_above * shares[0], problem.sum_below * shares[1]))
        if not part._load_rows() or not part._begin():
            return None
        part.run_to_violation(0.0, SAMPLE_SHARE)
        support = np.flatnonzero(part.beta)
        return self._scores_in_time(slice(None), sample[support], part.beta[support])

    def _scores_in_time(self, rows: np.ndarray | slice, support: np.ndarray, beta: np.ndarray) -> np.ndarray | None:
        """Scores of some rows, given duals of others; None where there is no time for them."""
        try:
            with ending_when(self.monitor.must_stop):
                return self.problem.scores_of(rows, support, beta, exponentiate)
        except InterruptedPassError:
            return None

    def _part(self, rows: np.ndarray, sums: tuple[float, float]) -> "NuRun":
        return NuRun(self.problem.of_rows(rows, sums), self.options, self.monitor, self.best, self.engine)

    def _gradients_of_kinds(self) -> tuple[np.ndarray, np.ndarray]:
        """Residuals of the rows whose score may be raised, and lowered, by duals of each kind; sets ``violation``.

        They are -inf, and inf, for other rows.
        """
        residuals = self.problem.targets - self.scores
        grows, shrinks = self.duals < self.bounds, self.duals > 0.0
        rise = np.where(np.stack([grows[0], shrinks[1]]), residuals, -math.inf)
        fall = np.where(np.stack([shrinks[0], grows[1]]), residuals, math.inf)
        differences = rise.max(axis=1, initial=-math.inf) - fall.min(axis=1, initial=math.inf)
        self.violation = float(differences.max())
        return rise, fall

    def _optimise(self, rise: np.ndarray, fall: np.ndarray) -> None:
        """Optimise pairs of the next working set, then update all scores, if there is time for their kernel values."""
        if self.rows is None and not self._load_rows():
            return
        assert self.rows is not None
        gram, chosen, _ = self.rows.block(self._select(rise, fall), self.monitor)
        duals, before = self.duals[:, chosen], self.beta[chosen]
        state = TwoDuals(duals, self.bounds[:, chosen], self.problem.targets[chosen] - self.scores[chosen])
        most = min(max(1, WORK_PER_CHECK // chosen.size), STEPS_PER_DUAL * chosen.size)
        most = int(min(most, max(1, self.options.max_iter - self.best.n_iter)))
        # All duals together are optimised as far as the KKT conditions require: there are no others to take turns with.
        goal = self.goal_within(0.0 if chosen.size == self.beta.size else VIOLATION_SHARE)
        self.best.n_iter += ascend_pairs_of_kind(gram, state, goal, most)
        self.duals[:, chosen] = duals
        beta = duals[0] - duals[1]
        self.beta[chosen], self.working_set = beta, chosen
        moved = np.flatnonzero(beta != before)
        # The rows of duals that moved count as used once more, and stay in a cache for longer than the others.
        self.rows.add_rows(self.rows.slots(chosen[moved], self.monitor), (beta - before)[moved], self.scores)

    def _select(self, rise: np.ndarray, fall: np.ndarray) -> np.ndarray:
        """All rows, or those of the largest violation of both kinds in both directions, and free ones of the last."""
        assert self.rows is not None
        if self.beta.size <= min(WHOLE, self.rows.capacity):
            return np.arange(self.beta.size)
        last = self.working_set
        free = ((self.duals[:, last] > 0.0) & (self.duals[:, last] < self.bounds[:, last])).any(axis=0)
        size = min(WORKING_SET, self.rows.capacity // 2)
        kept = last[free][: min(KEPT, self.rows.capacity - size)]
        taken = np.zeros(self.beta.size, dtype=bool)
        taken[kept] = True
        parts = [kept]
        for values in (rise[0], -fall[0], rise[1], -fall[1]):
            places = largest_places(
                np.where(taken, -math.inf, values), size // (2 if self.problem.sum_below == 0.0 else 4)
            )
            taken[places] = True
            parts.append(places)
        return np.concatenate(parts)

    def _shrink(self, rise: np.ndarray, fall: np.ndarray) -> bool:
        """Optimise the rows that can be part of a pair with a gain alone, if these are few; return whether they are.

        Where there is no time for it, the duals stay as they were: the next termination test ends the run.
        """
        least, most = fall.min(axis=1, keepdims=True), rise.max(axis=1, keepdims=True)
        moves = ((rise >= least) & (rise > -math.inf)) | ((fall <= most) & (fall < math.inf))
        is_active = moves.any(axis=0)
        active, fixed = np.flatnonzero(is_active), np.flatnonzero(~is_active)
        if not WORKING_SET < active.size <= SHRUNK_SHARE * fixed.size:
            return False
        above, below = (float(kind.sum()) for kind in self.duals[:, active])
        part = self._part(active, (above, below))
        # Two caches would take more memory than is allowed.
        self.rows = None
        if not part._load_rows():
            return True
        part.duals, part.beta, part.scores = self.duals[:, active], self.beta[active], self.scores[active]
        part.run_to_violation(VIOLATION_SHARE * self.violation)
        part.rows = None
        changes = part.beta - self.beta[active]
        moved = np.flatnonzero(changes)
        scores = self._scores_in_time(fixed, active[moved], changes[moved])
        if scores is None:
            return True
        self.duals[:, active], self.beta[active] = part.duals, part.beta
        self.scores[active], self.scores[fixed] = part.scores, self.scores[fixed] + scores
        self.working_set = np.empty(0, dtype=np.int64)
        return True

    def _balanced(self) -> np.ndarray:
        """The signed duals, projected: where alpha and alpha* nearly cancel, rounding unbalances their differences."""
        return self.problem.feasible(self.beta)

    def _current(self) -> NuResult:
        """The values at the present duals."""
        problem = self.problem
        offsets = problem.best_offsets(self.scores)
        primal = problem.primal_value(self.beta, self.scores, offsets)
        dual = problem.dual_value(self.beta, self.scores)
        return NuResult(self.best.w, np.array(offsets), self.beta, primal, dual)
