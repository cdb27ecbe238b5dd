"""What all solvers share: the stall test, the termination test, Gram matrices."""

import math
import threading

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.data import Points
from maxmargin.loops.termination import N_COUNTED, StallRule, begin, has_stalled
from maxmargin.solvers.core import Monitor, Options, Result, StallTest, Status, hessian
from maxmargin.solvers.core.deflation import DeflatedSystems


def incumbent(primal, dual, n_iter=0):
    return Result(np.zeros(1), 0.0, np.zeros(1), primal=primal, dual=dual, n_iter=n_iter)


def stalls(test, values):
    """What the test says after every unit of work."""
    return [test.update(incumbent(*value), work) for work, value in enumerate(values, start=1)]


def test_a_run_stalls_once_its_work_without_progress_reaches_the_patience():
    test = StallTest(3.0)
    # The first gap is progress, at work 1; after that three units pass without any.
    assert stalls(test, [(2.0, 1.0)] * 4) == [False, False, False, True]
    assert test.idle == 3


def test_a_smaller_gap_is_progress_only_below_its_factor():
    # The dual values stay; gaps of 0.5, then 10 % less, then a bit less than 10 % less than the last that counted.
    primal_of = lambda relative: 1.0 / (1.0 - relative)  # noqa: E731
    assert stalls(StallTest(0.0), [(primal_of(0.5), 1.0), (primal_of(0.44), 1.0)]) == [False, False]
    assert stalls(StallTest(0.0), [(primal_of(0.5), 1.0), (primal_of(0.46), 1.0)]) == [False, True]
    # Two small steps that together are large enough.
    assert stalls(StallTest(1.0), [(primal_of(0.5), 1.0), (primal_of(0.47), 1.0), (primal_of(0.44), 1.0)])[-1] is False


def test_a_larger_dual_value_is_progress_only_above_its_factor():
    assert stalls(StallTest(0.0), [(100.0, 1.0), (100.0, 1.02)]) == [False, False]
    assert stalls(StallTest(0.0), [(100.0, 1.0), (100.0, 1.005)]) == [False, True]
    # With gap_share, a rise by that share of the remaining gap is enough.
    assert stalls(StallTest(0.0, gap_share=1e-5), [(100.0, 1.0), (100.0, 1.005)]) == [False, False]
    assert stalls(StallTest(0.0, gap_share=1e-3), [(100.0, 1.0), (100.0, 1.005)]) == [False, True]


def test_a_smaller_primal_value_is_progress_only_where_that_is_asked_for():
    values = [(100.0, 0.0), (90.0, 0.0)]
    assert stalls(StallTest(0.0), values) == [False, True]
    assert stalls(StallTest(0.0, primal_factor=0.95), values) == [False, False]
    assert stalls(StallTest(0.0, primal_factor=0.85), values) == [False, True]
    # With gap_share, a fall by that share of the remaining gap is enough.
    assert stalls(StallTest(0.0, gap_share=0.1), values) == [False, False]
    assert stalls(StallTest(0.0, gap_share=0.2), values) == [False, True]


def test_primal_values_below_zero_fall_by_shares_of_their_size():
    # As those of machines with nu: a value that stays is no progress, whatever its sign.
    assert stalls(StallTest(2.0), [(-1.0, -2.0)] * 4) == [False, False, True, True]
    values = [(-1.0, -2.0), (-1.08, -2.0)]
    assert stalls(StallTest(0.0, gap_factor=0.0), values)[1] is True
    assert stalls(StallTest(0.0, gap_factor=0.0, primal_factor=0.95), values)[1] is False
    assert stalls(StallTest(0.0, gap_factor=0.0, primal_factor=0.9), values)[1] is True


def test_progress_starts_the_count_again():
    test = StallTest(10.0)
    test.count(True, 50.0)
    assert [test.count(False, work) for work in (55.0, 59.5, 60.0)] == [False, False, True]
    test.count(True, 101.0)
    assert test.idle == 0
    assert test.count(False, 110.5) is False


@pytest.mark.parametrize("shares", [(0.5, 0.5), (1e-3, 0.0), (0.0, 1e-3), (1e-9, 0.02)])
def test_every_run_ends_whatever_its_values_do(shares):
    """The two values approach each other by these shares of the gap at every step, or hardly at all."""
    test, primal, dual, n_steps = StallTest(5.0, dual_factor=math.inf, gap_share=1e-2), 1.0, 0.0, 0
    while not (test.update(incumbent(primal, dual), n_steps) or primal - dual <= 2.0**-48):
        gap = primal - dual
        primal, dual, n_steps = primal - shares[0] * gap, dual + shares[1] * gap, n_steps + 1
    assert n_steps <= 48 * (2 / 1e-2 + math.log(2.0) / -math.log(0.9)) * 5.0


