"""Model files: what is saved comes back bit for bit, and what is damaged is refused by name."""

import ast
import contextlib
import errno
import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import maxmargin
from maxmargin import (
    SVC,
    SVR,
    BayesianRegression,
    CertificateError,
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
from maxmargin.files import read_liblinear_model, read_libsvm_model, write_liblinear_model, write_libsvm_model
from maxmargin.files.atomic import written_atomically
from maxmargin.files.schema import SCHEMA

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
X, CODES = load_iris(return_X_y=True)
X = X[:, [1, 3]] - X[:, [1, 3]].mean(axis=0)
WORDS = np.array(["rose", "iris", "älter"])
VALUES = X[:, 0] - X[:, 1] ** 2
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
    LogisticRegression(),
    LogisticRegression(C=0.5, class_weight="balanced"),
    LogisticRegression(C=0.5, solver="gradient", fit_intercept=False),
    SVC(),
    SVC(kernel="linear", decision_function_shape="ovo"),
    SVC(kernel="poly", gamma=2, degree=2, coef0=1.0, C=np.float64(0.5)),
    SVC(kernel="sigmoid", gamma=0.01, C=10.0, max_iter=1000),
]
REGRESSIONS = [
    LinearSVR(),
    LinearSVR(loss="squared_epsilon_insensitive", fit_intercept=False, epsilon=0.1),
    SVR(),
    SVR(kernel="linear", C=0.1),
    Ridge(0.3),
    Ridge(sigma2=2.0, tau2=3.0, fit_intercept=False),
    Lasso(0.3),
    BayesianRegression(),
    BayesianRegression(fit_intercept=False),
]
OF_VALUES = (LinearSVR, SVR, Ridge, Lasso, BayesianRegression)


def name_of(model):
    return f"{type(model).__name__}-" + "-".join(str(value) for value in list(vars(model).values())[:2])


def labels_of(n_classes, words=False):
    codes = CODES if n_classes == 3 else (CODES > 0).astype(int)
    return WORDS[codes] if words else codes


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


def clone(model):
    return type(model)(**model.get_params())


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
        stored |= {*certificate.kinds, certificate.joint} - {None}
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
    with pytest.raises(ModelFileError, match="fitted with 'rbf'"):
        save(SVC().fit(X, CODES).set_params(kernel="linear"), path)
    with pytest.raises(ModelFileError, match="'C' parameter"):
        save(LinearSVC().fit(X, CODES).set_params(C=-1.0), path)
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


