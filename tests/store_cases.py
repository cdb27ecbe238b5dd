"""Helpers of the tests of stores."""

import numpy as np
import scipy.sparse as sp


def sparse_rows():
    """Sparse rows of two classes."""
    generator = np.random.default_rng(0)
    X = sp.random(60, 12, 0.4, format="csr", random_state=1)
    return X, np.where(generator.random(60) < 0.5, -1, 1)


def overwrite(path, place, value):
    """Change one number of an array on the disk."""
    mapped = np.memmap(path, dtype=np.int32, mode="r+")
    mapped[place] = value
    mapped.flush()


def written(path, text):
    """Write a table of text."""
    path.write_text(text)
    return path
