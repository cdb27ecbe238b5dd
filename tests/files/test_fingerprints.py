"""What a model file says of its data: hashes as docs/proof-format.md defines them, by the standard library alone."""

import hashlib
import json
import struct

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import is_classifier, is_regressor

import maxmargin
from maxmargin import (
    SVC,
    BayesianRegression,
    KernelPerceptron,
    LinearSVC,
    LogisticRegression,
    MarginPerceptron,
    Perceptron,
    Ridge,
    certify,
    load,
    save,
)
from maxmargin.files.fingerprint import hash_of_rows
from maxmargin.files.model import read_model_file
from maxmargin.files.schema import SCHEMA
from maxmargin.files.verification import verify_file
from model_file_cases import CODES, VALUES, X, labels_of
from model_forgery import content_of

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
WEIGHTS = np.random.default_rng(0).uniform(0.5, 2.0, len(X))


def hash_by_the_book(rows):
    """SHA-256 of n, d, the counts, the columns and the values of entries that are not zero."""
    entries = [[(column, value) for column, value in enumerate(row) if value != 0.0] for row in rows]
    stream = struct.pack("<QQ", len(rows), len(rows[0]))
    stream += b"".join(struct.pack("<Q", len(row)) for row in entries)
    stream += b"".join(struct.pack("<Q", column) for row in entries for column, _ in row)
    stream += b"".join(struct.pack("<d", value) for row in entries for _, value in row)
    return hashlib.sha256(stream).hexdigest()


@settings(max_examples=100, deadline=None)
@given(
    st.tuples(st.integers(1, 6), st.integers(1, 5)).flatmap(
        lambda shape: arrays(np.float32, shape, elements=st.sampled_from([0.0, -0.0, 1.5, -2.25, 1e-30]))
    )
)
def test_the_hash_of_rows_does_not_depend_on_how_they_are_stored(rows):
    expected = hash_by_the_book(rows.astype(float).tolist())
    columns = np.tile(np.arange(rows.shape[1]), rows.shape[0])
    explicit = sp.csr_array((rows.ravel(), columns, np.arange(0, rows.size + 1, rows.shape[1])), rows.shape)
    assert explicit.nnz == rows.size
    for stored in (rows, rows.astype(np.float64), sp.csr_array(rows), explicit, np.asfortranarray(rows)):
        assert hash_of_rows(stored) == expected


def test_hashes_and_checksum_are_those_of_the_specification(tmp_path):
    path = tmp_path / "model"
    model = LinearSVC(class_weight="balanced").fit(X, CODES, sample_weight=WEIGHTS)
    save(model, path, X, CODES, WEIGHTS)
    data = content_of(path)[1]["data"]
    assert (data["rows"], data["columns"]) == X.shape
    assert data["X"] == hash_by_the_book(X.tolist())
    assert data["y"] == hashlib.sha256(struct.pack(f"<{len(X)}Q", *CODES.tolist())).hexdigest()
    assert data["weights"] == hashlib.sha256(struct.pack(f"<{len(X)}d", *WEIGHTS)).hexdigest()
    factors = [float.fromhex(factor["float"]) for factor in data["class_factors"]]
    totals = [WEIGHTS[code == CODES].sum() for code in range(3)]
    np.testing.assert_allclose(factors, [WEIGHTS.sum() / (3 * total) for total in totals], rtol=1e-14)
    content = path.read_bytes()
    digits = content_of(path)[1]["sha256"].encode()
    header = content[: 8 + struct.unpack("<Q", content[:8])[0]]
    assert header.count(digits) == 1
    assert hashlib.sha256(content.replace(digits, b"0" * 64, 1)).hexdigest().encode() == digits


@pytest.mark.parametrize("model", [LinearSVC(), SVC(), Perceptron(max_iter=5), LogisticRegression(C=1.0)])
def test_other_data_are_refused(model, tmp_path):
    path, labels = tmp_path / "model", labels_of(2)
    save(model.fit(X, labels), path, X, labels)
    stored = read_model_file(path)
    assert verify_file(stored, X, labels).true
    assert verify_file(stored, sp.csr_array(X), labels).true
    order = np.random.default_rng(1).permutation(len(X))
    flipped = np.where(np.arange(len(X)) == 7, 1 - labels, labels)
    moved = X + np.where(np.arange(len(X)) == 3, 1e-15, 0.0)[:, None]
    for data, targets, weights, word in (
        (X[order], labels[order], None, "other rows"),
        (moved, labels, None, "other rows"),
        (X, flipped, None, "other targets"),
        (X, 1 - labels, None, "other targets"),
        (X, labels, np.ones(len(X)), "other weights"),
        (X[1:], labels[1:], None, "149 rows of 2 columns instead of 150"),
    ):
        verdict = verify_file(stored, data, targets, weights)
        assert not verdict.true
        assert word in verdict.why
        assert verdict.proof is None


