"""Ridge regression: a linear system on the shorter side of X, or conjugate gradients on large sparse data.

    minimise sum_i m_i (y_i - w·x_i - b)² + lam ||w||²

X is centred by its weighted column means, which eliminates the intercept; a sparse X is centred without being made
dense. Hoerl, Kennard, "Ridge regression: biased estimation for nonorthogonal problems", 1970.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from maxmargin.data.blas import one_blas_thread
from maxmargin.engine import Block, MemoryEngine, Threads
from maxmargin.loops.products import scores_and_rows
from maxmargin.problems.squared_errors import LassoProblem, RidgeProblem, SquaredErrors
from maxmargin.solvers.core import Monitor, Options, Result, StallTest, Status, solver, stage
from maxmargin.solvers.core.cholesky import Inverse, positive_inverse, symmetric_product
from maxmargin.solvers.core.conjugate_gradients import ConjugateGradients
from maxmargin.solvers.core.hessian import combination, fill_scores
from maxmargin.solvers.regression.gram_matrix import centred_rows, normal_equations
from maxmargin.solvers.regression.least_squares import least_squares, work_of_least_squares

# Rows or columns of the largest systems that are solved directly.
LARGEST_DENSE, LARGEST_SPARSE = 10_000, 2_000
# Steps of iterative refinement: each one gains the digits that the factorisation has.
MAX_REFINEMENTS = 3
# Conjugate gradients: steps after which scores and residual are computed anew, and steps without a smaller gap after
# which the run has stalled. Their residual is not monotone, so that these are many.
STEPS_PER_RENEWAL, PATIENCE = 50, 1000


@dataclass
class RidgeResult(Result[float]):
    """The incumbent of a run.

    Attributes
    ----------
    inverse : callable or None
        Multiplies by the inverse of X'MX + lam, where that was factorised: a run that starts from this result refines
        its coefficients with it.
    """

    inverse: Inverse | None = None


class FactorisedSystem(NamedTuple):
    """A direct solution w, with the factorised system, and the primal and dual value computed from the system.

    Attributes
    ----------
    w : ndarray of shape (d,)
    inverse : callable
        Multiplies by the inverse of X'MX + lam.
    primal, dual : float
    """

    w: np.ndarray
    inverse: Inverse
    primal: float
    dual: float


@solver()
def solve(problem: RidgeProblem, options: Options, monitor: Monitor, start: Result[float] | None = None) -> RidgeResult:
    """Solve directly where one side of X is short enough, else until the relative gap is at most ``tol``.

    A direct solution is measured by its system of equations alone, at no cost. Where much cancels in the system, a
    certificate does not confirm that: a run with that result as its ``start`` refines it, measured by the data.
    """
    with np.errstate(over="ignore", invalid="ignore"), one_blas_thread(), Threads(options.n_threads) as threads:
        run = RidgeRun(problem, options, monitor, threads)
        if isinstance(start, RidgeResult) and start.inverse is not None:
            run.refine(start)
        elif problem.lam == 0.0:
            run.solve_least_squares()
        elif min(run.errors.points.matrix.shape) <= run.largest_direct:
            run.solve_directly()
        else:
            run.solve_iteratively()
    return run.best


@solver()
def solve_elastic_net(
    problem: LassoProblem, options: Options, monitor: Monitor, start: Result[float] | None = None
) -> RidgeResult:
    """Solve an elastic net without a penalty on the 1-norm, whose objective is half that of ridge regression."""
    result: RidgeResult = solve(RidgeProblem(problem.errors, problem.ridge), options, monitor, start)
    result.primal, result.dual = 0.5 * result.primal, 0.5 * result.dual
    result.history = [(seconds, 0.5 * primal, 0.5 * dual) for seconds, primal, dual in result.history]
    return result


class RidgeRun:
    """The state of a run: the problem with columns near zero, the incumbent, and the engine.

    The engine's vectors over the rows are the ``targets``, less their mean, the ``weights``, the ``scores`` in centred
    columns, their ``changes`` along a step, and the ``duals``, the residuals times the weights.
    """

    checkpointed: ClassVar[tuple[str, ...]] = ("engine.scores", "conjugate", "stall", "best")
    outcome: ClassVar[tuple[str, ...]] = ("best",)

    def __init__(self, problem: RidgeProblem, options: Options, monitor: Monitor, threads: Threads) -> None:
        self.problem, self.errors, self.lam = problem, problem.errors.centred, problem.lam
        self.options, self.monitor = options, monitor
        self.engine = MemoryEngine(self.errors, threads)
        self.engine["targets"] = self.errors.targets - self.errors.target_mean
        weights = self.errors.weights
        self.engine["weights"] = np.ones(self.errors.targets.size) if weights is None else weights
        self.engine["scores"] = np.zeros(self.errors.targets.size)
        self.engine.allocate("changes", "duals")
        self.best = RidgeResult(np.zeros(self.errors.points.n_columns), problem.errors.target_mean, np.zeros(0))

    @property
    def largest_direct(self) -> int:
        """The largest system that is solved directly at once."""
        return LARGEST_SPARSE if sp.issparse(self.errors.points.factor) else LARGEST_DENSE

    def set_coefficients(self, w: np.ndarray) -> None:
        """Make w the incumbent, with its best intercept."""
        self.best.w, self.best.n_iter = w, self.best.n_iter + 1
        self.best.intercept = self.problem.errors.centring.intercept_there(w, self.errors.best_intercept(w))

    def solve_least_squares(self) -> None:
        """Compute the shortest minimiser without a penalty; w stays zero where a limit comes before."""
        errors = self.errors
        w = self.monitor.call(lambda: least_squares(errors, self.monitor.must_stop), work_of_least_squares(errors))
        if w is not None:
            self.set_coefficients(w)
            self.best.status = Status.SOLVED
        else:
            self.best.status = self.monitor.status_at_end(self.best, self.options)

    def fill_scores(self, w: np.ndarray) -> None:
        """Compute the scores of w in centred columns."""
        self.engine.map(fill_scores, w, -float(self.errors.column_means @ w), "scores")

    def combination_of_residuals(self) -> tuple[np.ndarray, float, float]:
        """Compute X'M r of the residuals r, in centred columns, r'M r and r'M y."""
        total, squares, linear = self.engine.sum(_duals_of_residuals)
        return self.engine.sum(combination, "duals") - total * self.errors.column_means, float(squares), float(linear)

    def solve_directly(self) -> None:
        """Factorise the system; refine where its own gap is not small enough."""
        points = self.errors.points
        by_columns = points.n_columns <= points.n_rows
        system = self.solve_by_columns() if by_columns else self.solve_by_rows()
        if system is None:
            # Coefficients of zero, with the mean of the targets as intercept, are what the run began with.
            self.best.status = self.monitor.status_at_end(self.best, self.options)
            return
        self.set_coefficients(system.w)
        self.best.primal, self.best.dual, self.best.inverse = system.primal, system.dual, system.inverse
        status = self.monitor.check_termination(self.best, self.options, "solution")
        if status is None:
            self.refine(self.best)
        else:
            self.best.status = status

    def refine(self, start: RidgeResult) -> None:
        """Refine coefficients by the factorised system, with gradient and gap computed from the data.

        Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition, chapter 12.
        """
        best, inverse = self.best, start.inverse
        # A start that was never measured, of zeros, has the factorised system of other targets: one step solves.
        unmeasured = start is not self.best and not math.isfinite(start.primal)
        unconfirmed = start is not self.best and not unmeasured
        assert inverse is not None
        w, best.n_iter, best.history, best.inverse = start.w, start.n_iter, start.history, None
        best.primal, best.dual = math.inf, -math.inf
        for step in range(1 + MAX_REFINEMENTS):
            self.fill_scores(w)
            if not self.update_incumbent(w):
                break
            status = self.monitor.check_termination(best, self.options, "refinement")
            # A gap that a certificate did not confirm is made as small as it can be.
            go_on = unconfirmed or (unmeasured and step == 0)
            if status is not None and not (go_on and status is Status.SOLVED):
                best.status = status
                return
            w = best.w + inverse(self.residual)
            best.n_iter += 1
        best.status = self.monitor.status_at_end(best, self.options)

    def solve_iteratively(self) -> None:
        """Solve the normal equations by conjugate gradients, preconditioned by their diagonal.

        The scores and the residual that they update are all that the gap needs, so that it costs no pass.
        """
        errors, means = self.errors, self.errors.column_means

        def product(direction: np.ndarray) -> np.ndarray:
            image = self.engine.sum(_product_of_block, direction, -float(means @ direction))
            found: np.ndarray = image[:-1] - image[-1] * means + self.lam * direction
            return found

        right, _, _ = self.combination_of_residuals()
        self.conjugate = ConjugateGradients(product, right, 1.0 / (errors.squared_deviations + self.lam))
        self.stall = StallTest(PATIENCE, gap_factor=1.0, dual_factor=1.0)
        self.best.status = self.make_conjugate_steps()
        if self.best.status is Status.STALLED and min(errors.points.matrix.shape) <= LARGEST_DENSE:
            # A factorisation costs more, but always succeeds.
            self.solve_directly()

    @stage
    def make_conjugate_steps(self) -> Status:
        """Steps of conjugate gradients until the gap is small, they stall, or a limit is reached."""
        run, best = self.conjugate, self.best
        while True:
            self.monitor.checkpoint(self)
            self.update_incumbent(run.solution, run.residual)
            stalled = self.stall.update(best, best.n_iter) or not 0.0 < run.squared_residual < math.inf
            status = self.monitor.check_termination(best, self.options, "step", stalled=stalled)
            if status is not None:
                return status
            length = run.step()
            if length == 0.0:
                return self.monitor.status_at_end(best, self.options)
            best.n_iter += 1
            if best.n_iter % STEPS_PER_RENEWAL:
                self.engine.map(_move_scores, length)
            else:
                self.fill_scores(run.solution)
                run.replace_residual(self.combination_of_residuals()[0] - self.lam * run.solution)

    def update_incumbent(self, w: np.ndarray, residual: np.ndarray | None = None) -> bool:
        """Keep coefficients if their gap is the smallest so far; the dual point is the best multiple of the errors.

        Parameters
        ----------
        w : ndarray of shape (d,)
            Coefficients, whose scores are the engine's.
        residual : ndarray of shape (d,), optional
            That of the normal equations, half the negative gradient, where it is known.
        """
        best = self.best
        if residual is None:
            combined, squares, linear = self.combination_of_residuals()
            residual = combined - self.lam * w
        else:
            _, squares, linear = (float(total) for total in self.engine.sum(_duals_of_residuals))
            combined = residual + self.lam * w
        self.residual = residual
        primal = squares + self.lam * float(w @ w)
        dual = linear * linear / (squares + float(combined @ combined) / self.lam) if linear > 0.0 else 0.0
        if math.isfinite(best.primal) and not primal - dual < best.primal - best.dual:
            return False
        best.w, best.primal, best.dual = w.copy(), primal, dual
        best.intercept = self.problem.errors.centring.intercept_there(w, self.errors.best_intercept(w))
        return True

    def solve_by_columns(self) -> FactorisedSystem | None:
        """Solve (X'MX + lam) w = X'M y; None where the run has to stop before.

        With r = X'M y - (X'MX + lam) w, the objective is y'My - w·X'My - w·r, and its gap r·(X'MX + lam)^-1 r.
        """
        system, right = normal_equations(self.engine, self.monitor.must_stop)
        if self.monitor.must_stop():
            return None
        system.flat[:: system.shape[0] + 1] += self.lam
        inverse = inverse_of(system, self.engine.threads, self.monitor.must_stop)
        if self.monitor.must_stop():
            return None
        w = inverse(right)
        residual = right - system @ w
        squares = float((self.engine["weights"] * self.engine["targets"]) @ self.engine["targets"])
        primal = squares - float(w @ right) - float(w @ residual)
        return FactorisedSystem(w, inverse, primal, primal - abs(float(residual @ inverse(residual))))

    def solve_by_rows(self) -> FactorisedSystem | None:
        """Solve w = Z'(ZZ' + lam)^-1 y, for the rows Z of X, centred, times the roots of their weights; y likewise.

        None where the run has to stop before.

        With a = (ZZ' + lam)^-1 y and r = y - (ZZ' + lam) a, the dual value of lam a is lam (a·y + a·r), and the gap
        r·r.
        """
        errors, lam = self.errors, self.lam
        matrix, means, roots = errors.points.factor, errors.column_means, np.sqrt(self.engine["weights"])
        if sp.issparse(matrix):
            rows = sp.diags_array(roots) @ matrix.astype(np.float64)
            at_means = rows @ means
            system = (rows @ rows.T).toarray() - np.outer(at_means, roots) - np.outer(roots, at_means)
            system += float(means @ means) * np.outer(roots, roots)
        else:
            rows = centred_rows(errors, self.monitor.must_stop)
            system = symmetric_product(rows, self.engine.threads, self.monitor.must_stop)
        if self.monitor.must_stop():
            return None
        system.flat[:: system.shape[0] + 1] += lam
        inverse = inverse_of(system, self.engine.threads, self.monitor.must_stop)
        if self.monitor.must_stop():
            return None

        def transposed_product(z: np.ndarray) -> np.ndarray:
            found: np.ndarray = rows.T @ z - means * float(roots @ z) if sp.issparse(rows) else rows.T @ z
            return found

        def product(w: np.ndarray) -> np.ndarray:
            found: np.ndarray = rows @ w - roots * float(means @ w) if sp.issparse(rows) else rows @ w
            return found

        right = roots * self.engine["targets"]
        duals = inverse(right)
        residual = right - system @ duals
        dual = lam * float(duals @ right + duals @ residual)
        return FactorisedSystem(
            transposed_product(duals),
            # Woodbury's identity.
            lambda v: (v - transposed_product(inverse(product(v)))) / lam,
            dual + float(residual @ residual),
            dual,
        )


