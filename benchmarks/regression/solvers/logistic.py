"""Logistic regression: the package, and scikit-learn's solvers of the same objective."""

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.linear_model import LogisticRegression as Theirs

from maxmargin import LogisticRegression
from suite import Solver

MOST_STEPS = 300
# Its matrix of columns by columns would not fit.
LARGEST_MATRIX = 5000


class _Logistic(Solver):
    parts: ClassVar[tuple[str, ...]] = ("logistic",)
    tolerances: ClassVar[tuple[float, ...]] = tuple(10.0**-k for k in range(1, 10))

    def takes(self, X: Any) -> bool:  # noqa: ARG002
        """Whether the solver is made for such data."""
        return True

    def supports(self, penalty: Any) -> bool:  # noqa: ARG002
        """Whether the solver knows such a problem."""
        return True

    def run(self, stop):
        """Fit; ``stop`` is C and the tolerance."""
        self.stop = stop
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model = self.make(*stop).fit(self.X, self.y)

    def make(self, C: float, tolerance: float) -> Any:
        """Return the estimator."""
        raise NotImplementedError

    def get_result(self):
        """Return the objective, computed outside."""
        w = self.model.coef_[0]
        margins = self.y * (self.X @ w + self.model.intercept_[0])
        value = 0.5 * w @ w + self.stop[0] * np.logaddexp(0.0, -margins).sum()
        return {"objective": float(value), "model": self.model}


class Maxmargin(_Logistic):
    """The tolerance is the relative duality gap."""

    name = "maxmargin"

    def make(self, C, tolerance):
        """Return the estimator."""
        return LogisticRegression(C=C, tol=tolerance)


class _Rival(_Logistic):
    def make(self, C, tolerance):
        """Return scikit-learn's estimator."""
        return Theirs(C=C, tol=tolerance, solver=self.name, max_iter=MOST_STEPS)


class Lbfgs(_Rival):
    """Its default."""

    name = "lbfgs"


class NewtonCholesky(_Rival):
    """For many more rows than columns."""

    name = "newton-cholesky"

    def takes(self, X):
        """Whether the columns are few enough."""
        return X.shape[1] <= LARGEST_MATRIX


class NewtonCG(_Rival):
    """Conjugate gradients."""

    name = "newton-cg"
