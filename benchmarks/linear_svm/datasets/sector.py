"""Companies' web pages: 6,412 sparse rows of unit length, 105 classes."""

from data import load_text
from suite import Dataset


class Sector(Dataset):
    """Every class against the rest; the objectives are added up."""

    name = "sector.scale"
    parts = ("race", "choice", "intercept")

    def get_data(self):
        """Return sparse rows and the classes."""
        X, y = load_text("sector.scale")
        return {"X": X, "y": y.astype(int)}
