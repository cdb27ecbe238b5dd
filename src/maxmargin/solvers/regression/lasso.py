"""The lasso by coordinate descent on working sets (theory D3).

A round measures the gap, drops columns that are proven to be of no use (Ndiaye, Fercoq, Gramfort, Salmon, 2017), and
solves the problem of the most promising columns alone. Where these are few, that is done with their products with each
other, and once the signs of the coefficients are known, their values are the result of a linear system. Nothing that
a round rounds outlives it, because every round measures anew from the coefficients.
"""

import math
from contextlib import nullcontext
from functools import cached_property

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from maxmargin.data.blas import one_blas_thread
from maxmargin.data.rows import Rows, rows_of
from maxmargin.loops.lasso import Descent, descend, descend_by_products
from maxmargin.problems.squared_errors import LassoProblem, SquaredErrors
from maxmargin.solvers.core import ENTRIES_PER_CALL, Monitor, Options, Result, Status
from maxmargin.solvers.regression.duplicate_columns import copies_among
from maxmargin.solvers.regression.gram_matrix import MOST_COLUMNS, ColumnProducts

# The first working set, and what is small enough to be taken as a whole.
FEW_COLUMNS = 128
# A round that leaves more than this share of the gap calls for a working set of twice the size.
SLOW = 0.3
# What rounding leaves of a column's spread, relative to its length.
NO_SPREAD = 1e-14
# With the products at hand: passes between two tries to solve for the signs at hand, and the most tries.
PASSES_PER_TRY = 30
MOST_TRIES = 200
# Tries that do not come nearer by this share after which rounding may be all that is left.
TRIES_IN_VAIN, NEARER = 10, 0.9
# For so few coefficients a linear system is solved even while their signs still change.
CHEAP_SYSTEM = 200
MOST_CROSSINGS = 20
# Sparse columns are swept first: easy problems are solved before products would be made.
ROUNDS_OF_SPARSE_SWEEPS = 1
# Without products: rounds of one pass over the working set, and passes over its coefficients that are not zero.
SWEEPS = 3
PASSES_PER_SWEEP = 10
# Prices below this share of the largest useful one are come to by steps of this factor.
NEAR, FALL = 0.05, 2.0
# What is wanted is small against the gap that is to be proven.
NEGLIGIBLE = 0.1
# Rounds without any progress after which rounding is all that is left; working sets may grow meanwhile.
ROUNDS_IN_VAIN, ROUNDS_OF_GROWTH = 5, 30
# To better the objective in its last digits only, and the gap by less than this, is not to better them.
LAST_DIGITS, SOME = 1e-15, 0.999


def solve(problem: LassoProblem, options: Options, monitor: Monitor, start: np.ndarray | None = None) -> Result[float]:
    """Make rounds until the relative gap is at most ``tol``; ``start`` are coefficients to begin with."""
    run = LassoRun(problem.errors, options, monitor, start)
    with np.errstate(over="ignore", invalid="ignore"):
        for lam in way_to(problem) if start is None else []:
            if run.until_gap(lam, f"lambda = {lam:.3g}, round").status is not Status.SOLVED:
                break
        return run.until_gap(problem.lam, "round")


def way_to(problem: LassoProblem) -> list[float]:
    """Falling prices to solve for first, each from where the last one ended.

    With more columns than rows, and a price at which the errors nearly vanish, almost as many coefficients as rows are
    not zero: which ones is found one after the other, but hardly all at once.
    """
    errors = problem.errors.centred
    n_rows = errors.points.n_rows if errors.weights is None else int(np.count_nonzero(errors.weights))
    if errors.points.n_columns <= n_rows:
        return []
    centred = errors.targets - errors.target_mean
    largest = float(np.abs(errors.points.combination(errors.weighted(centred))).max(initial=0.0))
    if not NEAR * largest > problem.lam:
        return []
    n_prices = math.ceil(math.log(largest / problem.lam) / math.log(FALL))
    return [largest * (problem.lam / largest) ** (k / n_prices) for k in range(1, n_prices)]


