"""What all tools that find a separating hyperplane have in common."""

from typing import ClassVar

import numpy as np

from suite import Solver


class Tool(Solver):
    """Finds a hyperplane w·x + b, or says that there is none.

    ``tolerances`` leads from coarse to fine.
    """

    parts = ("margin",)
    tolerances: ClassVar[tuple[float, ...]] = (1.0,)
    separable: bool | None = None
    w: np.ndarray | None = None
    b: float = 0.0

    def get_result(self):
        """Return the decision, and the margin of the hyperplane, computed in float64 from the hyperplane alone."""
        margin = -np.inf
        if self.w is not None and np.linalg.norm(self.w) > 0:
            margin = float(np.min(self.y * (self.X @ self.w + self.b)) / np.linalg.norm(self.w))
        return {"separable": self.separable, "margin": margin}
