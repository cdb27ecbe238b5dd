"""The same call means the same model as scikit-learn's, or is refused by a sentence that says what to write."""

import re
from inspect import signature

import numpy as np
import pytest
import sklearn.linear_model as linear
from sklearn.base import BaseEstimator
from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline

import maxmargin as mm

X, y = load_diabetes(return_X_y=True)
PUBLIC = [getattr(mm, name) for name in mm.__all__]
ESTIMATORS = [value for value in PUBLIC if isinstance(value, type) and issubclass(value, BaseEstimator)]


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


# Names of the strength of a penalty here, and in other programs.
STRENGTHS = ("alpha", "lam", "C", "nu")
FOREIGN = (*STRENGTHS, "lamda", "lambda_", "Lambda", "lambd", "lamb", "reg_lambda", "reg_alpha", "alpa", "cost", "c")


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_foreign_and_misspelt_names_bring_the_nearest_one(estimator):
    names = estimator()._get_param_names()
    own = [name for name in STRENGTHS if name in names]
    cases = [(name, own) for name in FOREIGN if own and name not in names]
    for name in names:
        for place in range(len(name) * (len(name) > 4)):
            misspelt = name[:place] + name[place + 1 :]
            # "n_jobs" without "n" begins as a private name does.
            cases += [(misspelt, [name])] if misspelt not in names and misspelt.strip("_") == misspelt else []
    assert cases
    for name, expected in cases:
        words = f"did you mean '({'|'.join(expected)})'"
        with pytest.raises(TypeError, match=rf"^{estimator.__name__} has no parameter '{name}': {words}"):
            estimator(**{name: 1.0})
        if "__" not in name:
            with pytest.raises(ValueError, match=rf"^Invalid parameter '{name}' for estimator .* D{words[1:]}"):
                make_pipeline(estimator()).set_params(**{f"{estimator.__name__.lower()}__{name}": 1.0})
    with pytest.raises(ValueError, match=r"Valid parameters are: .*]\.$"):
        estimator().set_params(wholly_unknown=1)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_value_without_a_name_brings_a_parameter_that_takes_it(estimator):
    for values in ((0.5,), ("l2",), ("rbf",), (True,), (None,), (7,), (0.5, "rbf"), (object(),), ("sgd", 3)):
        with pytest.raises(TypeError, match=f"^{estimator.__name__} takes parameters by name: ") as caught:
            estimator(*values)
        words = str(caught.value).removesuffix(".").split(": ", 1)[1]
        if not words.startswith("write "):
            assert "is no value of" in words
            continue
        model = eval(words.removeprefix("write "), {estimator.__name__: estimator})
        # No error: the parameters may have these values.
        model._validate_params()
        assert set(values) <= set(model.get_params().values())


@pytest.mark.parametrize(
    ("call", "written"),
    [
        (lambda: mm.LinearSVC("l2"), "LinearSVC(penalty='l2')"),
        (lambda: mm.LogisticRegression("l2"), "LogisticRegression(penalty='l2')"),
        (lambda: mm.NuSVC(0.5), "NuSVC(nu=0.5)"),
        (lambda: mm.NuSVR(0.5), "NuSVR(nu=0.5)"),
        (lambda: mm.OneClassSVM(0.5), "OneClassSVM(nu=0.5)"),
        (lambda: mm.SVC(10.0, "linear"), "SVC(C=10.0, kernel='linear')"),
        (lambda: mm.MarginPerceptron(0.1), "MarginPerceptron(gamma=0.1)"),
        (lambda: mm.BayesianRegression(False), "BayesianRegression(fit_intercept=False)"),
    ],
)
def test_the_likeliest_parameter_comes_first(call, written):
    with pytest.raises(TypeError, match=re.escape(f"write {written}.")):
        call()


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_errors_about_arguments_of_a_fit_name_the_estimator(estimator, method):
    model, begins = estimator(), f"^{estimator.__name__}[.]{method}"
    fit = getattr(model, method, None)
    if fit is None:
        return
    labels = y > y.mean()
    for call in (
        lambda: fit(),
        lambda: fit(X, labels, *[None] * 9),
        lambda: fit(X, X=X),
        lambda: fit(X, labels, wholly=1),
    ):
        with pytest.raises(TypeError, match=begins):
            call()
    if "sample_weight" in signature(fit).parameters:
        for name in ("weights", "weight", "sampleweight", "sample_weights"):
            with pytest.raises(
                TypeError, match=rf"{begins}\(\) got an unexpected .* '{name}': did you mean 'sample_weight'"
            ):
                fit(X, labels, **{name: np.ones(len(y))})


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
