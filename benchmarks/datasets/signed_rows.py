"""Two classes in a text file, of which one has labels above zero."""

from data import as_signs, load_text
from suite import Dataset


class SignedRows(Dataset):
    """The file of the data set's name."""

    def get_data(self):
        """Return sparse rows."""
        X, y = load_text(self.name)
        return {"X": X, "y": as_signs(y > 0)}


class DenseSignedRows(SignedRows):
    """The same as an array."""

    def get_data(self):
        """Return an array."""
        data = super().get_data()
        return {**data, "X": data["X"].toarray()}


class ImdbTfidf(SignedRows):
    """Film reviews, good or bad: 25,000 sparse rows of unit length; separable."""

    name = "imdb.tfidf"
