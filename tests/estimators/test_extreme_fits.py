"""Fits at the ends of float64 end with a model, or with an error that names the argument."""

import warnings

import numpy as np
import pytest

from maxmargin import SVC, Lasso, LinearSVR, MarginPerceptron, Perceptron, incremental_search_bound

X = np.random.default_rng(0).standard_normal((12, 2))
Y = np.arange(12) % 4


def fitted(model, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*arguments, **options)


@pytest.mark.parametrize("model", [Perceptron, MarginPerceptron])
def test_rows_too_short_to_be_normalised_are_refused(model):
    rows = np.vstack([X, [5e-324, 0.0]])
    with pytest.raises(ValueError, match="X has rows shorter than 1e-300"):
        model(normalize=True, fit_intercept=False).fit(rows, [*Y, 1])
    # With an intercept no point (x, 1) is short, and a row of zeros stays what it is.
    fitted(model(normalize=True, max_iter=5), rows, [*Y, 1])
    fitted(model(normalize=True, fit_intercept=False, max_iter=5), np.vstack([X, [0.0, 0.0]]), [*Y, 1])


def test_limits_that_overflow_are_no_limits():
    model = fitted(MarginPerceptron(gamma=1e-100, max_iter=5), 1e100 * X, Y)
    assert np.isfinite(model.coef_).all()
    assert incremental_search_bound(radius=1e100, gamma=1e-100) == np.inf


def test_pairs_of_classes_of_weight_zero():
    weights = np.where(Y < 2, 1.0, 0.0)
    model = fitted(SVC(kernel="linear"), X, Y, sample_weight=weights)
    assert set(model.predict(X[Y < 2])) <= {0, 1, 2, 3}
    assert all(np.isfinite(model.intercept_))


def test_products_that_underflow():
    # The squared residuals underflow, their products with the targets do not.
    rows = [[1.0, 5e-324, 0.0, 1.0], [1e-323, 2.0, 1.0, 1.0], [3.0, 1e-323, 2.0, 3.0]]
    assert fitted(Lasso(), rows, [0.0, 6e139, 2e139]).certificate_.dual >= 0.0
    model = LinearSVR(C=1e-100, solver="newton", loss="squared_epsilon_insensitive")
    assert fitted(model, X * [1e69, 1e49], Y).certificate_.primal >= 0.0
