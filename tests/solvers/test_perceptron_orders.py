"""Orders of the rows: those that are kept are those that the generator draws."""

from copy import deepcopy

import numpy as np
import pytest

from maxmargin import Perceptron
from maxmargin.solvers.perceptron import orders
from maxmargin.solvers.perceptron.orders import Shuffler


def drawn(seed, n_rows, n_epochs):
    """The orders that NumPy's generator draws, and the generator after them."""
    generator, order, found = np.random.default_rng(seed), np.arange(n_rows, dtype=np.uint32), []
    for _ in range(n_epochs):
        generator.shuffle(order)
        found.append(order.copy())
    return found, generator


def shuffled(shuffler, order, n_epochs):
    found = []
    for _ in range(n_epochs):
        shuffler.shuffle(order)
        found.append(order.copy())
    return found


@pytest.mark.parametrize(("n_rows", "kept"), [(40, 1 << 16), (40, 200), (40, 0)])
def test_orders_are_those_of_the_generator(monkeypatch, n_rows, kept):
    monkeypatch.setattr(orders, "KEPT_ENTRIES", kept)
    orders.kept_orders.cache_clear()
    expected, generator = drawn(3, n_rows, 12)
    for _ in range(2):
        # The second run finds orders that the first one has drawn.
        shuffler, order = Shuffler(3, n_rows), np.arange(n_rows, dtype=np.uint32)
        np.testing.assert_array_equal(shuffled(shuffler, order, 12), expected)
        assert shuffler.generator.bit_generator.state == generator.bit_generator.state
    orders.kept_orders.cache_clear()


def test_a_run_that_goes_on_from_a_generator_draws_the_same_orders():
    orders.kept_orders.cache_clear()
    expected, _ = drawn(0, 30, 9)
    shuffled(Shuffler(0, 30), np.arange(30, dtype=np.uint32), 9)
    first, order = Shuffler(0, 30), np.arange(30, dtype=np.uint32)
    shuffled(first, order, 4)
    later = Shuffler(1, 30)
    later.generator = deepcopy(first.generator)
    np.testing.assert_array_equal(shuffled(later, order.copy(), 5), expected[4:])
    np.testing.assert_array_equal(shuffled(first, order, 5), expected[4:])


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
def test_fits_do_not_depend_on_orders_drawn_before(monkeypatch):
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((120, 3)), rng.integers(0, 3, 120)
    orders.kept_orders.cache_clear()
    first = Perceptron(tol=1e-3).fit(X, y)
    second = Perceptron(tol=1e-3).fit(X, y)
    monkeypatch.setattr(orders, "KEPT_ENTRIES", 0)
    without = Perceptron(tol=1e-3).fit(X, y)
    np.testing.assert_array_equal(first.coef_, second.coef_)
    np.testing.assert_array_equal(first.coef_, without.coef_)
