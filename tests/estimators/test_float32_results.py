"""Rows in float32 give float32 coefficients and predictions where scikit-learn's do, with certificates of these."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
import sklearn.svm
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import scale

import maxmargin as mm
from checker_cases import verdicts, write_data
from maxmargin.files.verification import check_model

ROWS, LABELS = load_iris(return_X_y=True)
ROWS = scale(ROWS)
TARGETS = ROWS @ [1.0, -2.0, 0.5, 3.0] + np.sin(7.0 * np.arange(len(ROWS)))
NARROW = ROWS.astype(np.float32)

FLOAT32 = [
    mm.LogisticRegression(),
    mm.LogisticRegression(multi_class="ovr"),
    mm.LogisticRegression(l1_ratio=0.5, multi_class="ovr"),
    mm.Perceptron(),
    mm.Ridge(),
    mm.Ridge(positive=True),
    mm.Lasso(alpha=0.01),
    mm.ElasticNet(alpha=0.01),
]
FLOAT64 = [
    mm.LogisticRegression(solver="liblinear", multi_class="ovr"),
    mm.LinearSVC(),
    mm.LinearSVR(),
    mm.SVC(),
    mm.SVR(),
    mm.NuSVC(nu=0.2),
    mm.OneClassSVM(),
]
OneClass = mm.OneClassSVM, sklearn.svm.OneClassSVM
METHODS = ("decision_function", "predict_proba", "predict_log_proba")


def target_of(model, several=True):
    if not is_classifier(model):
        return TARGETS
    return LABELS if several else (LABELS == 1).astype(int)


def dtypes(model, rows):
    """The types of the results of a fitted model."""
    found = {name: getattr(model, name).dtype for name in ("coef_", "intercept_") if hasattr(model, name)}
    names = METHODS if is_classifier(model) or isinstance(model, OneClass) else ("predict",)
    return found | {name: getattr(model, name)(rows).dtype for name in names if hasattr(model, name)}


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("model", FLOAT32, ids=str)
def test_results_are_float32_as_scikit_learns(model, form):
    y = target_of(model)
    found = clone(model).fit(form(NARROW), y)
    assert found.status_ == "solved" or isinstance(model, mm.Perceptron)
    assert set(dtypes(found, form(NARROW)).values()) == {np.dtype(np.float32)}
    rival = getattr(sklearn.linear_model, type(model).__name__)().fit(form(NARROW), y)
    assert dtypes(found, NARROW) == dtypes(rival, NARROW)
    assert dtypes(found, ROWS) == dtypes(rival, ROWS)
    # Those of the same rows in float64, rounded once.
    wide = clone(model).fit(form(NARROW.astype(np.float64)), y)
    assert set(dtypes(wide, NARROW).values()) == {np.dtype(np.float64)}
    np.testing.assert_array_equal(found.coef_, wide.coef_.astype(np.float32))
    np.testing.assert_array_equal(found.intercept_, np.float32(wide.intercept_))


@pytest.mark.parametrize("model", FLOAT64, ids=str)
def test_results_are_float64_where_scikit_learn_computes_in_float64(model):
    y = target_of(model, several=False)
    found = clone(model).fit(NARROW, y)
    assert set(dtypes(found, NARROW).values()) == {np.dtype(np.float64)}
    module = sklearn.linear_model if isinstance(model, mm.LogisticRegression) else sklearn.svm
    names = model.get_params().keys() & {"solver", "nu"} if isinstance(model, (mm.LogisticRegression, mm.NuSVC)) else ()
    rival = getattr(module, type(model).__name__)(**{name: getattr(model, name) for name in names})
    assert dtypes(found, NARROW).items() <= {**dtypes(rival.fit(NARROW, y), NARROW), "coef_": np.float64}.items()


@pytest.mark.parametrize("model", FLOAT32, ids=str)
def test_certificates_speak_of_the_rounded_vectors(model, tmp_path):
    y = target_of(model, several=False)
    model = clone(model).fit(NARROW, y)
    model.certificate_.check(mm.certify(model, NARROW, y))
    path = tmp_path / "model.safetensors"
    mm.save(model, path, NARROW, y)
    again = mm.load(path)
    assert again.coef_.dtype == np.float32
    assert again.certificate_ == model.certificate_
    again.certificate_.check(mm.certify(again, NARROW, y))
    names = METHODS if is_classifier(model) else ("predict",)
    for name in names:
        if hasattr(model, name):
            np.testing.assert_array_equal(getattr(again, name)(NARROW), getattr(model, name)(NARROW))
            assert getattr(again, name)(NARROW).dtype == np.float32
    write_data(tmp_path / "data", NARROW.astype(np.float64), y)
    found = verdicts(path, tmp_path / "data")
    assert "FALSE" not in found.values()
    check_model(again, again._data_to_certify(NARROW, y, None), mm.certify(again, NARROW, y))


def test_the_primal_objective_of_ridge_is_that_of_the_float32_coefficients():
    model = mm.Ridge(alpha=2.0, fit_intercept=False).fit(NARROW, TARGETS)
    w = [Fraction(float(value)) for value in model.coef_]
    rows = [[Fraction(float(value)) for value in row] for row in NARROW]
    errors = (
        Fraction(t) - sum(a * b for a, b in zip(row, w, strict=True)) for row, t in zip(rows, TARGETS, strict=True)
    )
    exact = sum(error * error for error in errors) + 2 * sum(value * value for value in w)
    assert exact <= Fraction(model.certificate_.primal)
    assert float(Fraction(model.certificate_.primal) / exact - 1) < 1e-13


# An intercept of -2^22 times a coefficient, in which half a unit of float32 is a quarter.
FAR = (np.round(64.0 * ROWS) / 64.0 * [1.0, -1.0, 1.0, 1.0] + [0.0, 2.0**22, 0.0, 0.0]).astype(np.float32)
# Two columns that differ by a millionth, of which y is a large multiple of the difference.
ALIKE = np.column_stack([NARROW[:, 0], NARROW[:, 0] + np.round(8.0 * NARROW[:, 1]) * np.float32(2.0**-20)])
DIFFERENCES = 2.0**20 * (ALIKE[:, 1].astype(np.float64) - ALIKE[:, 0])


def predictions(model, rows):
    names = METHODS if is_classifier(model) else ("predict",)
    return [getattr(model, name)(rows) for name in names if hasattr(model, name)]


@pytest.mark.parametrize("model", [model for model in FLOAT32 if not isinstance(model, mm.Perceptron)], ids=str)
def test_far_columns_cost_the_intercept_its_float32_and_not_the_gap(model, tmp_path):
    y = target_of(model)
    found = clone(model).fit(FAR, y)
    assert found.status_ == "solved"
    assert (found.coef_.dtype, found.intercept_.dtype) == (np.float32, np.float64)
    assert {result.dtype for result in predictions(found, FAR)} == {np.dtype(np.float32)}
    found.certificate_.check(mm.certify(found, FAR, y))
    mm.save(found, tmp_path / "model", FAR, y)
    again = mm.load(tmp_path / "model")
    assert again.coef_.dtype == np.float32
    for one, other in zip(predictions(again, FAR), predictions(found, FAR), strict=True):
        assert one.dtype == np.float32
        np.testing.assert_array_equal(one, other)
    wide = clone(model).fit(FAR.astype(np.float64), y)
    for one, other in zip(predictions(found, FAR), predictions(wide, FAR.astype(np.float64)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_float64_stays_where_rounded_coefficients_would_cost_the_gap(tmp_path):
    model = mm.Ridge(alpha=1e-9, tol=1e-6).fit(ALIKE, DIFFERENCES)
    assert model.status_ == "solved"
    assert model.certificate_.relative <= model.tol
    assert model.coef_.dtype == np.float64
    assert model.predict(ALIKE).dtype == np.float32
    assert model.predict(ALIKE.astype(np.float64)).dtype == np.float64
    wide = ALIKE.astype(np.float64)
    expected = mm.Ridge(alpha=1e-9, tol=1e-6).fit(wide, DIFFERENCES).predict(wide)
    np.testing.assert_array_equal(model.predict(ALIKE), expected.astype(np.float32))
    mm.save(model, tmp_path / "model", ALIKE, DIFFERENCES)
    again = mm.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(ALIKE), model.predict(ALIKE))
    assert again.predict(ALIKE).dtype == np.float32
    # The next fit begins anew.
    assert model.fit(ALIKE.astype(np.float64), DIFFERENCES).predict(ALIKE).dtype == np.float64


def test_types_do_not_depend_on_limits():
    with pytest.warns(mm.LimitWarning):
        limited = mm.Ridge(alpha=1.0, tol=1e-15).fit(FAR, TARGETS)
    assert limited.coef_.dtype == np.float32
    with pytest.warns(mm.LimitWarning):
        limited = mm.LogisticRegression(max_iter=1, tol=1e-12).fit(NARROW, LABELS)
    assert limited.coef_.dtype == np.float32


def test_float64_stays_beyond_the_range_of_float32():
    tiny = (NARROW * np.float32(1e-36)).astype(np.float32)
    model = mm.Ridge(alpha=1e-80).fit(tiny, 1e10 * TARGETS)
    assert model.coef_.dtype == np.float64
    assert np.isfinite(model.coef_).all()


def test_streams_go_on_from_exact_sums():
    rows, labels = load_breast_cancer(return_X_y=True)
    rows = scale(rows).astype(np.float32)
    narrow, wide = mm.Perceptron(), mm.Perceptron()
    for part in np.array_split(np.arange(len(rows)), 7):
        narrow.partial_fit(rows[part], labels[part], classes=[0, 1])
        wide.partial_fit(rows[part].astype(np.float64), labels[part], classes=[0, 1])
    assert narrow.coef_.dtype == np.float32
    np.testing.assert_array_equal(narrow.coef_, wide.coef_.astype(np.float32))
    assert narrow.n_updates_ == wide.n_updates_
    blocks = [(rows[part], labels[part]) for part in np.array_split(np.arange(len(rows)), 3)]
    of_blocks = mm.Perceptron().fit_blocks(blocks, passes=3)
    assert of_blocks.coef_.dtype == np.float32
    assert of_blocks.n_updates_ <= of_blocks.certificate_.bound


@pytest.mark.parametrize("model", [mm.LogisticRegression(), mm.Lasso(alpha=0.01), mm.Perceptron()], ids=str)
def test_warm_starts_from_float32(model):
    y = target_of(model)
    started = clone(model).set_params(warm_start=True).fit(NARROW, y)
    exact = clone(started).fit(NARROW.astype(np.float64), y)
    exact.coef_, exact.intercept_ = started.coef_.astype(np.float64), np.float64(started.intercept_)
    exact.fit(NARROW.astype(np.float64), y)
    started.fit(NARROW, y)
    assert started.coef_.dtype == np.float32
    np.testing.assert_array_equal(started.coef_, exact.coef_.astype(np.float32))


def test_paths_are_in_float32():
    _, coefs, _ = mm.enet_path(NARROW, TARGETS, alphas=5)
    assert coefs.dtype == np.float32


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # scikit-learn sums float32
@pytest.mark.parametrize("model", [mm.Perceptron(), mm.LogisticRegression(C=1e9), mm.Lasso(), mm.Ridge()], ids=str)
def test_scores_beyond_the_range_of_float32_are_float64(model):
    """Scores that float32 would round to infinity, of rows that float32 holds."""
    X = np.random.default_rng(0).standard_normal((40, 3)).astype(np.float32)
    # Targets as large as 200: with coefficients below one, as of targets up to 2, all scores of such rows are float32.
    y = np.digitize(X[:, 0], [-0.3, 0.3]) * (1 if is_classifier(model) else 100)
    model.fit(X, y)
    far = np.clip(X * 1e38, -3e38, 3e38, dtype=np.float64).astype(np.float32)
    scores = model.decision_function if is_classifier(model) else model.predict
    assert (scores(X).dtype, scores(far).dtype) == (np.float32, np.float64)
    exact = scores(far.astype(np.float64))
    assert np.isfinite(exact).all()
    np.testing.assert_array_equal(scores(far), exact)
    np.testing.assert_array_equal(model.predict(far), model.predict(far.astype(np.float64)))
