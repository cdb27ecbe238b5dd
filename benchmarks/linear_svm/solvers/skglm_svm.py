"""skglm."""

from skglm import LinearSVC

from data import as_signs, load_text
from linear_svm.stops import Stop
from linear_svm.tool import Tool

FIRST_WORKING_SET = 1_000


class SkglmSVM(Tool):
    """Coordinate ascent on the dual with Anderson's extrapolation, on working sets."""

    name = "skglm"
    parts = ("race",)
    tolerances = (0.1, 1e-2, 1e-3, 1e-4, 1e-5)
    remark = (
        f"`LinearSVC(p0={FIRST_WORKING_SET})`: with its default of 10 rows in the first working set it is far slower"
    )

    def prepare(self):
        """Compile; its loops are not kept on disk."""
        X, y = load_text("heart_scale")
        for rows in (X, X.toarray()):
            self.set_data(rows, as_signs(y > 0))
            self.run(Stop(1.0, self.tolerances[0]))

    def fit_task(self, signs, stop):
        """Fit one task."""
        model = LinearSVC(
            C=stop.C,
            fit_intercept=False,
            tol=stop.tolerance,
            p0=min(FIRST_WORKING_SET, signs.size),
            max_iter=1_000_000,
        )
        return model.fit(self.X, signs).coef_[0]
