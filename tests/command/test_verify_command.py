"""The command verifies models: false claims are found, honest ones confirmed."""

import json

import numpy as np
import pytest
from sklearn.base import clone

from command_runner import run, told
from maxmargin import (
    SVC,
    CertificateError,
    KernelPerceptron,
    LinearSVC,
    MarginPerceptron,
    Perceptron,
    Status,
    certify,
    load,
)
from maxmargin.files import read_data, save, write_svmlight


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
