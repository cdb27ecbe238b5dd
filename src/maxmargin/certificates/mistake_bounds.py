"""Mistake bounds of the perceptron: Novikoff's bound, and its extension to inseparable data."""

import math
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Final

import numpy as np

from maxmargin.certificates.base import Certificate
from maxmargin.certificates.geometry import Geometry, linear_geometry
from maxmargin.certificates.margin_bracket import MarginBracket, bracket_margin
from maxmargin.certificates.rounding import sum_at_most, up, upper_bound
from maxmargin.data import validate_two_classes
from maxmargin.data.array_types import UserArray
from maxmargin.data.printed_bounds import digits_up
from maxmargin.problems import PerceptronProblem
from maxmargin.problems.margins import validate_coefficients

# Rows on which gamma is chosen, so that choosing costs less than the bound, which is then computed on all rows.
ROWS_TO_CHOOSE_BY = 4096
# Rows whose deficits are added at a time: the bound on the rounding errors of a sum grows with its length.
ROWS_TO_ADD = 1 << 15

NOVIKOFF: Final = "Novikoff's bound"
INSEPARABLE: Final = "mistake bound for inseparable data"


@dataclass(frozen=True)
class UpdateRule:
    """The update rule of a run, as far as the mistake bounds depend on it.

    Attributes
    ----------
    n_rows : int
        The number of rows in a pass: those of positive weight that were not held out.
    passes : int
        The number of passes over the rows.
    smallest_step, largest_step : float
        The range of the step sizes.
    rows_at_once : int
        The number of points in one update: 1 for the online rule, n for the batch rule.
    """

    n_rows: int
    passes: int = 1
    smallest_step: float = 1.0
    largest_step: float = 1.0
    rows_at_once: int = 1


@dataclass(frozen=True)
class MistakeBound(Certificate):
    r"""An upper bound on the mistakes of a perceptron, from any hyperplane.

    For every unit vector u and every gamma > 0, the mistakes M of a run satisfy

    .. math:: M \le s \left( k \frac{R^2}{\gamma^2} + \frac{2}{\gamma}\,(T + a) \right),
              \qquad T = \sum \max(0, \gamma - y_i\, u \cdot x_i)

    where T is summed over all examples of all passes, k is 1 for the online rule and n for the batch rule, a is the
    norm of the initial w divided by the largest step (0 from w = 0) and s the largest step divided by the smallest (1
    without weights). With T = a = 0 this is Novikoff's bound (R/gamma)²; with T > 0 the data need not be separable. The
    bound is rounded up (see "Novikoff's bound" in :doc:`/theory`).

    Attributes
    ----------
    mistakes : int or None
        The mistakes of the run; None where only the bound was asked for.
    bound : float
    gamma : float
        The gamma of the bound: by default the one that nearly minimises it.
    deficit : float
        T: zero where the hyperplane has margin gamma on all points.
    radius : float
        R, the largest norm of a point.
    examples : int
        The number of examples that T is summed over: the rows times the passes, each of them whole. A limit that ends a
        run inside of a pass leaves a run on fewer examples, for which the bound holds all the more.
    bracket : MarginBracket
        Bounds on the largest margin.

    See Also
    --------
    mistake_bound : Computes it for any hyperplane.
    MarginBracket : Its bounds on the largest margin.

    References
    ----------
    "Perceptron and Linear SVM", lecture 10, theorem 10-1 (Novikov); "The Perceptron Algorithm", lecture 8, claim 1 and
    section 1.2 (which has R = 1).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import Perceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> proof = Perceptron(shuffle=False).fit(X, y == 0).certificate_
    >>> proof.mistakes, round(proof.bound), proof.theorem  # the best gamma of this hyperplane is above its margin
    (5, 254, 'mistake bound for inseparable data')
    >>> print(f"R = {proof.radius:.1f}, gamma = {proof.gamma:.2f}, margin {proof.bracket.lower:.2f}")
    R = 11.2, gamma = 1.04, margin 0.02
    """

    mistakes: int | None
    bound: float
    gamma: float
    deficit: float
    radius: float
    examples: int
    bracket: MarginBracket

    def __post_init__(self) -> None:
        if self.mistakes is not None and not 0 <= self.mistakes <= self.bound:
            self._refuse(f"{self.mistakes} mistakes contradict the bound {self.bound!r}")

    @property
    def theorem(self) -> str:
        """The name of the theorem: Novikoff's bound where the hyperplane has margin gamma, else that without it."""
        return NOVIKOFF if self.deficit == 0.0 else INSEPARABLE

    def __str__(self) -> str:
        made = "" if self.mistakes is None else f"{self.mistakes} mistakes, "
        if math.isinf(self.bound):
            return f"{made}no bound: w is zero, or the kernel is not positive semidefinite; {self.bracket}"
        theorem = self.theorem if self.theorem == NOVIKOFF else f"the {self.theorem}"
        most = digits_up(self.bound, 6)
        bound = f"at most {most} by {theorem} (gamma {self.gamma:.3g}); {self.bracket.statement}"
        return f"{made}{self.assumption}: {bound}" if self.assumption else f"{made}{bound}"

    @property
    def assumption(self) -> str:
        """What the bound rests on besides the data; see :class:`MarginBracket`."""
        return self.bracket.assumption

    def check(self, proven: Certificate) -> None:
        """Raise CertificateError where the bound is smaller, or a fact other, than what the data prove."""
        self._same_kind(proven)
        assert isinstance(proven, MistakeBound)
        self._refuse_unless(
            self.mistakes == proven.mistakes and self.examples == proven.examples,
            f"{self.mistakes} mistakes in {self.examples} examples, not {proven.mistakes} in {proven.examples}",
        )
        self._check_upper_bounds(proven, "bound", scale=proven.bound)
        self._check_equal(proven, "gamma", "deficit", "radius", abs_tol=1e-300)
        self._refuse_unless(self.deficit > 0.0 or proven.deficit <= 0.0, f"deficit is not zero, but {proven.deficit!r}")
        self.bracket.check(proven.bracket)


