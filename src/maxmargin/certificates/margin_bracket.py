"""The bracket around the largest possible margin."""

import math
from dataclasses import dataclass, field

from maxmargin.certificates.base import AGREEMENT, Certificate, InfeasibleError
from maxmargin.certificates.geometry import Geometry
from maxmargin.certificates.rounding import down, lower_bound, up, upper_bound
from maxmargin.data.printed_bounds import digits_down, digits_up, percent_down

# Differences between two correct computations of a margin, and of the norm of a hull point, relative to R: bounds on
# the errors of scores grow with the stored entries of a row, of which dense rows have more.
MARGIN_ROUNDING, HULL_ROUNDING = 2.0**-40, 2.0**-46


@dataclass(frozen=True)
class MarginBracket(Certificate):
    r"""Bounds on the largest margin of any hyperplane.

    .. math:: \text{lower} \le \gamma_{opt} \le \text{upper}

    The lower bound is the margin of the model's own hyperplane: negative where it misclassifies points, ``-inf`` where
    w = 0. The upper bound is the norm of a point in the convex hull of the y_i x_i, whose weights are the duals: for
    every unit vector u, the smallest y_i u·x_i is at most that norm. Both are rounded outwards.

    Attributes
    ----------
    lower, upper : float
    radius : float
        R, the largest norm of a point.
    space : str
        The points whose margins these are, for example ``(x, 1)`` where there is an intercept.
    hulls_meet : bool
        Whether it is proven that the convex hulls of the classes meet exactly: no hyperplane separates the classes. An
        upper bound of the size of rounding errors does not prove that.
    assumption : str
        What the bracket rests on besides the data: empty, or that a kernel, of which only the values are known, is
        positive semidefinite.

    See Also
    --------
    MistakeBound : What a perceptron's certificate says.
    separate : Decides with such a bracket.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> proof = LinearSVC(C=float("inf"), tol=1e-6).fit(X, y == 0).certificate_
    >>> print(f"{proof.lower:.4f} <= largest margin <= {proof.upper:.4f}")
    0.8176 <= largest margin <= 0.8176
    """

    lower: float
    upper: float
    radius: float
    space: str
    hulls_meet: bool = field(default=False, kw_only=True)
    assumption: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        if not self.lower <= self.upper <= self.radius:
            self._refuse(f"lower {self.lower!r} <= upper {self.upper!r} <= radius {self.radius!r} does not hold")
        self._refuse_unless(not (self.hulls_meet and self.separates), "the hulls meet, and a hyperplane separates them")

    @property
    def objective(self) -> float:
        """1/2 ||w||² of the hyperplane scaled to y f >= 1, rounded up; infinite where it does not separate."""
        # The square of a tiny margin underflows, that of its inverse only overflows.
        inverse = up(1.0 / self.lower) if self.separates else math.inf
        return up(up(0.5 * inverse * inverse))

    @property
    def separates(self) -> bool:
        """Whether the hyperplane is proven to separate the classes."""
        return self.lower > 0.0

    @property
    def share(self) -> float:
        """A lower bound on the hyperplane's margin divided by the largest possible one."""
        if not self.separates:
            return 0.0
        return 1.0 if self.lower == self.upper else down(self.lower / self.upper)

    @property
    def relative(self) -> float:
        """The width of the bracket relative to its upper bound; one where the hyperplane does not separate."""
        share = self.share
        return min(1.0, up(1.0 - share)) if share < 1.0 else 0.0

    @property
    def relative_upper(self) -> float:
        """The upper bound in units of R, rounded up."""
        if self.upper == self.radius:
            return 1.0 if self.upper else 0.0
        return min(1.0, up(self.upper / self.radius)) if self.upper else 0.0

    def __str__(self) -> str:
        return f"{self.assumption}: {self.statement}" if self.assumption else self.statement

    @property
    def statement(self) -> str:
        """What is proven in one sentence, without the assumption."""
        if math.isinf(self.upper):
            return f"no bound on the margin of the points {self.space}"
        most = digits_up(self.upper, 6)
        if self.separates:
            return (
                f"the hyperplane separates the points {self.space} with margin {digits_down(self.lower, 6)}; no "
                f"hyperplane has a margin above {most}: at least {percent_down(self.share, 3)} % of the largest margin"
            )
        if self.hulls_meet:
            return f"no hyperplane separates the points {self.space}: the convex hulls of the classes meet"
        relative = digits_up(self.relative_upper, 2)
        return f"no hyperplane separates the points {self.space} with a margin above {most} ({relative} R)"

    def check(self, proven: Certificate) -> None:
        """Raise CertificateError where a bound or the radius is not what the data prove."""
        self._same_kind(proven)
        assert isinstance(proven, MarginBracket)
        self._refuse_unless(self.space == proven.space, f"holds for the points {self.space}, not for {proven.space}")
        self._refuse_unless(proven.separates or not self.separates, "it is not proven that the hyperplane separates")
        self._check_lower_bounds(proven, "lower", scale=_scale(proven.lower, MARGIN_ROUNDING, proven.radius))
        self._check_upper_bounds(proven, "upper", scale=_scale(proven.upper, HULL_ROUNDING, proven.radius))
        self._refuse_unless(
            self.upper > 0.0 or proven.upper <= 0.0, f"upper {self.upper!r} is less than {proven.upper!r}"
        )
        self._check_equal(proven, "radius")
        self._refuse_unless(proven.hulls_meet or not self.hulls_meet, "it is not proven that the hulls meet")
        self._check_assumption(proven)


def _scale(value: float, rounding: float, radius: float) -> float:
    """The value relative to which AGREEMENT is asked for; infinite where a claim must not be stronger at all."""
    return abs(value) + rounding / AGREEMENT * radius


class NotSeparableError(InfeasibleError):
    """No hyperplane separates the classes; ``certificate`` is the proof.

    Parameters
    ----------
    message : str
    certificate : MarginBracket

    See Also
    --------
    separate : Decides without an exception.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC, NotSeparableError
    >>> X, y = load_iris(return_X_y=True)
    >>> try:
    ...     LinearSVC(C=float("inf")).fit(X, y == 1)
    ... except NotSeparableError as error:
    ...     print("no hyperplane separates the classes")
    no hyperplane separates the classes
    """

    certificate: MarginBracket


def bracket_margin(geometry: Geometry) -> MarginBracket:
    """Bracket the largest margin by what was measured of a hyperplane and of the hull."""
    return MarginBracket(
        lower=lower_bound(float(geometry.margins.min())) if geometry.margins.size else -math.inf,
        upper=upper_bound(geometry.shortest_in_hull),
        radius=upper_bound(geometry.radius),
        space=geometry.space,
        hulls_meet=geometry.hulls_meet,
        assumption=geometry.assumption,
    )
