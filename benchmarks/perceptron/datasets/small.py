"""Small separable sets."""

from data import as_signs, load_text
from suite import Dataset


class Mushrooms(Dataset):
    """8,124 sparse rows of 112 columns, zeros and ones."""

    name = "mushrooms"
    parts = ("until_clean", "lazy", "margin")

    def get_data(self):
        """Return sparse rows."""
        X, y = load_text("mushrooms")
        return {"X": X, "y": as_signs(y == 2)}


class SmsSpam(Dataset):
    """5,574 short messages as sparse word counts."""

    name = "sms-spam"
    parts = ("until_clean", "lazy")

    def get_data(self):
        """Return sparse rows."""
        X, y = load_text("sms-spam")
        return {"X": X, "y": as_signs(y > 0)}


class Leu(Dataset):
    """38 dense rows of 7,129 columns."""

    name = "leu"
    parts = ("until_clean", "margin")

    def get_data(self):
        """Return an array."""
        X, y = load_text("leu")
        return {"X": X.toarray(), "y": as_signs(y > 0)}


class Sonar(Dataset):
    """208 dense rows of 60 columns; barely separable, so that thousands of passes are needed."""

    name = "sonar_scale"
    parts = ("until_clean", "margin", "startup")

    def get_data(self):
        """Return an array."""
        X, y = load_text("sonar_scale")
        return {"X": X.toarray(), "y": as_signs(y > 0)}