# Damaged files.


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Files of all sorts of models, with the data that they speak of."""
    folder = tmp_path_factory.mktemp("models")
    models = [
        (LinearSVC(), X[::3], WORDS[CODES[::3]]),
        (SVC(), sp.csr_array(X[20:80]), CODES[20:80]),
        (SVC(), X, CODES),
        (Perceptron(average=True, max_iter=4), X, CODES),
        (KernelPerceptron(max_iter=4), X[20:80], CODES[20:80]),
        (MarginPerceptron(max_iter=10), X, CODES),
        (LinearSVR(), X, VALUES),
        (SVR(), X[:50], VALUES[:50]),
    ]
    files = []
    for number, (model, data, labels) in enumerate(models):
        path = folder / f"{number}.safetensors"
        save(model.fit(data, labels), path)
        files.append((path, data, labels))
    return files


def content_of(path):
    """The tensors and the JSON of a file."""
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])
    return load_file(path), json.loads(header["__metadata__"]["maxmargin"])


def write_content(path, tensors, content):
    save_file(
        {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()},
        path,
        {"maxmargin": content if isinstance(content, str) else json.dumps(content)},
    )


def test_files_that_were_cut_off(saved, tmp_path):
    cut = tmp_path / "cut"
    for path, _, _ in saved:
        data = path.read_bytes()
        for tenth in range(10):
            cut.write_bytes(data[: len(data) * tenth // 10])
            with pytest.raises(ModelFileError, match="cut"):
                load(cut)
        cut.write_bytes(data + b"\0")
        with pytest.raises(ModelFileError):
            load(cut)
    with pytest.raises(OSError, match="directory"):
        load(tmp_path)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(choice=st.data())
def test_flipped_bytes_are_refused_or_harmless(saved, tmp_path, choice):
    """Where the file still loads, the model works, and its certificate holds or is refused."""
    path, data, labels = choice.draw(st.sampled_from(saved))
    content = bytearray(path.read_bytes())
    n_header = 8 + struct.unpack("<Q", content[:8])[0]
    places = st.integers(0, n_header - 1) | st.integers(n_header, len(content) - 1)
    for place in choice.draw(st.lists(places, min_size=1, max_size=3)):
        content[place] = choice.draw(st.integers(0, 255))
    flipped = tmp_path / "flipped"
    flipped.write_bytes(content)
    try:
        model = load(flipped)
    except ModelFileError:
        return
    # Errors by which the model says that the data are of other classes or columns, and CertificateError.
    with np.errstate(all="ignore"), contextlib.suppress(ValueError):
        assert len(model.predict(data)) == data.shape[0]
        proof = certify(model, data, labels)
        getattr(model, "certificate_", proof).check(proof)


def edits():
    """Changes of a LinearSVC's content, with what is said about them."""

    def attribute(name, value):
        return lambda _tensors, content: content["attributes"].__setitem__(name, value)

    def entry(name, value):
        return lambda _tensors, content: content.__setitem__(name, value)

    def parameter(name, value):
        return lambda _tensors, content: content["parameters"].__setitem__(name, value)

    def tensor(name, change):
        return lambda tensors, _content: tensors.__setitem__(name, change(tensors[name]))

    def place(value):
        def change(array):
            array = array.copy()
            array.flat[1] = value
            return array

        return change

    return {
        "another class": (entry("class", "SVR"), "SVR has no parameter"),
        "no class of ours": (entry("class", "os.system"), "there is no estimator"),
        "a class that is no name": (entry("class", ["SVC"]), "there is no estimator"),
        "a later version": (entry("version", 2), "reads version 1"),
        "a boolean version": (entry("version", True), "reads version 1"),
        "another format": (entry("format", "pickle"), "format is 'pickle'"),
        "an unknown entry": (entry("code", "print()"), "has the entries"),
        "an unknown attribute": (attribute("predict", 1), "no attribute predict"),
        "an unknown tensor": (lambda tensors, _: tensors.update(spare=np.zeros(2)), "no attribute spare"),
        "an unknown parameter": (parameter("colour", 1), "no parameter colour"),
        "a parameter out of range": (parameter("C", {"float": (-1.0).hex()}), "'C' parameter"),
        "parameters that contradict": (parameter("penalize_intercept", True), None),
        "a float in decimals": (parameter("C", 1.5), "not in hexadecimal"),
        "a float that is none": (parameter("C", {"float": "one"}), "invalid hexadecimal"),
        "a negative size": (attribute("n_features_in_", -1), "not a count"),
        "a huge size": (attribute("n_features_in_", 10**15), "size 1000000000000000"),
        "a huge number": (attribute("n_features_in_", 10**30), "too large"),
        "another size": (attribute("n_features_in_", 3), "coef_ has 2 instead of 3 for d"),
        "a missing tensor": (lambda tensors, _: tensors.pop("dual_coef_"), "dual_coef_ is missing"),
        "a missing value": (lambda _, content: content["attributes"].pop("n_features_in_"), "is missing"),
        "another shape": (tensor("coef_", lambda array: array[:, :1]), "coef_ has 1 instead of 2 for d"),
        "fewer classes": (tensor("intercept_", lambda array: array[:2]), "instead of 3 for k"),
        "another axis": (tensor("coef_", lambda array: array[None]), "coef_ has 3 axes"),
        "another type": (tensor("coef_", lambda array: array.astype(np.float32)), "type F32"),
        "nan in a coefficient": (tensor("coef_", place(np.nan)), "not finite"),
        "a row that is not there": (tensor("support_", place(10**6)), "support_ has indices outside"),
        "a negative row": (tensor("support_", place(-1)), "support_ has indices outside"),
        "a row twice": (tensor("support_", lambda array: np.r_[array[0], array[0]]), "support_ has an index twice"),
        "labels out of order": (attribute("classes_", ["rose", "iris", "x"]), "not in order"),
        "one label": (attribute("classes_", ["rose"]), "two labels or more"),
        "labels of two types": (attribute("classes_", ["iris", 1, 2]), "not of the type text 5"),
        "labels of much room": (attribute("classes_.type", "text 100000000"), "room for 100000000 letters"),
        "labels of code": (attribute("classes_.type", "V8"), "labels are numbers, booleans or text"),
        "more labels": (attribute("classes_", ["a", "b", "c", "d"]), "for k"),
        "a status that is none": (attribute("status_", "great"), "great"),
        "a layout of nothing": (entry("column_major", ["nothing"]), "layout of nothing"),
        "a key twice": (None, "twice"),
        "a number that is no JSON": (None, "NaN is not JSON"),
    }


@pytest.mark.parametrize("edit", list(edits()))
def test_edited_files_are_refused(edit, saved, tmp_path):
    path = saved[0][0]
    change, message = edits()[edit]
    tensors, content = content_of(path)
    if edit == "a key twice":
        content = json.dumps(content).replace('"version": 1', '"version": 1, "version": 1')
    elif edit == "a number that is no JSON":
        content = json.dumps(content).replace('"version": 1', '"version": NaN')
    else:
        change(tensors, content)
    edited = tmp_path / "edited"
    write_content(edited, tensors, content)
    if message is None:
        load(edited)
        return
    with pytest.raises(ModelFileError, match=message) as caught:
        load(edited)
    assert str(edited) in str(caught.value)


