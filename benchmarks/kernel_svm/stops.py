"""The machine that is trained, and when a run ends."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    """C, the RBF kernel's gamma, and the epsilon of a regression (None for a classifier)."""

    C: float
    gamma: float
    epsilon: float | None = None

    def __str__(self) -> str:
        return f"C = {self.C:g}, gamma = {self.gamma:.3g}"


@dataclass(frozen=True)
class Stop:
    """A machine, and the tolerance in the tool's own sense."""

    machine: Machine
    tolerance: float
