"""Data for tests: small real sets are bundled; larger ones are looked for in a folder."""

import gzip
import lzma
import os
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

BUNDLED = Path(__file__).resolve().parent / "datasets"
FOLDER = Path(os.environ.get("MAXMARGIN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))

COLUMNS = {
    "mushrooms": 112,
    "sonar_scale": 60,
    "leu": 7129,
    "colon-cancer": 2000,
    "heart_scale": 13,
    "ionosphere_scale": 34,
    "australian_scale": 14,
    "breast-cancer_scale": 10,
    "a9a": 123,
    "sms-spam": 8890,
    "letter.scale": 16,
}


@cache
def load(name):
    """Return X (CSR) and y of a set: bundled, or from the folder of large sets, or a wide one made here."""
    for folder in (BUNDLED, FOLDER):
        for suffix, opener in ((".svm.gz", gzip.open), (".svm.xz", lzma.open)):
            path = folder / (name + suffix)
            if path.exists():
                with opener(path, "rb") as file:
                    X, y = load_svmlight_file(file, n_features=COLUMNS[name])
                return sp.csr_array(X), y
    return wide_set(name)


def wide_set(name):
    """A separable set with more columns than rows, in place of ``leu`` or ``colon-cancer``."""
    generator = np.random.default_rng(len(name))
    X = generator.uniform(-1, 1, ({"leu": 38, "colon-cancer": 62}[name], 200))
    scores = X @ generator.standard_normal(200)
    return sp.csr_array(X), np.where(scores > np.median(scores), 1.0, -1.0)


SEPARABLE = ["mushrooms", "sonar_scale", "leu", "colon-cancer"]
NOT_SEPARABLE = ["heart_scale", "ionosphere_scale", "australian_scale"]


def signs_of(y):
    """-1 and +1, as the package takes two labels."""
    return np.where(y == np.max(y), 1.0, -1.0)


def hardly_separable(n=2000, d=50, n_classes=2, margin=1e-7):
    """Classes that planes separate, but with so small a margin that passes of a perceptron do not end in our time."""
    generator = np.random.default_rng(0)
    X, y = generator.standard_normal((n, d)), generator.integers(0, n_classes, n)
    for label in range(n_classes):
        X[:, label] = np.where(y == label, margin, -margin)
    return X, y


def random_set(seed, n=60, d=7, noise=0.1, grid=None):
    """A random two-class set; on a ``grid`` all arithmetic is exact, so that margins of exactly zero occur."""
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n, d))
    if grid:
        X = np.round(X * grid) / grid
    y = np.where(X @ generator.standard_normal(d) + 0.3 > 0, 1, -1)
    flip = generator.random(n) < noise
    y[flip] = -y[flip]
    y[:2] = [1, -1]
    return X, y
