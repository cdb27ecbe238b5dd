"""LIBLINEAR's model files: read, written, and compared with LIBLINEAR."""

import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maxmargin import (
    SVC,
    LinearSVC,
    LinearSVR,
    MarginPerceptron,
    ModelFileError,
    Perceptron,
    load,
    save,
)
from maxmargin.files import read_liblinear_model, read_libsvm_model, write_liblinear_model, write_libsvm_model
from model_file_cases import (
    CODES,
    LIBSVM_TEXT,
    REGRESSIONS,
    VALUES,
    WORDS,
    X,
    clone,
    labels_of,
    name_of,
    run_command,
    write_text_data,
)

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")


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


@pytest.mark.parametrize("solver", [*range(8), 11, 12, 13])
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
    if solver in LOGISTIC:
        for model in (theirs, back):
            assert model.is_probability_model()
            found = library.predict(labels.tolist(), data.tolist(), model, "-b 1 -q")[2]
            columns = np.argsort(model.get_labels())
            np.testing.assert_allclose(ours.predict_proba(data), np.array(found)[:, columns], atol=1e-9)


# LIBLINEAR's numbers of logistic regression: primal, with the absolute values as penalty, dual.
LOGISTIC = (0, 6, 7)


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
        ("L2R_L1LOSS_SVC_DUAL", "ONECLASS_SVM", "line 1: solver_type 'ONECLASS_SVM' is not supported"),
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
    with pytest.raises(ModelFileError, match="is not SVC, SVR, NuSVC, NuSVR or OneClassSVM"):
        write_libsvm_model(LinearSVC().fit(X, CODES), path)
    with pytest.raises(ModelFileError, match="is not LinearSVC"):
        write_liblinear_model(SVC().fit(X, CODES), path)
    assert not path.exists()
