"""The perceptron's mistake bounds, for separable and for other data (theory A4, A5, A2)."""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from maxmargin.certificates.base import Certificate, not_above
from maxmargin.certificates.geometry import Geometry, linear_geometry
from maxmargin.certificates.margin_bracket import MarginBracket, bracket_margin
from maxmargin.certificates.rounding import sum_at_most, up
from maxmargin.data import validate_two_classes
from maxmargin.problems import PerceptronProblem
from maxmargin.problems.margins import validate_coefficients

# Enough rows to choose a good gamma by; the bound itself is then computed on all of them.
ROWS_TO_CHOOSE_BY = 4096


@dataclass(frozen=True)
class UpdateRule:
    """How the updates were made, as far as the theorems care.

    Attributes
    ----------
    passes : int
        How often each row was met.
    smallest_step, largest_step : float
        The range of the steps taken on a point.
    rows_at_once : int
        How many points one update can add up: 1 online, n in a batch.
    held_out : int
        How many of the rows were not trained on.
    """

    passes: int = 1
    smallest_step: float = 1.0
    largest_step: float = 1.0
    rows_at_once: int = 1
    held_out: int = 0


@dataclass(frozen=True)
class MistakeBound(Certificate):
    r"""Proves that a perceptron cannot have made more mistakes than a known plane allows.

    For every unit vector u and every gamma > 0, the mistakes M of a run satisfy

    .. math:: M \le s \left( k \frac{R^2}{\gamma^2} + \frac{2}{\gamma}\,(T + a) \right),
              \qquad T = \sum \max(0, \gamma - y_i\, u \cdot x_i)

    where T is summed over all examples met, k is 1 online and n in a batch, a is the start's length divided by the
    largest step (0 from w = 0) and s the largest step divided by the smallest (1 without weights). With T = a = 0
    this is the classical (R/gamma)² (A4); with T > 0 it needs no separability (A5). All is rounded upwards.

    Attributes
    ----------
    mistakes : int or None
        What the run made; None where only the bound was asked for.
    bound : float
    gamma : float
        The gamma that was chosen for the plane: the one of the smallest bound, or nearly so.
    deficit : float
        T: zero where the plane has margin gamma on all points.
    radius : float
    examples : int
        How many examples were met.
    bracket : MarginBracket
        What is known of the largest margin.

    References
    ----------
    "Perceptron and Linear SVM", lecture 10, theorem 10-1 (Novikov); "The Perceptron Algorithm", lecture 8, claim 1 and
    section 1.2 (which has R = 1).
    """

    mistakes: int | None
    bound: float
    gamma: float
    deficit: float
    radius: float
    examples: int
    bracket: MarginBracket

    def __post_init__(self) -> None:
        if self.mistakes is not None:
            self._refuse_unless(
                0 <= self.mistakes <= self.bound,
                f"{self.mistakes} mistakes contradict the bound {self.bound!r}",
            )

    @property
    def theorem(self) -> str:
        """``A4`` where the plane separates with margin gamma, else ``A5``."""
        return "A4" if self.deficit == 0.0 else "A5"

    def __str__(self) -> str:
        made = "" if self.mistakes is None else f"{self.mistakes} mistakes, "
        if math.isinf(self.bound):
            return f"{made}no bound: the plane is zero, or the kernel is not positive semidefinite; {self.bracket}"
        return f"{made}at most {self.bound:.6g} by theorem {self.theorem} (gamma {self.gamma:.3g}); {self.bracket}"

    def check(self, proven: Certificate) -> None:
        """Raise CertificateError where the bound is smaller, or a fact other, than what the data prove."""
        self._same_kind(proven)
        assert isinstance(proven, MistakeBound)
        self._refuse_unless(
            self.mistakes == proven.mistakes and self.examples == proven.examples,
            f"{self.mistakes} mistakes in {self.examples} examples, not {proven.mistakes} in {proven.examples}",
        )
        self._refuse_unless(
            not_above(-self.bound, -proven.bound, proven.bound),
            f"bound {self.bound!r} is less than {proven.bound!r}",
        )
        for name in ("gamma", "deficit", "radius"):
            claimed, found = getattr(self, name), getattr(proven, name)
            self._refuse_unless(
                math.isclose(claimed, found, rel_tol=1e-9, abs_tol=1e-300),
                f"{name} {claimed!r} is not {found!r}",
            )
        self.bracket.check(proven.bracket)


def bound_mistakes(
    geometry: Geometry, rule: UpdateRule, mistakes: int | None = None, gamma: float | None = None
) -> MistakeBound:
    """State what the geometry's plane proves about the mistakes of any run of ``rule`` on the geometry's points."""
    start = geometry.start_length / rule.largest_step
    ratio = rule.largest_step / rule.smallest_step
    n_rows = geometry.margins.size
    if n_rows == 0 or not math.isfinite(geometry.radius):
        chosen, deficit, bound = 0.0, math.inf, math.inf
    else:
        chosen = _best_gamma(geometry, rule, start) if gamma is None else gamma
        deficit = rule.passes * sum_at_most(np.maximum(0.0, chosen - geometry.margins)) if n_rows else 0.0
        quotient = up(geometry.radius / chosen)
        quadratic = up(rule.rows_at_once * up(quotient * quotient))
        linear = up(up(2.0 * up(deficit + start)) / chosen)
        bound = up(up(quadratic + linear) * up(ratio)) if ratio != 1.0 else up(quadratic + linear)
        if deficit <= math.ulp(0.0) * 4:  # rounding zero up
            deficit = 0.0
    return MistakeBound(
        mistakes=mistakes,
        bound=bound,
        gamma=chosen,
        deficit=deficit,
        radius=geometry.radius,
        examples=rule.passes * (n_rows - rule.held_out),
        bracket=bracket_margin(geometry),
    )


