"""Rows of very many columns cost what their entries cost, and exchanged models mean the same to other programs."""

import json
import shutil
import subprocess
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris
from sklearn.svm import SVC as LibsvmSVC  # noqa: N811
from typer.testing import CliRunner

from maxmargin import SVC, SVR, KernelPerceptron, LinearSVC, certify, load, save
from maxmargin.cli.app import app
from maxmargin.data.points import only_columns
from maxmargin.files import read_libsvm_model, write_libsvm_model, write_onnx, write_svmlight

VERY_MANY = 2_000_000_000
FEW_BYTES = 100 << 20


def hashed_rows(n_rows, n_columns, seed=0, used=3000):
    """Sparse rows over some columns, and the same entries with all columns apart from each other."""
    rows = sp.random_array((n_rows, used), density=0.005, format="csr", random_state=np.random.default_rng(seed))
    rows = sp.csr_matrix(rows[:, np.unique(rows.indices)])
    places = np.sort(np.random.default_rng(seed).choice(n_columns, rows.shape[1], replace=False)).astype(np.int32)
    wide = sp.csr_matrix((rows.data, places[rows.indices], rows.indptr), shape=(n_rows, n_columns))
    return rows, wide


def bytes_at_most(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def outputs(model, X):
    return model.predict(X) if isinstance(model, SVR) else model.decision_function(X)


MACHINES = [
    SVC(gamma=0.5),
    SVC(kernel="linear"),
    SVC(kernel="poly", gamma=1.0, coef0=1.0),
    SVR(gamma=0.5),
    SVR(kernel="linear"),
    KernelPerceptron(gamma=0.5, max_iter=5),
]


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_empty_columns_cost_nothing_and_change_no_bit(machine, n_classes):
    narrow, wide = hashed_rows(90, VERY_MANY)
    y = np.arange(90) % n_classes
    one = type(machine)(**machine.get_params()).fit(narrow, y)
    other = type(machine)(**machine.get_params())
    assert bytes_at_most(lambda: other.fit(wide, y)) < FEW_BYTES
    np.testing.assert_array_equal(one.support_, other.support_)
    assert (one.dual_coef_ != other.dual_coef_).sum() == 0
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    assert str(certify(one, narrow, y)) == str(certify(other, wide, y)) == str(other.certificate_)
    assert other.support_vectors_.shape[1] == VERY_MANY
    # Only the order of sums may differ: the support alone has fewer columns than all rows.
    assert bytes_at_most(lambda: outputs(other, wide)) < FEW_BYTES
    np.testing.assert_allclose(outputs(one, narrow), outputs(other, wide), rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear", "sigmoid"])
def test_columns_that_no_support_vector_has_count_in_lengths_alone(kernel):
    _, rows = hashed_rows(60, 400_000)
    _, others = hashed_rows(40, 400_000, seed=1)
    both = sp.csr_matrix(sp.vstack([others, rows[:20] + others[:20]]))
    model = SVC(kernel=kernel, gamma=0.5, coef0=0.1).fit(rows, np.arange(60) % 2)
    inner = (both @ model.support_vectors_.T).toarray()
    squares = both.multiply(both).sum(axis=1), model.support_vectors_.multiply(model.support_vectors_).sum(axis=1)
    values = {
        "rbf": lambda: np.exp(-0.5 * (np.asarray(squares[0]) + np.asarray(squares[1]).T - 2.0 * inner)),
        "poly": lambda: (0.5 * inner + 0.1) ** 3,
        "linear": lambda: inner,
        "sigmoid": lambda: np.tanh(0.5 * inner + 0.1),
    }[kernel]()
    exact = values @ model.dual_coef_.toarray()[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(both), exact, rtol=1e-10, atol=1e-12)


def test_many_columns_that_all_occur_are_not_made_dense():
    n_rows, n_columns = 600, 600_000
    indices = np.random.default_rng(0).permutation(n_columns).astype(np.int32).reshape(n_rows, -1)
    X = sp.csr_matrix((np.ones(n_columns), np.sort(indices).ravel(), np.arange(0, n_columns + 1, 1000)))
    assert X.shape == (n_rows, n_columns)
    model = SVC(kernel="linear")
    assert bytes_at_most(lambda: model.fit(X, np.arange(n_rows) % 2)) < FEW_BYTES
    assert bytes_at_most(lambda: model.decision_function(X)) < FEW_BYTES


def test_the_coefficients_of_very_many_columns_are_sparse():
    _, wide = hashed_rows(60, VERY_MANY)
    model = SVC(kernel="linear").fit(wide, np.arange(60) % 2)
    assert bytes_at_most(lambda: model.coef_) < FEW_BYTES
    assert model.coef_.shape == (1, VERY_MANY)
    columns = np.unique(model.coef_.indices)
    scores = only_columns(wide, columns) @ only_columns(model.coef_, columns).toarray()[0] + model.intercept_[0]
    np.testing.assert_allclose(scores, model.decision_function(wide), rtol=1e-9, atol=1e-12)


# Models that LIBSVM reads, and its own.

needs_libsvm = pytest.mark.skipif(shutil.which("svm-predict") is None, reason="libsvm-tools is not installed")


def run(folder, *words):
    subprocess.run([shutil.which(words[0]), *words[1:]], cwd=folder, check=True, capture_output=True, timeout=120)


def predicted_there(folder, model, data="data"):
    run(folder, "svm-predict", data, model, "output")
    return np.loadtxt(folder / "output", ndmin=1)


def rows_with_ties():
    """Digits of a few columns, shuffled, so that many votes tie and labels do not appear in rising order."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(3).permutation(len(y))
    return X[order][:, 20:28] / 16.0, y[order] * 3 - 4


@needs_libsvm
@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize("options", ["-t 2 -g 0.5", "-t 0", "-t 1 -g 0.5 -r 1", "-t 3 -g 0.01 -c 10"])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_every_row_gets_the_label_that_libsvm_gives(options, n_classes, tmp_path):
    X, y = rows_with_ties()
    known = y < 3 * n_classes - 4
    X, y = X[known], y[known]
    write_svmlight(tmp_path / "data", X, y)
    write_svmlight(tmp_path / "train", X[:150], y[:150])
    run(tmp_path, "svm-train", "-q", *options.split(), "train", "theirs")
    theirs = read_libsvm_model(tmp_path / "theirs", n_features=X.shape[1])
    expected = predicted_there(tmp_path, "theirs")
    np.testing.assert_array_equal(theirs.predict(X), expected)
    write_libsvm_model(theirs, tmp_path / "again")
    np.testing.assert_array_equal(predicted_there(tmp_path, "again"), expected)
    save(theirs, tmp_path / "saved")
    np.testing.assert_array_equal(load(tmp_path / "saved").predict(X), expected)
    ours = SVC(kernel=theirs.kernel, gamma=0.5, coef0=theirs.coef0, max_iter=5000).fit(X[:150], y[:150])
    write_libsvm_model(ours, tmp_path / "ours")
    np.testing.assert_array_equal(predicted_there(tmp_path, "ours"), ours.predict(X))
    # A fit forgets the order of the file.
    np.testing.assert_array_equal(theirs.fit(X[:150], y[:150])._order_of_votes(), np.arange(n_classes))


def test_votes_that_tie_are_decided_as_scikit_learn_does():
    X, y = rows_with_ties()
    ours, rival = SVC(gamma=0.5, tol=1e-7).fit(X[:200], y[:200]), LibsvmSVC(gamma=0.5, tol=1e-7).fit(X[:200], y[:200])
    by_scores = ours.classes_[ours.decision_function(X).argmax(axis=1)]
    assert (ours.predict(X) != by_scores).any()
    np.testing.assert_array_equal(ours.predict(X), rival.predict(X))
    ours.break_ties = rival.break_ties = True
    np.testing.assert_array_equal(ours.predict(X), by_scores)
    np.testing.assert_array_equal(ours.predict(X), rival.predict(X))


@needs_libsvm
@pytest.mark.parametrize("labels", [[1, -1], [-1, 1], [2, 7], [7, 2]])
def test_a_score_of_exactly_zero_gets_the_same_label(labels, tmp_path):
    X, y = np.array([[1.0], [-1.0]]), np.array(labels)
    write_svmlight(tmp_path / "train", X, y)
    (tmp_path / "data").write_text("1 1:0\n1 1:1\n1 1:-1\n")
    run(tmp_path, "svm-train", "-q", "-t", "0", "train", "theirs")
    ours, theirs = SVC(kernel="linear").fit(X, y), read_libsvm_model(tmp_path / "theirs")
    assert ours.decision_function([[0.0]]) == theirs.decision_function([[0.0]]) == 0.0
    assert ours.predict([[0.0]]) == max(labels)
    write_libsvm_model(ours, tmp_path / "ours")
    for model, name in ((ours, "ours"), (theirs, "theirs")):
        np.testing.assert_array_equal(model.predict([[0.0], [1.0], [-1.0]]), predicted_there(tmp_path, name))


@needs_libsvm
@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("break_ties", [False, True])
def test_onnx_graphs_have_the_scores_and_labels_of_the_model(shape, break_ties, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    X, y = rows_with_ties()
    write_svmlight(tmp_path / "train", X[:150], y[:150])
    run(tmp_path, "svm-train", "-q", "-g", "0.5", "train", "theirs")
    theirs = read_libsvm_model(tmp_path / "theirs", n_features=X.shape[1])
    flowers, kinds = load_iris(return_X_y=True)
    for model, data in (
        (theirs, X),
        (SVC(gamma=0.5).fit(X[:150], y[:150]), X),
        (SVC().fit(flowers, kinds), flowers),
        (SVC().fit(flowers, (kinds > 0).astype(int)), flowers),
        (LinearSVC().fit(flowers, kinds), flowers),
    ):
        if isinstance(model, SVC):
            model.set_params(decision_function_shape=shape, break_ties=break_ties and shape == "ovr")
        write_onnx(model, tmp_path / "graph")
        session = runtime.InferenceSession(tmp_path / "graph", providers=["CPUExecutionProvider"])
        label, scores = session.run(["label", "scores"], {"X": data})
        np.testing.assert_array_equal(label, model.predict(data))
        expected = model.decision_function(data)
        expected = expected[:, None] if expected.ndim == 1 else expected
        assert scores.shape == expected.shape
        np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)


# Rows with more columns than a model of another program has.


def command(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def said(*words):
    outcome = command(*words)
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout


WIDER = "1 1:1\n-1 1:-1\n1 1:5 2:0.1\n-1 1:-5\n1 1:0.3 9:2\n-1 1:-0.2 2147483647:3\n"


@needs_libsvm
@pytest.mark.parametrize("kind", ["-s 0", "-s 3"])
@pytest.mark.parametrize("kernel", ["-t 0", "-t 1 -g 0.5 -r 1", "-t 2 -g 0.5", "-t 3 -g 0.1"])
def test_libsvm_models_take_wider_rows_as_svm_predict_does(kind, kernel, tmp_path):
    (tmp_path / "train").write_text("1 1:1\n-1 1:-1\n1 1:5\n-1 1:-5\n")
    (tmp_path / "data").write_text(WIDER)
    run(tmp_path, "svm-train", "-q", *kind.split(), *kernel.split(), "train", "model")
    expected = predicted_there(tmp_path, "model")
    found = np.array(said("predict", tmp_path / "model", tmp_path / "data").split(), dtype=float)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    answer = json.loads(said("evaluate", tmp_path / "model", tmp_path / "data", "--json"))
    if kind == "-s 0":
        labels = np.array([float(line.split()[0]) for line in WIDER.splitlines()])
        assert answer["accuracy"] == np.mean(expected == labels)


@pytest.mark.skipif(shutil.which("liblinear-predict") is None, reason="liblinear-tools is not installed")
@pytest.mark.parametrize("bias", ["-1", "1"])
def test_liblinear_models_take_wider_rows_as_its_predict_does(bias, tmp_path):
    (tmp_path / "train").write_text("1 1:1\n-1 1:-1\n1 1:5\n-1 1:-5\n")
    (tmp_path / "data").write_text(WIDER)
    run(tmp_path, "liblinear-train", "-q", "-B", bias, "train", "model")
    run(tmp_path, "liblinear-predict", "data", "model", "output")
    found = np.array(said("predict", tmp_path / "model", tmp_path / "data").split(), dtype=float)
    np.testing.assert_array_equal(found, np.loadtxt(tmp_path / "output"))
    assert json.loads(said("evaluate", tmp_path / "model", tmp_path / "data", "--json"))["rows"] == 6


@needs_libsvm
def test_stores_of_other_widths_meet_models_of_other_programs(tmp_path):
    (tmp_path / "train").write_text("1 1:1 3:1\n-1 1:-1 3:1\n")
    run(tmp_path, "svm-train", "-q", "-g", "0.5", "train", "model")
    for number, text in enumerate(["1 1:1\n-1 1:-1\n", "1 1:1 3:1\n-1 1:-1 3:2\n", "1 1:1 7:1\n-1 1:-1 3:2\n"]):
        (tmp_path / "data").write_text(text)
        store = tmp_path / f"{number}.store"
        said("convert", tmp_path / "data", store)
        found = np.array(said("predict", tmp_path / "model", store).split(), dtype=float)
        np.testing.assert_array_equal(found, predicted_there(tmp_path, "model"))
        said("evaluate", tmp_path / "model", store)


def test_models_of_our_own_refuse_wider_rows(tmp_path):
    (tmp_path / "data").write_text(WIDER)
    for model in (SVC(), LinearSVC()):
        save(model.fit([[1.0], [-1.0]], [1, -1]), tmp_path / "model")
        outcome = command("predict", tmp_path / "model", tmp_path / "data")
        assert outcome.exit_code != 0
        outcome = command("evaluate", tmp_path / "model", tmp_path / "data")
        assert outcome.exit_code != 0


def test_support_vectors_with_the_largest_index_cost_nothing(tmp_path):
    (tmp_path / "model").write_text(
        "svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 -1\nnr_sv 1 1\nSV\n"
        "1 1:1 2147483647:1\n-1 1:-1 2147483647:1\n"
    )
    (tmp_path / "data").write_text(WIDER)
    spent = bytes_at_most(lambda: said("predict", tmp_path / "model", tmp_path / "data"))
    assert spent < FEW_BYTES
    assert said("predict", tmp_path / "model", tmp_path / "data").split() == ["1", "-1", "1", "-1", "1", "-1"]