def test_weights_are_identified_and_needed(tmp_path):
    path = tmp_path / "model"
    for model, targets in (
        (Ridge(lam=0.1), VALUES),
        (LinearSVC(class_weight={0: 2.0}), CODES),
        (BayesianRegression(), VALUES),
    ):
        save(model.fit(X, targets, sample_weight=WEIGHTS), path, X, targets, WEIGHTS)
        stored = read_model_file(path)
        assert verify_file(stored, X, targets, WEIGHTS).true
        assert "other weights" in verify_file(stored, X, targets).why
        assert "other weights" in verify_file(stored, X, targets, WEIGHTS[::-1]).why


def test_a_model_saved_without_data_claims_no_identity(tmp_path):
    path = tmp_path / "model"
    save(LinearSVC().fit(X, CODES), path)
    stored = read_model_file(path)
    assert stored.fingerprint is None
    assert verify_file(stored, X, CODES).true
    with pytest.raises(ValueError, match="only together"):
        save(stored.model, path, X)


@pytest.mark.parametrize("name", SCHEMA)
def test_models_that_learn_without_targets_are_saved_and_verified_without(name, tmp_path):
    model, path = getattr(maxmargin, name)(), tmp_path / "model"
    model.fit(X, CODES if is_classifier(model) else VALUES)
    if is_classifier(model) or is_regressor(model):
        with pytest.raises(ValueError, match="only together"):
            save(model, path, X)
        return
    for targets in (None, VALUES):
        save(model, path, X, targets)
        stored = read_model_file(path)
        assert verify_file(stored, X, None).true
        assert "other rows" in verify_file(stored, X + 1.0, None).why
        stored.model.certificate_.check(certify(stored.model, X))
    save(model.fit(X, sample_weight=WEIGHTS), path, X, sample_weight=WEIGHTS)
    assert verify_file(read_model_file(path), X, None, WEIGHTS).true
    assert "other weights" in verify_file(read_model_file(path), X, None).why
    for incomplete in ((None, VALUES), (None, None, WEIGHTS)):
        with pytest.raises(ValueError, match="only together"):
            save(model, path, *incomplete)


def test_vectors_that_claims_depend_on_are_in_the_file(tmp_path):
    path, labels = tmp_path / "model", labels_of(2)
    far = np.eye(3)[CODES] + 100.0
    for model, data, targets, name in (
        (LogisticRegression(C=float("inf")), X, np.arange(len(X)) % 2, "proof.scales"),
        (Ridge(lam=0.0), X, VALUES, "proof.scales"),
        (BayesianRegression(), X, VALUES, "proof.scales"),
        (LinearSVC(C=np.inf), far, labels, "proof.centre"),
    ):
        save(model.fit(data, targets), path, data, targets)
        tensors, _ = content_of(path)
        assert tensors[name].shape == (data.shape[1],)
        assert verify_file(read_model_file(path), data, targets).true
    # The radius is that around the centre.
    distances = np.linalg.norm(far - tensors["proof.centre"], axis=1)
    assert distances.max() <= load(path).certificate_.radius <= 1.001 * distances.max()


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (LinearSVC(multi_class="crammer_singer", C=3.0), {"loss": "hinge", "C": 6.0, "intercept_penalty": 0.0}),
        (
            LinearSVC(penalize_intercept=True, intercept_scaling=2.0),
            {"loss": "hinge", "C": 1.0, "intercept_penalty": 0.25},
        ),
        (LogisticRegression(C=2.0), {"loss": "logistic", "C": 2.0, "intercept": True}),
        (SVC(kernel="rbf", gamma="auto"), {"loss": "hinge", "C": 1.0, "kernel": {"name": "rbf", "gamma": 0.5}}),
        (MarginPerceptron(max_iter=3), {"loss": "margin", "normalize": False, "intercept": True}),
        (
            KernelPerceptron(kernel="linear", eta0=0.5, max_iter=3),
            {"loss": "perceptron", "rule": "online", "step": 0.5, "intercept": True, "kernel": {"name": "linear"}},
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_problem_is_stated_in_numbers(model, expected, tmp_path):
    path = tmp_path / "model"
    save(model.fit(X, labels_of(2)), path)

    def plain(value):
        if not isinstance(value, dict):
            return value
        return float.fromhex(value["float"]) if "float" in value else {key: plain(one) for key, one in value["pairs"]}

    problem = content_of(path)[1]["problem"]
    assert {key: plain(value) for key, value in problem.items()} == expected
    assert json.dumps(problem)
