"""What all solvers share: the stall test, the termination test, and sums over a fixed tree."""

import threading

import numpy as np

from maxmargin.solvers.core import Monitor, Options, Result, StallTest, Status


def incumbent(primal, dual, n_iter=0):
    return Result(np.zeros(1), 0.0, np.zeros(1), primal=primal, dual=dual, n_iter=n_iter)


def stalls(test, values):
    """What the test says after every unit of work."""
    return [test.update(incumbent(*value), work) for work, value in enumerate(values, start=1)]


def test_a_run_stalls_once_its_work_without_progress_exceeds_the_patience():
    test = StallTest(2.0)
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


def test_growth_lets_a_run_that_was_long_go_on_longer():
    late, early = StallTest(0.0, growth=2.0), StallTest(0.0, growth=2.0)
    late.count(True, 50.0)
    early.count(True, 5.0)
    assert [late.count(False, work) for work in (60.0, 100.0, 100.5)] == [False, False, True]
    assert early.count(False, 60.0) is True
    # Progress starts the count again.
    late.count(True, 101.0)
    assert late.idle == 0
    assert late.count(False, 150.0) is False


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
