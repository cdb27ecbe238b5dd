"""The command verifies models: false claims are found, honest ones confirmed."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from command_runner import run, runner, told
from maxmargin import (
    SVC,
    CertificateError,
    KernelPerceptron,
    LinearSVC,
    MarginPerceptron,
    OneClassSVM,
    Perceptron,
    Ridge,
    Status,
    certify,
    load,
)
from maxmargin.cli.app import app
from maxmargin.files import read_data, save, write_svmlight
from model_forgery import content_of, write_content


def test_a_false_claim_is_found(cancer, tmp_path):
    path = tmp_path / "model"
    data = read_data(cancer)
    model = LinearSVC().fit(data.X, data.y)
    model.coef_ = 1.1 * model.coef_
    save(model, path)
    with pytest.raises(CertificateError):
        load(path).certificate_.check(certify(load(path), data.X, data.y))
    answer = json.loads(run("verify", path, cancer, "--json", code=1).stdout)
    assert answer["true"] is False
    assert "primal" in answer["why"]
    assert answer["claim"]["primal"] < answer["proof"]["primal"]
    lines = dict(line.split(None, 1) for line in run("verify", path, cancer, code=1).stdout.splitlines())
    assert lines["true"] == "no"
    assert "primal" in lines["why"]


def lie(model, name, value):
    """Change what a model says of itself."""
    setattr(model, name, value)
    return model


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize(
    ("model", "name", "value"),
    [
        (LinearSVC(), "objective_", 0.001),
        (LinearSVC(), "margin_", 99.0),
        (LinearSVC(max_iter=1, solver="coordinate"), "status_", Status.SOLVED),
        (SVC(max_iter=1), "status_", Status.SOLVED),
        (SVC(max_iter=1), "fit_status_", 0),
        (MarginPerceptron(gamma=0.5, max_iter=20), "margin_", 0.5),
        (MarginPerceptron(gamma=0.5, max_iter=20), "status_", Status.SOLVED),
        (Perceptron(max_iter=2), "status_", Status.SOLVED),
    ],
    ids=lambda value: str(value),
)
def test_every_claim_of_a_file_is_checked(cancer, tmp_path, model, name, value):
    path = tmp_path / "model"
    data = read_data(cancer)
    fitted = clone(model).fit(data.X, data.y)
    save(fitted, path)
    assert told("verify", path, cancer)["true"] is True
    save(lie(fitted, name, value), path)
    answer = json.loads(run("verify", path, cancer, "--json", code=1).stdout)
    assert answer["true"] is False
    assert name.replace("fit_", "") in answer["why"]


@pytest.mark.parametrize("name", ["rows.csv", "rows.svm"])
def test_rows_without_targets_verify_a_model_that_learned_without(tmp_path, name):
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["a", "b", "c"])
    if name == "rows.csv":
        rows.to_csv(tmp_path / name, index=False)
    else:
        write_svmlight(tmp_path / name, rows.to_numpy(), np.zeros(len(rows)))
        rows = rows.to_numpy()
    save(OneClassSVM(nu=0.2).fit(rows), tmp_path / "model", rows)
    assert told("verify", tmp_path / "model", tmp_path / name)["true"] is True
    save(OneClassSVM(nu=0.2).fit(rows * 2.0), tmp_path / "model", rows * 2.0)
    answer = json.loads(run("verify", tmp_path / "model", tmp_path / name, "--json", code=1).stdout)
    assert "other rows" in answer["why"]


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(loss="squared_hinge"),
        LinearSVC(multi_class="crammer_singer"),
        SVC(C=np.inf, gamma=10.0),
        SVC(kernel="sigmoid"),
        Perceptron(average=True, tol=None, max_iter=30),
        Perceptron(early_stopping=True),
        MarginPerceptron(accelerated=True, max_iter=100),
        KernelPerceptron(tol=None),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_honest_models_are_true(iris, tmp_path, model, kind):
    data, path = read_data(iris), tmp_path / "model"
    keep = np.r_[0:101, 103:142, 143:150] if np.isinf(getattr(model, "C", 1.0)) else slice(None)
    rows = tmp_path / "rows.svm"
    X, y = data.X[keep], data.y[keep]
    write_svmlight(rows, X, y)
    save(clone(model).fit(X.toarray() if kind == "dense" else X, y), path)
    assert told("verify", path, rows)["true"] is True


@pytest.mark.parametrize("kind", [Perceptron, KernelPerceptron])
def test_a_stream_that_has_no_status_is_verified(cancer, tmp_path, kind):
    data, path = read_data(cancer), tmp_path / "model"
    model = kind().partial_fit(data.X, data.y, classes=[-1, 1])
    if not hasattr(model, "certificate_"):
        model.certificate_ = certify(model, data.X, data.y)
    save(model, path)
    assert told("verify", path, cancer)["true"] is True


def forged(path, name, change):
    """Change a tensor of a model file, and compute the checksum anew."""
    tensors, content = content_of(path)
    tensors[name] = change(tensors[name].copy())
    write_content(path, tensors, content)


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize(
    ("model", "name", "change"),
    [
        ("svc", "support_vectors_.data", np.negative),
        ("svc", "support_", lambda rows: np.roll(rows, 1)),
        ("svc", "intercept_", lambda b: b + 1e-6),
        ("svc", "_duals", lambda beta: 1.001 * beta),
        ("kernel-perceptron", "support_vectors_.data", np.negative),
        ("linear-svc", "coef_", lambda w: w * (1.0 + 1e-9)),
        ("logistic-regression", "intercept_", lambda b: b + 1e-8),
        ("perceptron", "coef_", np.negative),
    ],
)
def test_a_forged_classifier_is_refused(cancer, tmp_path, model, name, change):
    path = tmp_path / "model"
    run("train", cancer, "-o", path, "--model", model)
    assert told("verify", path, cancer)["true"] is True
    forged(path, name, change)
    assert refusal(path, cancer)


def refusal(path, *options):
    """Why the command refuses a file."""
    answer = json.loads(run("verify", path, *options, "--json", code=1).stdout)
    assert answer["true"] is False
    return answer["why"]


def error_of(*arguments):
    """The error with which the command ends."""
    return str(runner.invoke(app, [str(argument) for argument in arguments]).exception)


@pytest.mark.parametrize(
    ("model", "name", "change", "why"),
    [
        ("svr", "support_vectors_.data", np.negative, "scores"),
        ("bayesian-regression", "coef_factor_", lambda factor: 1.01 * factor, "coef_factor_"),
        ("bayesian-regression", "coef_factor_", lambda factor: factor[:, ::-1] * [1.0, -1.0, 1.0], None),
        ("bayesian-regression", "column_means_", lambda means: means + 0.01, "column_means_"),
    ],
)
def test_a_forged_regression_is_refused(tmp_path, model, name, change, why):
    X = np.random.default_rng(0).standard_normal((60, 3)) + 1.0
    rows, path = tmp_path / "rows.svm", tmp_path / "model"
    write_svmlight(rows, X, X @ [1.0, -2.0, 0.5] + np.sin(7.0 * X[:, 0]))
    run("train", rows, "-o", path, "--model", model)
    forged(path, name, change)
    if why is None:
        # Another factor of the same matrix is as good.
        assert told("verify", path, rows)["true"] is True
    else:
        assert why in refusal(path, rows)


@pytest.mark.parametrize("name", ["s2_", "degrees_of_freedom_", "total_weight_"])
def test_a_forged_posterior_is_refused(tmp_path, name):
    X = np.random.default_rng(0).standard_normal((60, 3)) + 1.0
    rows, path = tmp_path / "rows.svm", tmp_path / "model"
    write_svmlight(rows, X, X @ [1.0, -2.0, 0.5] + np.sin(7.0 * X[:, 0]))
    run("train", rows, "-o", path, "--model", "bayesian-regression")
    tensors, content = content_of(path)
    value = float.fromhex(content["attributes"][name][0]["float"])
    content["attributes"][name] = [{"float": (0.99 * value).hex()}]
    write_content(path, tensors, content)
    assert name in refusal(path, rows)


def test_support_vectors_are_compared_without_a_fingerprint_too(iris, tmp_path):
    data, path = read_data(iris), tmp_path / "model"
    for model in (SVC(), KernelPerceptron(max_iter=3), SVC(kernel="linear")):
        save(model.fit(data.X, data.y), path)
        assert told("verify", path, iris)["true"] is True
        forged(path, "support_vectors_.data", np.negative)
        assert refusal(path, iris) == "support_vectors_ are not the rows support_ of the data"


def test_a_dual_outside_of_its_box_is_refused(iris, tmp_path):
    data, path = read_data(iris), tmp_path / "model"
    save(SVC().fit(data.X, data.y == 1), path)
    tensors, content = content_of(path)
    at_bound = np.flatnonzero(np.abs(tensors["_duals"][0]) == 1.0)
    above = at_bound[tensors["_duals"][0, at_bound] > 0.0][0]
    below = at_bound[tensors["_duals"][0, at_bound] < 0.0][0]
    # The dual value is that of the duals projected back into their box; the primal value is that of the model's own.
    tensors["_duals"][0, above] += 1.0
    tensors["_duals"][0, below] -= 1.0
    write_content(path, tensors, content)
    model = load(path)
    proven = certify(model, data.X, data.y == 1)
    assert proven.dual == pytest.approx(model.certificate_.dual)
    with pytest.raises(CertificateError):
        model.certificate_.check(proven)
    write_svmlight(tmp_path / "rows.svm", data.X, (data.y == 1).astype(int))
    assert refusal(path, tmp_path / "rows.svm").startswith("ClassificationGap: primal")
    # A certificate that belongs to these duals does not hide that they are outside of their box.
    model.certificate_, model.status_, model.fit_status_ = proven, Status.STALLED, 1
    save(model, path)
    assert refusal(path, tmp_path / "rows.svm") == "dual_coef_ has a dual outside of its box"


def test_weights_are_given_as_a_file(cancer, tmp_path):
    data, path, weights = read_data(cancer), tmp_path / "model", tmp_path / "weights.txt"
    values = np.random.default_rng(0).uniform(0.5, 2.0, len(data.y))
    weights.write_text("\n".join(map(repr, values.tolist())))
    save(LinearSVC().fit(data.X, data.y, sample_weight=values), path, data.X, data.y, values)
    assert told("verify", path, cancer, "--weights", weights)["true"] is True
    assert "other weights" in refusal(path, cancer)
    weights.write_text("1\n2\n")
    assert "has 2 numbers for" in error_of("verify", path, cancer, "--weights", weights)
    weights.write_text("one")
    assert "give one number a line" in error_of("verify", path, cancer, "--weights", weights)


def test_other_data_are_refused(cancer, iris, tmp_path):
    path, swapped = tmp_path / "model", tmp_path / "swapped.svm"
    run("train", cancer, "-o", path)
    lines = cancer.read_text().splitlines(keepends=True)
    swapped.write_text("".join([lines[1], lines[0], *lines[2:]]))
    assert "other rows" in refusal(path, swapped)
    assert "are not among the classes" in error_of("verify", path, iris)


@pytest.mark.parametrize("model", ["linear-svc", "svc", "ridge"])
def test_the_independent_checker_runs_too(cancer, tmp_path, model):
    path = tmp_path / "model"
    run("train", cancer, "-o", path, "--model", model)
    answer = told("verify", path, cancer)
    assert answer["true"] is True
    assert " TRUE" in answer["maxmargin_check"]
    assert "FALSE" not in answer["maxmargin_check"]


def test_what_the_independent_checker_finds_false_is_refused(cancer, tmp_path, monkeypatch):
    path = tmp_path / "model"
    run("train", cancer, "-o", path, "--model", "linear-svc")
    monkeypatch.setattr("maxmargin_check.Check", lambda *_: [("primal", "FALSE", "2 <= 1")])
    assert refusal(path, cancer) == "in exact arithmetic: primal: 2 <= 1"


def test_large_data_are_not_checked_in_exact_arithmetic(cancer, tmp_path, monkeypatch):
    path = tmp_path / "model"
    run("train", cancer, "-o", path, "--model", "linear-svc")
    monkeypatch.setattr("maxmargin.cli.verify.CHECKED_ENTRIES", 10)
    answer = told("verify", path, cancer)
    assert answer["true"] is True
    assert answer["maxmargin_check"].startswith("not run: ")


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
def test_regressions_on_badly_scaled_columns_are_true(tmp_path):
    """Files of ridge regressions hold no dual point; that of the rounded coefficients proves less than is claimed."""
    rng, rows, path = np.random.default_rng(5), tmp_path / "rows.svm", tmp_path / "model"
    for _ in range(6):
        X = rng.standard_normal((20, 4)) * 10.0 ** rng.integers(-8, 8, 4)
        y = X @ rng.standard_normal(4) + rng.standard_normal(20)
        write_svmlight(rows, X, y)
        save(Ridge(lam=0.1).fit(X, y), path, X, y)
        assert told("verify", path, rows)["true"] is True
