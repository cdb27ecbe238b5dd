"""Reading alone: our reader and scikit-learn's."""

from sklearn.datasets import load_svmlight_file

from maxmargin.files import read_svmlight
from suite import Solver


class _Reader(Solver):
    parts = ("reading",)

    def set_data(self, X, y):
        """Take the paths."""
        self.text, self.other = X, y

    def get_result(self):
        """Return the arrays."""
        return {"arrays": self.arrays}


class OurReader(_Reader):
    """All cores."""

    name = "maxmargin"

    def run(self, _stop):
        """Read."""
        self.arrays = read_svmlight(self.text)


class ScikitLearn(_Reader):
    """One core."""

    name = "scikit-learn"

    def run(self, _stop):
        """Read."""
        self.arrays = load_svmlight_file(str(self.text))
