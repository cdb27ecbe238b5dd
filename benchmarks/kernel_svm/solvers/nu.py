"""Machines with nu: the package, and LIBSVM through scikit-learn."""

import math
import warnings
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import sklearn.svm

import maxmargin
from suite import Solver


class _Nu(Solver):
    parts: ClassVar[tuple[str, ...]] = ("nu",)
    tolerances: ClassVar[tuple[float, ...]] = (1e-3,)
    module: ClassVar[Any]

    def run(self, stop):
        """Fit; ``stop`` is the name of the machine and the tolerance."""
        machine, tolerance = stop
        self.machine, *kernel = machine.split()
        self.rows = self.rows_of(*kernel)
        parameters = {"kernel": kernel[0] if kernel else "rbf", "nu": 0.2, "tol": tolerance, "cache_size": 1000}
        model = getattr(self.module, self.machine)(**parameters)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model = model.fit(self.rows, self.targets)

    @property
    def targets(self):
        """Two classes, numbers, or none."""
        return {"NuSVC": self.y, "NuSVR": np.asarray(self.y, dtype=float), "OneClassSVM": None}[self.machine]

    def rows_of(self, kernel="rbf"):
        """The rows; for the linear kernel of a one-class machine on one side of the origin, or LIBSVM does not end."""
        return self.X - self.X.min(axis=0) if kernel == "linear" and not sp.issparse(self.X) else self.X

    def get_result(self):
        """Return the relative gap, computed outside of the run."""
        if isinstance(self.model, sklearn.svm.NuSVR):
            return {"gap": math.nan}
        return {"gap": maxmargin.certify(self.model, self.rows, self.targets).relative}


class NuMaxmargin(_Nu):
    """The tolerance is the relative duality gap that is proven; the time holds the proof."""

    name = "maxmargin"
    tolerances = (1e-3, 1e-4, 1e-5, 1e-6)
    module = maxmargin


class NuLibsvm(_Nu):
    """Its default tolerance."""

    name = "LIBSVM"
    module = sklearn.svm
