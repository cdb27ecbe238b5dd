"""LIBSVM's programs, where they are installed, rows on which votes tie, and the memory that a call takes."""

import shutil
import subprocess
import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import load_digits

FEW_BYTES = 100 << 20


def bytes_at_most(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


needs_libsvm = pytest.mark.skipif(shutil.which("svm-predict") is None, reason="libsvm-tools is not installed")


def run(folder, *words):
    subprocess.run([shutil.which(words[0]), *words[1:]], cwd=folder, check=True, capture_output=True, timeout=120)


def predicted_there(folder, model, data="data"):
    run(folder, "svm-predict", data, model, "output")
    return np.loadtxt(folder / "output", ndmin=1)


def rows_with_ties():
    """Digits of a few columns, shuffled, so that many votes tie and labels do not appear in rising order."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(3).permutation(len(y))
    return X[order][:, 20:28] / 16.0, y[order] * 3 - 4
