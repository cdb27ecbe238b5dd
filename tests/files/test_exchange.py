"""Exchanged models mean the same to other programs."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from libsvm_cases import needs_libsvm, predicted_there, rows_with_ties, run
from maxmargin import SVC, LinearSVC, load, save
from maxmargin.files import read_libsvm_model, write_libsvm_model, write_onnx, write_svmlight


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
