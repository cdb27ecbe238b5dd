"""Ridge regression (theory D2): a linear system on the shorter side of X, or conjugate gradients on large sparse data.

X enters centred, by its weighted column means; a sparse X is centred without being made dense.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from maxmargin.certificates.ridge_gap import RidgeGap, measure_ridge_gap
from maxmargin.problems.squared_errors import RidgeProblem, SquaredErrors
from maxmargin.solvers.core import Monitor, Options, Result, Status
from maxmargin.solvers.regression.gram_matrix import normal_equations
from maxmargin.solvers.regression.least_squares import least_squares

# The largest systems that are solved directly.
LARGEST_DENSE, LARGEST_SPARSE = 10_000, 2_000
# Steps of iterative refinement, for systems in which much cancels.
MOST_REFINEMENTS = 3
# Conjugate gradients: steps after which what they keep up is made anew, and steps without a smaller gap after which
# rounding is all that is left.
STEPS_PER_RENEWAL, MOST_IDLE = 50, 1000

Inverse = Callable[[np.ndarray], np.ndarray]


@dataclass
class RidgePoint(Result):
    """A point whose certificate was its only measurement."""

    proof: RidgeGap | None = None


def solve(problem: RidgeProblem, options: Options, monitor: Monitor) -> RidgePoint:
    """Solve directly where one side of X is short enough, else until the relative gap is at most ``tol``."""
    points = problem.errors.points
    best = RidgePoint(np.zeros(points.n_columns), problem.errors.target_mean, np.zeros(0))
    run = RidgeRun(problem, options, monitor, best)
    with np.errstate(over="ignore", invalid="ignore"):
        largest = LARGEST_SPARSE if sp.issparse(points.factor) else LARGEST_DENSE
        if problem.lam == 0.0:
            run.prove(least_squares(run.errors))
            best.status = Status.SOLVED
        elif min(points.n_rows, points.n_columns) <= largest:
            run.directly()
        else:
            run.by_conjugate_gradients()
    return best


class RidgeRun:
    """Coefficients, and how they are measured and made better."""

    def __init__(self, problem: RidgeProblem, options: Options, monitor: Monitor, best: RidgePoint) -> None:
        self.problem, self.errors, self.lam = problem, problem.errors.centred, problem.lam
        self.options, self.monitor, self.best = options, monitor, best
        self.targets = self.errors.targets - self.errors.target_mean

    def prove(self, w: np.ndarray) -> None:
        """Keep coefficients if they are the best so far, with their certificate."""
        best, b = self.best, self.problem.errors.centring.intercept_there(w, self.errors.best_intercept(w))
        proof = measure_ridge_gap(self.problem, w, b)
        if best.proof is None or proof.gap < best.proof.gap:
            best.w, best.intercept, best.primal, best.dual, best.proof = w, b, proof.primal, proof.dual, proof
        best.n_iter += 1

    def downhill(self, w: np.ndarray) -> np.ndarray:
        """Half the negative gradient."""
        residuals = self.errors.residuals(w, self.errors.best_intercept(w))
        return centred_combination(self.errors, self.errors.weighted(residuals)) - self.lam * w

    def directly(self) -> None:
        """Factorise once, and use the factors again where the first solution is not exact enough."""
        points = self.errors.points
        if points.n_columns <= points.n_rows:
            w, inverse = solve_by_columns(self.errors, self.targets, self.lam)
        else:
            w, inverse = solve_by_rows(self.errors, self.targets, self.lam)
        for _ in range(1 + MOST_REFINEMENTS):
            self.prove(w)
            status = self.monitor.check_termination(self.best, self.options, "result")
            if status is not None:
                self.best.status = status
                return
            w = self.best.w + inverse(self.downhill(self.best.w))
        self.best.status = Status.STALLED

    def by_conjugate_gradients(self) -> None:
        """Conjugate gradients on the normal equations, scaled by their diagonal.

        The scores and the gradient that they keep up are all that the gap takes, so that it costs nothing.
        """
        errors, best = self.errors, self.best
        scaling = 1.0 / (errors.squared_spreads + self.lam)
        w, scores = np.zeros(errors.points.n_columns), np.zeros(errors.targets.size)
        downhill = centred_combination(errors, errors.weighted(self.targets))
        way, slope, idle = np.zeros_like(w), math.inf, 0
        while True:
            idle = 0 if self.dual_terms(w, scores, downhill) else idle + 1
            status = self.monitor.check_termination(best, self.options, "step")
            scaled = scaling * downhill
            last_slope, slope = slope, float(downhill @ scaled)
            if status is not None:
                best.status = status
                return
            if idle > MOST_IDLE or not 0.0 < slope < math.inf:
                best.status = Status.STALLED
                if min(errors.points.matrix.shape) <= LARGEST_DENSE:
                    # Dear, but sure.
                    self.directly()
                return
            way = scaled + (slope / last_slope) * way
            change = centred_scores(errors, way)
            bent = centred_combination(errors, errors.weighted(change)) + self.lam * way
            share = slope / float(way @ bent)
            w += share * way
            best.n_iter += 1
            if best.n_iter % STEPS_PER_RENEWAL:
                scores += share * change
                downhill -= share * bent
            else:
                scores, downhill = centred_scores(errors, w), self.downhill(w)

    def dual_terms(self, w: np.ndarray, scores: np.ndarray, downhill: np.ndarray) -> bool:
        """Keep coefficients if their gap is the smallest so far; ``downhill`` is half the negative gradient."""
        residuals, best = self.targets - scores, self.best
        duals = self.errors.weighted(residuals)
        combination = downhill + self.lam * w
        squares, gain = float(duals @ residuals), float(duals @ self.targets)
        primal = squares + self.lam * float(w @ w)
        dual = gain * gain / (squares + float(combination @ combination) / self.lam) if gain > 0.0 else 0.0
        if math.isfinite(best.primal) and not primal - dual < best.primal - best.dual:
            return False
        best.w, best.primal, best.dual = w.copy(), primal, dual
        best.intercept = self.problem.errors.centring.intercept_there(w, self.errors.best_intercept(w))
        return True


def solve_by_columns(errors: SquaredErrors, targets: np.ndarray, lam: float) -> tuple[np.ndarray, Inverse]:
    """w = (X'MX + lam)^-1 X'M y."""
    system, right = normal_equations(errors, targets)
    system.flat[:: system.shape[0] + 1] += lam
    inverse = inverse_of(system)
    return inverse(right), inverse


def solve_by_rows(errors: SquaredErrors, targets: np.ndarray, lam: float) -> tuple[np.ndarray, Inverse]:
    """w = Z'(ZZ' + lam)^-1 y, for the rows Z of X, centred, times the roots of their weights, and such targets."""
    matrix, means = errors.points.factor, errors.column_means
    roots = np.ones(targets.size) if errors.weights is None else np.sqrt(errors.weights)
    if sp.issparse(matrix):
        rows = sp.diags_array(roots) @ matrix.astype(np.float64)
        heights = rows @ means
        system = (rows @ rows.T).toarray() - np.outer(heights, roots) - np.outer(roots, heights)
        system += float(means @ means) * np.outer(roots, roots)
    else:
        rows = matrix - means if errors.has_intercept else matrix.astype(np.float64)
        if errors.weights is not None:
            rows = rows * roots[:, None]
        system = rows @ rows.T
    system.flat[:: system.shape[0] + 1] += lam
    inverse = inverse_of(system)

    def back(z: np.ndarray) -> np.ndarray:
        return rows.T @ z - means * float(roots @ z) if sp.issparse(rows) else rows.T @ z

    def forth(w: np.ndarray) -> np.ndarray:
        return rows @ w - roots * float(means @ w) if sp.issparse(rows) else rows @ w

    return back(inverse(roots * targets)), lambda v: (v - back(inverse(forth(v)))) / lam


def inverse_of(system: np.ndarray) -> Inverse:
    """Multiply by the inverse of a matrix that is positive definite, up to rounding."""
    try:
        factor = sl.cho_factor(system, lower=True, check_finite=False)
    except sl.LinAlgError:
        values, vectors = sl.eigh(system, check_finite=False)
        smallest = values[-1] * system.shape[0] * np.finfo(np.float64).eps
        scales = np.where(values > smallest, 1.0 / np.maximum(values, smallest), 0.0)
        return lambda v: vectors @ (scales * (vectors.T @ v))
    return lambda v: sl.cho_solve(factor, v, check_finite=False)


def centred_scores(errors: SquaredErrors, w: np.ndarray) -> np.ndarray:
    """X w, with X centred."""
    scores = errors.points.scores(w)
    return scores - float(errors.column_means @ w) if errors.has_intercept else scores


def centred_combination(errors: SquaredErrors, coefficients: np.ndarray) -> np.ndarray:
    """X'c, with X centred."""
    combination = errors.points.combination(coefficients)
    return combination - float(coefficients.sum()) * errors.column_means if errors.has_intercept else combination
