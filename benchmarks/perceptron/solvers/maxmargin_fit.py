"""The package itself: a whole fit, with validation and certificate."""

from maxmargin import MarginPerceptron, Perceptron
from suite import Solver

# More passes than any separable set here needs.
PLENTY = 1_000_000


class MaxmarginFit(Solver):
    """``Perceptron.fit``."""

    name = "maxmargin"
    parts = ("passes", "until_clean")

    def run(self, stop):
        """Fit; a pass without a mistake ends it."""
        self.model = Perceptron(
            fit_intercept=stop.fit_intercept(self.X),
            shuffle=False,
            tol=None,
            max_iter=PLENTY if stop.passes is None else stop.passes,
        ).fit(self.X, self.y)

    def get_result(self):
        """Return the hyperplane and the passes that were made."""
        model = self.model
        return {
            "w": model.coef_[0],
            "intercept": model.intercept_[0],
            "passes": model.n_iter_,
            "rows": self.X.shape[0],
        }


class MaxmarginMargin(Solver):
    """``MarginPerceptron.fit`` without a guess."""

    name = "maxmargin margin"
    parts = ("margin",)

    def run(self, _stop):
        """Fit with the default options."""
        self.model = MarginPerceptron(gamma=None).fit(self.X, self.y)

    def get_result(self):
        """Return what was reached."""
        model = self.model
        return {
            "updates": model.n_updates_,
            "rounds": model.n_rounds_,
            "passes": model.n_iter_,
            "bracket": model.certificate_,
        }
