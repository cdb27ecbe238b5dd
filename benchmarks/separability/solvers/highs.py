"""The linear program of the lectures, by HiGHS."""

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from separability.tool import Tool

FEASIBLE, INFEASIBLE = 0, 2


class Highs(Tool):
    """Is there w, b with y (w·x + b) >= 1?"""

    name = "HiGHS"
    parts = ("decision",)

    def set_data(self, X, y):
        """Make the constraints."""
        super().set_data(X, y)
        signs = y.astype(float)
        self.constraints = sp.csr_matrix(-sp.hstack([sp.diags_array(signs) @ X, signs[:, None]]))

    def run(self, _stop):
        """Solve."""
        n, d = self.constraints.shape
        found = linprog(np.zeros(d), A_ub=self.constraints, b_ub=-np.ones(n), bounds=(None, None), method="highs")
        self.separable = {FEASIBLE: True, INFEASIBLE: False}.get(found.status)
        if found.x is not None:
            self.w, self.b = found.x[:-1], float(found.x[-1])
