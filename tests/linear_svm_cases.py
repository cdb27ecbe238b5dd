"""Models and data that tests of linear support vector machines share."""

from functools import cache

import pytest
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale

from maxmargin import (
    LinearSVC,
    LinearSVR,
)
from real_data import load, signs_of

CLASSIFIER_LOSSES = ["hinge", "squared_hinge"]
REGRESSION_LOSSES = ["epsilon_insensitive", "squared_epsilon_insensitive"]
every_loss = pytest.mark.parametrize("loss", CLASSIFIER_LOSSES + REGRESSION_LOSSES)
both_solvers = pytest.mark.parametrize("solver", ["newton", "coordinate"])


def machine(loss, **parameters):
    return (LinearSVC if loss in CLASSIFIER_LOSSES else LinearSVR)(loss=loss, **parameters)


@cache
def data_of(loss):
    """Rows, and labels -1 and +1 or values, as the loss asks for."""
    if loss in CLASSIFIER_LOSSES:
        X, y = load("heart_scale")
        return X.toarray(), signs_of(y)
    X, y = load_diabetes(return_X_y=True)
    return scale(X), scale(y) + 0.5
