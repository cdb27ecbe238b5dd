"""Coordinate ascent and SMO on the dual of the support vector machine.

Lecture 9, "Large Margin Classifiers. Linear Support Vector Machines", "Coordinate ascent" and "SMO"; J. Platt,
"Sequential minimal optimization", 1998; S. Keerthi, S. Shevade, C. Bhattacharyya, K. Murthy, "Improvements to Platt's
SMO algorithm", 2001 (the maximal violating pair).
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.lectures.kernels import Kernel, kernel_matrix
from maxmargin.lectures.objectives import check_penalty, conditions_of, dual_value
from maxmargin.lectures.points import (
    Order,
    RowOrder,
    check_count,
    check_indices,
    check_positive,
    check_rows,
    check_vector,
)
from maxmargin.lectures.steps import Claim, PairStep, Step, rounding

Pair = str | Callable[[np.ndarray, np.ndarray], tuple[int, int] | None]


@dataclass(frozen=True)
class DualProblem:
    """The dual of the support vector machine on checked data.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
    K : ndarray of shape (n, n)
        The Gram matrix.
    C : float
    intercept : bool
    linear : bool
        Whether the kernel is the inner product, so that w exists.
    tol : float
        The share of the primal objective to which optimality is asked for.
    """

    X: np.ndarray
    y: np.ndarray
    K: np.ndarray
    C: float
    intercept: bool
    linear: bool
    tol: float

    @classmethod
    def of(
        cls, X: Any, y: Any, C: float | None, lambda_: float | None, kernel: Kernel, tol: float, *, intercept: bool,
        **parameters: Any,
    ) -> "DualProblem":  # fmt: skip
        """Check the data and the parameters."""
        X, y = check_rows(X, y)
        if intercept and (y == y[0]).all():
            raise ValueError("y must hold both classes: with one alone every dual variable is zero.")
        K, C, tol = kernel_matrix(X, kernel, **parameters), check_penalty(C, lambda_), check_positive("tol", tol)
        if K.diagonal().min() < 0:
            raise ValueError("kernel must be positive semidefinite, and some k(x, x) is negative.")
        return cls(X, y, K, C, intercept, not callable(kernel) and kernel == "linear", tol)

    def start(self, given: Any) -> Step:
        """The state that a run begins with: zero, dual variables, or a step of an earlier run."""
        if isinstance(given, Step):
            check_vector("alpha of start", given.alpha, len(self.y))
            return given
        alpha = np.zeros(len(self.y)) if given is None else check_vector("start", given, len(self.y))
        balance, slack = abs(float(alpha @ self.y)), rounding(len(self.y), alpha.sum())
        if (alpha < 0).any() or (alpha > self.C).any() or (self.intercept and balance > slack):
            balanced = ", and sum alpha_i y_i must be 0" if self.intercept else ""
            raise ValueError(f"start must lie in the box from 0 to C={self.C:g}{balanced}.")
        return self.step(None, (), "start", alpha, 0)

    def step(self, last: Step | None, rows: tuple[int, ...], reason: str, alpha: np.ndarray, position: int) -> Step:
        """The step after ``last``, with objectives, claims and KKT conditions of the new dual variables."""
        y, signed = self.y, alpha * self.y
        scores = self.K @ signed
        b = self.best_intercept(alpha, scores) if self.intercept else 0.0
        margins, w, squared = y * (scores + b), signed @ self.X if self.linear else None, float(signed @ scores)
        dual, primal = dual_value(self.K, y, alpha), self.primal(margins, squared)
        size = float(alpha.sum()) + squared + (abs(primal) if math.isfinite(primal) else 0.0)
        error = rounding(4 * len(y), size)
        claims = [Claim("weak duality", "dual <= primal", dual, "<=", primal, error)]
        if last is not None:
            claims.append(Claim("ascent", "dual >= dual before", dual, ">=", last.values["dual"], error))
        conditions = conditions_of(alpha, y, margins, self.C, primal, dual, intercept=self.intercept, tol=self.tol)
        return Step(
            number=last.number + 1 if last else 0, updates=last.updates + bool(rows) if last else 0, rows=rows,
            reason=reason, w_before=last.w if last else w, b_before=last.b if last else b, w=w, b=b, alpha=alpha,
            margins=margins, values={"primal": primal, "dual": dual, "gap": primal - dual}, claims=tuple(claims),
            conditions=conditions, position=position,
        )  # fmt: skip

    def primal(self, margins: np.ndarray, squared: float) -> float:
        """The primal objective; for C = inf that of the hyperplane divided by its smallest functional margin."""
        if math.isinf(self.C):
            return 0.5 * squared / float(margins.min()) ** 2 if margins.min() > 0 else math.inf
        return 0.5 * squared + self.C * float(np.maximum(0.0, 1.0 - margins).sum())

    def best_intercept(self, alpha: np.ndarray, scores: np.ndarray) -> float:
        """The middle between the two rows of the maximal violating pair, which is optimal where alpha is."""
        i, j = self.maximal_violating_pair(alpha, scores)
        return float((self.y[i] - scores[i]) + (self.y[j] - scores[j])) / 2

    def maximal_violating_pair(self, alpha: np.ndarray, scores: np.ndarray) -> tuple[int, int]:
        """The largest y_i - w·x_i of a y_i alpha_i that can rise, and the smallest of one that can fall."""
        up = np.where(self.y > 0, alpha < self.C, alpha > 0)
        down = np.where(self.y > 0, alpha > 0, alpha < self.C)
        derivatives = self.y - scores
        return int(np.argmax(np.where(up, derivatives, -np.inf))), int(np.argmin(np.where(down, derivatives, np.inf)))


def is_optimal(step: Step) -> bool:
    """Whether strong duality and all KKT conditions hold."""
    return all(condition.holds for condition in step.conditions)


def coordinate_ascent(
    X: Any,
    y: Any,
    C: float | None = None,
    *,
    lambda_: float | None = None,
    kernel: Kernel = "linear",
    gamma: float | None = None,
    degree: int = 3,
    coef0: float = 0.0,
    order: Order = "round robin",
    seed: int = 0,
    start: Any = None,
    tol: float = 1e-4,
    max_passes: int = 1000,
) -> Iterator[Step]:
    r"""Maximise the dual in one variable at a time, without an intercept.

    1. :math:`\alpha = 0`.
    2. Pick a row i, and put :math:`\alpha_i` where the dual is largest while the others stand still:
       :math:`\alpha_i \leftarrow \min(C, \max(0, \alpha_i + (1 - y_i f(x_i)) / k(x_i, x_i)))`.
    3. Stop where the KKT conditions hold.

    With an intercept the constraint :math:`\sum_i \alpha_i y_i = 0` would fix every variable by the others; see `smo`.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        Two labels; the larger one counts as +1.
    C, lambda_ : float, optional
        The penalty, 1 by default, or infinite for the hard margin; or ``lambda_`` = 1/(2C).
    kernel, gamma, degree, coef0
        As for `kernel_matrix`.
    order : {"round robin", "random", "greatest improvement"}, sequence of rows, or callable, default="round robin"
        Which row is next. A function is called with alpha and the functional margins, and returns a row, or None.
    seed : int, default=0
        Of the random order.
    start : array of shape (n,) or Step, optional
        Dual variables to start from, or a step of an earlier run to continue from.
    tol : float, default=1e-4
        The share of the primal objective to which the KKT conditions are asked for.
    max_passes : int, default=1000
        The run ends after so many times n picks.

    Yields
    ------
    Step
        One a change, "coordinate"; "optimal" at the end, where the run got there, or "unbounded" where the dual is: the
        hard margin is then infeasible. Values: "primal", "dual" and "gap"; for C = inf the primal objective is that
        of the hyperplane divided by its smallest functional margin.

    See Also
    --------
    smo : Two duals at a time, for a problem with an intercept.
    maxmargin.LinearSVC : The estimator.

    References
    ----------
    "Large Margin Classifiers. Linear Support Vector Machines", lecture 9, "Coordinate ascent". Hsieh, Chang, Lin,
    Keerthi, Sundararajan, "A dual coordinate descent method for large-scale linear SVM", 2008.

    Examples
    --------
    >>> from maxmargin.lectures import coordinate_ascent
    >>> X, y = [[1.0, 0.0], [2.0, 1.0], [-1.0, 1.0]], [1, 1, -1]
    >>> for step in coordinate_ascent(X, y, order="greatest improvement"):
    ...     print(step.reason, step.rows, step.alpha.round(3), round(step.values["gap"], 5))
    coordinate (0,) [1. 0. 0.] 0.0
    optimal () [1. 0. 0.] 0.0
    """
    problem = DualProblem.of(
        X, y, C, lambda_, kernel, tol, intercept=False, gamma=gamma, degree=degree, coef0=coef0
    )  # fmt: skip
    first, K, C, n = problem.start(start), problem.K, problem.C, len(problem.y)

    def optimum(alpha: np.ndarray, margins: np.ndarray, i: Any) -> Any:
        """The best value of alpha_i while the others stand still."""
        with np.errstate(divide="ignore", invalid="ignore"):
            unclipped = alpha[i] + (1.0 - margins[i]) / K.diagonal()[i]
        return np.clip(np.where(margins[i] == 1.0, alpha[i], unclipped), 0.0, C)

    def greatest_improvement(alpha: np.ndarray, margins: np.ndarray) -> int:
        change = optimum(alpha, margins, np.arange(n)) - alpha
        with np.errstate(invalid="ignore"):
            gains = change * (1.0 - margins) - 0.5 * change**2 * K.diagonal()
        return int(np.argmax(np.where(np.isinf(change), np.inf, gains)))

    names = ("round robin", "random", "greatest improvement")
    greedy = isinstance(order, str) and order == "greatest improvement"
    rows = RowOrder(greatest_improvement if greedy else order, n, seed, max_passes, names)

    def run() -> Iterator[Step]:
        step, position = first, first.position
        while not is_optimal(step) and (i := rows.next_row(position, step.alpha, step.margins)) is not None:
            position += 1
            best = float(optimum(step.alpha, step.margins, i))
            if best == math.inf:
                yield problem.step(step, (), "unbounded", step.alpha, position)
                return
            if best != step.alpha[i]:
                alpha = step.alpha.copy()
                alpha[i] = best
                step = problem.step(step, (i,), "coordinate", alpha, position)
                yield step
        if is_optimal(step):
            yield problem.step(step, (), "optimal", step.alpha, position)

    return run()


def smo(
    X: Any,
    y: Any,
    C: float | None = None,
    *,
    lambda_: float | None = None,
    kernel: Kernel = "linear",
    gamma: float | None = None,
    degree: int = 3,
    coef0: float = 0.0,
    pair: Pair = "maximal violating",
    seed: int = 0,
    start: Any = None,
    tol: float = 1e-4,
    max_steps: int = 100_000,
) -> Iterator[Step]:
    r"""Sequential minimal optimisation: maximise the dual in two variables at a time, with an intercept.

    1. :math:`\alpha = 0`.
    2. Pick rows i and j. Along the line :math:`y_i \alpha_i + y_j \alpha_j = const` the dual is a parabola in t, with
       :math:`\alpha_i + y_i t`, :math:`\alpha_j - y_j t`, and its optimum is

       .. math:: t^* = \frac{(y_i - f(x_i)) - (y_j - f(x_j))}{k(x_i, x_i) + k(x_j, x_j) - 2 k(x_i, x_j)} .

    3. If the optimum is in the box, take it; else take the end of the segment that is nearest to it.
    4. Stop where the KKT conditions hold.

    Parameters
    ----------
    X, y, C, lambda_, kernel, gamma, degree, coef0, start, tol
        As for `coordinate_ascent`; y holds both classes.
    pair : {"maximal violating", "random"} or callable, default="maximal violating"
        The pair that violates the KKT conditions most; any two rows; or a function that is called with alpha and the
        functional margins, and returns (i, j), or None to end the run.
    seed : int, default=0
        Of the random pairs.
    max_steps : int, default=100000
        The run ends after so many picks.

    Yields
    ------
    Step
        A PairStep a change, with the ends of the segment, the unclipped and the clipped optimum; "optimal" at the end,
        where the run got there, or "unbounded" where the dual is: the hard margin is then infeasible. Values: as for
        `coordinate_ascent`.

    See Also
    --------
    coordinate_ascent : One dual at a time, without an intercept.
    maxmargin.SVC : The estimator.

    References
    ----------
    "Large Margin Classifiers. Linear Support Vector Machines", lecture 9, "SMO"; Platt, 1998.

    Examples
    --------
    >>> from maxmargin.lectures import smo
    >>> X, y = [[1.0, 0.0], [2.0, 1.0], [-1.0, 1.0]], [1, 1, -1]
    >>> first, *_, last = smo(X, y, C=0.25)
    >>> first.rows, first.segment, first.unclipped, first.clipped
    ((0, 2), ((0.0, 0.0), (0.25, 0.25)), (0.4, 0.4), (0.25, 0.25))
    >>> last.reason, last.alpha
    ('optimal', array([0.25, 0.  , 0.25]))
    """
    problem = DualProblem.of(X, y, C, lambda_, kernel, tol, intercept=True, gamma=gamma, degree=degree, coef0=coef0)
    first, last_position = problem.start(start), check_count("max_steps", max_steps)
    K, y, C = problem.K, problem.y, problem.C
    pick = _pair_picker(problem, pair, seed)

    def run() -> Iterator[Step]:
        step, position = first, first.position
        while not is_optimal(step) and position < last_position:
            if (chosen := pick(position, step.alpha, step.margins)) is None:
                return
            position, (i, j), alpha = position + 1, chosen, step.alpha.copy()
            derivative = y[i] * (1.0 - step.margins[i]) - y[j] * (1.0 - step.margins[j])
            curvature = K[i, i] + K[j, j] - 2.0 * K[i, j]
            best = derivative / curvature if curvature > 0 else derivative * math.inf if derivative else 0.0
            ends = segment(alpha, y, C, i, j)
            clipped = min(max(best, ends[0]), ends[1])
            if math.isinf(clipped):
                yield problem.step(step, (), "unbounded", alpha, position)
                return
            if clipped != 0.0:
                places = [move(alpha, y, C, i, j, t) for t in (0.0, *ends, best, clipped)]
                alpha[i], alpha[j] = places[-1]
                step = problem.step(step, (i, j), "pair", alpha, position)
                yield PairStep(
                    **vars(step), pair_before=places[0], segment=(places[1], places[2]), unclipped=places[3],
                    clipped=places[4],
                )  # fmt: skip
        if is_optimal(step):
            yield problem.step(step, (), "optimal", step.alpha, position)

    return run()


def segment(alpha: np.ndarray, y: np.ndarray, C: float, i: int, j: int) -> tuple[float, float]:
    """The smallest and the largest t for which alpha_i + y_i t and alpha_j - y_j t are in the box."""
    first, second = sorted([-y[i] * alpha[i], y[i] * (C - alpha[i])]), sorted([y[j] * alpha[j], y[j] * (alpha[j] - C)])
    return float(max(first[0], second[0])), float(min(first[1], second[1]))


def move(alpha: np.ndarray, y: np.ndarray, C: float, i: int, j: int, t: float) -> tuple[float, float]:
    """alpha_i + y_i t and alpha_j - y_j t; what misses C by rounding only is C."""
    pair = float(alpha[i] + y[i] * t), float(alpha[j] - y[j] * t)
    near = rounding(2, C) if math.isfinite(C) else -1.0
    first, second = (C if abs(value - C) <= near else value for value in pair)
    return first, second


def _pair_picker(
    problem: DualProblem, pair: Pair, seed: int
) -> Callable[[int, np.ndarray, np.ndarray], tuple[int, int] | None]:
    """The function that gives the next pair after so many picks, from alpha and the functional margins."""
    n = len(problem.y)
    if pair == "maximal violating":
        return lambda _, alpha, margins: problem.maximal_violating_pair(alpha, problem.y * margins)
    if pair == "random":
        np.random.default_rng([seed, 0])  # refuses a seed that is none
        return lambda position, *_: tuple(np.random.default_rng([seed, position]).choice(n, 2, replace=False).tolist())
    if not callable(pair):
        raise ValueError(f"pair must be 'maximal violating', 'random' or a function, got {pair!r}.")

    def from_function(_: int, alpha: np.ndarray, margins: np.ndarray) -> tuple[int, int] | None:
        chosen = pair(alpha, margins)
        if chosen is None:
            return None
        rows = check_indices("the rows that pair returned", chosen, n)
        if rows.size != 2 or rows[0] == rows[1]:
            raise ValueError(f"pair must return two different rows, got {chosen!r}.")
        return int(rows[0]), int(rows[1])

    return from_function
