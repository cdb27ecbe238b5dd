"""ReHLine."""

import numpy as np
from rehline import ReHLine

from linear_svm.tool import Tool


class ReHLineSVM(Tool):
    """Coordinate ascent on the dual of a sum of piecewise linear losses."""

    name = "ReHLine"
    parts = ("race",)
    tolerances = (0.1, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
    remark = "`ReHLine(C, U=-y, V=1)` on the rows as they are, sparse or dense"

    def fit_task(self, signs, stop):
        """Write the hinge as max(0, U x·w + V), which ReHLine multiplies by C."""
        loss = {"U": -signs[None], "V": np.ones((1, signs.size))}
        return ReHLine(stop.C, **loss, tol=stop.tolerance, max_iter=2_000_000_000).fit(self.X).coef_