class LassoRun:
    """The state of a run: coefficients, what the last measurement found, and which columns are still of use."""

    def __init__(
        self, errors: SquaredErrors, options: Options, monitor: Monitor, start: np.ndarray | None = None
    ) -> None:
        self.centring, self.errors, self.options, self.monitor = errors.centring, errors.centred, options, monitor
        self.w = np.zeros(errors.points.n_columns) if start is None else start.astype(np.float64)
        self.best = Result(self.w, 0.0, np.zeros(0))
        self.targets = self.errors.targets - self.errors.target_mean
        self.spreads = self.errors.squared_spreads
        self.useful = self.useful_columns()
        self.products = ColumnProducts(self.errors)
        self.largest_size = self.w.size if sp.issparse(self.errors.points.factor) else MOST_COLUMNS
        self.patience = ROUNDS_OF_SPARSE_SWEEPS if sp.issparse(self.errors.points.factor) else 0

    def useful_columns(self) -> np.ndarray:
        """The columns that vary, one of each; coefficients of copies are added to those of the originals."""
        varying = self.spreads > NO_SPREAD * self.errors.squares_of_columns
        copies = copies_among(self.errors, np.flatnonzero(varying))
        np.add.at(self.w, copies.originals, copies.signs * self.w[copies.columns])
        varying[copies.columns] = False
        self.w[~varying] = 0.0
        return np.flatnonzero(varying)

    def until_gap(self, lam: float, step: str) -> Result[float]:
        """Make rounds at a price until the goal, or a limit, is reached."""
        self.best = Result(self.w.copy(), 0.0, np.zeros(0), n_iter=self.best.n_iter)
        self.lam, self.alive, self.size = lam, self.useful, FEW_COLUMNS
        self.last_chosen = np.empty(0, dtype=np.intp)
        in_vain, least, last_gap = 0, math.inf, math.inf
        while True:
            self.measure()
            status = self.monitor.check_termination(self.best, self.options, step)
            if status is not None:
                self.best.status = status
                return self.best
            self.drop_useless()
            gap = self.primal - self.dual
            if gap > SLOW * last_gap:
                self.size = min(2 * self.size, self.largest_size)
            chosen = self.choose()
            moved = self.primal < least * (1.0 - LAST_DIGITS) or gap < SOME * last_gap
            same = np.array_equal(chosen, self.last_chosen)
            in_vain = 0 if moved else in_vain + 1
            if in_vain >= (ROUNDS_IN_VAIN if same else ROUNDS_OF_GROWTH) or not chosen.size:
                self.best.status = Status.STALLED
                return self.best
            least, last_gap, self.last_chosen = min(self.primal, least), min(gap, last_gap), chosen
            if self.best.n_iter >= self.patience and self.products.affordable(chosen):
                self.solve_by_products(chosen)
            else:
                self.sweep(chosen)
            self.best.n_iter += 1

    def measure(self) -> None:
        """Compute residuals, slopes and both values from the coefficients alone."""
        errors, best = self.errors, self.best
        residuals = errors.targets - errors.points.scores(self.w)
        b = errors.mean(residuals)
        self.residuals = residuals - b
        duals = errors.weighted(self.residuals)
        self.slopes = errors.points.combination(duals)
        squares = float(duals @ self.residuals)
        self.primal = 0.5 * squares + self.lam * float(np.abs(self.w).sum())
        gain, largest = float(duals @ self.targets), float(np.abs(self.slopes).max(initial=0.0))
        share = gain / squares if gain > 0.0 else 0.0
        self.share = min(share, self.lam / largest) if largest > 0.0 else share
        self.dual = max(0.0, self.share * gain - 0.5 * self.share * self.share * squares)
        # Another certificate will be made of these residuals, so that the dual value has to be theirs, too.
        if self.primal <= best.primal or self.primal - self.dual < best.primal - best.dual:
            best.w, best.beta = self.w.copy(), self.share * duals
            best.intercept = self.centring.intercept_there(self.w, b)
            best.primal, best.dual = self.primal, self.dual

    def drop_useless(self) -> None:
        """Forget columns whose coefficients are zero in every best model."""
        reach = math.sqrt(2.0 * max(0.0, self.primal - self.dual))
        farthest = self.share * np.abs(self.slopes[self.alive]) + reach * np.sqrt(self.spreads[self.alive])
        useful = ~(farthest < self.lam * (1.0 - 1e-9))
        self.w[self.alive[~useful]] = 0.0
        self.alive = self.alive[useful]

    def choose(self) -> np.ndarray:
        """The working set: coefficients that are not zero, and columns that are next to become useful."""
        alive = self.alive
        used = self.w[alive] != 0.0
        self.size = max(self.size, 2 * int(np.count_nonzero(used)))
        if alive.size <= self.size:
            return alive
        distance = (self.lam - self.share * np.abs(self.slopes[alive])) / np.sqrt(self.spreads[alive])
        distance[used] = -math.inf
        return np.sort(alive[np.argpartition(distance, self.size)[: self.size]])

    def solve_by_products(self, chosen: np.ndarray) -> None:
        """Solve for these columns alone, given their products."""
        products, slopes, beta = self.products.among(chosen), self.slopes[chosen], self.w[chosen]
        # Systems of some hundred columns are solved sooner than a second thread has woken up.
        with one_blas_thread() if chosen.size > FEW_COLUMNS else nullcontext():
            self._solve_given_products(products, slopes, beta)
        self.w[chosen] = beta

    def _solve_given_products(self, products: np.ndarray, slopes: np.ndarray, beta: np.ndarray) -> None:
        goal = self.lam * min(1e-4, max(1e-12, NEGLIGIBLE * self.options.tol))
        least, in_vain = math.inf, 0
        for _ in range(MOST_TRIES):
            signs = np.sign(beta)
            descend_by_products(products, slopes, beta, self.lam, PASSES_PER_TRY)
            if np.count_nonzero(beta) <= CHEAP_SYSTEM or (signs == np.sign(beta)).all():
                jump(products, slopes, beta, self.lam)
            held = np.where(beta != 0.0, np.abs(slopes - self.lam * np.sign(beta)), np.abs(slopes) - self.lam)
            missing = float(held.max())
            least, in_vain = (missing, 0) if missing < NEARER * least else (least, in_vain + 1)
            if missing <= goal or in_vain >= TRIES_IN_VAIN or self.monitor.check_limits() is not None:
                break

    def sweep(self, chosen: np.ndarray) -> None:
        """Descend along these columns, looking at the residuals."""
        roots = None if self.errors.weights is None else np.sqrt(self.errors.weights)
        residuals = self.residuals.copy() if roots is None else self.residuals * roots
        totals = self.errors.total_weight * self.tilts
        descent = Descent(self.w, residuals, np.zeros(1), self.spreads, self.tilts, totals, self.lam)
        # The gap is about as the root of what there still is to win.
        goal = (NEGLIGIBLE * self.options.tol) ** 2 * self.primal
        for _ in range(SWEEPS):
            fallen = self.visit(descent, chosen)
            used = chosen[self.w[chosen] != 0.0]
            for _ in range(PASSES_PER_SWEEP):
                fallen_here = self.visit(descent, used)
                if fallen_here <= NEGLIGIBLE * max(fallen, goal) or self.monitor.check_limits() is not None:
                    break
            if fallen <= goal or self.monitor.check_limits() is not None:
                break

    def visit(self, descent: Descent, chosen: np.ndarray) -> float:
        """One pass, in calls that are short enough for Ctrl-C; returns by how much the objective fell."""
        errors = self.errors
        per_column = max(1.0, errors.points.entries_per_row * errors.points.n_rows / max(1, errors.points.n_columns))
        step = max(1, int(ENTRIES_PER_CALL / per_column))
        fallen = 0.0
        for first in range(0, chosen.size, step):
            fallen += descend(self.columns, descent, chosen, first, min(first + step, chosen.size))
            if self.monitor.check_limits() is not None:
                break
        return fallen

    @property
    def tilts(self) -> np.ndarray:
        """The means that the columns still have: none where they are dense, because those are centred."""
        sparse = sp.issparse(self.errors.points.matrix)
        return self.errors.column_means if sparse else np.zeros_like(self.spreads)

    @cached_property
    def columns(self) -> Rows:
        """The columns times the roots of the weights, one after the other; dense ones are centred."""
        errors, matrix = self.errors, self.errors.points.matrix
        roots = None if errors.weights is None else np.sqrt(errors.weights)
        if sp.issparse(matrix):
            turned = self.errors.sparse_columns
            values = turned.data if roots is None else turned.data * roots[turned.indices]
            return rows_of(sp.csr_array((values, turned.indices, turned.indptr), shape=turned.shape[::-1]))
        dense = np.array(matrix.T, dtype=np.float64, order="C")
        if errors.has_intercept:
            dense -= errors.column_means[:, None]
        if roots is not None:
            dense *= roots
        return rows_of(dense)


