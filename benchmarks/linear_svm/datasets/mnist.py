"""Handwritten digits."""

from datasets.mnist import Mnist8


class Digit8(Mnist8):
    """The digit 8 against the rest."""

    parts = ("race", "choice", "intercept")
