"""The hard margin as a quadratic program: min 1/2 ||w||² with y (w·x + b) >= 1."""

import clarabel
import numpy as np
import osqp
import scipy.sparse as sp

from separability.tool import Tool


class _QuadraticProgram(Tool):
    """Makes the matrices."""

    def set_data(self, X, y):
        """Write the constraints y (w·x + b) >= 1."""
        super().set_data(X, y)
        d = X.shape[1]
        self.squares = sp.csc_matrix(sp.diags_array(np.append(np.ones(d), 0.0)))
        signs = y.astype(float)
        self.rows = sp.csc_matrix(sp.hstack([sp.diags_array(signs) @ X, signs[:, None]]))
        self.linear = np.zeros(d + 1)


class Clarabel(_QuadraticProgram):
    """An interior-point method."""

    name = "Clarabel"
    tolerances = (1e-6, 1e-8, 1e-10)

    def run(self, stop):
        """Solve."""
        options = clarabel.DefaultSettings()
        options.verbose = False
        options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = stop.tolerance
        n = self.rows.shape[0]
        cones = [clarabel.NonnegativeConeT(n)]
        solver = clarabel.DefaultSolver(self.squares, self.linear, -self.rows, -np.ones(n), cones, options)
        result = np.array(solver.solve().x)
        self.w, self.b = result[:-1], float(result[-1])


class Osqp(_QuadraticProgram):
    """An operator-splitting method."""

    name = "OSQP"
    tolerances = (1e-4, 1e-6, 1e-8)

    def run(self, stop):
        """Solve."""
        n = self.rows.shape[0]
        solver = osqp.OSQP()
        solver.setup(
            P=self.squares,
            q=self.linear,
            A=self.rows,
            l=np.ones(n),
            u=np.full(n, np.inf),
            verbose=False,
            eps_abs=stop.tolerance,
            eps_rel=stop.tolerance,
            max_iter=1_000_000,
            polishing=True,
        )
        result = np.asarray(solver.solve().x, dtype=np.float64)
        self.w, self.b = result[:-1], float(result[-1])
