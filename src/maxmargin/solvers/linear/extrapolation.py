"""Extrapolation of coordinate ascent: the exact optimum over the span of its last steps.

After many epochs the error of coordinate ascent lies in the few directions in which the dual objective is flattest, and
its iterates creep along them. The differences to a few earlier iterates span these directions. On their span the
objective is a quadratic function of a few variables, and since w is known at every iterate, its optimum takes no pass
over the rows.

Narkiss, Zibulevsky, "Sequential subspace optimization method for large-scale unconstrained problems", 2005; Bertrand,
Massias, "Anderson acceleration of coordinate descent", 2021.
"""

import math

import numpy as np

from maxmargin.loops.coordinate import CURVATURE, DUAL, LOWER, TARGET, UPPER, Ascent, add_rows
from maxmargin.problems.linear_svm import LinearSVMProblem

# Epochs before the first iterate is kept, and between two; earlier iterates that are kept. Of eight settings tried on
# three sets of text, the fastest.
FIRST_EPOCHS = 24
EPOCHS_BETWEEN = 5
# An attempt passes some twenty times over vectors of all rows and columns: before the next one, epochs have to read at
# least so many entries for each of their numbers.
ENTRIES_PER_NUMBER = 20.0
N_KEPT = 3
# A difference of two w that is smaller than this, relative to w, is made of rounding errors.
SMALLEST_DIFFERENCE = 1e-7
# Weights of the differences add up to at most this: larger ones multiply the rounding errors of w. Beyond the second
# number w is summed anew.
LARGEST_WEIGHTS, WEIGHTS_TO_SUM_ANEW = 1e3, 30.0
# Duals that leave their box, as a share of those that move, up to which the rest of a step is worth taking.
CLIPPED_SHARE = 0.05
# Added to the diagonal of the scaled system: differences may be nearly parallel.
REGULARISATION = 1e-9


class Extrapolation:
    """Earlier iterates of a run of coordinate ascent, and the steps that follow from them.

    Parameters
    ----------
    problem : LinearSVMProblem
    ascent : Ascent
        The state of the run, which the steps change.
    """

    checkpointed = ("_duals", "_weights", "_n_kept", "_oldest", "_epochs", "_entries")

    def __init__(self, problem: LinearSVMProblem, ascent: Ascent) -> None:
        self._problem, self._ascent = problem, ascent
        self._duals = np.zeros((N_KEPT, ascent.state.shape[0]))
        self._weights = np.zeros((N_KEPT, ascent.w.size))
        self._n_kept, self._oldest = 0, 0
        self._epochs, self._entries = EPOCHS_BETWEEN - FIRST_EPOCHS, 0.0

    def after_epoch(self, entries: float) -> bool:
        """Take a step where one is due, after an epoch that read so many entries; return whether the duals moved."""
        self._epochs += 1
        self._entries += entries
        numbers = self._ascent.state.shape[0] + self._ascent.w.size
        if self._epochs < EPOCHS_BETWEEN or self._entries < ENTRIES_PER_NUMBER * numbers:
            return False
        self._epochs, self._entries = 0, 0.0
        moved = self._n_kept > 0 and self._step()
        self._duals[self._oldest], self._weights[self._oldest] = self._ascent.state[:, DUAL], self._ascent.w
        self._n_kept = min(N_KEPT, self._n_kept + 1)
        self._oldest = (self._oldest + 1) % N_KEPT
        return moved

    def _step(self) -> bool:
        """Move to the optimum over the span of the differences, clipped to the box, if it is better."""
        ascent, points = self._ascent, self._problem.points
        state, w = ascent.state, ascent.w
        beta = state[:, DUAL].copy()
        w_differences = w - self._weights[: self._n_kept]
        lengths = np.sqrt(np.vecdot(w_differences, w_differences))
        kept = lengths > SMALLEST_DIFFERENCE * math.sqrt(float(w @ w))
        if not kept.any():
            return False
        w_differences, differences = w_differences[kept], beta - self._duals[: self._n_kept][kept]
        weights = self._weights_of_optimum(beta, differences, w_differences)
        size = float(np.abs(weights).sum())
        if not size <= LARGEST_WEIGHTS:
            return False
        change = weights @ differences
        lower, upper = state[:, LOWER], state[:, UPPER]
        if ascent.epsilon > 0.0:
            # The dual term -epsilon |beta| has a kink at zero.
            lower, upper = np.where(beta > 0.0, 0.0, lower), np.where(beta < 0.0, 0.0, upper)
        moved = np.clip(beta + change, lower, upper)
        clipped = np.flatnonzero(moved != beta + change)
        if clipped.size > CLIPPED_SHARE * np.count_nonzero(change):
            return False
        before, b_before, w_before = self._objective(beta), ascent.b[0], w.copy()
        if size > WEIGHTS_TO_SUM_ANEW:
            w[:] = points.combination(moved)
        else:
            w += weights @ w_differences
            add_rows(points.rows, clipped, (moved - beta - change)[clipped], w)
        ascent.b[0] += ascent.intercept_step * float((moved - beta).sum())
        state[:, DUAL] = moved
        if self._objective(moved) > before:
            return True
        w[:], ascent.b[0], state[:, DUAL] = w_before, b_before, beta
        return False

    def _weights_of_optimum(self, beta: np.ndarray, differences: np.ndarray, w_differences: np.ndarray) -> np.ndarray:
        """The weights of the differences at the optimum over their span, without the box; nan where there is none."""
        ascent = self._ascent
        curvature, sums = ascent.state[:, CURVATURE], differences.sum(axis=1)
        hessian = w_differences @ w_differences.T + ascent.intercept_step * np.outer(sums, sums)
        gradient = w_differences @ ascent.w + ascent.b[0] * sums - differences @ ascent.state[:, TARGET]
        if self._problem.loss.curvature > 0.0:
            hessian += (differences * curvature) @ differences.T
            gradient += differences @ (curvature * beta)
        if ascent.epsilon > 0.0:
            gradient += differences @ (ascent.epsilon * np.sign(beta))
        scales = np.sqrt(hessian.diagonal())
        hessian = hessian / np.outer(scales, scales) + REGULARISATION * np.eye(scales.size)
        try:
            return np.asarray(np.linalg.solve(hessian, -gradient / scales) / scales)
        except np.linalg.LinAlgError:
            return np.full(scales.size, np.nan)

    def _objective(self, beta: np.ndarray) -> float:
        """The dual objective of the current iterate, around the intercept's centre."""
        ascent, total = self._ascent, float(beta.sum())
        centre = ascent.b[0] - ascent.intercept_step * total
        value = float(ascent.state[:, TARGET] @ beta) - 0.5 * float(ascent.w @ ascent.w)
        value -= ascent.epsilon * float(np.abs(beta).sum()) + 0.5 * float((ascent.state[:, CURVATURE] * beta) @ beta)
        return float(value - centre * total - 0.5 * ascent.intercept_step * total * total)
