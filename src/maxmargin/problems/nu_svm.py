r"""Kernel machines with nu: nu-SVC, nu-SVR and the one-class SVM, as one problem with two sums of duals.

Every row has up to two duals, alpha_i >= 0 that pulls f(x_i) up and alpha*_i >= 0 that pulls it down, and
beta_i = alpha_i - alpha*_i, w = sum_i beta_i phi(x_i). The sums of both kinds are given:

.. math:: \max_{\alpha, \alpha^*} \sum_i t_i \beta_i - \tfrac12 \sum_{ij} \beta_i \beta_j k(x_i, x_j), \qquad
          \sum_i \alpha_i = S, \quad \sum_i \alpha^*_i = S^*, \quad 0 \le \alpha_i \le u_i, \quad
          0 \le \alpha^*_i \le u^*_i

.. math:: \min_{w, \lambda, \lambda^*} \tfrac12 \lVert w \rVert^2 + S \lambda - S^* \lambda^*
          + \sum_i u_i (r_i - \lambda)_+ + \sum_i u^*_i (\lambda^* - r_i)_+, \qquad r_i = t_i - w \cdot \varphi(x_i)

============== ============================== ========== ======================= ==================================
machine        duals                          targets t  sums                    offsets lambda, lambda*
============== ============================== ========== ======================= ==================================
nu-SVC         alpha of positive rows,        0          S = S* = nu W / 2       b - rho, b + rho
               alpha* of negative rows
nu-SVR         both of every row, up to C     y          S = S* = C nu W / 2     b + epsilon, b - epsilon
one-class SVM  alpha                          0          S = nu W, S* = 0        -rho, none
============== ============================== ========== ======================= ==================================

W is the sum of the weights. The offsets that are best for given scores are weighted quantiles of the residuals r: the
weight of the rows beyond the margin, or outside of the epsilon interval, is at most nu W, and since duals are at most
u_i, that of the support vectors is at least nu W (the nu-property).

B. Schölkopf, A. Smola, R. Williamson, P. Bartlett, "New support vector algorithms", 2000; B. Schölkopf, J. Platt,
J. Shawe-Taylor, A. Smola, R. Williamson, "Estimating the support of a high-dimensional distribution", 2001;
C.-C. Chang, C.-J. Lin, "Training nu-support vector classifiers: theory and algorithms", 2001.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from maxmargin.data import ClassPair, ClassPairs, Points
from maxmargin.data.printed_bounds import digits_down
from maxmargin.problems.best_intercept import FLAT, best_intercept
from maxmargin.problems.kernel_svm import KernelProblem
from maxmargin.problems.kernels import Kernel, Linear
from maxmargin.problems.linear_svm import epsilon_insensitive, hinge, weights_of
from maxmargin.problems.one_vs_one import PairProblems

# Where the optimum may be zero, a gap of ``tol`` times this share of the largest ||w||²/2 counts as none.
NEGLIGIBLE_SHARE = 1e-9


class Offsets(NamedTuple):
    """The residuals lambda and lambda* at which losses begin."""

    above: float
    below: float

    @property
    def intercept(self) -> float:
        """b of a classifier or a regression."""
        return 0.5 * (self.above + self.below)

    @property
    def rho(self) -> float:
        """Half of the distance between the two margins: rho of a classifier, -epsilon of a regression."""
        return 0.5 * (self.below - self.above)


@dataclass(frozen=True)
class NuSVMProblem(KernelProblem):
    """A kernel machine with nu (see the module); ``loss`` has the box of the duals, and the targets of a regression.

    Attributes
    ----------
    sum_above, sum_below : float
        S and S*.
    """

    sum_above: float = 0.0
    sum_below: float = 0.0

    @property
    def is_regression(self) -> bool:
        """Whether rows have both duals."""
        return not self.loss.one_sided

    @cached_property
    def targets(self) -> np.ndarray:
        """The factors t of the duals: zero but for a regression."""
        return self.loss.targets if self.is_regression else np.zeros(self.n_rows)

    @cached_property
    def bounds(self) -> np.ndarray:
        """The largest alpha and alpha* of every row, (2, n)."""
        return np.stack([self.losses.uppers(), -self.losses.lowers()])

    @property
    def sums(self) -> tuple[float, float]:
        """S and S*"""
        return self.sum_above, self.sum_below

    @property
    def is_linear_one_class(self) -> bool:
        """Whether this is a one-class machine on all points with the linear kernel."""
        is_one_class = self.loss.one_sided and self.sum_below == 0.0
        return is_one_class and self.rows is None and isinstance(self.kernel, Linear)

    @property
    def nu(self) -> float:
        """The share of the weight that both sums stand for."""
        total = self.loss.box_bound * float(self.loss.weights.sum())
        return (self.sum_above + self.sum_below) / total if total > 0.0 else 0.0

    @property
    def largest_value(self) -> float:
        """The largest ||w||²/2 of feasible duals, at most: ||w|| is at most (S + S*) max ||phi(x)||."""
        squared_radius = max(0.0, float(self.diagonal.max(initial=0.0)))
        return 0.5 * (self.sum_above + self.sum_below) ** 2 * squared_radius

    def of_rows(self, places: np.ndarray, sums: tuple[float, float]) -> "NuSVMProblem":
        """The problem of some rows alone, with other sums."""
        return replace(self.part(places), sum_above=sums[0], sum_below=sums[1])

    def initial_duals(self, scores: np.ndarray | None = None) -> np.ndarray:
        """Feasible duals, (2, n): at their bounds from the first row on, as LIBSVM's.

        Given scores, the first rows are those that are farthest beyond the margins.
        """
        duals = np.zeros_like(self.bounds)
        orders = [np.arange(self.n_rows)] * 2
        if scores is not None:
            residuals = self.targets - scores
            orders = [np.argsort(-residuals, kind="stable"), np.argsort(residuals, kind="stable")]
        for side, bounds, total, order in zip(duals, self.bounds, self.sums, orders, strict=True):
            most = bounds[order]
            side[order] = np.clip(total - (np.cumsum(most) - most), 0.0, most)
        return duals

    def duals_of(self, beta: np.ndarray) -> np.ndarray:
        """alpha and alpha*, (2, n), of feasible signed duals, with the sums S and S*.

        In a regression both may be raised by the same amount without a change of beta.
        """
        duals = np.stack([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)])
        if self.is_regression:
            room = self.bounds[0] - np.abs(beta)
            missing, total = max(0.0, self.sum_above - float(duals[0].sum())), float(room.sum())
            duals += room * (missing / total if total > 0.0 else 0.0)
        return duals

    def feasible(self, beta: np.ndarray) -> np.ndarray:
        """Project signed duals into their box, then to the sums; in a regression sum |beta_i| may be less than 2 S."""
        clipped = np.clip(beta, -self.bounds[1], self.bounds[0])
        sides = np.maximum(clipped, 0.0), np.maximum(-clipped, 0.0)
        sums = self.sums
        if self.is_regression:
            total = min(self.sum_above, *(float(side.sum()) for side in sides))
            sums = total, total
        above, below = map(with_sum, sides, self.bounds, sums)
        found: np.ndarray = above - below
        return found

    def best_offsets(self, scores: np.ndarray) -> Offsets:
        """The offsets of the smallest losses, given the scores without intercept."""
        residuals = self.targets - scores
        above = _upper_quantile(residuals, self.bounds[0], self.sum_above)
        below = -_upper_quantile(-residuals, self.bounds[1], self.sum_below) if self.sum_below > 0.0 else above
        offsets = Offsets(above, below)
        if self.is_regression and offsets.rho > 0.0:
            # No interval: epsilon is zero, and b a median of the residuals.
            b = best_intercept(self.losses, scores)
            return Offsets(b, b)
        return offsets

    def losses_at(self, scores: np.ndarray, offsets: Offsets) -> np.ndarray:
        """By how much residuals are beyond the two offsets, (2, n)."""
        residuals = self.targets - scores
        found: np.ndarray = np.maximum(np.stack([residuals - offsets.above, offsets.below - residuals]), 0.0)
        return found

    def primal_value(self, beta: np.ndarray, scores: np.ndarray, offsets: Offsets) -> float:
        """The primal value of w = sum_j beta_j phi(x_j) and the offsets, given the scores without intercept."""
        loss = float((self.bounds * self.losses_at(scores, offsets)).sum())
        of_offsets = self.sum_above * offsets.above - self.sum_below * offsets.below
        return 0.5 * float(beta @ scores) + of_offsets + loss

    def dual_value(self, beta: np.ndarray, scores: np.ndarray) -> float:
        """The dual value at a feasible point, given the scores."""
        return float(self.targets @ beta) - 0.5 * float(beta @ scores)


def with_sum(values: np.ndarray, bounds: np.ndarray, total: float) -> np.ndarray:
    """Values between zero and their bounds, scaled down, or moved towards the bounds, so that they have this sum.

    Values at their bounds, and zeros, are moved only where more than a rounding error of the sum is missing, and the
    others do not suffice.
    """
    found = float(values.sum())
    if found >= total:
        if found == total:
            return values
        free = np.where(values < bounds, values, 0.0)
        of_free = float(free.sum())
        return values - free * ((found - total) / of_free) if found - total < of_free else values * (total / found)
    missing = total - found
    for room in (np.where(values > 0.0, bounds - values, 0.0), bounds - values):
        whole = float(room.sum())
        if missing <= max(whole, FLAT * total):
            return np.minimum(values + room * min(1.0, missing / whole), bounds) if whole > 0.0 else values
    return bounds


def _upper_quantile(residuals: np.ndarray, bounds: np.ndarray, total: float) -> float:
    """The offset L with the smallest ``total L + sum bounds (residuals - L)_+``; the middle of an interval of them."""
    used = np.flatnonzero(bounds)
    order = used[np.argsort(-residuals[used], kind="stable")]
    reached = np.cumsum(bounds[order])
    flat = FLAT * float(reached[-1])
    first = min(int(np.searchsorted(reached, total - flat)), order.size - 1)
    last = min(int(np.searchsorted(reached, total + flat, side="right")), order.size - 1)
    return 0.5 * float(residuals[order[first]] + residuals[order[last]])


def total_weight(weights: np.ndarray) -> float:
    """The sum of the weights, rounded once."""
    return math.fsum(weights.tolist())


def one_class(
    points: Points, kernel: Kernel | None, weights: np.ndarray, nu: float, n_threads: int | None
) -> NuSVMProblem:
    """The problem of the one-class SVM."""
    loss = hinge(np.ones(points.n_rows), weights, 1.0)
    total = total_weight(weights)
    return NuSVMProblem(points, kernel, loss, n_threads=n_threads, sum_above=min(nu * total, total))


def nu_regression(
    points: Points,
    kernel: Kernel | None,
    targets: np.ndarray,
    weights: np.ndarray,
    C: float,
    nu: float,
    n_threads: int | None,
) -> NuSVMProblem:
    """The problem of nu-SVR."""
    half = C * nu * total_weight(weights) / 2.0
    loss = epsilon_insensitive(targets, weights, C, 0.0)
    return NuSVMProblem(points, kernel, loss, n_threads=n_threads, sum_above=half, sum_below=half)


class NuPairProblems(PairProblems):
    """The problems of nu-SVC of all pairs of classes; each is built once.

    Parameters
    ----------
    pairs, kernel, n_threads : as for PairProblems
    nu : float

    Raises
    ------
    ValueError
        Where nu is infeasible for a pair: the duals of the lighter class are at most its weight.
    """

    def __init__(self, pairs: ClassPairs, kernel: Kernel | None, nu: float, n_threads: int | None = None) -> None:
        super().__init__(pairs, kernel, 1.0, n_threads)
        self._nu = nu
        self._refuse_infeasible()

    def problem(self, pair: ClassPair) -> NuSVMProblem:  # type: ignore[override]
        """The problem of a pair."""
        weights = self._weights if pair.rows is None else self._weights[pair.rows]
        half = self._nu * total_weight(weights) / 2.0
        return NuSVMProblem(
            self._points,
            self.kernel,
            hinge(pair.signs, weights, 1.0),
            rows=pair.rows,
            whole=self.of_all_points,
            n_threads=self._n_threads,
            sum_above=min(half, total_weight(weights[pair.signs > 0.0])),
            sum_below=min(half, total_weight(weights[pair.signs < 0.0])),
        )

    def _refuse_infeasible(self) -> None:
        codes, classes = self.pairs.labelled.codes, self.pairs.classes
        weights = weights_of(self.pairs.points, self.pairs.weights)
        totals = [total_weight(weights[codes == k]) for k in range(len(classes))]
        for first, second in self.pairs.pairs:
            both = totals[first] + totals[second]
            lighter = min(totals[first], totals[second])
            if self._nu * both / 2.0 > lighter:
                # Rounded down, so that the number shown is allowed.
                largest = digits_down(2.0 * lighter / both, 6)
                raise ValueError(
                    f"specified nu is infeasible: nu={self._nu:g}, and classes {classes[first]} and {classes[second]}, "
                    f"of weights {totals[first]:g} and {totals[second]:g}, allow at most {largest}."
                )
