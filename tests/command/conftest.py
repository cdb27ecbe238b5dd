"""Files that several tests of the command read."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import scale

from maxmargin.files import write_svmlight


@pytest.fixture
def cancer(tmp_path):
    """A file of two classes."""
    X, y = load_breast_cancer(return_X_y=True)
    path = tmp_path / "cancer.svm"
    write_svmlight(path, scale(X), np.where(y == 1, 1, -1))
    return path


@pytest.fixture
def iris(tmp_path):
    """A file of three classes."""
    path = tmp_path / "iris.svm.gz"
    write_svmlight(path, *load_iris(return_X_y=True))
    return path


@pytest.fixture
def petals(tmp_path):
    """A file of values."""
    path = tmp_path / "petals.svm"
    X, _ = load_iris(return_X_y=True)
    write_svmlight(path, X[:, :3], X[:, 3])
    return path
