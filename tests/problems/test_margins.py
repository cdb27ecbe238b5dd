"""Margins of a hyperplane."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import incremental_search_bound, margin_perceptron_bound, margins
from real_data import random_set


def test_margins_of_a_plane():
    X, y = random_set(2)
    w, b = np.arange(1.0, 8.0), -2.0
    for data in (X, sp.csr_array(X), X.astype(np.float32)):
        result = margins(data, y, w, b)
        np.testing.assert_allclose(result.functional, y * (X @ w + b), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(result.geometric, y * (X @ w + b) / np.linalg.norm(w), rtol=1e-5, atol=1e-5)
        assert result.smallest == result.geometric.min()


@pytest.mark.parametrize("power", [-1060, -800, -400, 0, 400, 800])
def test_margins_of_coefficients_of_any_size(power):
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(30, 4)), rng.integers(0, 2, 30), np.array([3.0, -1.0, 2.0, 5.0])
    expected = margins(X, y, w, 0.5)
    found = margins(X, y, np.ldexp(w, power), np.ldexp(0.5, power))
    assert np.array_equal(found.geometric, expected.geometric)
    assert np.array_equal(found.functional, np.ldexp(expected.functional, power))
    sides = np.where(y == 1, 1.0, -1.0) * (X @ w + 0.5)
    assert expected.functional == pytest.approx(sides)
    assert expected.geometric == pytest.approx(sides / np.sqrt(39.0))


@given(st.floats(0.0, 1e150), st.floats(1e-150, 1e150))
def test_bounds_on_updates_are_rounded_up(radius, gamma):
    ratio = Fraction(radius) / Fraction(gamma)
    for found, exact in (
        (margin_perceptron_bound(radius, gamma), 8 * ratio**2 + 4 * ratio),
        (incremental_search_bound(radius, gamma), 64 * ratio**2),
    ):
        assert found == math.inf or Fraction(found) >= exact
        assert found == 0.0 or Fraction(math.nextafter(found, 0.0)) < exact