def test_edited_sparse_rows_are_refused(saved, tmp_path):
    path = saved[1][0]
    edited = tmp_path / "edited"

    def refused(name, change, message):
        tensors, content = content_of(path)
        tensors[name] = change(tensors[name].copy())
        write_content(edited, tensors, content)
        with pytest.raises(ModelFileError, match=message):
            load(edited)

    def put(place, value):
        def change(array):
            array[place] = value
            return array

        return change

    rows = "support_vectors_"
    refused(f"{rows}.indices", put(0, 2), "columns outside of 0 to 1")
    refused(f"{rows}.indices", put(0, -1), "columns outside of 0 to 1")
    refused(f"{rows}.indices", put(1, 0), "not in order")
    refused(f"{rows}.indptr", put(0, 1), "do not follow each other")
    refused(f"{rows}.indptr", put(-1, 10**6), "do not follow each other")
    refused(f"{rows}.indptr", put(1, 10**6), "do not follow each other")
    refused(f"{rows}.indptr", lambda array: array[:-1], "rows instead of")
    refused(f"{rows}.data", put(0, np.inf), "not finite")
    refused("_n_support", put(0, 1), "does not add up")
    refused("_n_support", put(0, -1), "negative")
    refused("support_", put(0, 10**6), "indices outside")
    tensors, content = content_of(path)
    content["attributes"]["_kernel"] = {"pairs": [["name", "eval"]]}
    write_content(edited, tensors, content)
    with pytest.raises(ModelFileError, match="no kernel that a file can hold"):
        load(edited)
    content["attributes"]["_kernel"] = {"pairs": [["name", "rbf"], ["gamma", {"float": (-1.0).hex()}]]}
    write_content(edited, tensors, content)
    with pytest.raises(ModelFileError, match="gamma = -1"):
        load(edited)


def test_edited_perceptrons_are_refused(tmp_path):
    path, edited = tmp_path / "model", tmp_path / "edited"
    save(Perceptron(max_iter=3).fit(X, CODES), path)

    def refused(name, change, message):
        tensors, content = content_of(path)
        changed = change(tensors.pop(name))
        if changed is not None:
            tensors[name] = changed
        write_content(edited, tensors, content)
        with pytest.raises(ModelFileError, match=message):
            load(edited)

    refused("mistakes_per_pass_.1", lambda _: None, "mistakes_per_pass_.1 is missing")
    refused("mistakes_per_pass_.0", lambda counts: counts - 10**6, "mistakes_per_pass_.0 has negative entries")
    refused("mistakes_per_pass_.0", lambda counts: counts.astype(float), "mistakes_per_pass_.0 has the type F64")
    refused("_ends.w", lambda _: None, "_ends.w is missing")
    refused("_ends.w", lambda w: w[:2], "_ends.w has 2 instead of 3 for k")
    refused("_ends.seen", lambda seen: -seen, "_ends.seen has negative entries")
    refused("_ends.intercept", lambda b: b + np.inf, "_ends.intercept has entries that are not finite")


def places_in(content, path=()):
    """The paths to all values of a JSON object."""
    for key, value in content.items() if isinstance(content, dict) else enumerate(content):
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from places_in(value, (*path, key))


@pytest.mark.parametrize("number", [0, 1, 3])
def test_values_of_another_kind_are_refused_or_harmless(saved, tmp_path, number):
    """Whatever stands at any place of the JSON, reading ends with a model or with ModelFileError."""
    tensors, content = content_of(saved[number][0])
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    edited, text = tmp_path / "edited", json.dumps(content)
    refused = 0
    for path in places_in(content):
        for odd in (None, -1, "text", [[]], {"pairs": [["kind", "ClassificationGap"], [1, 2]]}):
            changed = json.loads(text)
            inner = changed
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = odd
            save_file(tensors, edited, {"maxmargin": json.dumps(changed)})
            try:
                load(edited)
            except ModelFileError:
                refused += 1
    assert refused > 100


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "other"
    save_file({"coef_": np.zeros(3)}, path)
    with pytest.raises(ModelFileError, match="not one of maxmargin's"):
        load(path)
    write_content(path, {}, "[" * 100_000)
    with pytest.raises(ModelFileError):
        load(path)
    header = b'{"coef_":{"dtype":"F64","shape":[1000000000000],"data_offsets":[0,8000000000000]}}'
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(ModelFileError):
        load(path)
    path.write_bytes(struct.pack("<Q", 2**60) + header)
    with pytest.raises(ModelFileError):
        load(path)


def claims(content):
    """The numbers of a file's certificate, of the first class if there are several."""
    pairs = content["attributes"]["certificate_"]["pairs"]
    if pairs[0][1] == "PerClass":
        pairs = pairs[1][1][0][1]["pairs"]
    return pairs


def claim(content, name, value):
    for pair in claims(content):
        if pair[0] == name:
            pair[1] = value


def test_a_certificate_that_claims_more_is_found_out(saved, tmp_path):
    path, data, labels = saved[0]
    edited = tmp_path / "edited"
    tensors, content = content_of(path)
    numbers = dict(claims(content))
    claim(content, "dual", numbers["primal"])
    write_content(edited, tensors, content)
    model = load(edited)
    with pytest.raises(CertificateError, match="dual"):
        model.certificate_.check(certify(model, data, labels))
    claim(content, "dual", {"float": "inf"})
    write_content(edited, tensors, content)
    with pytest.raises(ModelFileError, match="does not hold"):
        load(edited)
    claim(content, "dual", {"float": "nan"})
    write_content(edited, tensors, content)
    with pytest.raises(ModelFileError, match="does not hold"):
        load(edited)
    claim(content, "dual", "all")
    write_content(edited, tensors, content)
    with pytest.raises(ModelFileError, match="has dual = 'all'"):
        load(edited)
    tensors, content = content_of(path)
    claim(content, "outside", -1)
    write_content(edited, tensors, content)
    with pytest.raises(ModelFileError, match="outside = -1"):
        load(edited)
    claim(content, "kind", "CertificateError")
    write_content(edited, tensors, content)
    with pytest.raises(ModelFileError, match="no certificate 'CertificateError'"):
        load(edited)