def jump(products: np.ndarray, slopes: np.ndarray, beta: np.ndarray, lam: float) -> None:
    """Go where the coefficients that are not zero would be best with the signs that they have.

    Where one would change its sign on the way, it is left at zero and the others go on without it (Lee, Battle, Raina,
    Ng, "Efficient sparse coding algorithms", 2007).
    """
    for _ in range(MOST_CROSSINGS):
        used = np.flatnonzero(beta)
        if not used.size:
            return
        force, rows = slopes[used] - lam * np.sign(beta[used]), products[used]
        try:
            factor = sl.cho_factor(rows[:, used], lower=True, overwrite_a=True, check_finite=False)
        except sl.LinAlgError:
            if used.size > CHEAP_SYSTEM or not drop_dependent(products, beta, used):
                return
            continue
        step = sl.cho_solve(factor, force, check_finite=False)
        crossing = np.flatnonzero(beta[used] * (beta[used] + step) < 0.0)
        shares = -beta[used][crossing] / step[crossing]
        share = float(shares.min(initial=1.0))
        moved = share * (step @ rows)
        if not share * (force @ step) - 0.5 * share * (step @ moved[used]) > 0.0:
            return
        beta[used] += share * step
        slopes -= moved
        if not crossing.size:
            return
        beta[used[crossing[shares == share]]] = 0.0


def drop_dependent(products: np.ndarray, beta: np.ndarray, used: np.ndarray) -> bool:
    """Where columns in use are combinations of others, move along what changes no residual until one is not in use.

    Of all such ways the one is taken on which the sizes of the coefficients fall fastest. Returns whether there is one.
    """
    values, vectors = sl.eigh(products[np.ix_(used, used)], check_finite=False)
    still = vectors[:, values <= used.size * np.finfo(np.float64).eps * values[-1]]
    signs = np.sign(beta[used])
    step = -still @ (still.T @ signs)
    falling = np.flatnonzero(step * signs < 0.0)
    if not falling.size or not float(step @ step) > NO_SPREAD * used.size:
        return False
    shares = -beta[used][falling] / step[falling]
    share = float(shares.min())
    beta[used] += share * step
    beta[used[falling[shares == share]]] = 0.0
    return True
