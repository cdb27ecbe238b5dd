"""What is solved, and when a run ends."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Stop:
    """The kind of penalty, its price (for the lasso, as a share of the largest useful one), and the tolerance."""

    kind: str
    price: float
    tolerance: float

    @property
    def text(self) -> str:
        """The price and the rival's tolerance."""
        return f"{'λ' if self.kind == 'ridge' else 'λ/λmax'} = {self.price:g}, tol {self.tolerance:g}"

    def with_tolerance(self, tolerance: float) -> "Stop":
        """The same problem to another tolerance."""
        return replace(self, tolerance=tolerance)