@pytest.mark.parametrize("number", range(8))
def test_vectors_that_were_changed_no_longer_have_their_certificate(saved, tmp_path, number):
    path, data, labels = saved[number]
    edited = tmp_path / "edited"
    tensors, content = content_of(path)
    name = next(name for name in ("coef_", "_duals", "dual_coef_") if name in tensors)
    tensors[name] = tensors[name] * np.linspace(1.0, 1.5, tensors[name].size).reshape(tensors[name].shape)
    write_content(edited, tensors, content)
    model = load(edited)
    with pytest.raises(CertificateError):
        model.certificate_.check(certify(model, data, labels))


def test_nothing_that_runs_code_is_imported():
    folder = Path(maxmargin.files.__file__).parent
    for name in ("model", "schema", "reader", "values", "atomic"):
        tree = ast.parse((folder / f"{name}.py").read_text())
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                modules = [node.module] if isinstance(node, ast.ImportFrom) else [part.name for part in node.names]
                assert not {"pickle", "joblib", "marshal", "importlib"} & {module.split(".")[0] for module in modules}
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "__import__")


# Writing.


def interrupted(path):
    with written_atomically(path) as file:
        file.write(b"half of")
        raise KeyboardInterrupt


def test_an_error_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model"
    save(LinearSVC().fit(X, CODES), path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, full)
            with pytest.raises(OSError, match="No space left"):
                save(SVC().fit(X, CODES), path)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(KeyboardInterrupt):
        interrupted(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


CRASH = """
import os, sys, numpy as np
from maxmargin import LinearSVC, save
model = LinearSVC().fit(np.random.default_rng(0).standard_normal((500, 3)), np.arange(500) % 2)
save(model, sys.argv[1])
print(len(open(sys.argv[1], "rb").read()), flush=True)
{crash}
save(model.set_params(C=2.0), sys.argv[1])
"""
CRASHES = {
    "before it takes its place": "os.replace = lambda *_: os._exit(1)",
    "in the middle of writing": "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))",
}


@pytest.mark.parametrize("crash", list(CRASHES))
def test_a_crash_leaves_the_old_file(crash, tmp_path):
    path = tmp_path / "model"
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CRASH.format(crash=CRASHES[crash]), str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.returncode == 1, run.stderr
    assert int(run.stdout) == len(path.read_bytes()) > 3000
    assert load(path).C == 1.0
    if "middle" in crash:
        assert "File too large" in run.stderr
        assert list(tmp_path.iterdir()) == [path]


def test_atomic_writing_keeps_links_and_modes(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    with written_atomically(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o640
    with pytest.raises(OSError, match="directory"), written_atomically(tmp_path) as file:
        file.write(b"new")
    with written_atomically(os.devnull) as file:
        file.write(b"nothing")
    assert not Path(os.devnull).is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "target"]


# LIBSVM.


def libsvm_scores(path, data):
    """LIBSVM's own arithmetic, from the text alone: the scores of all pairs, and the predictions."""
    head, _, body = path.read_text().partition("SV\n")
    entries = {line.split()[0]: line.split()[1:] for line in head.splitlines()}
    lines = [line.split() for line in body.splitlines()]
    regression = entries["svm_type"] == ["epsilon_svr"]
    n_classes = int(entries["nr_class"][0])
    n_coefficients = 1 if regression else n_classes - 1
    vectors = np.zeros((len(lines), data.shape[1]))
    for row, words in enumerate(lines):
        for word in words[n_coefficients:]:
            index, value = word.split(":")
            vectors[row, int(index) - 1] = float(value)
    coefficients = np.array([[float(word) for word in words[:n_coefficients]] for words in lines])
    gamma, coef0 = (float(entries.get(name, ["0"])[0]) for name in ("gamma", "coef0"))
    inner = data @ vectors.T
    squares = (data**2).sum(axis=1)[:, None] + (vectors**2).sum(axis=1) - 2.0 * inner
    gram = {
        "linear": lambda: inner,
        "polynomial": lambda: (gamma * inner + coef0) ** int(entries["degree"][0]),
        "rbf": lambda: np.exp(-gamma * squares),
        "sigmoid": lambda: np.tanh(gamma * inner + coef0),
    }[entries["kernel_type"][0]]()
    rho = [float(word) for word in entries["rho"]]
    if regression:
        scores = gram @ coefficients[:, 0] - rho[0]
        return scores, scores
    labels = np.array([int(word) for word in entries["label"]])
    ends = np.cumsum([int(word) for word in entries["nr_sv"]])
    parts = [slice(begin, end) for begin, end in zip([0, *ends], ends, strict=False)]
    votes, scores = np.zeros((len(data), n_classes), dtype=int), []
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            score = gram[:, parts[i]] @ coefficients[parts[i], j - 1] + gram[:, parts[j]] @ coefficients[parts[j], i]
            scores.append(score - rho[len(scores)])
            votes[np.arange(len(data)), np.where(scores[-1] > 0, i, j)] += 1
    return np.array(scores).T, labels[votes.argmax(axis=1)]


KERNELS = [
    {"kernel": "rbf", "gamma": 0.7},
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0},
    {"kernel": "sigmoid", "gamma": 0.01, "C": 10.0, "max_iter": 1000},
]


@pytest.mark.parametrize("parameters", KERNELS, ids=lambda parameters: parameters["kernel"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifiers_as_libsvm_models(parameters, n_classes, tmp_path):
    path = tmp_path / "model"
    labels = labels_of(n_classes) * 3 - 4
    for data in (X, sp.csr_array(X), X.astype(np.float32)):
        model = SVC(**parameters).fit(data, labels)
        write_libsvm_model(model, path)
        scores, predicted = libsvm_scores(path, X)
        # Of two classes, a positive score is the first label's there, and the second's here.
        mine = -model._pair_scores(data) if n_classes == 2 else model._pair_scores(data)
        np.testing.assert_allclose(scores, mine, rtol=1e-4 if data.dtype == np.float32 else 1e-8)
        clear = np.abs(scores).min(axis=1) > 1e-6
        np.testing.assert_array_equal(predicted[clear], model.predict(data)[clear])
        assert clear.mean() > 0.9
        again = read_libsvm_model(path)
        for name in ("_duals", "intercept_", "n_support_", "classes_"):
            np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
        dense = model.support_vectors_.toarray() if sp.issparse(data) else model.support_vectors_
        np.testing.assert_array_equal(again.support_vectors_.toarray(), dense)
        np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), rtol=1e-6, atol=1e-9)
        np.testing.assert_array_equal(again.predict(X)[clear], predicted[clear])


@pytest.mark.parametrize("parameters", KERNELS, ids=lambda parameters: parameters["kernel"])
def test_regressions_as_libsvm_models(parameters, tmp_path):
    path = tmp_path / "model"
    model = SVR(**parameters).fit(X, VALUES)
    write_libsvm_model(model, path)
    np.testing.assert_allclose(libsvm_scores(path, X)[0], model.predict(X), rtol=1e-8, atol=1e-10)
    again = read_libsvm_model(path)
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(again._duals, model._duals)


@pytest.mark.parametrize("order", [[0, 1], [1, 0], [0, 1, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]])
def test_labels_of_a_libsvm_model_in_any_order(order, tmp_path):
    """The same classes and pairs, listed in another order, are the same model."""
    path, other = tmp_path / "model", tmp_path / "other"
    model = SVC().fit(X, labels_of(len(order)))
    write_libsvm_model(model, path)
    head, _, body = path.read_text().partition("SV\n")
    entries = {line.split()[0]: line.split()[1:] for line in head.splitlines()}
    counts = [int(word) for word in entries["nr_sv"]]
    lines = np.split(np.array(body.splitlines()), np.cumsum(counts)[:-1])
    places = {pair: k for k, pair in enumerate((i, j) for i in range(len(order)) for j in range(i + 1, len(order)))}
    rho, moved = [], []
    for new, old in enumerate(order):
        for later in order[new + 1 :]:
            value = float(entries["rho"][places[min(old, later), max(old, later)]])
            rho.append(repr(value if old < later else -value))
        for line in lines[old]:
            words = line.split()
            mine = []
            for other_new, against in enumerate(order):
                if against != old:
                    value = float(words[against - (against > old)])
                    # A coefficient is positive for the class that comes first in its pair.
                    mine.append(repr(value if (new < other_new) == (old < against) else -value))
            moved.append(" ".join(mine + words[len(order) - 1 :]))
    entries["rho"] = rho
    for name in ("label", "nr_sv"):
        entries[name] = [entries[name][old] for old in order]
    text = "".join(f"{name} {' '.join(words)}\n" for name, words in entries.items())
    other.write_text(text + "SV\n" + "\n".join(moved) + "\n")
    np.testing.assert_allclose(read_libsvm_model(other).decision_function(X), model.decision_function(X), atol=1e-9)
    scores, predicted = libsvm_scores(other, X)
    clear = np.abs(scores).min(axis=1) > 1e-6
    np.testing.assert_array_equal(read_libsvm_model(other).predict(X)[clear], predicted[clear])


def test_a_libsvm_model_can_be_certified_on_its_support_vectors(tmp_path):
    model = SVC(kernel="linear", tol=1e-6).fit(X, labels_of(2))
    write_libsvm_model(model, tmp_path / "model")
    again = read_libsvm_model(tmp_path / "model", n_features=2)
    proof = certify(again, again.support_vectors_, labels_of(2)[model.support_])
    assert proof.relative < 1e-5
    save(again, tmp_path / "saved")
    np.testing.assert_array_equal(load(tmp_path / "saved").decision_function(X), again.decision_function(X))
    with pytest.raises(ModelFileError, match="n_features is 1"):
        read_libsvm_model(tmp_path / "model", n_features=1)


@pytest.mark.parametrize(
    "options", ["-t 2 -g 0.7", "-t 0", "-t 1 -d 2 -g 0.5 -r 1", "-t 3 -g 0.01 -c 10", "-s 3 -p 0.1"]
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_against_libsvm(options, n_classes, tmp_path):
    library = pytest.importorskip("libsvm.svmutil")
    labels = VALUES if "-s 3" in options else labels_of(n_classes) * 3.0 - 4.0
    # LIBSVM lists labels as they appear.
    order = np.random.default_rng(len(options)).permutation(len(labels))
    data, labels = X[order], labels[order]
    theirs = library.svm_train(labels.tolist(), data.tolist(), f"{options} -q")
    path = tmp_path / "theirs"
    library.svm_save_model(str(path), theirs)
    ours = read_libsvm_model(path, n_features=2)
    # The file has fewer digits of the support vectors than LIBSVM had in memory.
    theirs = library.svm_load_model(str(path))
    predicted, _, scores = library.svm_predict(labels.tolist(), data.tolist(), theirs, "-q")
    compare_with_libsvm(ours, data, np.array(predicted), np.array(scores))
    write_libsvm_model(ours, tmp_path / "ours")
    back = library.svm_load_model(str(tmp_path / "ours"))
    predicted, _, scores = library.svm_predict(labels.tolist(), data.tolist(), back, "-q")
    compare_with_libsvm(ours, data, np.array(predicted), np.array(scores))


def compare_with_libsvm(ours, data, predicted, scores):
    if isinstance(ours, SVR):
        np.testing.assert_allclose(ours.predict(data), predicted, rtol=1e-6, atol=1e-9)
        return
    mine = ours._pair_scores(data)
    np.testing.assert_allclose(np.sort(np.abs(mine), axis=1), np.sort(np.abs(scores), axis=1), rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(ours.predict(data)[clear(ours, data)], predicted[clear(ours, data)])


def write_text_data(path, data, labels):
    """The data as both LIBSVM and LIBLINEAR read them."""
    rows = [
        " ".join([repr(label), *(f"{column}:{value!r}" for column, value in enumerate(row, 1))])
        for row, label in zip(data.tolist(), labels.tolist(), strict=True)
    ]
    path.write_text("\n".join(rows) + "\n")


def run_command(folder, *words):
    subprocess.run([shutil.which(words[0]), *words[1:]], cwd=folder, check=True, capture_output=True, timeout=60)


@pytest.mark.skipif(shutil.which("svm-predict") is None, reason="libsvm-tools is not installed")
@pytest.mark.parametrize("options", ["-t 2", "-t 0", "-t 1 -g 0.5 -r 1", "-t 3 -g 0.01 -c 10", "-s 3 -p 0.1"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_against_the_commands_of_libsvm(options, n_classes, tmp_path):
    order = np.random.default_rng(1).permutation(len(X))
    labels = (VALUES if "-s 3" in options else labels_of(n_classes) * 3 - 4)[order]
    data = X[order]
    write_text_data(tmp_path / "data", data, labels)
    run_command(tmp_path, "svm-train", "-q", *options.split(), "data", "theirs")
    run_command(tmp_path, "svm-predict", "data", "theirs", "of_theirs")
    theirs = read_libsvm_model(tmp_path / "theirs", n_features=2)
    ours = (SVR(epsilon=0.1) if "-s 3" in options else SVC(kernel=theirs.kernel, coef0=theirs.coef0)).fit(data, labels)
    write_libsvm_model(ours, tmp_path / "ours")
    run_command(tmp_path, "svm-predict", "data", "ours", "of_ours")
    for model, output in ((theirs, "of_theirs"), (ours, "of_ours")):
        predicted = np.loadtxt(tmp_path / output)
        if "-s 3" in options:
            np.testing.assert_allclose(model.predict(data), predicted, rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(model.predict(data)[clear(model, data)], predicted[clear(model, data)])


def clear(model, data):
    """Rows whose votes do not tie, and that are not on a separating hyperplane."""
    scores = model._pair_scores(data)
    rows = np.abs(scores).min(axis=1) > 1e-6
    if scores.shape[1] > 1:
        votes = np.sort(np.round(model._class_scores(scores)), axis=1)
        rows &= votes[:, -1] > votes[:, -2]
    assert rows.mean() > 0.9
    return rows


LIBSVM_TEXT = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 2
rho 0.25
label 1 -1
nr_sv 1 1
SV
1 1:0.5 3:-1
-1 2:1e-3
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("c_svc", "nu_svc", "line 1: svm_type 'nu_svc' is not supported"),
        ("rbf", "precomputed", "line 2: kernel_type 'precomputed' is not supported"),
        ("gamma 0.5", "gamma -1", "line 3: gamma is negative"),
        ("gamma 0.5", "gamma nan", "line 3: 'nan' is not a finite number"),
        ("gamma 0.5", "gamma 1_0", "line 3: '1_0' is not a finite number"),
        ("gamma 0.5\n", "", "no gamma"),
        ("nr_class 2", "nr_class 1", "line 4: '1' is not a whole number from 2 on"),
        ("nr_class 2", "nr_class 2147483647", "label has 2 values instead of 2147483647"),
        ("nr_class 2", "nr_class 99999999999", "line 4"),
        ("total_sv 2", "total_sv 3", "does not add up"),
        ("rho 0.25", "rho 0.25 1", "line 6: rho has 2 values instead of 1"),
        ("label 1 -1", "label 1 1", "line 7: a label occurs twice"),
        ("label 1 -1", "label 1 a", "line 7: 'a' is not a whole number"),
        ("nr_sv 1 1", "nr_sv 3 -1", "line 8: '-1' is not a whole number"),
        ("label 1 -1", "rho 0.25", "line 7: rho occurs twice"),
        ("label 1 -1", "secret 1", "line 7: 'secret' is not an entry"),
        ("SV\n", "", "line 9: '1' is not an entry"),
        ("1:0.5", "0:0.5", "line 10: '0' is not a whole number from 1 on"),
        ("3:-1", "1:-1", "line 10: '1:-1' is not an entry index:value with a greater index"),
        ("3:-1", "3", "line 10: '3' is not an entry"),
        ("3:-1", "3:", "line 10: '' is not a finite number"),
        ("3:-1", "3:1e999", "line 10: '1e999' is not a finite number"),
        ("3:-1", "99999999999999999999:1", "line 10: '99999999999999999999' is not a whole number"),
        ("-1 2:1e-3\n", "", "line 10: the file ends after 1 of 2"),
        ("-1 2:1e-3\n", "-1 2:1e-3\n1\n", "line 12: there are more lines"),
        ("-1 2:1e-3\n", "-1 2:1e", "line 11: the file ends in the middle of a line"),
        ("-1 2:1e-3\n", "\n", "line 11: the line has 0 coefficients"),
        ("-1 2:1e-3", "-1 2:\u0661", "line 11: the line has characters that are not ASCII"),
    ],
)
def test_libsvm_text_that_is_not_one(old, new, message, tmp_path):
    path = tmp_path / "model"
    path.write_text(LIBSVM_TEXT)
    assert read_libsvm_model(path).n_features_in_ == 3
    assert LIBSVM_TEXT.count(old) == 1
    path.write_text(LIBSVM_TEXT.replace(old, new))
    with pytest.raises(ModelFileError, match=message) as caught:
        read_libsvm_model(path)
    assert str(path) in str(caught.value)


# LIBLINEAR.


def liblinear_scores(path, data):
    """LIBLINEAR's own arithmetic, from the text alone: scores, and predictions."""
    head, _, body = path.read_text().partition("\nw\n")
    entries = {line.split()[0]: line.split()[1:] for line in head.splitlines()}
    weights = np.array([[float(word) for word in line.split()] for line in body.splitlines()])
    bias = float(entries["bias"][0])
    if bias >= 0:
        data = np.column_stack([data, np.full(len(data), bias)])
    scores = data @ weights
    if "label" not in entries:
        return scores[:, 0], scores[:, 0]
    labels = np.array([int(word) for word in entries["label"]])
    if scores.shape[1] == 1:
        return scores, labels[np.where(scores[:, 0] > 0, 0, 1)]
    return scores, labels[scores.argmax(axis=1)]


LINEAR = [
    LinearSVC(),
    LinearSVC(loss="squared_hinge", penalize_intercept=True, intercept_scaling=3.0),
    LinearSVC(fit_intercept=False),
    LinearSVC(multi_class="crammer_singer"),
    Perceptron(max_iter=5),
    MarginPerceptron(max_iter=5, fit_intercept=False),
]


@pytest.mark.parametrize("model", LINEAR, ids=name_of)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifiers_as_liblinear_models(model, n_classes, tmp_path):
    path = tmp_path / "model"
    labels = labels_of(n_classes) * 3 - 4
    fitted = clone(model).fit(X, labels)
    write_liblinear_model(fitted, path)
    scores, predicted = liblinear_scores(path, X)
    signs = -1.0 if n_classes == 2 else 1.0
    np.testing.assert_allclose(signs * scores, X @ fitted.coef_.T + fitted.intercept_, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(predicted, fitted.predict(X))
    again = read_liblinear_model(path)
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    save(again, tmp_path / "saved")
    np.testing.assert_array_equal(load(tmp_path / "saved").decision_function(X), fitted.decision_function(X))
    # A score of zero is the greater label, there as here.
    if not fitted.fit_intercept and n_classes == 2:
        zero = np.zeros((1, 2))
        assert liblinear_scores(path, zero)[1] == fitted.predict(zero) == again.predict(zero) == labels.max()


@pytest.mark.parametrize("model", REGRESSIONS[:2], ids=name_of)
def test_regressions_as_liblinear_models(model, tmp_path):
    path = tmp_path / "model"
    fitted = clone(model).fit(X, VALUES)
    write_liblinear_model(fitted, path)
    np.testing.assert_allclose(liblinear_scores(path, X)[0], fitted.predict(X), rtol=1e-9, atol=1e-9)
    again = read_liblinear_model(path)
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    assert again.loss == fitted.loss


@pytest.mark.parametrize("solver", [1, 2, 3, 4, 11, 12, 13])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("bias", [-1, 0.5])
def test_against_liblinear(solver, n_classes, bias, tmp_path):
    library = pytest.importorskip("liblinear.liblinearutil")
    labels = VALUES if solver >= 11 else labels_of(n_classes) * 3.0 - 4.0
    order = np.random.default_rng(solver).permutation(len(labels))
    data, labels = X[order], labels[order]
    theirs = library.train(labels.tolist(), data.tolist(), f"-s {solver} -B {bias} -q")
    path = tmp_path / "theirs"
    library.save_model(str(path), theirs)
    ours = read_liblinear_model(path)
    predicted = np.array(library.predict(labels.tolist(), data.tolist(), theirs, "-q")[0])
    np.testing.assert_allclose(ours.predict(data), predicted, rtol=1e-9, atol=1e-9)
    assert (ours.intercept_ != 0).all() == (bias > 0)
    write_liblinear_model(ours, tmp_path / "ours")
    back = library.load_model(str(tmp_path / "ours"))
    predicted = np.array(library.predict(labels.tolist(), data.tolist(), back, "-q")[0])
    np.testing.assert_allclose(ours.predict(data), predicted, rtol=1e-9, atol=1e-9)


@pytest.mark.skipif(shutil.which("liblinear-predict") is None, reason="liblinear-tools is not installed")
@pytest.mark.parametrize("solver", [1, 2, 3, 4, 12])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_against_the_commands_of_liblinear(solver, n_classes, tmp_path):
    order = np.random.default_rng(1).permutation(len(X))
    labels = (VALUES if solver >= 11 else labels_of(n_classes) * 3 - 4)[order]
    data = X[order]
    write_text_data(tmp_path / "data", data, labels)
    run_command(tmp_path, "liblinear-train", "-q", "-s", str(solver), "-B", "1", "data", "theirs")
    run_command(tmp_path, "liblinear-predict", "data", "theirs", "of_theirs")
    ours = (LinearSVR() if solver >= 11 else LinearSVC(loss="hinge" if solver == 3 else "squared_hinge")).fit(
        data, labels
    )
    write_liblinear_model(ours, tmp_path / "ours")
    run_command(tmp_path, "liblinear-predict", "data", "ours", "of_ours")
    for model, output in ((read_liblinear_model(tmp_path / "theirs"), "of_theirs"), (ours, "of_ours")):
        np.testing.assert_allclose(model.predict(data), np.loadtxt(tmp_path / output), rtol=1e-5, atol=1e-5)


LIBLINEAR_TEXT = """solver_type L2R_L1LOSS_SVC_DUAL
nr_class 2
label 1 -1
nr_feature 2
bias 1
w
0.5
-1e-3
0.25
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("L2R_L1LOSS_SVC_DUAL", "L2R_LR", "line 1: solver_type 'L2R_LR' is not supported"),
        ("nr_class 2", "nr_class 3", "line 3: label has 2 values instead of 3"),
        ("label 1 -1\n", "", "no label"),
        ("label 1 -1", "label 1 1", "line 3: a label occurs twice"),
        ("nr_feature 2", "nr_feature 0", "line 4: '0' is not a whole number from 1 on"),
        ("nr_feature 2", "nr_feature 2000000000", "ends after 3 of 2000000001 lines"),
        ("bias 1", "bias -1", "line 9: there are more lines of weights than 2"),
        ("bias 1", "bias inf", "line 5: 'inf' is not a finite number"),
        ("bias 1", "bias 1e200", "line 5: bias 1e\\+200 is out of range"),
        ("0.5\n", "0.5 1\n", "line 7: the line has 2 weights instead of 1"),
        ("0.5\n", "half\n", "line 7: 'half' is not a finite number"),
        ("0.25\n", "0.25", "line 9: the file ends in the middle of a line"),
        ("0.25\n", "", "line 8: the file ends after 2 of 3"),
        ("w\n", "", "line 6: '0.5' is not an entry"),
    ],
)
def test_liblinear_text_that_is_not_one(old, new, message, tmp_path):
    path = tmp_path / "model"
    path.write_text(LIBLINEAR_TEXT)
    model = read_liblinear_model(path)
    assert (model.coef_.tolist(), model.intercept_.tolist()) == ([[0.5, -1e-3]], [0.25])
    path.write_text(LIBLINEAR_TEXT.replace(old, new, 1))
    with pytest.raises(ModelFileError, match=message):
        read_liblinear_model(path)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(choice=st.data())
def test_damaged_text_is_refused_or_read(tmp_path, choice):
    for text, read in ((LIBSVM_TEXT, read_libsvm_model), (LIBLINEAR_TEXT, read_liblinear_model)):
        content = bytearray(text.encode())
        for place in choice.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=3)):
            content[place] = choice.draw(st.integers(0, 255) | st.sampled_from(b" \n0123456789.:-eE"))
        path = tmp_path / "model"
        path.write_bytes(
            content[: choice.draw(st.integers(0, len(content)))] if choice.draw(st.booleans()) else content
        )
        try:
            model = read(path)
        except ModelFileError:
            continue
        assert model.n_features_in_ >= 1
        if model.n_features_in_ < 1000:
            with np.errstate(all="ignore"):
                model.predict(np.zeros((1, model.n_features_in_)))


def test_models_that_the_texts_cannot_hold(tmp_path):
    path = tmp_path / "model"
    with pytest.raises(ModelFileError, match="labels must be whole numbers"):
        write_libsvm_model(SVC().fit(X, WORDS[CODES]), path)
    with pytest.raises(ModelFileError, match="labels must be whole numbers"):
        write_liblinear_model(LinearSVC().fit(X, WORDS[CODES]), path)
    with pytest.raises(ModelFileError, match="labels must be whole numbers"):
        write_liblinear_model(LinearSVC().fit(X, CODES + 2**40), path)
    with pytest.raises(ModelFileError, match="only the linear, polynomial, RBF and sigmoid"):
        write_libsvm_model(SVC(kernel="precomputed").fit(X @ X.T, CODES), path)
    with pytest.raises(ModelFileError, match="only the linear, polynomial, RBF and sigmoid"):
        write_libsvm_model(SVC(kernel=lambda a, b: a @ b.T).fit(X, CODES), path)
    with pytest.raises(ModelFileError, match="is not SVC or SVR"):
        write_libsvm_model(LinearSVC().fit(X, CODES), path)
    with pytest.raises(ModelFileError, match="is not LinearSVC"):
        write_liblinear_model(SVC().fit(X, CODES), path)
    assert not path.exists()
