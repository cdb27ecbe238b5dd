"""Extrapolation of coordinate ascent: the exact optimum over the span of its last steps.

After many epochs the error of coordinate ascent lies in the few directions in which the dual objective is flattest, and
its iterates move slowly along them. The differences to a few earlier iterates span these directions. On their span the
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
# Weights of the differences add up to at most this: they multiply the rounding errors of w and of the iterates kept.
# Where the errors may have become so many times as large as after a sum over all rows, w is summed anew.
LARGEST_WEIGHTS, LARGEST_ERROR = 1e3, 1e4
# Coefficients whose differences stay in a core's own cache.
COEFFICIENTS_AT_ONCE = 1 << 13
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

    checkpointed = ("_duals", "_weights", "_errors", "_error", "_n_kept", "_oldest", "_epochs", "_entries")

    def __init__(self, problem: LinearSVMProblem, ascent: Ascent) -> None:
        self._problem, self._ascent = problem, ascent
        self._duals = np.zeros((N_KEPT, ascent.state.shape[0]))
        self._weights = np.zeros((N_KEPT, ascent.w.size))
        # Rounding errors of the weights kept, and of those now, relative to those of a sum over all rows.
        self._errors, self._error = np.ones(N_KEPT), 1.0
        self._n_kept, self._oldest = 0, 0
        self._epochs, self._entries = EPOCHS_BETWEEN - FIRST_EPOCHS, 0.0

    def count(self, epochs: int, entries: float) -> None:
        """Count epochs, and the entries that they read."""
        self._epochs += epochs
        self._entries += entries

    def epochs_left(self, entries: float) -> int:
        """The number of epochs, with so many entries each, after which the next step is due."""
        return max(1, EPOCHS_BETWEEN - self._epochs, math.ceil((self._entries_between - self._entries) / entries))

    @property
    def is_due(self) -> bool:
        """Whether epochs have done enough for a step."""
        return self._epochs >= EPOCHS_BETWEEN and self._entries >= self._entries_between

    @property
    def _entries_between(self) -> float:
        value: float = ENTRIES_PER_NUMBER * (self._ascent.state.shape[0] + self._ascent.w.size)
        return value

    def step(self) -> bool:
        """Take a step, and keep the iterate for later ones; return whether the duals moved."""
        self._epochs, self._entries = 0, 0.0
        moved = self._n_kept > 0 and self._step()
        self._duals[self._oldest], self._weights[self._oldest] = self._ascent.state[:, DUAL], self._ascent.w
        self._errors[self._oldest] = self._error
        self._n_kept = min(N_KEPT, self._n_kept + 1)
        self._oldest = (self._oldest + 1) % N_KEPT
        return moved

    def _step(self) -> bool:
        """Move to the optimum over the span of the differences, clipped to the box, if it is better."""
        ascent, points = self._ascent, self._problem.points
        state, w = ascent.state, ascent.w
        beta = state[:, DUAL].copy()
        products = self._products_of_differences()
        lengths = np.sqrt(products.diagonal())
        kept = np.flatnonzero(lengths > SMALLEST_DIFFERENCE * math.sqrt(float(w @ w)))
        if kept.size == 0:
            return False
        differences = beta - self._duals[kept]
        weights = self._weights_of_optimum(beta, differences, products[kept[:, None], kept], products[kept, -1])
        size = float(np.abs(weights).sum())
        if not size <= LARGEST_WEIGHTS:
            return False
        change = weights @ differences
        lower, upper = state[:, LOWER], state[:, UPPER]
        if ascent.loss.epsilon > 0.0:
            # The dual term -epsilon |beta| has a kink at zero.
            lower, upper = np.where(beta > 0.0, 0.0, lower), np.where(beta < 0.0, 0.0, upper)
        moved = np.clip(beta + change, lower, upper)
        clipped = np.flatnonzero(moved != beta + change)
        if clipped.size > CLIPPED_SHARE * np.count_nonzero(change):
            return False
        before, b_before, w_before = self._objective(beta), ascent.b[0], w.copy()
        error_before = self._error
        self._error += float(np.abs(weights) @ (self._error + self._errors[kept]))
        if self._error > LARGEST_ERROR:
            w[:], self._error = points.combination(moved), 1.0
        else:
            w *= 1.0 + float(weights.sum())
            of_kept = np.zeros(self._n_kept)
            of_kept[kept] = weights
            w -= of_kept @ self._weights[: self._n_kept]
            add_rows(points.rows, clipped, (moved - beta - change)[clipped], w)
        ascent.b[0] += ascent.intercept_step * float((moved - beta).sum())
        state[:, DUAL] = moved
        if self._objective(moved) > before:
            return True
        w[:], ascent.b[0], state[:, DUAL], self._error = w_before, b_before, beta, error_before
        return False

    def _products_of_differences(self) -> np.ndarray:
        """Inner products of the differences of w to the iterates kept, with each other and, in the last column, with w.

        Block by block: whole differences would leave the cache between two uses.
        """
        w, n_kept = self._ascent.w, self._n_kept
        products = np.zeros((n_kept, n_kept + 1))
        for first in range(0, w.size, COEFFICIENTS_AT_ONCE):
            part = slice(first, first + COEFFICIENTS_AT_ONCE)
            differences = w[part] - self._weights[:n_kept, part]
            products[:, :n_kept] += differences @ differences.T
            products[:, n_kept] += differences @ w[part]
        return products

    def _weights_of_optimum(
        self, beta: np.ndarray, differences: np.ndarray, products: np.ndarray, products_with_w: np.ndarray
    ) -> np.ndarray:
        """The weights of the differences at the optimum over their span, without the box; nan where there is none."""
        ascent = self._ascent
        curvature, sums = ascent.state[:, CURVATURE], differences.sum(axis=1)
        hessian = products + ascent.intercept_step * np.outer(sums, sums)
        gradient = products_with_w + ascent.b[0] * sums - differences @ ascent.state[:, TARGET]
        if self._problem.loss.curvature > 0.0:
            hessian += (differences * curvature) @ differences.T
            gradient += differences @ (curvature * beta)
        if ascent.loss.epsilon > 0.0:
            gradient += differences @ (ascent.loss.epsilon * np.sign(beta))
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
        value -= ascent.loss.epsilon * float(np.abs(beta).sum())
        value -= 0.5 * float((ascent.state[:, CURVATURE] * beta) @ beta)
        return float(value - centre * total - 0.5 * ascent.intercept_step * total * total)
