"""The problem of logistic regression: its intercept and its sigmoid."""

import math

import numpy as np
import pytest

from maxmargin.data import Points
from maxmargin.problems.logistic import LogisticProblem, sigmoid


@pytest.mark.parametrize("far", [-1e6, -3e3, 3e3, 1e6])
def test_the_intercept_balances_scores_that_are_far_from_zero(far):
    signs = np.where(np.arange(50) % 3 == 0, 1.0, -1.0)
    problem = LogisticProblem(Points(np.ones((50, 1))), signs, np.ones(50))
    scores = far + np.linspace(-1.0, 1.0, 50)
    b = problem.best_intercept(scores)
    assert abs(signs @ problem.others(scores + b)) <= 1e-8


def test_the_sigmoid_keeps_its_digits_at_both_ends():
    scores = np.array([-800.0, -40.0, 0.0, 40.0, 800.0])
    np.testing.assert_allclose(sigmoid(scores), [0.0, math.exp(-40.0), 0.5, 1.0, 1.0], rtol=1e-15)
