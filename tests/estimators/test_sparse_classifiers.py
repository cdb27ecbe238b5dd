"""Linear classifiers with an L1 penalty: the same models as scikit-learn's, with gaps and zeros that hold."""

import dataclasses
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as rivals
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC as RivalSVC
from sklearn.svm import l1_min_c as rival_min_c

from maxmargin import (
    ElasticNet,
    Lasso,
    LinearSVC,
    LogisticRegression,
    certify,
    enet_path,
    l1_min_c,
    lasso_path,
    load,
    save,
)
from maxmargin.certificates import CertificateError, SparseGap
from maxmargin.certificates.sparse_gap import measure_sparse_gap
from maxmargin.data import Points
from maxmargin.problems.sparse_linear import SparseLinearProblem
from maxmargin.solvers.core import Monitor, Options, Status
from maxmargin.solvers.linear import sparse

X, Y = load_breast_cancer(return_X_y=True)
X = scale(X)
SIGNS = np.where(Y == 1, 1.0, -1.0)
MODELS = [
    LinearSVC(penalty="l1", loss="squared_hinge", tol=1e-9),
    LinearSVC(penalty="l1", loss="squared_hinge", tol=1e-9, penalize_intercept=True, intercept_scaling=3.0),
    LogisticRegression(penalty="l1", tol=1e-9),
    LogisticRegression(l1_ratio=1.0, solver="liblinear", intercept_scaling=2.0, tol=1e-9),
    LogisticRegression(penalty="elasticnet", l1_ratio=0.3, tol=1e-9),
    LogisticRegression(l1_ratio=0.7, fit_intercept=False, tol=1e-9),
]


def name_of(model):
    return f"{type(model).__name__}-{getattr(model, '_l1_ratio', 1.0)}-{model._has_intercept_column}"


def fitted(model, points=X, labels=Y, **arguments):
    return type(model)(**model.get_params()).fit(points, labels, **arguments)


def problem_of(loss, l1=1.0, l2=0.0, C=1.0, weights=None, points=X, signs=SIGNS):
    weights = np.ones(len(signs)) if weights is None else weights
    return SparseLinearProblem.of(Points(points), signs, weights, loss, C, l1=l1, l2=l2)


@pytest.mark.parametrize("C", [0.02, 1.0])
def test_the_penalised_intercept_is_scikit_learns(C):
    ours = LinearSVC(penalty="l1", loss="squared_hinge", C=C, penalize_intercept=True, tol=1e-10).fit(X, Y)
    theirs = RivalSVC(penalty="l1", C=C, tol=1e-9, max_iter=10**6).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-5)
    ours = LogisticRegression(l1_ratio=1.0, C=C, solver="liblinear", tol=1e-10).fit(X, Y)
    theirs = rivals.LogisticRegression(l1_ratio=1.0, C=C, solver="liblinear", tol=1e-10, max_iter=10**6).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-5)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("ratio", [0.5, 1.0])
def test_the_free_intercept_is_that_of_saga(ratio):
    ours = LogisticRegression(l1_ratio=ratio, C=0.05, tol=1e-10).fit(X, Y)
    theirs = rivals.LogisticRegression(l1_ratio=ratio, C=0.05, solver="saga", tol=1e-9, max_iter=10**5).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_the_gap_is_reached_and_proven_zeros_are_zero(model):
    model = fitted(model)
    proof = model.certificate_
    assert model.status_ is Status.SOLVED
    assert isinstance(proof, SparseGap)
    assert proof.relative <= 1e-9
    proof.check(certify(model, X, Y))
    # A penalised intercept is the coefficient of one more column.
    n_zeros = np.count_nonzero(model.coef_ == 0.0) + np.count_nonzero(model.intercept_ == 0.0)
    assert 0 < proof.unused <= n_zeros
    for parameter in (1.0, 0.1):
        coarse = fitted(type(model)(**model.get_params() | {"tol": parameter})).certificate_
        assert coarse.dual <= proof.primal
        assert coarse.primal >= proof.dual
        assert coarse.unused <= proof.unused


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_weights_are_repeated_rows_and_layouts_do_not_matter(model):
    weights = np.random.default_rng(0).integers(0, 4, len(Y))
    weighted = fitted(model, sample_weight=weights)
    repeated = fitted(model, np.repeat(X, weights, axis=0), np.repeat(Y, weights))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-8)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-4)
    compressed = fitted(model, sp.csr_array(X))
    np.testing.assert_allclose(compressed.coef_, fitted(model).coef_, atol=1e-4)
    single = fitted(model, X.astype(np.float32))
    assert single.certificate_.relative <= 1e-9


