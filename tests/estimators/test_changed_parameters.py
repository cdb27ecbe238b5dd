"""What a fitted model says is about the parameters of its fit, whatever they are changed to later."""

import math
import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier

import maxmargin
from maxmargin import KernelPerceptron, LinearSVC, Perceptron, certify, load, save
from maxmargin.estimators.certification import check_claims
from real_data import random_set

ESTIMATORS = [getattr(maxmargin, name) for name in maxmargin.__all__ if hasattr(getattr(maxmargin, name), "fit")]
# Parameters of predictions, as in scikit-learn: the scores are shown in another shape, or ties broken otherwise;
# predict_proba is there, and says that the fit was without.
OF_PREDICTIONS = {"decision_function_shape", "break_ties", "probability"}
# Values that no default has.
OTHER = {
    "kernel": "linear", "degree": 5, "gamma": 0.123, "coef0": 0.7, "C": 0.037, "epsilon": 0.31, "lam": 17.0, "nu": 0.21,
    "sigma2": 2.0, "tau2": 3.0, "rate": 4.0, "loss": "squared", "rule": "batch", "solver": "gradient", "eta0": 3.0,
    "class_weight": {0: 5.0, 1: 0.25, 2: 2.0}, "multi_class": "crammer_singer", "tol": 1e-9, "average": 2,
    "min_gamma": 0.2, "intercept_scaling": 7.0, "random_state": 5, "max_iter": 2, "n_jobs": 2, "step_size": 0.5,
    "max_time": 99.0, "selection": "cyclic", "init": "random", "validation_fraction": 0.4, "cache_size": 11,
    "n_iter_no_change": 9, "verbose": 1, "alpha": 0.37, "l1_ratio": 0.8, "penalty": "l1", "dual": True,
}  # fmt: skip


def cases():
    for kind in ESTIMATORS:
        for name, value in kind().get_params().items():
            if name in OF_PREDICTIONS:
                continue
            yield kind, name, not value if isinstance(value, bool) else OTHER[name]


def rows_for(kind, n_classes):
    X, y = random_set(0, n=60, d=3)
    if not is_classifier(kind()):
        return X, X @ [1.0, -2.0, 0.5] + 0.3 * y
    return X, (y > 0).astype(int) + (n_classes == 3) * (X[:, 0] > 0.5)


def said_by(model, X, y, path):
    """Everything that a fitted model states: predictions, slack, scores, certificate, its own file."""
    told = {"certificate": model.certificate_, "certify": certify(model, X, y), "predict": model.predict(X)}
    check_claims(model, told["certify"])
    for name in ("decision_function", "predict_proba"):
        if hasattr(model, name):
            told[name] = getattr(model, name)(X)
    if hasattr(model, "slack"):
        told["slack"] = model.slack(X, y)
    for name in ("coef_", "margin_", "objective_", "dual_coef_", "posterior_scale_"):
        if hasattr(model, name):
            told[name] = getattr(model, name)
    save(model, path)
    told["file"] = path.read_bytes()
    return told


def assert_same(before, after):
    assert before.keys() == after.keys()
    for name, value in before.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(after[name], value, err_msg=name)
        else:
            assert after[name] == value, name


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize(("kind", "name", "value"), list(cases()), ids=lambda one: getattr(one, "__name__", str(one)))
def test_no_parameter_changes_what_a_fitted_model_says(kind, name, value, tmp_path):
    for n_classes in (2, 3) if is_classifier(kind()) else (1,):
        X, y = rows_for(kind, n_classes)
        parameters = {"class_weight": {0: 2.0}} if name == "class_weight" else {}
        if kind is maxmargin.NuSVC:
            # The default is infeasible for classes of these sizes.
            parameters["nu"] = 0.25
        model = kind(**parameters).fit(X, y)
        before = said_by(model, X, y, tmp_path / "model")
        assert_same(before, said_by(model.set_params(**{name: value}), X, y, tmp_path / "model"))
        assert model.get_params()[name] == value
        # So does a model that was read from its file.
        again = load(tmp_path / "model")
        assert_same(before, said_by(again.set_params(**{name: value}), X, y, tmp_path / "model"))


def test_a_dict_that_is_changed_in_place_changes_nothing():
    X, y = rows_for(LinearSVC, 2)
    weights = {0: 2.0, 1: 1.0}
    model = LinearSVC(class_weight=weights).fit(X, y)
    weights[0] = 50.0
    model.certificate_.check(certify(model, X, y))


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
def test_a_gram_matrix_is_not_asked_for_after_a_fit_to_rows(tmp_path):
    X, y = rows_for(maxmargin.SVC, 2)
    for kind in (maxmargin.SVC, KernelPerceptron):
        model = kind(kernel="linear").fit(X, y)
        scores, proof = model.decision_function(X), certify(model, X, y)
        model.set_params(kernel="precomputed")
        np.testing.assert_array_equal(model.decision_function(X), scores)
        assert certify(model, X, y) == proof
        save(model, tmp_path / "model")
        assert load(tmp_path / "model").kernel == "linear"


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        (Perceptron(), {"eta0": 2.0, "fit_intercept": False, "normalize": True, "class_weight": {0: 3.0}}),
        (KernelPerceptron(), {"eta0": 2.0, "fit_intercept": False, "kernel": "linear", "gamma": 3.0}),
    ],
    ids=["Perceptron", "KernelPerceptron"],
)
def test_a_stream_has_one_update_rule(model, changes):
    X, y = rows_for(type(model), 2)
    model.partial_fit(X, y, classes=[0, 1])
    kept = {name: getattr(model, name) for name in changes}
    for name, value in changes.items():
        model.set_params(**{name: value})
        with pytest.raises(ValueError, match=f"{name} was changed from"):
            model.partial_fit(X, y)
        model.set_params(**kept)
    model.partial_fit(X, y)
    proof = certify(model, np.vstack([X, X]), np.append(y, y))
    model.set_params(eta0=7.0)
    assert certify(model, np.vstack([X, X]), np.append(y, y)) == proof


def test_a_model_that_goes_on_after_a_fit_keeps_its_intercept():
    X, y = rows_for(Perceptron, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Perceptron().fit(X, y)
    # Another step is another stream; hyperplanes through the origin are another model.
    model.set_params(eta0=2.0).partial_fit(X, y)
    assert math.isfinite(certify(model, X, y).bound)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Perceptron().fit(X, y)
    with pytest.raises(ValueError, match="fit_intercept was changed"):
        model.set_params(fit_intercept=False).partial_fit(X, y)
