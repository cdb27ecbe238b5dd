"""LIBSVM's model files: read, written, and compared with LIBSVM."""

import shutil

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import (
    SVC,
    SVR,
    ModelFileError,
    calibrate,
    certify,
    load,
    save,
)
from maxmargin.files import read_libsvm_model, write_libsvm_model
from model_file_cases import LIBSVM_TEXT, VALUES, X, labels_of, run_command, write_text_data

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")


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


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("ascending", [True, False])
def test_probabilities_of_libsvm_both_ways(n_classes, ascending, tmp_path):
    library = pytest.importorskip("libsvm.svmutil")
    rng = np.random.default_rng(n_classes)
    centres = rng.normal(size=(n_classes, 4))
    codes = rng.permutation(np.repeat(np.arange(n_classes), 40))
    data = centres[codes] + rng.normal(size=(len(codes), 4))
    labels = codes * 3.0 - 4.0
    # LIBSVM orders the labels as they occur.
    order = np.argsort(labels if ascending else -labels, kind="stable")
    data, labels = data[order], labels[order]
    theirs = library.svm_train(labels.tolist(), data.tolist(), "-b 1 -q")
    library.svm_save_model(str(tmp_path / "theirs"), theirs)
    ours = read_libsvm_model(tmp_path / "theirs", n_features=4)
    columns = np.argsort(theirs.get_labels())

    def of_libsvm(model):
        return np.array(library.svm_predict(labels.tolist(), data.tolist(), model, "-b 1 -q")[2])[:, columns]

    # LIBSVM ends its coupling at 0.005 divided by the number of classes.
    tolerance = 1e-9 if n_classes == 2 else 0.005
    np.testing.assert_allclose(ours.predict_proba(data), of_libsvm(theirs), atol=tolerance)
    trained = calibrate(SVC().fit(data, labels), data, labels)
    for model in (ours, trained):
        write_libsvm_model(model, tmp_path / "ours")
        back = library.svm_load_model(str(tmp_path / "ours"))
        columns = np.argsort(back.get_labels())
        np.testing.assert_allclose(model.predict_proba(data), of_libsvm(back), atol=tolerance)
        again = read_libsvm_model(tmp_path / "ours", n_features=4)
        np.testing.assert_allclose(again.predict_proba(data), model.predict_proba(data), atol=1e-12)


def test_an_isotonic_calibration_is_not_written(tmp_path):
    model = calibrate(SVC().fit(X, labels_of(2)), X, labels_of(2), method="isotonic")
    with pytest.raises(ModelFileError, match="isotonic calibration does not go into the format"):
        write_libsvm_model(model, tmp_path / "model")


def clear(model, data):
    """Rows whose votes do not tie, and that are not on a separating hyperplane."""
    scores = model._pair_scores(data)
    rows = np.abs(scores).min(axis=1) > 1e-6
    if scores.shape[1] > 1:
        votes = np.sort(np.round(model._class_scores(scores)), axis=1)
        rows &= votes[:, -1] > votes[:, -2]
    assert rows.mean() > 0.9
    return rows


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("c_svc", "c_svr", "line 1: svm_type 'c_svr' is not supported"),
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
