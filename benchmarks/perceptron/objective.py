"""The suite of the perceptron family."""

from perceptron.picture import draw
from suite import Objective


class PerceptronFamily(Objective):
    """Passes, time to a separating plane, lazy passes, margins and the first fit."""

    title = "Perceptron family"
    part_order = ("passes", "until_clean", "lazy", "margin", "startup")

    def draw(self, findings, path):
        """Draw the ratios to the rivals, and the passes on imdb.tfidf."""
        draw(findings, path)
