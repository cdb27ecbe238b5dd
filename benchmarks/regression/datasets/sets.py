"""Data of all shapes: small, wide, sparse, tall."""

from sklearn.datasets import load_diabetes
from sklearn.preprocessing import PolynomialFeatures, scale

from data import as_signs, load_images, load_text
from datasets.covtype import scaled_rows
from suite import Dataset

PARTS = ("ridge", "lasso")


class Diabetes(Dataset):
    """442 rows of 10 columns."""

    name = "diabetes"
    parts = PARTS

    def get_data(self):
        """Return an array."""
        X, y = load_diabetes(return_X_y=True)
        return {"X": X, "y": y}


class DiabetesCubes(Diabetes):
    """The same with all products of up to three columns: 285 columns that look alike."""

    name = "diabetes, products"

    def get_data(self):
        """Return an array."""
        data = super().get_data()
        return {**data, "X": scale(PolynomialFeatures(3, include_bias=False).fit_transform(data["X"]))}


class Leukemia(Dataset):
    """38 rows of 7,129 columns."""

    name = "leu"
    parts = PARTS

    def get_data(self):
        """Return an array."""
        X, y = load_text("leu")
        return {"X": X.toarray(), "y": y}


class A9a(Dataset):
    """32,561 sparse rows of 123 columns."""

    name = "a9a"
    parts = PARTS

    def get_data(self):
        """Return sparse rows."""
        X, y = load_text(self.name)
        return {"X": X, "y": y}


class ImdbTfidf(A9a):
    """25,000 sparse rows of 47,603 columns."""

    name = "imdb.tfidf"


class Mnist(Dataset):
    """60,000 images of 784 columns; the digit is the target."""

    name = "mnist"
    parts = PARTS

    def get_data(self):
        """Return an array with entries in [0, 1]."""
        X, y = load_images("mnist")
        return {"X": X / 255.0, "y": y.astype(float)}


class Covtype(Dataset):
    """581,012 rows of 54 columns."""

    name = "covtype"
    parts = PARTS

    def get_data(self):
        """Return an array with entries in [0, 1]."""
        X, y = scaled_rows()
        return {"X": X, "y": y.astype(float)}


class _Signs(Dataset):
    parts = ("logistic",)


class A9aSigns(_Signs):
    """32,561 sparse rows of two classes."""

    name = "a9a, two classes"
    parts = ("logistic", "sparse")

    def get_data(self):
        """Return sparse rows."""
        X, y = load_text("a9a")
        return {"X": X, "y": as_signs(y == 1)}


class ImdbSigns(_Signs):
    """25,000 sparse rows of 47,603 columns, two classes."""

    name = "imdb.tfidf, two classes"
    parts = ("logistic", "sparse")

    def get_data(self):
        """Return sparse rows."""
        X, y = load_text("imdb.tfidf")
        return {"X": X, "y": as_signs(y == 1)}


class CovtypeSigns(_Signs):
    """581,012 rows of 54 columns, two classes."""

    name = "covtype, two classes"

    def get_data(self):
        """Return an array with entries in [0, 1]."""
        X, y = scaled_rows()
        return {"X": X, "y": y}


class W8aSigns(_Signs):
    """49,749 sparse rows of 300 columns, two classes."""

    name = "w8a, two classes"
    parts = ("sparse",)
    file = "w8a"

    def get_data(self):
        """Return sparse rows."""
        X, y = load_text(self.file)
        return {"X": X, "y": as_signs(y == 1)}


class Ijcnn1Signs(W8aSigns):
    """49,990 rows of 22 columns, two classes."""

    name = "ijcnn1, two classes"
    file = "ijcnn1"


class SmsSpamSigns(W8aSigns):
    """Sparse rows of text messages, two classes."""

    name = "sms-spam, two classes"
    file = "sms-spam"