def test_classes_are_learned_one_against_the_rest():
    points, labels = load_iris(return_X_y=True)
    for model in (MODELS[0], LogisticRegression(l1_ratio=0.5, multi_class="ovr", tol=1e-9)):
        model = fitted(model, points, labels)
        assert model.coef_.shape == (3, 4)
        for label, proof in model.certificate_.items():
            alone = fitted(model, points, labels == label)
            assert proof.primal == pytest.approx(alone.objective_, rel=1e-8)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("l2", [0.0, 0.4])
def test_the_bounds_hold_for_any_vectors(loss, l2):
    random = np.random.default_rng(1)
    problem = problem_of(loss, l1=0.6, l2=l2, weights=random.integers(0, 3, len(SIGNS)).astype(float))
    best = sparse.solve(problem, Options(tol=1e-12), Monitor())
    optimum = measure_sparse_gap(problem, best.w, best.intercept)
    assert optimum.relative <= 1e-10
    for size in (0.0, 1e-3, 1.0, 1e3):
        w, b = best.w + size * random.standard_normal(best.w.size), best.intercept + size
        for beta in (None, size * random.standard_normal(len(SIGNS)), best.beta):
            proof = measure_sparse_gap(problem, w, b, beta)
            assert proof.dual <= optimum.primal
            assert proof.primal >= optimum.dual
            assert proof.unused <= np.count_nonzero(best.w == 0.0)


def test_the_bounds_hold_in_exact_arithmetic():
    random = np.random.default_rng(2)
    points = random.integers(-8, 9, (12, 3)) / 4.0
    signs = np.where(np.arange(12) % 2, 1.0, -1.0)
    problem = problem_of("squared_hinge", C=0.5, points=points, signs=signs)
    best = sparse.solve(problem, Options(tol=1e-13), Monitor())
    proof = measure_sparse_gap(problem, best.w, best.intercept)
    w, b = [Fraction(float(value)) for value in best.w], Fraction(best.intercept)
    value = sum(map(abs, w))
    for row, sign in zip(points, signs, strict=True):
        margin = int(sign) * (sum(Fraction(float(x)) * one for x, one in zip(row, w, strict=True)) + b)
        value += Fraction(1, 2) * max(Fraction(0), 1 - margin) ** 2
    assert value <= Fraction(proof.primal)
    assert float(value) == pytest.approx(proof.primal, rel=1e-12)


def test_forged_claims_are_refused():
    for model in (fitted(MODELS[0]), fitted(MODELS[2]), fitted(MODELS[4])):
        true, proof = model.certificate_, certify(model, X, Y)
        for change in ({"primal": true.primal * 0.999}, {"dual": true.dual * 1.001}, {"unused": true.unused + 1}):
            with pytest.raises(CertificateError):
                SparseGap(**{**dataclasses.asdict(true), "dual": 0.0, **change}).check(proof)
    model = fitted(MODELS[0])
    model.dual_coef_ = model.dual_coef_[:, ::-1]
    with pytest.raises(CertificateError, match="dual"):
        model.certificate_.check(certify(model, X, Y))


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_model_files_keep_the_model_and_its_proof(model, tmp_path):
    model = fitted(model)
    save(model, tmp_path / "model.mm", X, Y)
    back = load(tmp_path / "model.mm")
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    assert back.certificate_ == model.certificate_
    back.certificate_.check(certify(back, X, Y))