def bound_mistakes(
    geometry: Geometry, rule: UpdateRule, mistakes: int | None, gamma: float | None = None
) -> MistakeBound:
    """Bound the mistakes of any run of ``rule`` on the geometry's points by its hyperplane."""
    chosen = 0.0
    if geometry.margins.size and math.isfinite(geometry.radius):
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            chosen = _best_gamma(geometry, rule) if gamma is None else gamma
    deficit = deficit_at(geometry.margins, chosen) if 0.0 < chosen < math.inf else math.inf
    return _bound_at(geometry, rule, mistakes, chosen, deficit)


def deficit_at(margins: np.ndarray, gamma: float) -> float:
    """T of one pass, rounded up."""
    total = 0.0
    for start in range(0, margins.size, ROWS_TO_ADD):
        lacking = np.maximum(0.0, gamma - margins[start : start + ROWS_TO_ADD])
        total = up(total + sum_at_most(lacking)) if lacking.any() else total
    return total


def _bound_at(
    geometry: Geometry, rule: UpdateRule, mistakes: int | None, gamma: float, deficit_of_pass: float
) -> MistakeBound:
    """The bound for a gamma, given T of one pass; no bound where gamma is not positive, or numbers overflow."""
    deficit = bound = math.inf
    if 0.0 < gamma < math.inf:
        ratio = rule.largest_step / rule.smallest_step
        deficit = up(rule.passes * deficit_of_pass) if deficit_of_pass else 0.0
        quotient = up(geometry.radius / gamma)
        quadratic = up(rule.rows_at_once * up(quotient * quotient))
        linear = up(up(2.0 * up(deficit + _start(geometry, rule))) / gamma)
        bound = up(up(quadratic + linear) * up(ratio)) if ratio != 1.0 else up(quadratic + linear)
        if deficit <= math.ulp(0.0) * 4:  # rounding zero up
            deficit = 0.0
    if not 0.0 < gamma < math.inf or math.isnan(bound):
        gamma, deficit, bound = 0.0, math.inf, math.inf
    return MistakeBound(
        mistakes=mistakes,
        bound=bound,
        gamma=gamma,
        deficit=deficit,
        radius=geometry.radius,
        examples=rule.passes * rule.n_rows,
        bracket=bracket_margin(geometry),
    )


def _start(geometry: Geometry, rule: UpdateRule) -> float:
    """The norm of the initial w in units of the largest step."""
    return up(geometry.start_length / rule.largest_step) if geometry.start_length else 0.0


