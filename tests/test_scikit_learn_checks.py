"""scikit-learn's own checks on every public estimator, in every mode that changes what is computed."""

import inspect

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin

ESTIMATORS = [
    value
    for value in (getattr(maxmargin, name) for name in maxmargin.__all__)
    if inspect.isclass(value) and issubclass(value, BaseEstimator)
]

MODES = [
    *(estimator() for estimator in ESTIMATORS),
    maxmargin.Perceptron(rule="batch"),
    maxmargin.Perceptron(average=True, normalize=True),
    maxmargin.Perceptron(init="random", early_stopping=True),
    maxmargin.MarginPerceptron(gamma=0.1, max_iter=50),
    maxmargin.KernelPerceptron(kernel="linear"),
    maxmargin.KernelPerceptron(kernel="precomputed"),
    maxmargin.LinearSVC(solver="newton", penalize_intercept=True, intercept_scaling=2.0),
    maxmargin.LinearSVC(solver="newton", loss="squared_hinge"),
    maxmargin.LinearSVC(solver="coordinate"),
    maxmargin.LinearSVC(solver="coordinate", loss="squared_hinge", penalize_intercept=True),
    maxmargin.LinearSVC(multi_class="crammer_singer"),
    maxmargin.LinearSVR(solver="newton", loss="squared_epsilon_insensitive", penalize_intercept=True),
    maxmargin.LinearSVR(solver="coordinate", epsilon=0.1),
]

ORDER_MATTERS = (
    "an online rule sees rows one after the other: two rows of weight 1 are two looks, one of weight 2 is one"
)


def expected_failures(estimator):
    """Only what the online rule cannot do by its nature; the batch rule passes these checks."""
    if isinstance(estimator, maxmargin.Perceptron) and estimator.rule == "online":
        return {
            "check_sample_weight_equivalence_on_dense_data": ORDER_MATTERS,
            "check_sample_weight_equivalence_on_sparse_data": ORDER_MATTERS,
        }
    return {}


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@parametrize_with_checks(MODES, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_all_estimators_are_found():
    names = {estimator.__name__ for estimator in ESTIMATORS}
    assert names >= {"Perceptron", "MarginPerceptron", "KernelPerceptron", "LinearSVC", "LinearSVR"}
