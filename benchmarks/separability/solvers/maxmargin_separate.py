"""The package itself: ``separate``, with its proof."""

from maxmargin import separate
from separability.tool import Tool


class Maxmargin(Tool):
    """The tolerance is the relative width of the proven bracket."""

    name = "maxmargin"
    parts = ("decision", "margin")
    tolerances = (1.0, 1e-6)

    def run(self, stop):
        """Decide, or find the largest margin."""
        self.found = separate(self.X, self.y, tol=stop.tolerance, max_time=stop.most_seconds)
        self.separable, self.w, self.b = self.found.separable, self.found.coef, self.found.intercept

    def get_result(self):
        """Add what is proven."""
        bracket = self.found.certificate
        return {**super().get_result(), "upper": bracket.upper, "width": bracket.relative, "radius": bracket.radius}
