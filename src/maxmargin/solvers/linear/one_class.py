"""The one-class SVM with the linear kernel: Newton steps on w and b, without a kernel matrix.

    minimise 1/2||w||² + S b + sum_i c_i (-w·x_i - b)_+,   S = nu sum_i c_i,   b = -rho

is a linear SVM with a free intercept, all of whose rows are positive, and one more term in b: its duals add up to S in
place of zero. The proximal-point method of :mod:`maxmargin.solvers.linear.newton` solves it. The model is an expansion
in the duals, so that the incumbent is w = sum_i beta_i x_i of duals that are made feasible.

Steps on pairs of duals come first where rows are few: tens of them for a row are enough, or millions are not, as of
rows around the origin.
"""

import math
from dataclasses import replace

import numpy as np

from maxmargin.data import Points
from maxmargin.data.blas import one_blas_thread
from maxmargin.data.points import SMALL_ENTRIES
from maxmargin.data.rows import is_sparse
from maxmargin.engine import Threads
from maxmargin.loops.newton import POSITIVE, DualSums
from maxmargin.problems.nu_svm import NuSVMProblem, one_class, with_sum
from maxmargin.solvers.core import Monitor, Options, Status, solver
from maxmargin.solvers.core.hessian import fill_scores
from maxmargin.solvers.core.subsample import subsample_rows
from maxmargin.solvers.kernel import nu_smo
from maxmargin.solvers.kernel.base import SMOOptions
from maxmargin.solvers.kernel.nu_smo import NuResult, initial_result
from maxmargin.solvers.linear.initial_point import InitialPoint
from maxmargin.solvers.linear.newton import NewtonRun, engine_at
from maxmargin.solvers.linear.subsample import FEWEST_PER_CLASS, GAP_OF_SAMPLE, STRIDES, initial_point_from_subsample

# Duals whose sum differs from S by a larger share of it are not made feasible: their gap would be no smaller.
SHARE_OF_SUM = 1e-2
# With fewer rows steps on pairs of duals come first, so many for a row, and are faster where they are enough.
MANY_ROWS = 1000
PAIRS_PER_ROW = 30


@solver({"the linear kernel": lambda problem, _: problem.is_linear_one_class})
def solve(problem: NuSVMProblem, options: Options, monitor: Monitor, start: NuResult | None = None) -> NuResult:
    """Run until the relative gap is at most ``tol``; ``start`` holds duals to begin with."""
    best = initial_result(problem, start)
    if is_sparse(problem.points.matrix) and problem.n_rows * problem.points.n_columns <= SMALL_ENTRIES:
        # Sums in another order have other bits, and so would the models of sparse rows.
        rows = Points(problem.points.matrix.toarray())
        problem = one_class(rows, problem.kernel, problem.loss.weights, problem.nu, problem.n_threads)
    if isinstance(options, SMOOptions) and problem.n_rows < MANY_ROWS:
        most = PAIRS_PER_ROW * problem.n_rows + best.n_iter
        best = nu_smo.solve(problem, replace(options, max_iter=min(options.max_iter, most)), monitor, start)
        if best.status not in (Status.ITERATION_LIMIT, Status.STALLED) or best.n_iter >= options.max_iter:
            return best
        # Newton steps take fewer from equal duals than from these, of which many are at a bound that they should leave.
        start, best = None, initial_result(problem, best)
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread(), Threads(options.n_threads) as threads:
        sample = None if start is not None else subsample(problem)
        if sample is None:
            first = initial_point(problem, best.beta if start is None else start.beta)
        else:
            coarse = Options(max(options.tol, GAP_OF_SAMPLE), options.max_iter)
            part = OneClassRun(
                sample, coarse, monitor.quiet(is_stage=True), initial_point(sample), initial_result(sample), threads
            )
            part.run()
            first = initial_point_from_subsample(problem.losses, part.w, part.b, part.width)
            best.n_iter += part.best.n_iter
        run = OneClassRun(problem, options, monitor, first, best, threads)
        best.status = run.run()
        # Where several offsets are optimal, the middle one, as after steps on pairs.
        scores = problem.points.scores(problem.points.combination(best.beta))
        best.intercept = np.array(problem.best_offsets(scores))
    return best


def subsample(problem: NuSVMProblem) -> NuSVMProblem | None:
    """The problem of every sixteenth row or so, with weights raised so that it has the same solution on average."""
    weights = problem.loss.weights
    every = subsample_rows(problem.points.matrix.shape, weights, None, STRIDES, FEWEST_PER_CLASS)
    if every is None:
        return None
    raised = weights[every] * (float(weights.sum()) / float(weights[every].sum()))
    return one_class(Points(problem.points.matrix[every]), problem.kernel, raised, problem.nu, problem.n_threads)


def initial_point(problem: NuSVMProblem, beta: np.ndarray | None = None) -> InitialPoint:
    """Start from given duals, or from equal shares of the weights."""
    beta = problem.nu * problem.loss.weights if beta is None else problem.feasible(beta)
    w = problem.points.combination(beta)
    scores = problem.points.scores(w)
    b = 1.0 + problem.best_offsets(scores).above
    scores += b
    distance = float(problem.loss.weights @ np.abs(1.0 - scores)) / float(problem.loss.weights.sum())
    return InitialPoint(beta, w, b, scores, 1.0 / max(1e-12, distance))


class OneClassRun(NewtonRun):
    """A run in which the duals add up to S. Targets are 1, so that its intercept is b + 1."""

    best: NuResult  # type: ignore[assignment]

    def __init__(
        self,
        problem: NuSVMProblem,
        options: Options,
        monitor: Monitor,
        first: InitialPoint,
        best: NuResult,
        threads: Threads,
    ) -> None:
        self.one_class, self.bounds = problem, problem.bounds[0]
        super().__init__(engine_at(problem.losses, first, threads), options, monitor, first, best)  # type: ignore[arg-type]
        self.engine.allocate("scores_of_duals")

    @property
    def slope_of_intercept(self) -> float:
        """S"""
        return self.one_class.sum_above

    def update_primal_incumbent(self, total_loss: float) -> None:
        """Nothing: the duals have a w of their own."""

    def update_dual_incumbent(self, sums: DualSums) -> None:
        """Offer the duals of all rows, made feasible, with their w and the run's offset.

        Scores grow with S, and with them what LIBSVM's test asks for: here violations are relative to a large rho.
        """
        problem, total, wanted = self.one_class, float(sums.totals[POSITIVE]), self.one_class.sum_above
        if not abs(total - wanted) <= SHARE_OF_SUM * wanted:
            return
        duals = self.engine.vector("duals")
        # A copy also where nothing is projected: the engine's own duals change.
        beta = with_sum(duals.copy(), self.bounds, wanted)
        w = sums.positive + problem.points.combination(beta - duals)
        self.engine.map(fill_scores, w, 0.0, "scores_of_duals")
        scores, best = self.engine.vector("scores_of_duals"), self.best
        b, dual = self.b - 1.0, -0.5 * float(w @ w)
        primal = wanted * b + float(self.bounds @ np.maximum(-b - scores, 0.0)) - dual
        if primal - dual < best.primal - best.dual or not math.isfinite(best.primal):
            best.beta, best.intercept, best.primal, best.dual = beta, np.array([b, b]), primal, dual
            highest = float(scores.max(where=duals > 0.0, initial=-math.inf))
            lowest = float(scores.min(where=duals < self.bounds, initial=math.inf))
            best.kkt_violation = max(0.0, highest - lowest) / max(1.0, abs(b))
            best.largest_violation = max(best.largest_violation, best.kkt_violation)
