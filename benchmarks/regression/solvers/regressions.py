"""The package and scikit-learn."""

from typing import Any, ClassVar

import numpy as np
from sklearn.linear_model import Lasso as TheirLasso
from sklearn.linear_model import Ridge as TheirRidge

from maxmargin import Lasso, Ridge
from suite import Solver

MOST_PASSES = 10_000


class _Regression(Solver):
    parts: ClassVar[tuple[str, ...]] = ("ridge", "lasso")

    def set_data(self, X, y):
        """Take the data, and find the largest useful penalty of the lasso."""
        self.X, self.y = X, y
        self.largest = float(np.abs(X.T @ (y - y.mean())).max())

    def run(self, stop):
        """Fit."""
        self.stop = stop
        self.lam = stop.penalty if stop.kind == "ridge" else stop.penalty * self.largest
        self.model = self.make(stop).fit(self.X, self.y)

    def make(self, stop: Any) -> Any:
        """Return the estimator."""
        raise NotImplementedError

    def get_result(self):
        """Return the objective, computed outside."""
        w = self.model.coef_
        residuals = self.y - self.X @ w - self.model.intercept_
        if self.stop.kind == "ridge":
            value = residuals @ residuals + self.lam * w @ w
        else:
            value = 0.5 * residuals @ residuals + self.lam * np.abs(w).sum()
        proof = getattr(self.model, "certificate_", None)
        return {"objective": float(value), "gap": proof.relative if proof else float("nan")}


class Maxmargin(_Regression):
    """The tolerance is the relative duality gap."""

    name = "maxmargin"
    tolerances = tuple(10.0**-k for k in range(3, 12))

    def make(self, stop):
        """Return the estimator."""
        return (Ridge if stop.kind == "ridge" else Lasso)(lam=self.lam, tol=stop.tolerance)


class ScikitLearn(_Regression):
    """The solvers that it chooses itself."""

    name = "scikit-learn"

    def make(self, stop):
        """Return the estimator."""
        if stop.kind == "ridge":
            return TheirRidge(self.lam, tol=stop.tolerance)
        return TheirLasso(self.lam / len(self.y), tol=stop.tolerance, max_iter=MOST_PASSES)
