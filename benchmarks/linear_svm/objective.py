"""The suite of the linear support vector machine."""

from linear_svm.picture import draw
from suite import Objective


class LinearSVM(Objective):
    """Time to a given quality, the choice of the solver, the free intercept, growth and memory."""

    title = "Linear support vector machine"
    part_order = ("race", "choice", "intercept", "growth", "memory")
    packages = ("scikit-learn", "liblinear-multicore", "snapml", "rehline", "skglm")
    picture_text = "Relative distance from the best known objective against time"

    def timing(self, options):
        """Name the repeats."""
        return (
            f"A time is that of the whole `fit`: the median of {options.repeats} runs where a run takes less than "
            f"1 s, of {min(3, options.repeats)} below 5 s, one run above. Runs take turns."
        )

    def draw(self, findings, path):
        """Draw a panel a data set."""
        draw(findings, path)
