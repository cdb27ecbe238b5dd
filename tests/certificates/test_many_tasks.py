"""Gaps of many small tasks, measured at once: the same as those of each task alone."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC, LinearSVC
from maxmargin.certificates import (
    groups_of_tasks,
    measure_gap,
    measure_gaps,
    measure_kernel_gap,
    measure_pair_gaps,
    svm_gap,
)
from maxmargin.certificates.task_sums import ManyTasks, exact_sums
from maxmargin.data import Points
from real_data import random_set


def several_classes(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of five classes of unequal sizes."""
    X, _ = random_set(seed, 120, 6)
    y = np.random.default_rng(seed).choice(5, size=120, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    y[:10] = np.arange(10) % 5
    return X + 0.5 * y[:, None], y


@pytest.mark.parametrize("parameters", [{}, {"loss": "squared_hinge"}, {"penalize_intercept": True}, {"C": 1e-3}])
@pytest.mark.parametrize("weighted", [False, True])
def test_gaps_of_classes_are_those_of_each_alone(parameters, weighted):
    X, y = several_classes(3)
    weights = np.arange(y.size) % 3 + 0.0 if weighted else None
    model = LinearSVC(max_iter=3, random_state=0, **parameters)
    with pytest.warns(match="max_iter"):
        model.fit(X, y, weights)
    problems = model._problems(model._tasks(model._validate(X, y, weights)))
    # Duals that are neither in their box nor balanced.
    betas = model.dual_coef_ * np.random.default_rng(0).uniform(0.5, 1.5, model.dual_coef_.shape)
    found = measure_gaps(problems, model.coef_, model.intercept_, betas)
    for k, problem in enumerate(problems):
        alone = measure_gap(problem, model.coef_[k], float(model.intercept_[k]), betas[k])
        alone.check(found[k])
        found[k].check(alone)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_groups_of_classes_have_the_gaps_of_each_alone_for_any_number_of_threads(make, monkeypatch):
    X, y = several_classes(4)
    X = make(X)
    # As if the data were large: five classes, two of them at a time.
    monkeypatch.setattr(svm_gap, "ENTRIES_PER_BLOCK", 1)
    monkeypatch.setattr(svm_gap, "MOST_ROWS_AT_ONCE", 2 * y.size)
    model, other = (LinearSVC(C=0.1, random_state=0, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    assert groups_of_tasks(Points(X), 5) == [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert model.certificate_ == other.certificate_
    problems = model._problems(model._tasks(model._validate(X, y, None)))
    for k, (problem, proof) in enumerate(zip(problems, model.certificate_.proofs, strict=True)):
        alone = measure_gap(problem, model.coef_[k], float(model.intercept_[k]), model.dual_coef_[k])
        alone.check(proof)
        proof.check(alone)


@pytest.mark.parametrize("parameters", [{}, {"kernel": "poly"}, {"kernel": "sigmoid"}, {"C": 100.0, "tol": 1e-7}])
def test_gaps_of_pairs_are_those_of_each_alone(parameters):
    X, y = several_classes(5)
    model = SVC(**parameters).fit(X, y)
    pairs = model._tasks(model._validate(X, y, None))
    problems, duals = model._problems(pairs), np.zeros((y.size, model.intercept_.size))
    duals[model.support_] = model._task_coefficients()
    betas = [duals[pair.rows, k] for k, pair in enumerate(pairs.tasks())]
    # One pair with duals that have to be projected.
    betas[2] = 1.1 * betas[2] + 0.01
    found = measure_pair_gaps(problems, betas, model.intercept_)
    for k, problem in enumerate(problems):
        alone = measure_kernel_gap(problem, betas[k], float(model.intercept_[k]))
        alone.check(found[k])
        found[k].check(alone)


def test_two_largest_of_tasks_are_those_of_each():
    values = np.array([3.0, 1.0, 3.0, 5.0, 2.0, 4.0, -1.0, -1.0, 7.0])
    tasks = ManyTasks([3, 3, 2, 1])
    found = tasks.two_largest(values)
    assert found[:3] == [[3.0, 3.0], [4.0, 5.0], [-1.0, -1.0]]
    # Of one row there is no second.
    assert found[3] == [-math.inf, 7.0]


def test_sums_of_tasks_are_exact():
    generator = np.random.default_rng(0)
    sizes = [1, 7, 40, 3]
    values = generator.normal(size=sum(sizes)) * 10.0 ** generator.integers(-30, 30, size=sum(sizes))
    tasks = ManyTasks(sizes)
    assert exact_sums(values, tasks) == [math.fsum(part) for part in tasks.parts(values)]
