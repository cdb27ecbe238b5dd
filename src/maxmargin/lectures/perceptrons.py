"""The online and the batch perceptron.

Lecture 10, "Perceptron and Linear SVM", theorem 10-1 (Novikov); A. Zhang, lecture 17, "Perceptron and Support Vector
Machine (SVM)"; lecture 9, "Large Margin Classifiers"; lecture 8, "The Perceptron Algorithm". The theorems are in
:doc:`/theory`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin.lectures.points import Order, Points, Reference, RowOrder, check_count, check_positive, first_step
from maxmargin.lectures.steps import Claim, Step, rounding

Hyperplane = tuple[np.ndarray, float]


def online_perceptron(
    X: Any,
    y: Any,
    *,
    intercept: bool = True,
    eta: float = 1.0,
    order: Order = "cyclic",
    seed: int = 0,
    unit_length: bool = False,
    start: Hyperplane | Step | None = None,
    reference: tuple | None = None,
    max_passes: int = 1000,
    every_row: bool = False,
) -> Iterator[Step]:
    r"""The perceptron that corrects a mistake as soon as it meets one.

    1. w = 0, b = 0.
    2. While a row is a mistake, :math:`y_i f(x_i) \le 0`: evaluate the next row; if it is a mistake,
       :math:`w \leftarrow w + \eta y_i x_i`, :math:`b \leftarrow b + \eta y_i`.

    For every u with :math:`\|u\| \le 1` and :math:`y_i u \cdot x_i \ge \gamma > 0`, after t updates from zero with
    :math:`\eta = 1`: :math:`w \cdot u \ge t\gamma`, :math:`\|w\|^2 \le t R^2`, so that
    :math:`\cos(w, u) \ge \sqrt t\, \gamma/R` and :math:`t \le (R/\gamma)^2` (Novikoff's bound). If u misses the margin
    by a total of T over the updates, :math:`w \cdot u \ge t\gamma - T` and
    :math:`t \le (R/\gamma)^2 + 2T/\gamma`. With an intercept, all of it is about the points (x, 1).

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        Two labels; the larger one counts as +1.
    intercept : bool, default=True
        Learn b, as the coefficient of a feature that is always 1.
    eta : float, default=1.0
        The step size. From zero it scales w and b, and changes no mistake.
    order : {"cyclic", "shuffled"}, sequence of rows, or callable, default="cyclic"
        Which row is evaluated next. A sequence is gone through once (a stream); a function is called with alpha and
        the functional margins, and returns a row, or None to end the run.
    seed : int, default=0
        Of the shuffled order.
    unit_length : bool, default=False
        Divide all points by their length, so that R = 1.
    start : (w, b) or Step, optional
        The hyperplane to start from, or a step of an earlier run to continue from.
    reference : (w, b) or (w, b, gamma), optional
        The hyperplane u of the theorems, which is divided by its length. Without gamma its margin is measured. With
        gamma it need not separate the points, and a u shorter than 1 is kept.
    max_passes : int, default=1000
        The run ends after so many times n evaluations: on inseparable data it would never end.
    every_row : bool, default=False
        Also yield a step, "correct", for each row that is evaluated and is no mistake.

    Yields
    ------
    Step
        One a mistake, and "no mistake" at the end, where the run got there. Its values: "J", the perceptron criterion,
        and "mistakes", the number of mistakes, after the step.

    See Also
    --------
    batch_perceptron : All mistakes of a pass at once.
    maxmargin.Perceptron : The estimator.

    References
    ----------
    "Perceptron and Linear SVM", lecture 10, theorem 10-1 (Novikov); "The Perceptron Algorithm", lecture 8.

    Examples
    --------
    >>> from maxmargin.lectures import online_perceptron
    >>> X, y = [[2.0, 0.0], [1.0, 2.0], [-1.0, 0.5]], [1, 1, -1]
    >>> for step in online_perceptron(X, y, intercept=False, reference=([1.0, 0.0], 0.0)):
    ...     print(step.reason, step.rows, step.w, step.holds)
    mistake (0,) [2. 0.] True
    no mistake () [2. 0.] True
    >>> print(step.claims[-1])
    Novikoff's bound: t <= (R/gamma)²: 1 <= 5 holds
    """
    points = Points.of(X, y, intercept=intercept, unit_length=unit_length)
    eta, rows = check_positive("eta", eta), RowOrder(order, len(points.y), seed, max_passes)
    first, u = first_step(start, points), Reference.of(reference, points)
    X, y, one = points.X, points.y, points.one

    def run() -> Iterator[Step]:
        step, position = first, first.position
        w, b, alpha, margins = first.w, first.b, first.alpha, first.margins
        while margins.min() <= 0 and (i := rows.next_row(position, alpha, margins)) is not None:
            position += 1
            if margins[i] <= 0:
                w, b = w + eta * y[i] * X[i], b + eta * y[i] * one[i]
                alpha, margins = alpha + eta * indicator([i], len(y)), points.margins(w, b)
                step = next_step(step, [i], "mistake", w, b, alpha, margins, position)
                yield replace(step, claims=perceptron_claims(step, points, u, eta))
            elif every_row:
                step = next_step(step, [], "correct", w, b, alpha, margins, position)
                yield replace(step, claims=perceptron_claims(step, points, u, eta))
        if margins.min() > 0:
            step = next_step(step, [], "no mistake", w, b, alpha, margins, position)
            yield replace(step, claims=perceptron_claims(step, points, u, eta))

    return run()


def batch_perceptron(
    X: Any,
    y: Any,
    *,
    intercept: bool = True,
    eta: float = 1.0,
    unit_length: bool = False,
    start: Hyperplane | Step | None = None,
    reference: tuple | None = None,
    max_passes: int = 1000,
) -> Iterator[Step]:
    r"""The perceptron that corrects all mistakes of a pass at once.

    1. w = 0, b = 0.
    2. While a row is a mistake, :math:`y_i f(x_i) \le 0`: evaluate all rows, and for all mistakes together
       :math:`w \leftarrow w + \eta \sum y_i x_i`, :math:`b \leftarrow b + \eta \sum y_i`.

    For every u with :math:`\|u\| \le 1` and :math:`y_i u \cdot x_i \ge \gamma > 0`, after t corrected mistakes from
    zero with :math:`\eta = 1`: :math:`w \cdot u \ge t\gamma`, :math:`\|w\|^2 \le n t R^2`, so that
    :math:`t \le n (R/\gamma)^2`. The lecture states the bound of single updates, which does not hold for this rule.

    Parameters
    ----------
    X, y, intercept, eta, unit_length, start, reference
        As for `online_perceptron`.
    max_passes : int, default=1000
        The largest number of passes: on inseparable data the run would never end.

    Yields
    ------
    Step
        One a pass, with the rows of its mistakes, and "no mistake" at the end, where the run got there.

    See Also
    --------
    online_perceptron : One mistake at a time.
    maxmargin.Perceptron : The estimator, with ``rule="batch"``.

    References
    ----------
    A. Zhang, "Perceptron and Support Vector Machine (SVM)", lecture 17, "perceptron update".

    Examples
    --------
    >>> from maxmargin.lectures import batch_perceptron
    >>> X, y = [[2.0, 0.0], [1.0, 2.0], [-1.0, 0.5]], [1, 1, -1]
    >>> for step in batch_perceptron(X, y):
    ...     print(step.reason, step.rows, step.w, step.b)
    mistakes (0, 1, 2) [4.  1.5] 1.0
    no mistake () [4.  1.5] 1.0
    """
    points = Points.of(X, y, intercept=intercept, unit_length=unit_length)
    eta, last_position = check_positive("eta", eta), check_count("max_passes", max_passes) * len(points.y)
    first, u = first_step(start, points), Reference.of(reference, points)
    X, y, one = points.X, points.y, points.one

    def run() -> Iterator[Step]:
        step, position = first, first.position
        w, b, alpha, margins = first.w, first.b, first.alpha, first.margins
        while margins.min() <= 0 and position < last_position:
            position += len(y)
            mistakes = np.flatnonzero(margins <= 0)
            w, b = w + eta * (y[mistakes] @ X[mistakes]), b + eta * (y[mistakes] @ one[mistakes])
            alpha, margins = alpha + eta * indicator(mistakes, len(y)), points.margins(w, b)
            step = next_step(step, mistakes, "mistakes", w, b, alpha, margins, position)
            yield replace(step, claims=perceptron_claims(step, points, u, eta, at_once=len(y)))
        if margins.min() > 0:
            step = next_step(step, [], "no mistake", w, b, alpha, margins, position)
            yield replace(step, claims=perceptron_claims(step, points, u, eta, at_once=len(y)))

    return run()


def indicator(rows: Any, n: int) -> np.ndarray:
    """A vector of n entries, 1 for these rows and 0 for the others."""
    vector = np.zeros(n)
    vector[rows] = 1.0
    return vector


def next_step(
    last: Step, rows: Any, reason: str, w: np.ndarray, b: float, alpha: np.ndarray, margins: np.ndarray, position: int
) -> Step:
    """The step after ``last``, with the perceptron criterion and the number of mistakes, and without claims yet."""
    return replace(
        last, number=last.number + 1, updates=last.updates + len(rows), rows=tuple(map(int, rows)), reason=reason,
        w_before=last.w, b_before=last.b, w=w, b=b, alpha=alpha, margins=margins, position=position, claims=(),
        values={"J": float(np.maximum(0.0, -margins).sum()), "mistakes": float(np.count_nonzero(margins <= 0))},
    )  # fmt: skip


def perceptron_claims(
    step: Step, points: Points, u: Reference | None, eta: float = 1.0, at_once: int = 1
) -> tuple[Claim, ...]:
    """What the proof of Novikoff's bound says of a step, for any start, step size and reference.

    The claims are about (w, b) as one vector, called w. They allow the rounding errors of t updates, each on a row
    that counts as a mistake up to the rounding error of its score.

    Parameters
    ----------
    step : Step
    points : Points
    u : Reference or None
        Without it only what one update does, and the length of w, are claimed.
    eta : float, default=1.0
    at_once : int, default=1
        The most mistakes that one step corrects.

    Returns
    -------
    tuple of Claim
    """
    w, w_before, origin = (np.append(*part) for part in ((step.w, step.b), (step.w_before, step.b_before), step.origin))
    d, claims = len(w), []
    if len(step.rows) == 1:
        [i] = step.rows
        x = points.y[i] * np.append(points.X[i], points.one[i])
        error = rounding(4 * d, (np.linalg.norm(w) + np.linalg.norm(w_before)) * points.lengths[i])
        formula = "y w'·x = y w·x + eta ||x||²"
        claims.append(Claim("effect of one update", formula, x @ w, "=", x @ w_before + eta * (x @ x), error))
    run = RunSoFar(
        t=step.updates,
        R=points.radius,
        eta=eta,
        at_once=at_once,
        squared_length=float(w @ w),
        origin_squared=float(origin @ origin),
        operations=step.updates + 4 * d + len(points.y),
    )
    if u is None:
        return (*claims, *run.claims())
    along, length = float((w - origin) @ np.append(u.w, u.b)), float(np.hypot(np.linalg.norm(u.w), u.b))
    return (*claims, *run.claims(along, length, u.gamma, float(step.alpha @ u.deficits) / eta))


@dataclass(frozen=True)
class RunSoFar:
    """The numbers of a run of the perceptron that the proof of Novikoff's bound is about, in any feature space.

    Attributes
    ----------
    t : int
        Mistakes corrected.
    R : float
    eta : float
    at_once : int
        The most mistakes that one step corrects.
    squared_length, origin_squared : float
        ||w||² now and at the start.
    operations : int
        Operations behind one of these numbers, for the rounding errors.
    """

    t: int
    R: float
    eta: float
    at_once: int
    squared_length: float
    origin_squared: float
    operations: int

    def claims(self, along: float = 0.0, length: float = 0.0, gamma: float = 0.0, total: float = 0.0) -> list[Claim]:
        """The steps of the proof for a reference u: (w - w0)·u, ||u||, gamma, and T; without one, the length of w."""
        t, R, eta, batch, from_zero = self.t, self.R, self.eta, self.at_once > 1, self.origin_squared == 0.0
        size = eta * (t * R + total) + np.sqrt(self.origin_squared)
        longest = self.origin_squared + eta**2 * self.at_once * t * R**2
        formula = f"||w||² <= {'' if from_zero else '||w0||² + '}eta² {'n ' if batch else ''}t R²"
        error = rounding(self.operations, size**2)
        claims = [Claim("length of w", formula, self.squared_length, "<=", longest, error)]
        if not gamma:
            return claims
        gained, progress = eta * (t * gamma - total), "(t gamma - T)" if total else "t gamma"
        formula, error = f"{'w' if from_zero else '(w - w0)'}·u >= eta {progress}", rounding(self.operations, size)
        claims.insert(0, Claim("progress along u", formula, along, ">=", gained, error))
        if t and from_zero and gained >= 0.0 and self.squared_length > 0.0:
            formula = f"cos(w, u) >= {progress} / ({'sqrt(n t)' if batch else 'sqrt(t)'} R)"
            norm, error = np.sqrt(self.squared_length), rounding(self.operations, size / np.sqrt(self.squared_length))
            claims.append(Claim("angle to u", formula, along / (norm * length), ">=", gained / np.sqrt(longest), error))
        if t and from_zero:
            bound = self.at_once * (R / gamma) ** 2 + 2.0 * total / gamma
            name = "mistake bound for inseparable data" if total else "Novikoff's bound"
            formula = f"t <= {'n ' if batch else ''}(R/gamma)²{' + 2 T/gamma' if total else ''}"
            error = rounding(self.operations, bound * (1.0 + R / gamma))
            claims.append(Claim("batch perceptron bound" if batch else name, formula, t, "<=", bound, error))
        return claims
