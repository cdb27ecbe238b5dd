"""The problems that are solved, and when a run ends."""

from dataclasses import dataclass

from suite import Settings

PENALTIES = (0.1, 1.0, 10.0, 100.0)
QUICK_PENALTIES = (10.0,)
# Relative distances from the best objective, and proven gaps.
COARSE = 1e-3
FINE = 1e-6


@dataclass(frozen=True)
class Stop:
    """The penalty C, and the tolerance in the tool's own sense.

    ``most_seconds`` is for tools that can end early with what they have.
    """

    C: float
    tolerance: float
    most_seconds: float | None = None


def power_text(value: float) -> str:
    """A power of ten, as short as it can be written."""
    return f"{value:.0e}".replace("e-0", "e-")


def penalties(options: Settings) -> tuple[float, ...]:
    """The values of C, in rising order."""
    return QUICK_PENALTIES if options.quick else PENALTIES
