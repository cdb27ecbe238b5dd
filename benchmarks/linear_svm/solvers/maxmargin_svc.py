"""The package itself: whole fits, with validation and certificate."""

from typing import ClassVar

from linear_svm.tool import Tool
from maxmargin import LinearSVC


class Maxmargin(Tool):
    """``LinearSVC.fit``; the tolerance is a proven relative gap."""

    name = "maxmargin"
    parts = ("race", "choice", "growth")
    tolerances = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6)
    solver: ClassVar[str] = "auto"
    fit_intercept: ClassVar[bool] = False

    def warm_up(self, stop):
        """Fit with every solver, because the data of the warm-up may lead to another choice than the real ones."""
        for solver in ("coordinate", "newton", self.solver):
            self._fit(stop, solver)

    def run(self, stop):
        """Fit all classes."""
        self.stop = stop
        self.model = self._fit(stop, self.solver)
        self.hyperplanes = self.model.coef_

    def get_result(self):
        """Add what is proven."""
        certificate = self.model.certificate_
        proofs = [certificate] if self.signs.shape[0] == 1 else list(certificate.values())
        primal, dual = (sum(getattr(proof, side) for proof in proofs) for side in ("primal", "dual"))
        worst = max(proof.relative for proof in proofs)
        return {**super().get_result(), "dual": dual, "gap": (primal - dual) / primal, "worst gap": worst}

    def _fit(self, stop, solver):
        return LinearSVC(
            C=stop.C,
            loss="hinge",
            fit_intercept=self.fit_intercept,
            tol=stop.tolerance,
            max_time=stop.most_seconds,
            solver=solver,
            random_state=0,
        ).fit(self.X, self.y)


class MaxmarginCoordinate(Maxmargin):
    """The coordinate solver, whatever the data."""

    name = "coordinate"
    parts = ("choice",)
    solver = "coordinate"


class MaxmarginNewton(Maxmargin):
    """The Newton solver, whatever the data."""

    name = "newton"
    parts = ("choice",)
    solver = "newton"


class MaxmarginIntercept(Maxmargin):
    """With the intercept, which is not penalised."""

    name = "maxmargin, intercept"
    parts = ("intercept",)
    fit_intercept = True
