"""The share of a run that is done, from which the time that is left is estimated."""

import math

import numpy as np
import pytest

from maxmargin import SVC
from maxmargin.data import ClassPairs, LabelledPoints, Points
from maxmargin.solvers.core import Options, Result, step_listener


def result(gap, violation=0.0, largest=0.0):
    found = Result(np.empty(0), 0.0, np.empty(0), primal=1.0, dual=1.0 - gap)
    found.kkt_violation, found.largest_violation = violation, largest
    return found


def test_a_gap_is_measured_in_digits():
    options = Options(tol=1e-4)
    shares = [result(gap).share_done(options) for gap in (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5)]
    np.testing.assert_allclose(shares, [0.0, 0.25, 0.5, 0.75, 1.0, 1.0], rtol=1e-9)


def test_a_run_is_not_nearly_done_while_the_violation_is_large():
    options = Options(tol=1e-2, max_violation=1e-3)
    assert result(1e-2, violation=1.0, largest=1.0).share_done(options) == 0.0
    assert result(1e-2, violation=1e-1, largest=1.0).share_done(options) == pytest.approx(1 / 3)
    assert result(1e-2, violation=1e-3, largest=1.0).share_done(options) == pytest.approx(1.0)
    assert result(1e-1, violation=1e-3, largest=1.0).share_done(options) == pytest.approx(0.5)
    assert "KKT violation 0.1" in result(1e-2, violation=0.1, largest=1.0).summary(options)


def test_pairs_count_by_the_squares_of_their_rows():
    codes = np.repeat([0, 1, 2], [10, 20, 70])
    pairs = ClassPairs(LabelledPoints(Points(np.ones((100, 1))), np.arange(3), codes, None))
    squares = np.array([30.0, 80.0, 90.0]) ** 2
    np.testing.assert_allclose(pairs.shares_of_work(), squares / squares.sum())


def test_a_fit_reports_shares_that_end_at_one():
    random = np.random.default_rng(0)
    X = random.normal(size=(900, 5))
    y = (X @ random.normal(size=(5, 3))).argmax(axis=1)
    heard = []
    before = step_listener.set(lambda share, _found: heard.append(share))
    try:
        SVC(C=100.0, random_state=0).fit(X, y)
    finally:
        step_listener.reset(before)
    assert all(0.0 <= share <= 1.0 for share in heard)
    assert math.isclose(heard[-1], 1.0)
