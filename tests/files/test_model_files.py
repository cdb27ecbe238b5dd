"""Models come back from their files as they were."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import maxmargin
from maxmargin import (
    SVC,
    SVR,
    BayesianRegression,
    KernelPerceptron,
    Lasso,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    MarginPerceptron,
    ModelFileError,
    Perceptron,
    Ridge,
    certify,
    load,
    save,
)
from maxmargin.files.schema import SCHEMA
from model_file_cases import CODES, REGRESSIONS, VALUES, X, clone, labels_of, name_of

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
WEIGHTS = np.random.default_rng(0).uniform(0.5, 2.0, len(X))


# Not of the model, but of how it was found.
HISTORIES = {
    "history_",
    "criterion_per_pass_",
    "online_loss_per_pass_",
    "rows_evaluated_per_pass_",
    "updates_per_round_",
    "mistakes_per_pass_",
}


CLASSIFIERS = [
    Perceptron(max_iter=5),
    Perceptron(average=True, max_iter=3, normalize=True),
    Perceptron(rule="batch", max_iter=4, init="random", class_weight={0: 1.5}),
    Perceptron(early_stopping=True, max_iter=4),
    MarginPerceptron(max_iter=10),
    MarginPerceptron(gamma=0.01, fit_intercept=False, accelerated=True, max_iter=10),
    KernelPerceptron(max_iter=5),
    KernelPerceptron(kernel="poly", gamma="auto", degree=2, coef0=1, max_iter=5),
    LinearSVC(),
    LinearSVC(loss="squared_hinge", penalize_intercept=True, intercept_scaling=2.0, class_weight="balanced"),
    LinearSVC(multi_class="crammer_singer"),
    LogisticRegression(C=float("inf")),
    LogisticRegression(C=0.5, class_weight="balanced"),
    LogisticRegression(C=0.5, solver="gradient", fit_intercept=False, multi_class="ovr"),
    LogisticRegression(penalize_intercept=True, intercept_scaling=2.0),
    SVC(),
    SVC(kernel="linear", decision_function_shape="ovo"),
    SVC(kernel="poly", gamma=2, degree=2, coef0=1.0, C=np.float64(0.5)),
    SVC(kernel="sigmoid", gamma=0.01, C=10.0, max_iter=1000),
]


OF_VALUES = (LinearSVR, SVR, Ridge, Lasso, BayesianRegression)


def same_proof(one, other):
    """Equal to the last bit, nan and inf and all."""
    assert repr(one) == repr(other)
    assert type(one) is type(other)


def there_and_back(model, data, labels, path, sample_weight=None):
    """Save and load; predictions, parameters, attributes and certificates are the same."""
    save(model, path)
    again = load(path)
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.predict(data), model.predict(data))
    assert again.predict(data).dtype == model.predict(data).dtype
    if hasattr(model, "decision_function"):
        np.testing.assert_array_equal(again.decision_function(data), model.decision_function(data))
    if hasattr(model, "support_vectors_"):
        assert type(again.support_vectors_) is type(model.support_vectors_)
    kept = set(vars(model)) - HISTORIES
    assert set(vars(again)) - HISTORIES == kept
    assert again.n_features_in_ == model.n_features_in_
    if hasattr(model, "certificate_"):
        same_proof(again.certificate_, model.certificate_)
        assert again.status_ is model.status_
    proven = [certify(one, data, labels, sample_weight=sample_weight) for one in (model, again)]
    same_proof(*proven)
    if hasattr(model, "certificate_"):
        again.certificate_.check(proven[1])
    return again


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name_of)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifiers_come_back(model, n_classes, tmp_path):
    path = tmp_path / "model.safetensors"
    labels = labels_of(n_classes)
    for data in (X, sp.csr_array(X), X.astype(np.float32)):
        there_and_back(clone(model).fit(data, labels), data, labels, path)


@pytest.mark.parametrize("model", REGRESSIONS, ids=name_of)
def test_regressions_come_back(model, tmp_path):
    path = tmp_path / "model.safetensors"
    for data in (X, sp.csr_array(X), X.astype(np.float32)):
        there_and_back(clone(model).fit(data, VALUES), data, VALUES, path)


def test_a_posterior_comes_back(tmp_path):
    model = BayesianRegression().fit(X, VALUES)
    again = there_and_back(model, X, VALUES, tmp_path / "model")
    np.testing.assert_array_equal(again.credible_interval(), model.credible_interval())
    np.testing.assert_array_equal(again.sample(3, 0).coef, model.sample(3, 0).coef)
    assert again.posterior_coef_.logpdf([0.1, 0.2, 0.3]) == model.posterior_coef_.logpdf([0.1, 0.2, 0.3])
    without = there_and_back(BayesianRegression().fit(X, X[:, 0]), X, X[:, 0], tmp_path / "model")
    with pytest.raises(ValueError, match="no proper posterior"):
        without.sample()
    model.s2_ = -1.0
    with pytest.raises(ModelFileError, match="s2_ is infinite, or less than 0"):
        save(model, tmp_path / "model")


@pytest.mark.parametrize("kind", [Perceptron, KernelPerceptron, LinearSVC, SVC, MarginPerceptron])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_of_every_type(kind, n_classes, tmp_path):
    path = tmp_path / "model"
    codes = labels_of(n_classes)
    kinds = [labels_of(n_classes, words=True), codes.astype(np.uint8), codes - 1.0, codes.astype(np.float32) / 4]
    kinds += [labels_of(n_classes, words=True).astype(object)] + ([codes == 1] if n_classes == 2 else [])
    for labels in kinds:
        if labels.dtype.kind == "f" and not (labels % 1 == 0).all():
            continue
        model = kind(max_iter=5).fit(X, labels)
        again = there_and_back(model, X, labels, path)
        assert again.classes_.dtype == model.classes_.dtype


@pytest.mark.parametrize("model", [Perceptron(max_iter=5), LinearSVC(), SVC(), *REGRESSIONS], ids=name_of)
def test_weights(model, tmp_path):
    labels = VALUES if isinstance(model, OF_VALUES) else CODES
    fitted = clone(model).fit(X, labels, sample_weight=WEIGHTS)
    there_and_back(fitted, X, labels, tmp_path / "model", sample_weight=WEIGHTS)


@pytest.mark.parametrize("kind", [SCHEMA[name].kind for name in sorted(SCHEMA)])
def test_names_of_columns(kind, tmp_path):
    frame = pd.DataFrame(X, columns=["width", "länge"])
    labels = VALUES if kind in OF_VALUES else CODES
    model = kind() if kind is BayesianRegression else kind(max_iter=5)
    again = there_and_back(model.fit(frame, labels), frame, labels, tmp_path / "model")
    assert list(again.feature_names_in_) == ["width", "länge"]
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame.rename(columns={"width": "depth"}))


@pytest.mark.parametrize("kind", [LinearSVC, SVC])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_hard_margins(kind, n_classes, tmp_path):
    data = np.eye(3)[labels_of(n_classes)] + 0.1 * np.column_stack([X, X[:, 0]])
    there_and_back(kind(C=np.inf).fit(data, labels_of(n_classes)), data, labels_of(n_classes), tmp_path / "model")


@pytest.mark.parametrize("kind", [KernelPerceptron, SVC, SVR])
def test_gram_matrices(kind, tmp_path):
    gram = X @ X.T + 1.0
    labels = VALUES if kind is SVR else CODES
    there_and_back(kind(kernel="precomputed", max_iter=50).fit(gram, labels), gram, labels, tmp_path / "model")


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_streams_go_on_where_they_were(average, n_classes, tmp_path):
    labels = labels_of(n_classes)
    for stream in (Perceptron(average=average, random_state=1), KernelPerceptron(gamma=0.5)):
        stream.partial_fit(X[::2], labels[::2], classes=np.unique(labels))
        again = there_and_back(stream, X[::2], labels[::2], tmp_path / "model")
        for model in (stream, again):
            model.partial_fit(X[1::2], labels[1::2])
        np.testing.assert_array_equal(stream.decision_function(X), again.decision_function(X))
    fitted = Perceptron(max_iter=3, average=average).fit(X, labels).partial_fit(X, labels)
    there_and_back(fitted, X, labels, tmp_path / "model")


def test_a_witness_comes_back(tmp_path):
    data, labels = np.tile([[0.0], [1.0], [2.0], [3.0]], (50, 1)), np.tile([0, 1, 0, 1], 50)
    model = Perceptron(tol=None).fit(data, labels)
    assert model.hull_weights_ is not None
    again = there_and_back(model, data, labels, tmp_path / "model")
    np.testing.assert_array_equal(again.hull_weights_, model.hull_weights_)


def test_every_estimator_and_certificate_has_its_place():
    exported = {getattr(maxmargin, name) for name in maxmargin.__all__}
    estimators = {thing for thing in exported if isinstance(thing, type) and hasattr(thing, "predict")}
    assert {entry.kind for entry in SCHEMA.values()} == estimators
    proofs = {thing for thing in exported if isinstance(thing, type) and issubclass(thing, maxmargin.Certificate)}
    stored = set()
    for entry in SCHEMA.values():
        certificate = entry.attributes["certificate_"]
        stored |= {getattr(maxmargin, name) for name in (*certificate.kinds, *certificate.joint)}
    # The others are base classes, which no model has.
    assert stored == proofs - {maxmargin.Certificate, maxmargin.DualityGap, maxmargin.SVMGap}


def test_the_file_is_the_same_for_the_same_model(tmp_path):
    for name in ("one", "other"):
        save(LinearSVC(random_state=0).fit(X, CODES), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_what_a_file_cannot_hold_is_refused(tmp_path):
    path = tmp_path / "model"
    with pytest.raises(ModelFileError, match="kernel is a function"):
        save(SVC(kernel=lambda a, b: a @ b.T).fit(X, CODES), path)
    with pytest.raises(ModelFileError, match="random_state is a RandomState"):
        save(LinearSVC(random_state=np.random.RandomState(0)).fit(X, CODES), path)
    with pytest.raises(ModelFileError, match="is not an estimator of maxmargin"):
        save(type("SVC", (SVC,), {})().fit(X, CODES), path)
    with pytest.raises(NotFittedError):
        save(SVC(), path)
    broken = LinearSVC().fit(X, CODES)
    broken.coef_[0, 0] = np.nan
    with pytest.raises(ModelFileError, match="coef_ has entries that are not finite"):
        save(broken, path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError):
        load(path)


def test_parameters_are_warned_of_at_the_fit_alone(tmp_path):
    y = labels_of(2)
    kinds = maxmargin.SVC(probability=True, random_state=0), maxmargin.LogisticRegression(penalty="l1")
    with pytest.warns(FutureWarning):
        models = [model.fit(X, y) for model in kinds]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in models:
            maxmargin.save(model, tmp_path / "model", X, y)
            np.testing.assert_array_equal(maxmargin.load(tmp_path / "model").predict(X), model.predict(X))
