"""Extrapolation of coordinate ascent."""

import numpy as np
import pytest

from linear_svm_cases import data_of, every_loss
from maxmargin.data import Points
from maxmargin.loops.coordinate import DUAL, LOWER, UPPER
from maxmargin.problems.linear_svm import LOSSES, REGRESSION_LOSSES, LinearSVMProblem
from maxmargin.solvers.core import Monitor, Status
from maxmargin.solvers.linear import coordinate_ascent, extrapolation
from maxmargin.solvers.linear.options import LinearOptions


def problem_of(loss, penalty, C):
    X, y = data_of(loss)
    weights = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    losses = LOSSES[loss](y, weights, C) if loss in LOSSES else REGRESSION_LOSSES[loss](y, weights, C, 0.1)
    return LinearSVMProblem(Points(X), losses, penalty)


@every_loss
@pytest.mark.parametrize("penalty", [0.0, 1.0, np.inf])
def test_a_step_is_taken_to_a_better_point_of_the_box_or_not_at_all(loss, penalty, monkeypatch):
    problem, taken = problem_of(loss, penalty, 30.0), []
    step = extrapolation.Extrapolation._step

    def checked(self):
        ascent = self._ascent
        beta, w, b = ascent.state[:, DUAL].copy(), ascent.w.copy(), float(ascent.b[0])
        before = self._objective(beta)
        moved = step(self)
        taken.append(moved)
        after = ascent.state[:, DUAL]
        if not moved:
            assert np.array_equal(after, beta)
            assert np.array_equal(ascent.w, w)
            assert ascent.b[0] == b
            return moved
        assert self._objective(after) > before
        assert np.all((ascent.state[:, LOWER] <= after) & (after <= ascent.state[:, UPPER]))
        scale = np.abs(problem.points.matrix).T @ np.abs(after)
        assert np.all(np.abs(ascent.w - problem.points.combination(after)) <= 1e-10 * scale + 1e-300)
        change = after.sum() - beta.sum()
        assert ascent.b[0] == pytest.approx(b + ascent.intercept_step * change, abs=1e-9 * (1.0 + abs(b)))
        return moved

    monkeypatch.setattr(extrapolation.Extrapolation, "_step", checked)
    # In some orders every attempt leaves the box: of the runs with kinks at zero, one of three.
    for seed in range(6):
        if not any(taken):
            coordinate_ascent.solve(problem, LinearOptions(tol=1e-7, seed=seed), Monitor())
    assert any(taken)


@every_loss
@pytest.mark.parametrize("penalty", [0.0, np.inf])
def test_slow_tails_end_sooner_at_the_same_optimum(loss, penalty, monkeypatch):
    problem, until = problem_of(loss, penalty, 30.0), LinearOptions(tol=1e-7)
    # Whatever an attempt costs: the data are small.
    monkeypatch.setattr(extrapolation, "ENTRIES_PER_NUMBER", 0.0)
    found = coordinate_ascent.solve(problem, until, Monitor())
    monkeypatch.setattr(extrapolation, "FIRST_EPOCHS", 10**9)
    plain = coordinate_ascent.solve(problem, until, Monitor())
    assert found.status is plain.status is Status.SOLVED
    assert found.primal == pytest.approx(plain.primal, rel=3e-7)
    assert found.n_iter < 0.7 * plain.n_iter
