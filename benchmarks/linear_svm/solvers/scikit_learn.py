"""LIBLINEAR through scikit-learn."""

from sklearn.svm import LinearSVC

from linear_svm.tool import Tool


class Liblinear(Tool):
    """Coordinate ascent on the dual."""

    name = "LIBLINEAR"
    parts = ("race",)
    tolerances = (1.0, 0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
    remark = "`sklearn.svm.LinearSVC(loss='hinge', dual=True)` without a limit on the iterations"

    def run(self, stop):
        """Fit all classes."""
        self.stop = stop
        model = LinearSVC(
            C=stop.C,
            loss="hinge",
            dual=True,
            fit_intercept=False,
            tol=stop.tolerance,
            max_iter=2_000_000_000,
            random_state=0,
        )
        self.hyperplanes = model.fit(self.X, self.y).coef_
