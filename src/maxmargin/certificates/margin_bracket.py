"""The bracket around the largest possible margin (theory C4)."""

import math
from dataclasses import dataclass

from maxmargin.certificates.base import Certificate, not_above
from maxmargin.certificates.geometry import Geometry


@dataclass(frozen=True)
class MarginBracket(Certificate):
    r"""Proves how good a plane is without knowing the best one.

    .. math:: \text{lower} \le \gamma_{opt} \le \text{upper}

    The lower end is the margin of the model's plane (``-inf`` for no plane; negative where it makes mistakes: then
    nothing is claimed about separability). The upper end is the length of a point in the convex hull of the y_i x_i,
    which the duals give: for every unit u, the smallest y_i u·x_i is at most that length. Both are rounded outwards.

    Attributes
    ----------
    lower, upper : float
    radius : float
        R, the length of the longest point.
    space : str
        The points that the margins speak of, for example ``(x, 1)`` where there is an intercept.
    """

    lower: float
    upper: float
    radius: float
    space: str

    def __post_init__(self) -> None:
        self._refuse_unless(
            self.lower <= self.upper and self.upper <= self.radius,
            f"lower {self.lower!r} <= upper {self.upper!r} <= radius {self.radius!r} does not hold",
        )

    @property
    def separates(self) -> bool:
        """Whether the plane is proven to separate the classes."""
        return self.lower > 0.0

    @property
    def share(self) -> float:
        """At least this share of the largest possible margin is reached."""
        return max(0.0, self.lower / self.upper) if self.upper > 0.0 else 0.0

    @property
    def relative(self) -> float:
        """The bracket's width, relative to its upper end; one where nothing is separated."""
        return 1.0 - self.share

    def __str__(self) -> str:
        if math.isinf(self.upper):
            return f"nothing is known of the margins of the points {self.space}"
        relative = self.upper / self.radius if self.radius else 0.0
        if self.separates:
            return (
                f"the plane separates the points {self.space} with margin {self.lower:.6g}; no plane has more than "
                f"{self.upper:.6g}, so at least {100 * self.share:.1f} % of the best is reached"
            )
        return f"no plane separates the points {self.space} with a margin above {self.upper:.6g} ({relative:.2g} R)"

    def check(self, proven: Certificate) -> None:
        """Raise CertificateError where an end or the radius is not what the data prove."""
        self._same_kind(proven)
        assert isinstance(proven, MarginBracket)
        scale = proven.radius
        self._refuse_unless(self.space == proven.space, f"speaks of {self.space}, not of {proven.space}")
        self._refuse_unless(
            not_above(self.lower, proven.lower, scale), f"lower {self.lower!r} is more than {proven.lower!r}"
        )
        self._refuse_unless(
            not_above(-self.upper, -proven.upper, scale),
            f"upper {self.upper!r} is less than {proven.upper!r}",
        )
        self._refuse_unless(
            math.isclose(self.radius, proven.radius, rel_tol=1e-9),
            f"radius {self.radius!r} is not {proven.radius!r}",
        )


class NotSeparableError(ValueError):
    """No plane separates the classes; ``certificate`` is the proof.

    Parameters
    ----------
    message : str
    certificate : MarginBracket
    """

    def __init__(self, message: str, certificate: MarginBracket) -> None:
        super().__init__(message)
        self.certificate = certificate

    def __reduce__(self) -> tuple[type, tuple[str, MarginBracket]]:
        return type(self), (str(self), self.certificate)


def bracket_margin(geometry: Geometry) -> MarginBracket:
    """State what the geometry proves about the largest margin."""
    lower = float(geometry.margins.min()) if geometry.margins.size else -math.inf
    return MarginBracket(
        lower=-math.inf if math.isnan(lower) else lower,
        upper=math.inf if math.isnan(geometry.shortest_in_hull) else geometry.shortest_in_hull,
        radius=math.inf if math.isnan(geometry.radius) else geometry.radius,
        space=geometry.space,
    )
