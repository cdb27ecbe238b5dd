"""The suite of the perceptron family."""

from perceptron.picture import draw
from suite import Objective


class PerceptronFamily(Objective):
    """Passes, time to a separating hyperplane, lazy passes, margins and the first fit."""

    title = "Perceptron family"
    part_order = ("passes", "until_clean", "lazy", "margin", "startup")
    packages = ("scikit-learn", "river", "vowpalwabbit")
    picture_text = "Times of the rivals divided by ours, and the time of every pass on imdb.tfidf"

    def timing(self, options):
        """Name the rounds."""
        return (
            f"Times are medians of at least {options.repeats} rounds, in each of which the rivals take turns; "
            "ratios are medians of the rounds' ratios."
        )

    def draw(self, findings, path):
        """Draw the ratios to the rivals, and the passes on imdb.tfidf."""
        draw(findings, path)