@pytest.mark.parametrize(
    "rule",
    [
        StallRule(4.0, dual_factor=1.2),
        StallRule(3.0, gap_factor=0.99, primal_factor=1.0 - 1e-13),
        StallRule(2.0, 0.5, 1.01, 0.9),
    ],
)
def test_compiled_runs_have_the_same_stall_rule(rule):
    rng, verdicts = np.random.default_rng(0), []
    for _ in range(200):
        test, values, work, primal, dual = StallTest(**rule._asdict()), [0.0] * N_COUNTED, 0, math.inf, -math.inf
        sign = rng.choice([1.0, 1.0, -1.0])
        begin(values)
        for _ in range(12):
            # A first point may be missing; values fall and rise by little, by much or not at all.
            if rng.random() < 0.8:
                before = primal if math.isfinite(primal) else sign * 10.0
                primal = float(rng.choice([2.0, 1.0, 0.999, 0.9, 0.5])) * before
                risen = max(dual, 0.0) * rng.choice([1.0, 1.005, 1.1, 1.5]) + rng.choice([0.0, 0.0, 0.1])
                dual = min(primal, float(risen))
            work += int(rng.integers(0, 3))
            point = incumbent(primal, dual)
            verdicts.append(test.update(point, work))
            assert has_stalled.py_func(values, point.relative_gap, primal, dual, work, rule) == verdicts[-1]
    assert 0.05 < np.mean(verdicts) < 0.95


def test_a_tolerance_below_the_last_digits_ends_a_run():
    options = Options(tol=1e-300)
    assert Monitor().check_termination(incumbent(1.0, 1.0 - 1e-15), options, "epoch") is Status.STALLED
    assert Monitor().check_termination(incumbent(1.0, 1.0 - 1e-13), options, "epoch") is None
    assert Monitor().check_termination(incumbent(1.0, 1.0), options, "epoch") is Status.SOLVED


def test_the_goal_comes_before_max_iter_and_that_before_the_callback():
    asked = []

    def stop(report):
        asked.append((report.step, report.number, report.summary))
        return True

    monitor, options = Monitor(on_step=stop), Options(tol=1e-2, max_iter=5)
    solved, running = incumbent(1.0, 0.995, n_iter=5), incumbent(1.0, 0.5, n_iter=5)
    assert monitor.check_termination(solved, options, "epoch") is Status.SOLVED
    assert monitor.check_termination(running, options, "epoch") is Status.ITERATION_LIMIT
    running.n_iter = 4
    assert monitor.check_termination(running, options, "epoch") is Status.INTERRUPTED
    # The callback is called after every iteration, also the last one.
    assert asked == [("epoch", 5, "gap 0.005"), ("epoch", 5, "gap 0.5"), ("epoch", 4, "gap 0.5")]
    assert [entry[1:] for entry in running.history] == [(1.0, 0.5)] * 2


def test_limits_end_a_run_that_nothing_else_ends():
    options, running = Options(tol=1e-2), incumbent(1.0, 0.5)
    assert Monitor().check_termination(running, options, "epoch") is None
    assert Monitor(max_time=0.0).check_termination(running, options, "epoch") is Status.TIME_LIMIT
    asked = threading.Event()
    asked.set()
    assert Monitor(max_time=0.0, stop_requested=asked).check_termination(running, options, "") is Status.INTERRUPTED
    # An infeasible primal problem has an unbounded dual.
    running.infeasibility_bound = 0.4
    assert Monitor().check_termination(running, options, "epoch") is Status.NOT_SEPARABLE


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_gram_matrices_ask_whether_to_stop(container, monkeypatch):
    """Between pieces of rows, whose sums have the bits of the whole."""
    rng = np.random.default_rng(0)
    points, index, weights = (
        Points(container(rng.standard_normal((40, 3)))),
        np.arange(40, dtype=np.uint32),
        rng.random(40),
    )
    monkeypatch.setattr(hessian, "GATHERED_ENTRIES", 3 * 8)
    monkeypatch.setattr(hessian, "FEWEST_ENTRIES", 0)
    whole = hessian.signed_gram(points, index, weights, None)
    monkeypatch.setattr(hessian, "GRAM_OPERATIONS", 9 * 8)
    asked = []

    def stopped():
        asked.append(None)
        return len(asked) > 2

    assert np.array_equal(hessian.signed_gram(points, index, weights, None, stopped=lambda: False), whole)
    broken_off = hessian.signed_gram(points, index, weights, None, stopped=stopped)
    assert len(asked) == 3
    assert np.array_equal(broken_off, hessian.signed_gram(points, index[:16], weights[:16], None))


def test_systems_that_share_a_subspace_are_solved_and_later_ones_take_fewer_products():
    generator = np.random.default_rng(0)
    basis = np.linalg.qr(generator.standard_normal((60, 60)))[0]
    # A few large eigenvalues, whose directions hardly change from system to system.
    matrix = basis @ np.diag(np.concatenate([np.geomspace(1e3, 1e5, 12), np.linspace(1.0, 2.0, 48)])) @ basis.T
    systems, products = DeflatedSystems(60), []
    for shift in (0.0, 0.01, 0.02):
        shifted, right = matrix + shift * np.eye(60), generator.standard_normal(60)
        n_products = [0]

        def product(vector, shifted=shifted, n_products=n_products):
            n_products[0] += 1
            return shifted @ vector

        images = systems.basis @ shifted
        found = systems.solve(product, images, right, np.ones(60), 1e-10, 200)
        assert systems.is_solved
        np.testing.assert_allclose(found, np.linalg.solve(shifted, right), rtol=1e-6, atol=1e-9)
        products.append(n_products[0])
    assert max(products[1:]) < 0.7 * products[0]
    # Two steps are not enough, and that is told.
    fresh = DeflatedSystems(60)
    fresh.solve(product, np.empty((0, 60)), right, np.ones(60), 1e-10, 2)
    assert not fresh.is_solved
