"""Film reviews, good or bad: 25,000 sparse rows of unit length."""

from data import as_signs, load_text
from suite import Dataset


class ImdbTfidf(Dataset):
    """Separable; needs some forty passes, most of them with few mistakes."""

    name = "imdb.tfidf"
    parts = ("passes", "until_clean", "lazy", "startup")

    def get_data(self):
        """Return sparse rows."""
        X, y = load_text("imdb.tfidf")
        return {"X": X, "y": as_signs(y > 0)}
