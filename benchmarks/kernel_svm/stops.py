"""The machine that is trained, and when a run ends."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    """C, the RBF kernel's gamma, and the epsilon of a regression.

    gamma is None for the linear kernel, epsilon for a classifier.
    """

    C: float
    gamma: float | None
    epsilon: float | None = None

    def __str__(self) -> str:
        return f"C = {self.C:g}, " + ("linear" if self.gamma is None else f"gamma = {self.gamma:.3g}")


@dataclass(frozen=True)
class Stop:
    """A machine, and the tolerance in the tool's own sense."""

    machine: Machine
    tolerance: float
