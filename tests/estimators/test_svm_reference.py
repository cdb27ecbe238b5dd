"""Linear support vector machines against an interior-point solver that is given the textbook's quadratic programs."""

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import textbook
from maxmargin import LinearSVC, LinearSVR, Status
from real_data import random_set

TOL = 1e-6
# What the interior-point solver's values are worth, relatively.
ACCURACY = 1e-8

LOSSES = [
    ("hinge", None),
    ("squared_hinge", None),
    ("epsilon_insensitive", 0.0),
    ("epsilon_insensitive", 0.3),
    ("squared_epsilon_insensitive", 0.0),
    ("squared_epsilon_insensitive", 0.3),
]
INTERCEPTS = {
    "none": ({"fit_intercept": False}, np.inf),
    "free": ({}, 0.0),
    "penalised": ({"penalize_intercept": True}, 1.0),
    "penalised less": ({"penalize_intercept": True, "intercept_scaling": 3.0}, 1.0 / 9.0),
}


def hard_rows():
    """Rows of zeros, rows given twice, and rows given with two labels or values, among ordinary ones."""
    generator = np.random.default_rng(5)
    X, y = random_set(5, n=12, d=4, noise=0.15)
    X *= 0.3
    values = X @ [1.0, -2.0, 0.5, 0.0] + 0.7 + generator.laplace(scale=0.6, size=len(X))
    rows = np.vstack([X, np.zeros((3, 4)), X[:3], X[3:6]])
    labels = np.concatenate([y, [1, -1, 1], y[:3], -y[3:6]])
    targets = np.concatenate([values, [1.0, -0.5, 0.25], values[:3], -values[3:6]])
    weights = {
        "no weights": np.ones(len(rows)),
        "whole weights": generator.integers(0, 4, len(rows)).astype(float),
        "fractions": generator.uniform(0.1, 2.5, len(rows)),
    }
    return rows, labels, targets, weights


ROWS, LABELS, TARGETS, WEIGHTS = hard_rows()


class Case(NamedTuple):
    """One of the problems: the parameters of the estimator, and of the program."""

    loss: str
    epsilon: float | None
    intercept: str
    weighting: str
    C: float

    @property
    def y(self):
        return LABELS if self.epsilon is None else TARGETS

    @property
    def prices(self):
        return self.C * WEIGHTS[self.weighting]

    @property
    def program(self):
        return {"squared": "squared" in self.loss, "epsilon": self.epsilon, "rho": INTERCEPTS[self.intercept][1]}

    def fitted(self, X, **parameters):
        parameters |= {"C": self.C, "loss": self.loss, "tol": TOL, "random_state": 0, **INTERCEPTS[self.intercept][0]}
        model = LinearSVC(**parameters) if self.epsilon is None else LinearSVR(epsilon=self.epsilon, **parameters)
        weights = None if self.weighting == "no weights" else WEIGHTS[self.weighting]
        return model.fit(X, self.y, sample_weight=weights)


@cache
def optimum(case):
    """The least and the greatest value that the best objective can have, if the solver's dual can be trusted."""
    best = textbook.solve(ROWS, case.y, case.prices, **case.program)
    value = textbook.objective(ROWS, case.y, case.prices, best.w, best.b, **case.program)
    assert abs(value - best.dual) <= ACCURACY * value
    return best.dual * (1 - ACCURACY), value


def check_against_program(case, model):
    least, greatest = optimum(case)
    ours = textbook.objective(ROWS, case.y, case.prices, model.coef_.ravel(), model.intercept_[0], **case.program)
    proof = model.certificate_
    assert ours <= greatest * (1 + 1e-6), model.status_
    assert proof.dual <= greatest
    assert least <= ours <= proof.primal
    assert proof.relative <= TOL
    assert model.status_ is Status.SOLVED


every_loss = pytest.mark.parametrize(("loss", "epsilon"), LOSSES)
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)
both_solvers = pytest.mark.parametrize("solver", ["newton", "coordinate"])


@every_loss
@every_intercept
@pytest.mark.parametrize("weighting", WEIGHTS)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@both_solvers
def test_the_model_is_the_solution_of_the_quadratic_program(loss, epsilon, intercept, weighting, C, solver):
    case = Case(loss, epsilon, intercept, weighting, C)
    check_against_program(case, case.fitted(ROWS, solver=solver))


@every_loss
@every_intercept
@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("selection", ["cyclic", "greedy"])
def test_other_orders_of_ascent_find_the_same_solution(loss, epsilon, intercept, C, selection):
    case = Case(loss, epsilon, intercept, "whole weights", C)
    check_against_program(case, case.fitted(ROWS, selection=selection))


@every_loss
@pytest.mark.parametrize("selection", ["random", "cyclic", "greedy"])
@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
def test_an_ascent_that_is_slow_has_not_stalled(loss, epsilon, selection):
    model = Case(loss, epsilon, "penalised less", "whole weights", 100.0).fitted(
        ROWS, solver="coordinate", selection=selection, max_iter=1000
    )
    assert model.status_ in (Status.SOLVED, Status.ITERATION_LIMIT)


@every_loss
@every_intercept
@both_solvers
def test_sparse_rows_have_the_same_solution(loss, epsilon, intercept, solver):
    case = Case(loss, epsilon, intercept, "fractions", 1.0)
    check_against_program(case, case.fitted(sp.csr_array(ROWS), solver=solver))
