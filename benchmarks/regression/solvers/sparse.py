"""Classifiers with an L1 penalty or an elastic net: the package, and scikit-learn's solvers."""

import numpy as np
import sklearn.linear_model
import sklearn.svm

import maxmargin
from regression.solvers.logistic import _Logistic

MOST_STEPS = 3000


class _Sparse(_Logistic):
    parts = ("sparse",)
    most_steps = MOST_STEPS

    def get_result(self):
        """Return the objective, computed outside."""
        penalty, w = self.stop[0], self.model.coef_[0]
        margins = self.y * (self.X @ w)
        losses = (
            np.logaddexp(0.0, -margins) if penalty.loss == "logistic" else np.square(np.maximum(0.0, 1.0 - margins))
        )
        value = penalty.l1_ratio * np.abs(w).sum() + 0.5 * (1.0 - penalty.l1_ratio) * w @ w + penalty.C * losses.sum()
        return {"objective": float(value), "model": self.model}

    def make(self, penalty, tolerance):
        """Return the estimator."""
        options = {"C": penalty.C, "tol": tolerance, "fit_intercept": False, **self.more(penalty)}
        if penalty.loss == "logistic":
            return self.logistic(l1_ratio=penalty.l1_ratio, **options)
        return self.linear_svc(penalty="l1", loss="squared_hinge", dual=False, **options)

    def more(self, penalty):  # noqa: ARG002
        """Further arguments."""
        return {}


class SparseMaxmargin(_Sparse):
    """The tolerance is the relative duality gap."""

    name = "maxmargin"
    logistic, linear_svc = maxmargin.LogisticRegression, maxmargin.LinearSVC


class SparseLiblinear(_Sparse):
    """Coordinate descent (squared hinge) and proximal Newton steps (logistic)."""

    name = "liblinear"
    logistic, linear_svc = sklearn.linear_model.LogisticRegression, sklearn.svm.LinearSVC

    def supports(self, penalty):
        """It has no elastic net."""
        return penalty.l1_ratio == 1.0

    def more(self, penalty):
        """Name the solver where there are several."""
        return {"max_iter": MOST_STEPS} | ({"solver": "liblinear"} if penalty.loss == "logistic" else {})


class Saga(_Sparse):
    """A stochastic gradient method with variance reduction."""

    name = "saga"
    logistic = sklearn.linear_model.LogisticRegression

    def supports(self, penalty):
        """It has no hinge loss."""
        return penalty.loss == "logistic"

    def more(self, penalty):  # noqa: ARG002
        """Name the solver."""
        return {"solver": "saga", "max_iter": 300}
