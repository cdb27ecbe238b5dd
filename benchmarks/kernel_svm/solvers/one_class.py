"""The linear one-class machine: the package, and scikit-learn's two."""

import math
import warnings
from typing import ClassVar

import numpy as np
import sklearn.linear_model
import sklearn.svm

import maxmargin
from suite import Solver

NU = 0.1


class _OneClass(Solver):
    parts: ClassVar[tuple[str, ...]] = ("one_class",)
    most_rows = math.inf
    # Whether w and rho are those of the problem divided by nu n.
    is_scaled = False

    def set_data(self, X, y):  # noqa: ARG002
        """Keep the rows; there are no targets."""
        self.X = X

    def supports(self, n_rows):
        """Whether it ends in reasonable time."""
        return n_rows <= self.most_rows

    def run(self, stop):
        """Fit."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model = self.make(stop).fit(self.X)

    def get_result(self):
        """Return the objective, computed outside of the run."""
        total = NU * self.X.shape[0]
        factor = total if self.is_scaled else 1.0
        w, rho = factor * np.ravel(np.asarray(self.model.coef_)), factor * float(np.ravel(self.model.offset_)[0])
        scores = self.X @ w
        value = 0.5 * float(w @ w) - total * rho + float(np.maximum(0.0, rho - scores).sum())
        gap = getattr(getattr(self.model, "certificate_", None), "relative", math.nan)
        return {"objective": value, "gap": gap}


class OneClassMaxmargin(_OneClass):
    """The tolerance is the relative duality gap that is proven; the time holds the proof."""

    name = "maxmargin"
    tolerances: ClassVar[tuple[float, ...]] = tuple(10.0**-k for k in range(1, 9))

    def make(self, tolerance):
        """Return the estimator."""
        return maxmargin.OneClassSVM(kernel="linear", nu=NU, tol=tolerance)


class OneClassSGD(_OneClass):
    """Stochastic subgradients."""

    name = "SGDOneClassSVM"
    is_scaled = True

    def make(self, _stop):
        """Return the estimator."""
        return sklearn.linear_model.SGDOneClassSVM(nu=NU, random_state=0)


class OneClassLibsvm(_OneClass):
    """Steps on pairs; its time grows with the square of the rows."""

    name = "LIBSVM"
    most_rows = 10_000

    def make(self, _stop):
        """Return the estimator."""
        return sklearn.svm.OneClassSVM(kernel="linear", nu=NU, cache_size=1000)