def test_warm_starts_begin_at_the_coefficients():
    for model in (MODELS[0], MODELS[1], MODELS[2]):
        model = type(model)(**model.get_params() | {"warm_start": True}).fit(X, Y)
        n_first = np.max(model.n_iter_)
        model.fit(X, Y)
        assert np.max(model.n_iter_) < n_first


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (LinearSVC(penalty="l1"), "loss='squared_hinge'"),
        (LinearSVC(penalty="l1", loss="squared_hinge", dual=True), "dual=False"),
        (LinearSVC(penalty="l1", loss="squared_hinge", solver="newton"), "solver='auto'"),
        (LinearSVC(penalty="l1", loss="squared_hinge", C=np.inf), "finite C"),
        (LogisticRegression(penalty="l1", dual=True), "dual"),
        (LogisticRegression(l1_ratio=0.5, solver="gradient"), "gradient"),
    ],
)
def test_what_is_not_solved_is_refused(model, words):
    with pytest.raises(ValueError, match=words):
        model.fit(X, Y)


@pytest.mark.parametrize(("loss", "ours"), [("squared_hinge", MODELS[0]), ("log", MODELS[2])])
def test_the_least_c_is_where_coefficients_begin(loss, ours):
    points, labels = load_iris(return_X_y=True)
    for part in (labels > 0, labels == 1):
        C = l1_min_c(points, part, loss=loss)
        for factor, empty in ((1.0 - 1e-6, True), (1.001, False)):
            model = type(ours)(**ours.get_params() | {"C": factor * C}).fit(points, part)
            assert (not model.coef_.any()) == empty
    for scaling in (1.0, 5.0):
        found = l1_min_c(points, labels, loss=loss, penalize_intercept=True, intercept_scaling=scaling)
        assert found == pytest.approx(rival_min_c(points, labels, loss=loss, intercept_scaling=scaling), rel=1e-12)
    with pytest.raises(ValueError, match="every C"):
        l1_min_c(np.zeros((4, 2)), [0, 1, 0, 1])


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_models_are_empty_only_where_zero_is_optimal(seed, fit_intercept):
    # At a penalty just below the largest one, the gap of the empty model is far below tol.
    points, labels = make_classification(40, 12, random_state=seed)
    values = points @ np.random.default_rng(seed).normal(size=12)
    for loss, ours in (("squared_hinge", MODELS[0]), ("log", MODELS[2])):
        C = l1_min_c(points, labels, loss=loss, fit_intercept=fit_intercept)
        for factor, empty in ((1.0 - 1e-6, True), (1.0001, False), (1.01, False)):
            model = clone(ours).set_params(C=factor * C, fit_intercept=fit_intercept, tol=1e-2).fit(points, labels)
            assert (not model.coef_.any()) == empty
            assert model.status_ is Status.SOLVED
    centred = (points - points.mean(axis=0), values - values.mean()) if fit_intercept else (points, values)
    for ratio in (0.5, 1.0):
        alpha = np.abs(centred[0].T @ centred[1]).max() / len(values) / ratio
        for factor, empty in ((1.0 - 1e-6, False), (0.99, False), (1.0 + 1e-6, True)):
            model = ElasticNet(alpha=factor * alpha, l1_ratio=ratio, fit_intercept=fit_intercept, tol=1e-2)
            assert (not model.fit(points, values).coef_.any()) == empty
            assert model.status_ is Status.SOLVED


