"""A proven distance from the best possible value, whatever the model is."""

import math
from dataclasses import dataclass
from typing import ClassVar

from maxmargin.certificates.base import Certificate, not_above
from maxmargin.certificates.rounding import up


@dataclass(frozen=True)
class DualityGap(Certificate):
    r"""Proves that no model of its kind has an objective below ``dual``, while this one has at most ``primal``.

    .. math:: \text{dual} \le \text{optimum} \le \text{value of the model} \le \text{primal}

    ``primal`` is rounded up and ``dual`` down.

    Attributes
    ----------
    primal, dual : float
    """

    primal: float
    dual: float

    # Who has no value below the dual's, as the subject of a sentence with its verb.
    _rivals: ClassVar[str] = "no model has"

    def __post_init__(self) -> None:
        self._refuse_unless(self.dual <= self.primal, f"dual {self.dual!r} <= primal {self.primal!r} does not hold")

    @property
    def gap(self) -> float:
        """primal - dual: how far the model's value can be from the best one."""
        return up(self.primal - self.dual) if self.primal > self.dual else 0.0

    @property
    def relative(self) -> float:
        """The gap divided by the primal's value; at most 1 where the dual's value is not negative."""
        if math.isinf(self.primal):
            return math.inf
        ratio = self.gap / self.primal if self.primal > 0.0 else 0.0
        return min(1.0, ratio) if self.dual >= 0.0 else ratio

    def __str__(self) -> str:
        distance = f"within {self.relative:.2g} of" if self.dual > 0.0 else f"by at most {self.gap:.2g} above"
        return (
            f"objective {self.primal:.8g}, {self._rivals} less than {self.dual:.8g}: {distance} the "
            f"best{self._more_to_say()}"
        )

    def _more_to_say(self) -> str:
        """How the sentence goes on."""
        return ""

    def check(self, proven: Certificate) -> None:
        """Raise CertificateError where a value is better than what the data prove."""
        self._same_kind(proven)
        assert isinstance(proven, DualityGap)
        scale = abs(proven.primal)
        self._refuse_unless(
            not_above(-self.primal, -proven.primal, scale), f"primal {self.primal!r} is less than {proven.primal!r}"
        )
        self._refuse_unless(
            not_above(self.dual, proven.dual, scale), f"dual {self.dual!r} is more than {proven.dual!r}"
        )
