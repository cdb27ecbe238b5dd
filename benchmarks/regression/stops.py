"""What is solved, and when a run ends."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Stop:
    """The kind of penalty, its strength (for the lasso, as a share of the largest useful one), and the tolerance."""

    kind: str
    penalty: float
    tolerance: float

    @property
    def text(self) -> str:
        """The penalty and the rival's tolerance."""
        return f"{'λ' if self.kind == 'ridge' else 'λ/λmax'} = {self.penalty:g}, tol {self.tolerance:g}"

    def with_tolerance(self, tolerance: float) -> "Stop":
        """The same problem to another tolerance."""
        return replace(self, tolerance=tolerance)
