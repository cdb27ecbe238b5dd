"""Kernels of the user: on texts, graphs and other objects, on sparse rows, and with sparse matrices as results."""

import pickle
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score

import maxmargin as mm
from maxmargin.data.objects import are_objects
from maxmargin.files import ModelFileError, write_libsvm_model

WORDS = ["margin", "support", "vector", "kernel", "dual", "primal", "hinge", "loss"]
GENERATOR = np.random.default_rng(0)
TEXTS = [" ".join(GENERATOR.choice(WORDS[:5] if k % 2 else WORDS[3:], size=6)) for k in range(60)]
LABELS = np.arange(60) % 2
COUNTS = np.array([[text.split().count(word) for word in WORDS] for text in TEXTS], dtype=float)
ROWS, CLASSES = load_iris(return_X_y=True)

MODELS = [
    mm.SVC(C=0.5),
    mm.NuSVC(nu=0.2),
    mm.SVR(),
    mm.NuSVR(),
    mm.OneClassSVM(nu=0.3),
    mm.KernelPerceptron(),
]


def spectrum_kernel(texts, others):
    """Inner products of the counts of words."""
    counts = [[Counter(text.split()) for text in side] for side in (texts, others)]
    return np.array([[sum(n * b[word] for word, n in a.items()) for b in counts[1]] for a in counts[0]])


def linear(rows, others):
    return rows @ others.T


def results(model, X):
    method = "predict" if isinstance(model, (mm.SVR, mm.NuSVR)) else "decision_function"
    return getattr(model, method)(X)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize(
    "sequence", [list, tuple, np.array, lambda texts: np.array(texts, dtype=object)], ids=["list", "tuple", "U", "O"]
)
def test_texts_are_learned_as_their_kernel_matrix(model, sequence):
    texts = sequence(TEXTS)
    found = clone(model).set_params(kernel=spectrum_kernel).fit(texts, LABELS)
    gram = COUNTS @ COUNTS.T
    expected = clone(model).set_params(kernel="precomputed").fit(gram, LABELS)
    assert found.certificate_ == expected.certificate_
    np.testing.assert_array_equal(results(found, texts[:7]), results(expected, gram[:7]))
    found.certificate_.check(mm.certify(found, texts, LABELS))
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(results(again, texts[:7]), results(found, texts[:7]))
    if is_classifier(model):
        assert found.score(texts, LABELS) == expected.score(gram, LABELS) > 0.9


def test_agreement_with_scikit_learn_on_texts_and_weights_as_repeated_rows():
    ours, theirs = (module.SVC(kernel=spectrum_kernel, tol=1e-6) for module in (mm, sklearn.svm))
    np.testing.assert_allclose(
        ours.fit(TEXTS, LABELS).decision_function(TEXTS),
        theirs.fit(TEXTS, LABELS).decision_function(TEXTS),
        atol=1e-4,
    )
    weights = np.where(np.arange(60) < 20, 2.0, 1.0)
    weighted = clone(ours).set_params(tol=1e-9).fit(TEXTS, LABELS, weights)
    repeated = clone(weighted).fit(TEXTS + TEXTS[:20], np.append(LABELS, LABELS[:20]))
    np.testing.assert_allclose(weighted.decision_function(TEXTS), repeated.decision_function(TEXTS), atol=1e-6)


def test_graphs_search_and_folds():
    # Graphs as sets of edges; the number of common edges is a kernel.
    generator = np.random.default_rng(1)
    graphs = [frozenset(map(tuple, generator.integers(3 * (k % 2), 6 + 3 * (k % 2), (8, 2)))) for k in range(40)]
    labels = np.arange(40) % 2

    def common_edges(some, others):
        return np.array([[len(a & b) for b in others] for a in some], dtype=float)

    assert cross_val_score(mm.SVC(kernel=common_edges), graphs, labels, cv=4).mean() > 0.9
    search = GridSearchCV(mm.SVC(kernel=common_edges), {"C": [0.1, 1.0]}, cv=3).fit(graphs, labels)
    assert search.best_score_ > 0.9
    model = mm.calibrate(mm.SVC(kernel=common_edges).fit(graphs, labels), graphs, labels)
    assert np.allclose(model.predict_proba(graphs).sum(axis=1), 1.0)