def test_least_c_and_paths_warn_of_nothing_that_the_user_did_not_write():
    points, targets = load_diabetes(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for loss in ("squared_hinge", "log"):
            l1_min_c(points, targets > 140, loss=loss)
        enet_path(points, targets, alphas=3, check_input=False, precompute="auto")


@pytest.mark.parametrize("path", [enet_path, lasso_path])
def test_paths_take_the_number_of_penalties_by_its_old_name(path):
    points, targets = load_diabetes(return_X_y=True)
    with pytest.warns(FutureWarning, match="write alphas=5"):
        alphas = path(points, targets, n_alphas=5)[0]
    np.testing.assert_array_equal(alphas, path(points, targets, alphas=5)[0])
    with pytest.warns(FutureWarning, match="write alphas=100"):
        assert len(path(points, targets, alphas=None)[0]) == 100
    with pytest.raises(ValueError, match="'fit_intercept': the path sets it itself"):
        path(points, targets, fit_intercept=True)
    with pytest.raises(ValueError, match="'max_iters': did you mean 'max_iter'"):
        path(points, targets, max_iters=3)


@pytest.mark.parametrize("ratio", [0.5, 1.0])
def test_paths_are_scikit_learns(ratio):
    points, targets = load_diabetes(return_X_y=True)
    targets = targets - targets.mean()
    alphas, coefs, gaps, n_iters = Lasso.path(
        points, targets, l1_ratio=ratio, alphas=20, eps=1e-2, tol=1e-10, return_n_iter=True
    )
    found = rivals.enet_path(points, targets, l1_ratio=ratio, alphas=20, eps=1e-2, tol=1e-12, max_iter=10**5)
    np.testing.assert_allclose(alphas, found[0], rtol=1e-12)
    np.testing.assert_allclose(coefs, found[1], atol=1e-3)
    assert (gaps <= 1e-10 * np.square(targets).mean()).all()
    assert len(n_iters) == 20
    if ratio == 1.0:
        np.testing.assert_array_equal(lasso_path(points, targets, alphas=alphas[:5], tol=1e-10)[1], coefs[:, :5])
    with pytest.raises(ValueError, match="'alpha': the path sets it itself"):
        enet_path(points, targets, alpha=1.0)


@pytest.mark.parametrize("alphas", [3, [1.0, 0.1]], ids=str)
@pytest.mark.parametrize("path", [enet_path, lasso_path, Lasso.path, ElasticNet.path])
def test_paths_refuse_several_targets_and_take_one_column(path, alphas):
    points, targets = load_diabetes(return_X_y=True)
    found = path(points, targets[:, None], alphas=alphas)
    plain = path(points, targets, alphas=alphas)
    np.testing.assert_array_equal(found[1], plain[1][None])
    theirs = (rivals.lasso_path if path is lasso_path else rivals.enet_path)(points, targets[:, None], alphas=alphas)
    assert [values.shape for values in found] == [values.shape for values in theirs]
    for several in (np.column_stack([targets, targets[::-1]]), [[value, -value] for value in targets]):
        with pytest.raises(ValueError, match=r"y has 2 columns, for which scikit-learn's path has one joint penalty"):
            path(points, several, alphas=alphas)


@pytest.mark.parametrize("kind", [np.float32, np.float64, sp.csr_array])
@pytest.mark.parametrize("weights", [None, np.arange(442) % 3])
def test_products_that_are_given_to_a_path_are_those_of_the_data(kind, weights):
    points, targets = load_diabetes(return_X_y=True)
    rows, alphas = kind(points), [1.0, 0.1]
    products = points.T @ (targets if weights is None else weights * targets)
    plain = enet_path(rows, targets, alphas=alphas, sample_weight=weights)[1]
    for given in (products, products.astype(rows.dtype), products[:, None]):
        found = enet_path(rows, targets, Xy=given, alphas=alphas, sample_weight=weights)[1]
        np.testing.assert_array_equal(found, plain)
    for given, words in (
        (2.0 * products, "entry 0 is"),
        (products[:3], "has shape"),
        (products * np.nan, "entry 0 is"),
    ):
        for path in (enet_path, lasso_path):
            with pytest.raises(ValueError, match=words):
                path(rows, targets, Xy=given, alphas=alphas, sample_weight=weights)