def _best_gamma(geometry: Geometry, rule: UpdateRule) -> float:
    """The gamma with the smaller bound of two: the best one for a sample of the rows, and the margin."""
    margins = geometry.margins
    stride = -(-margins.size // ROWS_TO_CHOOSE_BY)
    candidates = gamma_candidates(geometry, rule, margins[::stride], stride, float(margins.min()))

    def bound(gamma: float) -> float:
        # In units of gamma: squares neither overflow nor underflow.
        deficit = rule.passes * float(np.maximum(0.0, 1.0 - margins / gamma).sum())
        quotient = geometry.radius / gamma
        return upper_bound(
            rule.rows_at_once * quotient * quotient + 2.0 * deficit + 2.0 * _start(geometry, rule) / gamma
        )

    return min(candidates, key=bound)


def gamma_candidates(
    geometry: Geometry, rule: UpdateRule, sample: np.ndarray, stride: int, smallest: float
) -> list[float]:
    """Minimise the bound over t = 1/gamma, in which it is convex, on a sample of the rows; and the smallest margin.

    With q = k R², c the number of examples that a row of the sample stands for, and margins m_i, the bound is
    q t² + 2 c sum max(0, 1 - t m_i) + 2 a t, and half its derivative q t - c S + a, S being the sum of the m_i < 1/t.
    """
    if geometry.radius == 0.0:
        # All points are zero: the bound is the same for every gamma.
        return [1.0]
    # In units of R, by a power of two: squares neither overflow nor underflow.
    unit = 2.0 ** math.frexp(geometry.radius)[1]
    sample, radius, start = sample / unit, geometry.radius / unit, _start(geometry, rule) / unit
    copies = rule.passes * stride
    quadratic = rule.rows_at_once * radius * radius
    positive = np.sort(sample[sample > 0.0])[::-1]
    # Between the kinks 1/positive[k-1] and 1/positive[k], S is the sum of the negative margins and positive[k:].
    sums = np.append(np.cumsum(positive[::-1])[::-1], 0.0) + sample[sample <= 0.0].sum()
    with np.errstate(over="ignore"):
        kinks = np.append(1.0 / positive, np.inf)
    k = int(np.argmax(quadratic * kinks - copies * sums + start >= 0.0))
    lowest = 1e-9 / radius
    inverse = max(lowest, (copies * sums[k] - start) / quadratic, kinks[k - 1] if k else 0.0)
    inverses = [min(inverse, max(lowest, kinks[k]))]
    if smallest > 0.0 and math.isfinite(unit / smallest):
        inverses.append(unit / smallest)
    return [unit * float(1.0 / inverse) for inverse in inverses]


class BlockwiseBound:
    """The mistake bound of rows that are read in blocks, twice: for R and the margins, then for T.

    The result is that of :func:`bound_mistakes` on all rows at once, up to rounding, in the memory of a block.

    Parameters
    ----------
    w, intercept : ndarray of shape (d,), float
        The hyperplane.
    start : (ndarray, float)
        The initial w and intercept of the run.
    n_rows : int
        The number of rows of positive weight in all blocks.
    """

    def __init__(self, w: np.ndarray, intercept: float, start: tuple[np.ndarray, float], n_rows: int) -> None:
        self._w, self._intercept, self._initial = w, intercept, start
        self._stride = max(1, -(-n_rows // ROWS_TO_CHOOSE_BY))
        self._sample: list[np.ndarray] = []
        self._geometry: Geometry | None = None
        self._n_rows, self._steps = 0, (math.inf, 0.0)
        self._candidates: list[float] = []
        self._deficits: list[float] = []

    def _measure(self, problem: PerceptronProblem) -> Geometry:
        return linear_geometry(problem, self._w, self._intercept, start=self._initial)

    def measure(self, problem: PerceptronProblem) -> None:
        """Read a block for the first time."""
        steps = (problem.steps * problem.lengths)[problem.dataset.counted]
        if not steps.size:
            return
        found, before = self._measure(problem), self._geometry
        # A copy: a view would keep all margins.
        self._sample.append(found.margins[-self._n_rows % self._stride :: self._stride].copy())
        self._n_rows += steps.size
        self._steps = min(self._steps[0], float(steps.min())), max(self._steps[1], float(steps.max()))
        smallest = found.margins.min(keepdims=True) if found.margins.size else found.margins
        if before is not None:
            smallest = np.minimum(smallest, before.margins)
        radius = found.radius if before is None else max(found.radius, before.radius)
        self._geometry = replace(found, radius=radius, shortest_in_hull=radius, margins=smallest)

    def rule(self, passes: int) -> UpdateRule:
        """The update rule of a run of that many passes."""
        return UpdateRule(self._n_rows, passes, *self._steps)

    def choose(self, passes: int) -> None:
        """Choose values of gamma by what the first reading found."""
        geometry = self._geometry
        if geometry is None or not geometry.margins.size or not math.isfinite(geometry.radius):
            return
        sample = np.concatenate(self._sample)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            found = gamma_candidates(geometry, self.rule(passes), sample, self._stride, float(geometry.margins[0]))
        self._candidates = [gamma for gamma in found if 0.0 < gamma < math.inf]
        self._deficits = [0.0] * len(self._candidates)

    def add(self, problem: PerceptronProblem) -> None:
        """Read a block for the second time."""
        margins = self._measure(problem).margins if self._candidates else np.empty(0)
        for k, gamma in enumerate(self._candidates):
            deficit = deficit_at(margins, gamma)
            self._deficits[k] = up(self._deficits[k] + deficit) if deficit else self._deficits[k]

    def bound(self, passes: int, mistakes: int) -> MistakeBound:
        """The bound on the mistakes of all passes."""
        assert self._geometry is not None
        rule = self.rule(passes)
        pairs = list(zip(self._candidates, self._deficits, strict=True)) or [(0.0, math.inf)]
        found = [_bound_at(self._geometry, rule, None, *pair) for pair in pairs]
        return replace(min(found, key=lambda one: one.bound), mistakes=mistakes)


@dataclass(frozen=True)
class PerceptronRun:
    """A run of a perceptron from w = 0, to which a mistake bound applies.

    Parameters
    ----------
    passes : int, default=1
        The number of passes over the rows. The bound does not depend on it where T = 0.
    batch : bool, default=False
        The batch rule in place of the online rule: the first term of the bound is n times as large.
    normalize : bool, default=False
        Whether points are divided by their norm, so that R = 1.
    mistakes : int, optional
        The mistakes that the run made, to stand beside the bound.

    See Also
    --------
    mistake_bound : Takes this.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import PerceptronRun, mistake_bound
    >>> X, y = load_iris(return_X_y=True)
    >>> w, b = [0.0, 1.0, -1.0, 0.0], 0.5
    >>> once, thrice = (mistake_bound(X, y == 1, w, b, run=PerceptronRun(passes=k)).bound for k in (1, 3))
    >>> print(f"at most {once:.0f} mistakes in one pass, {thrice:.0f} in three")
    at most 300 mistakes in one pass, 900 in three
    """

    passes: int = 1
    batch: bool = False
    normalize: bool = False
    mistakes: int | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.passes, Integral) and self.passes >= 1):
            raise ValueError(f"passes must be a whole number of at least 1, got {self.passes!r}.")


def mistake_bound(
    X: UserArray,
    y: UserArray,
    coef: UserArray,
    intercept: float = 0.0,
    *,
    augmented: bool = True,
    gamma: float | None = None,
    run: PerceptronRun | None = None,
) -> MistakeBound:
    r"""Bound the mistakes of a perceptron on data by any hyperplane.

    .. math:: (R/\gamma)^2 + 2 T/\gamma, \qquad T = \sum \max(0, \gamma - y_i\, u \cdot x_i)

    with u the unit normal of the hyperplane (see "Novikoff's bound" in :doc:`/theory`). It holds for the online
    perceptron from w = 0 in any order of the rows.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of two labels, of shape (n,)
    coef : array of shape (d,) or (1, d)
    intercept : float, default=0.0
    augmented : bool, default=True
        Whether the points are (x, 1), those of a perceptron with an intercept, or x.
    gamma : float, optional
        The gamma of the theorem; by default the one with the smallest bound.
    run : PerceptronRun, optional
        The number of passes, the rule, and the mistakes that were made; by default one pass of the online rule.

    Returns
    -------
    MistakeBound

    Raises
    ------
    CertificateError
        The run made more mistakes than the bound.

    See Also
    --------
    MistakeBound : What comes back.
    PerceptronRun : Describes the run that is bounded.

    Examples
    --------
    >>> from maxmargin import PerceptronRun, mistake_bound
    >>> X, y, u = [[2.0, 0.0], [-1.0, 1.0]], [1, -1], [1.0, 0.0]
    >>> proof = mistake_bound(X, y, u, augmented=False, gamma=0.5)
    >>> round(proof.bound, 6), proof.theorem
    (16.0, "Novikoff's bound")

    A gamma above the hyperplane's margin may give a smaller bound:

    >>> proof = mistake_bound(X, y, u, augmented=False, run=PerceptronRun(mistakes=1))
    >>> round(proof.bound, 6), round(proof.gamma, 6), proof.theorem
    (2.0, 2.0, 'mistake bound for inseparable data')
    """
    run = PerceptronRun() if run is None else run
    dataset = validate_two_classes(X, y, caller="mistake_bound")
    w, b = validate_coefficients(coef, intercept, dataset.points.n_columns)
    if b != 0.0 and not augmented:
        raise ValueError("intercept is not zero: the bound is about the points (x, 1), so leave augmented=True.")
    if gamma is not None and not (isinstance(gamma, Real) and gamma > 0.0 and math.isfinite(gamma)):
        raise ValueError(f"gamma must be a positive number, got {gamma!r}.")
    if not (w.any() or b):
        raise ValueError("coef is zero: no hyperplane, and so no bound.")
    problem = PerceptronProblem(dataset, fit_intercept=augmented, normalize=run.normalize)
    n_rows = dataset.points.n_rows
    rule = UpdateRule(n_rows, run.passes, rows_at_once=n_rows if run.batch else 1)
    return bound_mistakes(linear_geometry(problem, w, b), rule, run.mistakes, gamma)