@pytest.mark.filterwarnings("ignore:The `probability` parameter was deprecated")
def test_probabilities_of_texts():
    model = mm.SVC(kernel=spectrum_kernel, probability=True, random_state=0).fit(TEXTS, LABELS)
    gram = COUNTS @ COUNTS.T
    expected = mm.SVC(kernel="precomputed", probability=True, random_state=0).fit(gram, LABELS)
    np.testing.assert_array_equal(model.predict_proba(TEXTS), expected.predict_proba(gram))


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("form", [sp.csr_array, sp.csr_matrix, sp.lil_array, sp.coo_matrix])
def test_sparse_rows_and_kernels_that_return_sparse_matrices(model, form):
    y = CLASSES if is_classifier(model) else ROWS @ [1.0, 2.0, -1.0, 0.5]
    if isinstance(model, mm.KernelPerceptron):
        # Its run on inseparable classes depends on the last bits.
        y = CLASSES == 0
    dense = clone(model).set_params(kernel=linear).fit(ROWS, y)
    found = clone(model).set_params(kernel=linear).fit(form(ROWS), y)
    np.testing.assert_allclose(results(found, form(ROWS)), results(dense, ROWS), rtol=1e-9, atol=1e-9)
    found.certificate_.check(mm.certify(found, form(ROWS), y))
    built_in = clone(model).set_params(kernel="linear").fit(form(ROWS), y)
    np.testing.assert_allclose(results(found, ROWS), results(built_in, ROWS), rtol=0.05, atol=0.05)


def test_what_cannot_work_is_refused(tmp_path):
    model = mm.SVC(kernel=spectrum_kernel).fit(TEXTS, LABELS)
    for write in (lambda path: mm.save(model, path), lambda path: write_libsvm_model(model, path)):
        with pytest.raises(ModelFileError):
            write(tmp_path / "model")
    with pytest.raises(TypeError, match="partial_fit takes rows of numbers"):
        mm.KernelPerceptron(kernel=spectrum_kernel).partial_fit(TEXTS, LABELS, classes=[0, 1])
    with pytest.raises(ValueError, match="not symmetric"):
        mm.SVC(kernel=lambda some, others: np.arange(len(some) * len(others)).reshape(len(some), -1)).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="returned shape"):
        mm.SVC(kernel=lambda some, _: np.ones((len(some), 1))).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="not finite"):
        mm.SVC(kernel=lambda some, others: np.full((len(some), len(others)), np.nan)).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match=r"X and y|inconsistent"):
        mm.SVC(kernel=spectrum_kernel).fit(TEXTS, LABELS[:-1])
    with pytest.raises(ValueError, match="X"):
        mm.SVC(kernel="linear").fit(TEXTS, LABELS)


def test_a_fit_to_rows_after_one_to_texts_forgets_them():
    model = mm.SVC(kernel=spectrum_kernel).fit(TEXTS, LABELS)
    model.set_params(kernel=linear).fit(ROWS, CLASSES)
    np.testing.assert_array_equal(model.predict(ROWS), mm.SVC(kernel=linear).fit(ROWS, CLASSES).predict(ROWS))


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        ([[1.0, 2.0], [3.0, 4.0]], False),
        (((1, 2), (3, 4)), False),
        (ROWS, False),
        (ROWS.astype(object), False),
        (sp.csr_array(ROWS), False),
        ([], False),
        ([[1.0, 2.0], [3.0]], True),
        (["1", "2"], True),
        ([b"a", b"b"], True),
        ([{1}, {2}], True),
        ([1.0, 2.0], True),
        (np.arange(3.0), True),
        (np.ones((3, 2, 2)), True),
        ([np.ones((2, 2)), np.ones((3, 3))], True),
        (np.array([["a", "b"], ["c", "d"]]), True),
    ],
)
def test_what_is_a_sequence_of_objects(X, expected):
    assert are_objects(X) is expected
