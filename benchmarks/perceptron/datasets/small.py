"""Small separable sets."""

from data import as_signs, load_text
from datasets.signed_rows import DenseSignedRows, SignedRows
from suite import Dataset


class Mushrooms(Dataset):
    """8,124 sparse rows of 112 columns, zeros and ones."""

    name = "mushrooms"
    parts = ("until_clean", "lazy", "margin")

    def get_data(self):
        """Return sparse rows."""
        X, y = load_text("mushrooms")
        return {"X": X, "y": as_signs(y == 2)}


class SmsSpam(SignedRows):
    """5,574 short messages as sparse word counts."""

    name = "sms-spam"
    parts = ("until_clean", "lazy")


class Leu(DenseSignedRows):
    """38 dense rows of 7,129 columns."""

    name = "leu"
    parts = ("until_clean", "margin")


class Sonar(DenseSignedRows):
    """208 dense rows of 60 columns; barely separable, so that thousands of passes are needed."""

    name = "sonar_scale"
    parts = ("until_clean", "margin", "startup")
