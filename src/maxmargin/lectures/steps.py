"""The steps that the algorithms yield, and the claims that belong to them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# The distance from 1 to the next float64. A sum of m terms is wrong by at most about m/2 of it, times the sum of the
# terms' sizes (N. Higham, "Accuracy and stability of numerical algorithms", section 4.2); claims allow twice that.
EPS = 2.0**-52


def rounding(operations: float, size: float) -> float:
    """The rounding error allowed to a sum: ``operations`` times the spacing of float64 at 1, times ``size``."""
    return float(operations) * EPS * float(size)


@dataclass(frozen=True)
class Claim:
    """An inequality or equation of a theorem, with the numbers of one step on both sides.

    Attributes
    ----------
    name : str
        The theorem, or the part of its proof.
    formula : str
        What is claimed, as text.
    left : float
    relation : {"<=", "<", ">=", ">", "="}
    right : float
    tolerance : float
        What rounding errors may take away: the claim holds if ``left`` is on its side of ``right`` up to this number.
        It is absolute, and grows with the number of operations behind the two sides (see `rounding`); conditions of an
        optimum have the tolerance that the caller chose.

    See Also
    --------
    Step : Has the claims of one step.

    Examples
    --------
    >>> claim = Claim("Novikoff's bound", "t <= (R/gamma)²", 3.0, "<=", 4.0)
    >>> claim.holds, str(claim)
    (True, "Novikoff's bound: t <= (R/gamma)²: 3 <= 4 holds")
    """

    name: str
    formula: str
    left: float
    relation: str
    right: float
    tolerance: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether the relation is true of the two sides, up to the tolerance. NaN holds nothing."""
        high, low = self.right + self.tolerance, self.right - self.tolerance
        return {
            "<=": self.left <= high,
            "<": self.left < high,
            ">=": self.left >= low,
            ">": self.left > low,
            "=": low <= self.left <= high,
        }[self.relation]

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "does not hold"
        return f"{self.name}: {self.formula}: {self.left:.6g} {self.relation} {self.right:.6g} {verdict}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Step:
    """One step of an algorithm: what was done, why, what came of it, and what the theorem says of it.

    Attributes
    ----------
    number : int
        Counts the steps of a run from 1.
    updates : int
        Single updates made so far, this step's included; the t of the theorems.
    rows : tuple of int
        The rows that were used.
    reason : str
        Why: "mistake", "mistakes", "too close", "forced stop", "pair", "coordinate", "gradient", "correct", or how the
        run ended: "no mistake", "no violation", "optimal", "hulls meet", "unbounded".
    w_before, w : ndarray of shape (d,), or None
        The coefficients before and after the step; None in the feature space of a kernel other than the linear one.
    b_before, b : float
        The intercept before and after the step.
    alpha : ndarray of shape (n,), or None
        The dual variables (or hull weights) after the step.
    margins : ndarray of shape (n,)
        The functional margins y_i f(x_i) after the step.
    values : mapping of str to float
        What the algorithm is after, after the step: "J", "primal", "dual", "gap", ...
    claims : tuple of Claim
        What the theorems say of every step. They hold in every run of the algorithm.
    conditions : tuple of Claim
        What holds at the optimum only (strong duality, the KKT conditions), as far as it is reached.
    position : int
        Rows evaluated so far; a run that is started from this step continues there.
    origin : tuple of (ndarray or None, float)
        The coefficients and the intercept that the run started from.

    See Also
    --------
    GuessStep, PairStep, HullStep : Steps of particular algorithms.
    Claim : An inequality of its theorem.

    Examples
    --------
    >>> from maxmargin import lectures
    >>> first = next(lectures.online_perceptron([[1.0, 2.0], [3.0, -1.0]], [1, -1]))
    >>> first.rows, first.w, first.reason
    ((0,), array([1., 2.]), 'mistake')
    >>> [claim.name for claim in first.claims]
    ['effect of one update', 'length of w']
    """

    number: int
    updates: int
    rows: tuple[int, ...]
    reason: str
    w_before: Any
    b_before: float
    w: Any
    b: float
    alpha: Any
    margins: np.ndarray
    values: Mapping[str, float] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    conditions: tuple[Claim, ...] = ()
    position: int = 0
    origin: tuple[Any, float] = (None, 0.0)

    def __post_init__(self) -> None:
        for array in vars(self).values():
            if isinstance(array, np.ndarray):
                array.flags.writeable = False

    @property
    def holds(self) -> bool:
        """Whether all claims hold."""
        return all(claim.holds for claim in self.claims)


@dataclass(frozen=True, eq=False, kw_only=True)
class GuessStep(Step):
    """A step of the margin perceptron.

    Attributes
    ----------
    guess : float
        The margin that is asked for; a point nearer than half of it to the hyperplane is too close.
    round : int
        Counts the guesses of a search from 1.

    See Also
    --------
    incremental_search : Yields these.

    Examples
    --------
    >>> from maxmargin import lectures
    >>> steps = list(lectures.incremental_search([[1.0, 2.0], [-3.0, -1.0]], [1, -1]))
    >>> [(step.round, round(step.guess, 3), step.reason) for step in steps]
    [(1, 3.317, 'mistake'), (1, 3.317, 'too close'), (1, 3.317, 'no violation')]
    """

    guess: float
    round: int = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class PairStep(Step):
    """A step of SMO on the dual variables of two rows, ``rows = (i, j)``.

    Attributes
    ----------
    pair_before : tuple of float
        (alpha_i, alpha_j) before the step.
    segment : tuple of two tuples of float
        The ends of the segment of the line y_i alpha_i + y_j alpha_j = constant inside the box.
    unclipped : tuple of float
        The optimum on the whole line; infinite where the objective is not curved along it.
    clipped : tuple of float
        The nearest point of the segment: (alpha_i, alpha_j) after the step.

    See Also
    --------
    smo : Yields these.

    Examples
    --------
    >>> from maxmargin import lectures
    >>> first = next(lectures.smo([[1.0, 2.0], [3.0, -1.0]], [1, -1], C=1.0))
    >>> first.rows, first.segment, first.clipped
    ((0, 1), ((0.0, 0.0), (1.0, 1.0)), (0.15384615384615385, 0.15384615384615385))
    """

    pair_before: tuple[float, float]
    segment: tuple[tuple[float, float], tuple[float, float]]
    unclipped: tuple[float, float]
    clipped: tuple[float, float]


@dataclass(frozen=True, eq=False, kw_only=True)
class HullStep(Step):
    """A step towards the nearest points of the convex hulls; ``alpha`` are the hull weights.

    Attributes
    ----------
    positive, negative : ndarray of shape (d,)
        The points of the two hulls. Without an intercept: the point of the hull of all y_i x_i, and the origin.

    See Also
    --------
    nearest_hull_points : Yields these.

    Examples
    --------
    >>> from maxmargin import lectures
    >>> *_, last = lectures.nearest_hull_points([[1.0, 0.0], [1.0, 2.0], [-1.0, 1.0]], [1, 1, -1])
    >>> last.reason, last.w
    ('optimal', array([2., 0.]))
    """

    positive: np.ndarray
    negative: np.ndarray