def _best_gamma(geometry: Geometry, rule: UpdateRule, start: float) -> float:
    """Minimise the bound over t = 1/gamma, in which it is convex, on a part of the rows; compare with A4's own gamma.

    With q = k R², c the number of times that a row of the part stands for an example, and margins m_i, the bound is
    q t² + 2 c sum max(0, 1 - t m_i) + 2 a t, and half its slope q t - c S + a, S being the sum of the m_i < 1/t.
    """
    stride = -(-geometry.margins.size // ROWS_TO_CHOOSE_BY)
    sample = geometry.margins[::stride]
    copies = rule.passes * stride
    quadratic = rule.rows_at_once * geometry.radius**2
    positive = np.sort(sample[sample > 0.0])[::-1]
    # Between the kinks 1/positive[k-1] and 1/positive[k], S is the sum of the negative margins and positive[k:].
    sums = np.append(np.cumsum(positive[::-1])[::-1], 0.0) + sample[sample <= 0.0].sum()
    kinks = np.append(1.0 / positive, np.inf)
    k = int(np.argmax(quadratic * kinks - copies * sums + start >= 0.0))
    lowest = 1e-9 / geometry.radius
    inverse = max(lowest, (copies * sums[k] - start) / quadratic, kinks[k - 1] if k else 0.0)
    candidates = [min(inverse, max(lowest, kinks[k]))]
    smallest = float(geometry.margins.min())
    if smallest > 0.0:
        candidates.append(1.0 / smallest)

    def bound(inverse: float) -> float:
        deficit = rule.passes * float(np.maximum(0.0, 1.0 - inverse * geometry.margins).sum())
        return quadratic * inverse**2 + 2.0 * deficit + 2.0 * start * inverse

    return float(1.0 / min(candidates, key=bound))


def mistake_bound(
    X: Any,
    y: Any,
    coef: Any,
    intercept: float = 0.0,
    *,
    augmented: bool = True,
    normalize: bool = False,
    gamma: float | None = None,
    passes: int = 1,
    batch: bool = False,
    mistakes: int | None = None,
) -> MistakeBound:
    r"""Bound the mistakes of a perceptron on data, by a plane that is known (theory A4, A5, A2).

    .. math:: (R/\gamma)^2 + 2 T/\gamma, \qquad T = \sum \max(0, \gamma - y_i\, u \cdot x_i)

    with u the unit vector along the plane. It holds for the online perceptron from w = 0 in any order.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of two labels, of shape (n,)
    coef, intercept : the plane
    augmented : bool, default=True
        Speak of the points (x, 1), as a perceptron with an intercept sees them; False for x.
    normalize : bool, default=False
        Divide the points by their length, so that R = 1 (A12).
    gamma : float, optional
        The gamma of the theorem; by default the one with the smallest bound.
    passes : int, default=1
        How often the perceptron goes through the rows. It does not matter where T = 0.
    batch : bool, default=False
        The batch rule's bound: n times greater in its first term.
    mistakes : int, optional
        What a run made, to stand beside the bound; more than the bound raises CertificateError.

    Returns
    -------
    MistakeBound

    Examples
    --------
    >>> from maxmargin import mistake_bound
    >>> X, y, u = [[2.0, 0.0], [-1.0, 1.0]], [1, -1], [1.0, 0.0]
    >>> proof = mistake_bound(X, y, u, augmented=False, gamma=0.5)
    >>> round(proof.bound, 6), proof.theorem
    (16.0, 'A4')

    A gamma above the plane's margin may well give a smaller bound:

    >>> proof = mistake_bound(X, y, u, augmented=False)
    >>> round(proof.bound, 6), round(proof.gamma, 6), proof.theorem
    (2.0, 2.0, 'A5')
    """
    dataset = validate_two_classes(X, y, caller="mistake_bound")
    w, b = validate_coefficients(coef, intercept, dataset.points.n_columns)
    if b != 0.0 and not augmented:
        raise ValueError("intercept is not zero: the points (x, 1) are meant, so leave augmented=True.")
    if gamma is not None and not (isinstance(gamma, Real) and gamma > 0.0 and math.isfinite(gamma)):
        raise ValueError(f"gamma must be a positive number, got {gamma!r}.")
    if not (isinstance(passes, Integral) and passes >= 1):
        raise ValueError(f"passes must be a whole number of at least 1, got {passes!r}.")
    if not (w.any() or b):
        raise ValueError("coef is zero: no plane, and so no bound.")
    problem = PerceptronProblem(dataset, fit_intercept=augmented, normalize=normalize)
    rule = UpdateRule(passes=passes, rows_at_once=dataset.points.n_rows if batch else 1)
    return bound_mistakes(linear_geometry(problem, w, b), rule, mistakes, gamma)
