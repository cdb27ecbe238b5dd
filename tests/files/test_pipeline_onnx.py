"""Pipelines and models as ONNX graphs: the runtime's labels and scores are those of scikit-learn's methods."""

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import maxmargin
from maxmargin import SVC, LinearSVC, LogisticRegression, OneClassSVM, Ridge
from maxmargin.files import write_onnx
from maxmargin.files.schema import SCHEMA

X, Y = load_wine(return_X_y=True)

STEPS = [
    [StandardScaler()],
    [StandardScaler(with_mean=False), Normalizer()],
    [MinMaxScaler(clip=True), Normalizer(norm="max")],
    [MaxAbsScaler(), "passthrough", Normalizer(norm="l1")],
    [RobustScaler(), SelectKBest(k=5)],
    [StandardScaler(), PCA(4, whiten=True)],
    [StandardScaler(with_std=False), TruncatedSVD(3, random_state=0)],
]


def run(path, rows):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(path))
    return dict(zip([output.name for output in session.get_outputs()], session.run(None, {"X": rows}), strict=True))


@pytest.mark.parametrize("steps", STEPS, ids=str)
@pytest.mark.parametrize("model", [LinearSVC(), SVC(), LogisticRegression()], ids=str)
def test_graphs_of_pipelines_have_the_scores_and_labels_of_the_pipeline(steps, model, tmp_path):
    pipeline = make_pipeline(*steps, model).fit(X[::2], Y[::2])
    write_onnx(pipeline, tmp_path / "graph")
    # Rows beyond the range of those of the fit, too, and a row of zeros.
    rows = np.vstack([2.0 * X - X.mean(axis=0), np.zeros(X.shape[1])])
    found = run(tmp_path / "graph", rows)
    np.testing.assert_array_equal(found["label"], pipeline.predict(rows))
    np.testing.assert_allclose(found["scores"], pipeline.decision_function(rows), rtol=1e-7, atol=1e-9)


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize("name", SCHEMA)
@pytest.mark.parametrize("is_piped", [False, True])
def test_graphs_of_all_estimators_predict_what_they_predict(name, is_piped, tmp_path):
    model, rows = getattr(maxmargin, name)(), X / X.std(axis=0)
    targets = [Y, Y == 1] if is_classifier(model) else [X[:, 0]]
    if model.__sklearn_tags__().target_tags.multi_output:
        targets.append(X[:, :3])
    for y in targets:
        fitted = (make_pipeline(StandardScaler(), model) if is_piped else model).fit(rows, y)
        write_onnx(fitted, tmp_path / "graph")
        found = run(tmp_path / "graph", rows)
        if is_regressor(model):
            np.testing.assert_allclose(found["value"], fitted.predict(rows), rtol=1e-9)
            continue
        np.testing.assert_array_equal(found["label"], fitted.predict(rows))
        scores = fitted.decision_function(rows).reshape(len(rows), -1)
        np.testing.assert_allclose(found["scores"], scores, rtol=1e-7, atol=1e-9)


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
def test_outliers_by_every_kernel(kernel, tmp_path):
    rows = X / X.std(axis=0)
    model = OneClassSVM(kernel=kernel, nu=0.3, gamma=1e-3 if kernel == "sigmoid" else 0.05).fit(rows)
    write_onnx(model, tmp_path / "graph")
    found = run(tmp_path / "graph", rows)
    assert set(found["label"]) == {-1, 1}
    np.testing.assert_array_equal(found["label"], model.predict(rows))
    np.testing.assert_allclose(found["scores"][:, 0], model.decision_function(rows), rtol=1e-7, atol=1e-9)


def test_a_regression_behind_a_scaler(tmp_path):
    pipeline = make_pipeline(StandardScaler(), Ridge()).fit(X[:, 1:], X[:, 0])
    write_onnx(pipeline, tmp_path / "graph")
    np.testing.assert_allclose(run(tmp_path / "graph", X[:, 1:])["value"], pipeline.predict(X[:, 1:]))


def test_other_steps_and_models_are_refused_by_name(tmp_path):
    pipeline = make_pipeline(QuantileTransformer(n_quantiles=10), LinearSVC()).fit(X, Y)
    with pytest.raises(ValueError, match="'quantiletransformer', QuantileTransformer, cannot be written"):
        write_onnx(pipeline, tmp_path / "graph")
    with pytest.raises(ValueError, match="RandomForestClassifier cannot be written"):
        write_onnx(make_pipeline(StandardScaler(), RandomForestClassifier(5)).fit(X, Y), tmp_path / "graph")
