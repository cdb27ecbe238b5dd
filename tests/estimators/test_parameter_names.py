"""The same call means the same model as scikit-learn's, or is refused by a sentence that says what to write."""

import numpy as np
import pytest
import sklearn.linear_model as linear
from sklearn.datasets import load_diabetes

import maxmargin as mm

X, y = load_diabetes(return_X_y=True)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: mm.Lasso(0.1), r"write Lasso\(alpha=0.1\)"),
        (lambda: mm.Ridge(0.1), r"write Ridge\(alpha=0.1\)"),
        (lambda: mm.LogisticRegression(10), r"write LogisticRegression\(C=10\)"),
        (lambda: mm.LinearSVC(alpha=1.0), "did you mean 'C'"),
        (lambda: mm.LinearSVC(max_itr=10), "did you mean 'max_iter'"),
        (lambda: mm.SVC(gama=1.0), "did you mean 'gamma'"),
        (lambda: mm.Ridge(lambda_=1.0), "did you mean 'lam'"),
        (lambda: mm.Perceptron(wholly_unknown=1), "it has penalty, alpha, l1_ratio"),
    ],
)
def test_unknown_and_unnamed_parameters(call, sentence):
    with pytest.raises(TypeError, match=sentence):
        call()


@pytest.mark.parametrize("alpha", [0.03, 0.1, 1.0])
def test_alpha_is_that_of_scikit_learn(alpha):
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    for sample_weight in (None, weights):
        for ours, theirs in (
            (mm.Ridge(alpha=alpha), linear.Ridge(alpha=alpha)),
            (mm.Lasso(alpha=alpha, tol=1e-9), linear.Lasso(alpha=alpha, tol=1e-10, max_iter=10**5)),
        ):
            ours.fit(X, y, sample_weight=sample_weight)
            theirs.fit(X, y, sample_weight=sample_weight)
            np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6)


def test_two_names_of_one_penalty_are_refused():
    for model in (
        mm.Ridge(alpha=1.0, lam=2.0),
        mm.Lasso(alpha=1.0, lam=2.0),
        mm.Lasso(alpha=1.0, sigma2=1.0, rate=1.0),
    ):
        with pytest.raises(ValueError, match="alpha is given, and so is"):
            model.fit(X, y)
    lecture = mm.Lasso(lam=0.1 * len(y), tol=1e-9).fit(X, y)
    np.testing.assert_allclose(mm.Lasso(alpha=0.1, tol=1e-9).fit(X, y).coef_, lecture.coef_, rtol=1e-6, atol=1e-6)
