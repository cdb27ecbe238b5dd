"""scikit-learn's perceptron: stochastic gradient descent with a fixed step."""

from sklearn.linear_model import Perceptron

from suite import Solver

MOST_PASSES = 20_000


class ScikitLearn(Solver):
    """``sklearn.linear_model.Perceptron.fit`` in the order of the rows."""

    name = "scikit-learn"
    parts = ("passes", "until_clean")

    def warm_up(self, stop):
        """Find how many passes are needed: it does not stop by itself when nothing is misclassified."""
        self.passes = stop.passes or self._passes_until_clean(stop)
        self.run(stop)

    def run(self, stop):
        """Fit for the number of passes that is known to be needed."""
        self.model = Perceptron(
            fit_intercept=stop.fit_intercept(self.X), shuffle=False, tol=None, max_iter=self.passes
        ).fit(self.X, self.y)

    def get_result(self):
        """Return the hyperplane and the passes that were made."""
        return {"w": self.model.coef_[0], "intercept": self.model.intercept_[0], "passes": self.passes}

    def _passes_until_clean(self, stop):
        model = Perceptron(fit_intercept=stop.fit_intercept(self.X), shuffle=False)
        for passes in range(1, MOST_PASSES):
            model.partial_fit(self.X, self.y, classes=[-1, 1])
            if model.score(self.X, self.y) == 1.0:
                return passes
        return MOST_PASSES
