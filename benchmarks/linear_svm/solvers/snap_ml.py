"""Snap ML."""

import numpy as np
from snapml import SupportVectorMachine

from linear_svm.tool import Tool

THREADS = 2


class SnapML(Tool):
    """Parallel coordinate ascent on the dual, in float32."""

    name = "Snap ML"
    parts = ("race",)
    tolerances = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13)
    remark = f"`SupportVectorMachine(regularizer=1/C, n_jobs={THREADS})` on float32 data, converted beforehand"

    def set_data(self, X, y):
        """Convert the data to float32."""
        super().set_data(X, y)
        self.single = X.astype(np.float32)

    def run(self, stop):
        """Fit all classes."""
        self.stop = stop
        model = SupportVectorMachine(
            regularizer=1.0 / stop.C,
            n_jobs=THREADS,
            fit_intercept=False,
            tol=stop.tolerance,
            max_iter=1_000_000_000,
            random_state=0,
        )
        self.hyperplanes = model.fit(self.single, self.y).coef_
