"""Handwritten digits: 60,000 dense rows of 784 columns."""

from data import as_signs, load_images
from suite import Dataset


class Mnist8(Dataset):
    """The digit 8 against the rest; not separable."""

    name = "mnist 8"

    def get_data(self):
        """Return an array with entries in [0, 1]."""
        X, y = load_images("mnist")
        return {"X": X / 255.0, "y": as_signs(y == 8)}
