"""Margins of a hyperplane."""

import numpy as np
import scipy.sparse as sp

from maxmargin import margins
from real_data import random_set


def test_margins_of_a_plane():
    X, y = random_set(2)
    w, b = np.arange(1.0, 8.0), -2.0
    for data in (X, sp.csr_array(X), X.astype(np.float32)):
        result = margins(data, y, w, b)
        np.testing.assert_allclose(result.functional, y * (X @ w + b), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(result.geometric, y * (X @ w + b) / np.linalg.norm(w), rtol=1e-5, atol=1e-5)
        assert result.smallest == result.geometric.min()
