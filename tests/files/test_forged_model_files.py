"""Forged model files: bits of every tensor are flipped, and the checksum is computed anew, as a forger would.

Whenever predictions on the data change, verification refuses the file.
"""

import json
import struct

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import (
    SVC,
    SVR,
    BayesianRegression,
    CertificateError,
    ElasticNet,
    KernelPerceptron,
    Lasso,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    MarginPerceptron,
    ModelFileError,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
    Ridge,
    save,
)
from maxmargin.files.model import read_model_file
from maxmargin.files.verification import verify_file
from model_file_cases import CODES, VALUES, X, labels_of, name_of
from model_forgery import flipped

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")

SEPARABLE = np.eye(3)[CODES] + 0.1 * np.column_stack([X, X[:, 0]]) + 100.0
CASES = [
    (LinearSVC(), X, CODES),
    (LinearSVC(loss="squared_hinge", class_weight="balanced"), sp.csr_array(X), labels_of(2)),
    (LinearSVC(multi_class="crammer_singer"), X, CODES),
    (LinearSVC(C=np.inf), SEPARABLE, CODES),
    (LinearSVR(), X, VALUES),
    (LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.1), X, VALUES),
    (SVC(), X, CODES),
    (SVC(), sp.csr_array(X), labels_of(2, words=True)),
    (SVC(kernel="poly", degree=2, coef0=1.0), X.astype(np.float32), CODES),
    (SVC(C=np.inf), SEPARABLE, CODES),
    (SVC(kernel="precomputed"), X @ X.T, CODES),
    (SVR(), X, VALUES),
    (Perceptron(max_iter=5), X, CODES),
    (Perceptron(max_iter=3, average=True), X, labels_of(2)),
    (Perceptron(max_iter=3, rule="batch", init="random", normalize=True), X, CODES),
    (MarginPerceptron(max_iter=10), X, CODES),
    (KernelPerceptron(max_iter=5), X, CODES),
    (LogisticRegression(C=float("inf")), X, labels_of(2)),
    (LogisticRegression(C=0.5), X, CODES),
    (Ridge(lam=0.3), X, VALUES),
    (Ridge(lam=0.0), X, VALUES),
    (Lasso(lam=0.3), X, VALUES),
    (BayesianRegression(), X, VALUES),
    (LinearSVC(penalty="l1", loss="squared_hinge", dual=False), X, CODES),
    (LogisticRegression(l1_ratio=0.5, multi_class="ovr"), X, CODES),
    (LogisticRegression(l1_ratio=1.0, multi_class="ovr", penalize_intercept=True), X, CODES),
    (LogisticRegression(multi_class="ovr", penalize_intercept=True, intercept_scaling=3.0), X, CODES),
    (LogisticRegression(penalize_intercept=True, intercept_scaling=3.0), X, CODES),
    (LogisticRegression(C=float("inf")), X, CODES),
    (ElasticNet(alpha=0.01), X, VALUES),
    (ElasticNet(alpha=0.01, positive=True), X, VALUES),
    (Ridge(lam=0.3, positive=True), X, VALUES),
    (NuSVC(nu=0.1), SEPARABLE, CODES),
    (NuSVC(nu=0.1), SEPARABLE, labels_of(2)),
    (NuSVR(), X, VALUES),
    (OneClassSVM(nu=0.2), X, VALUES),
    (Perceptron(max_iter=5, penalty="elasticnet"), X, CODES),
    (Perceptron(max_iter=5, penalty="l2"), X, labels_of(2)),
]
FLIPS_PER_TENSOR = 24
# Bits of an entry that flips change, from the lowest of the mantissa to the sign.
BITS = {"F64": (20, 63), "F32": (8, 31), "I64": (0, 63), "I32": (0, 31)}


def verify(path, data, labels, sample_weight=None):
    """What the command does with a file: the model, or an error where it is refused."""
    stored = read_model_file(path)
    verdict = verify_file(stored, data, labels, sample_weight)
    if not verdict.true:
        raise CertificateError(verdict.why)
    return stored.model


def predictions_of(model, data):
    """Everything that a model predicts for rows, in one array of numbers for each kind."""
    with np.errstate(all="ignore"):
        found = [model.decision_function(data) if hasattr(model, "decision_function") else model.predict(data)]
        if hasattr(model, "predictive_interval"):
            found += [model.predictive_interval(data), model.credible_interval()]
        return model.predict(data), [np.asarray(one, dtype=float) for one in found]


def differ(before, after):
    """Whether labels differ, or numbers by more than the tolerance of the posterior."""
    labels, numbers = before[0], before[1]
    if labels.dtype.kind != "f" and not np.array_equal(labels, after[0]):
        return True
    return not all(
        np.allclose(new, old, rtol=1e-5, atol=1e-5 * float(np.abs(old).max()))
        for old, new in zip(numbers, after[1], strict=True)
    )


def tensor_places(path):
    """For every tensor its type, and the bytes of the file that it takes."""
    data = path.read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:start])
    header.pop("__metadata__")
    for name, part in header.items():
        begin, end = part["data_offsets"]
        yield name, part["dtype"], start + begin, start + end


@pytest.mark.parametrize(
    ("model", "data", "labels"), CASES, ids=lambda value: name_of(value) if hasattr(value, "fit") else ""
)
def test_flipped_bits_that_change_predictions_are_refused(model, data, labels, tmp_path):
    path, forged = tmp_path / "model", tmp_path / "forged"
    save(model.fit(data, labels), path, data, labels)
    before = predictions_of(verify(path, data, labels), data)
    rng = np.random.default_rng(0)
    passed = []
    for name, dtype, begin, end in tensor_places(path):
        size = int(dtype[1:]) // 8
        for _ in range(FLIPS_PER_TENSOR if end > begin else 0):
            entry, bit = rng.integers((end - begin) // size), int(rng.integers(*BITS[dtype], endpoint=True))
            forged.write_bytes(flipped(path, begin + entry * size + bit // 8, bit % 8))
            try:
                changed = verify(forged, data, labels)
            except (ModelFileError, CertificateError, ValueError):
                continue
            if differ(before, predictions_of(changed, data)):
                passed.append((name, int(entry), bit))
    assert passed == []