class SharedFactors:
    """The solver of several targets of the same rows, which factorises the system of every penalty once."""

    def __init__(self) -> None:
        self.inverses: dict[float, Inverse] = {}

    def solve(
        self, problem: RidgeProblem, options: Options, monitor: Monitor, start: Result[float] | None = None
    ) -> RidgeResult:
        """Solve by the factorised system of an earlier target, where there is one."""
        if start is None and problem.lam in self.inverses:
            zero = np.zeros(problem.errors.points.n_columns)
            start = RidgeResult(zero, problem.errors.target_mean, np.zeros(0), inverse=self.inverses[problem.lam])
        result: RidgeResult = solve(problem, options, monitor, start)
        if result.inverse is not None:
            self.inverses[problem.lam] = result.inverse
        return result


# Tasks on a block of rows.


def _duals_of_residuals(block: Block[SquaredErrors]) -> np.ndarray:
    """Compute m_i r_i; return their sum, r'M r and r'M y."""
    targets, duals = block["targets"], block["duals"]
    residuals = targets - block["scores"]
    np.multiply(residuals, block["weights"], out=duals)
    return np.array([duals.sum(), duals @ residuals, duals @ targets])


def _product_of_block(block: Block[SquaredErrors], direction: np.ndarray, direction_b: float) -> np.ndarray:
    image = np.zeros(direction.size + 1)
    rows, weights, changes = block.problem.points.rows, block["weights"], block["changes"]
    scores_and_rows(rows, block.index, weights, direction, direction_b, changes, image)
    return image


def _move_scores(block: Block[SquaredErrors], length: float) -> None:
    block["scores"][:] += length * block["changes"]


def inverse_of(system: np.ndarray, threads: Threads, stopped: Callable[[], bool]) -> Inverse:
    """Return the product with the inverse of a matrix that is positive definite up to rounding."""
    try:
        return positive_inverse(system, threads, stopped)
    except sl.LinAlgError:
        values, vectors = sl.eigh(system, check_finite=False)
        smallest = values[-1] * system.shape[0] * np.finfo(np.float64).eps
        scales = np.where(values > smallest, 1.0 / np.maximum(values, smallest), 0.0)
        return lambda v: vectors @ (scales * (vectors.T @ v))
