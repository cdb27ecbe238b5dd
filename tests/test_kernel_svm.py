"""The kernel support vector machine: against scikit-learn's, a QP solver, the lecture's SMO, and its proof."""

import math
import warnings
from dataclasses import replace

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel
from sklearn.preprocessing import scale
from sklearn.svm import SVC as LibsvmSVC  # noqa: N811
from sklearn.svm import SVR as LibsvmSVR  # noqa: N811

from lecture_smo import smo as smo_of_the_lecture
from maxmargin import SVC, SVR, CertificateError, LimitWarning, MarginBracket, NotSeparableError, Status, certify
from maxmargin.data import ClassPairs
from maxmargin.engine.threads import ThreadEngine
from maxmargin.loops.exponential import exponentiate, store_exponentials
from maxmargin.loops.smo import Duals, ascend_pairs
from maxmargin.problems.kernel_expansion import RowBlock, expansion_scores
from maxmargin.problems.kernels import RadialBasis
from maxmargin.problems.linear_svm import hinge
from maxmargin.problems.one_vs_one import PairProblems
from maxmargin.solvers.core import Monitor, Result
from maxmargin.solvers.kernel import smo
from maxmargin.solvers.kernel.base import SMOOptions, initial_result
from real_data import load, random_set, signs_of

KERNELS = [
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0},
    {"kernel": "poly", "gamma": "auto"},
]
kernels = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: "-".join(map(str, kernel.values())))


def dual_value(K, targets, beta, epsilon=0.0):
    return targets @ beta - epsilon * np.abs(beta).sum() - 0.5 * beta @ K @ beta


def betas(model, n):
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0] if not sp.issparse(model.dual_coef_) else model.dual_coef_.toarray()[0]
    return beta


@kernels
@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_two_classes_agree_with_libsvm(kernel, C, sparse):
    X, y = load("heart_scale")
    data = X if sparse else X.toarray()
    ours = SVC(C=C, tol=1e-7, **kernel).fit(data, y)
    rival = LibsvmSVC(C=C, tol=1e-8, **kernel).fit(X.toarray(), y)
    assert ours.certificate_.relative <= 1e-7
    np.testing.assert_allclose(ours.decision_function(data), rival.decision_function(X.toarray()), atol=2e-3)
    assert ours.dual_coef_.shape[0] == 1
    assert abs(ours.n_support_.sum() - rival.n_support_.sum()) <= 2
    assert np.isin(ours.support_, rival.support_).mean() > 0.97
    ours.certificate_.check(certify(ours, data, y))


@pytest.mark.parametrize("load_set", [load_iris, load_digits])
@pytest.mark.parametrize("kernel", [{"kernel": "rbf"}, {"kernel": "linear"}], ids=str)
def test_many_classes_have_scikit_learns_layout(load_set, kernel):
    X, y = load_set(return_X_y=True)
    X, y = X[::2], np.array([f"class {label}" for label in y])[::2]
    ours, rival = SVC(tol=1e-6, **kernel).fit(X, y), LibsvmSVC(tol=1e-7, **kernel).fit(X, y)
    np.testing.assert_array_equal(ours.classes_, rival.classes_)
    np.testing.assert_array_equal(ours.n_support_, rival.n_support_)
    np.testing.assert_array_equal(ours.support_, rival.support_)
    np.testing.assert_allclose(ours.support_vectors_, rival.support_vectors_)
    np.testing.assert_allclose(ours.dual_coef_, rival.dual_coef_, atol=1e-2)
    np.testing.assert_allclose(ours.intercept_, rival.intercept_, atol=1e-3)
    assert ours.n_iter_.shape == rival.n_iter_.shape
    assert ours.shape_fit_ == rival.shape_fit_
    assert ours.fit_status_ == rival.fit_status_ == 0
    np.testing.assert_allclose(ours.class_weight_, rival.class_weight_)
    for shape in ("ovr", "ovo"):
        ours.decision_function_shape = rival.decision_function_shape = shape
        np.testing.assert_allclose(ours.decision_function(X), rival.decision_function(X), atol=1e-3)
        assert np.mean(ours.predict(X) == rival.predict(X)) >= 0.995
    if kernel["kernel"] == "linear":
        np.testing.assert_allclose(ours.coef_, rival.coef_, atol=1e-3)
    else:
        with pytest.raises(AttributeError):
            _ = ours.coef_
    assert set(ours.certificate_) == {(a, b) for k, a in enumerate(ours.classes_) for b in ours.classes_[k + 1 :]}
    assert "class 0 against class 1" in str(ours.certificate_)


def test_predict_is_the_argmax_of_the_decision_function():
    X, y = load_digits(return_X_y=True)
    model = SVC(break_ties=True).fit(X[::2], y[::2])
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])
    model.set_params(break_ties=True, decision_function_shape="ovo")
    with pytest.raises(ValueError, match="break_ties"):
        model.predict(X)


@pytest.mark.parametrize("C", [0.5, 10.0])
def test_the_lectures_smo_finds_the_same_duals(C):
    X, y = random_set(4, n=80, d=3)
    K = rbf_kernel(X, gamma=0.5)
    alpha = smo_of_the_lecture(K, y.astype(float), C)
    model = SVC(C=C, gamma=0.5, tol=1e-9).fit(X, y)
    best = dual_value(K, y, alpha * y)
    assert dual_value(K, y, betas(model, 80)) == pytest.approx(best, rel=1e-8)
    assert model.certificate_.dual <= best * (1 + 1e-9)
    assert model.certificate_.primal >= best * (1 - 1e-9)
    np.testing.assert_allclose(betas(model, 80), alpha * y, atol=1e-2 * C)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
@kernels
def test_regression_agrees_with_libsvm(kernel, epsilon):
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X)[:200], scale(y)[:200]
    ours = SVR(epsilon=epsilon, tol=1e-7, **kernel).fit(X, y)
    rival = LibsvmSVR(epsilon=epsilon, tol=1e-7, **kernel).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), rival.predict(X), atol=2e-3)
    assert ours.certificate_.relative <= 1e-7
    assert ours.n_support_.shape == rival.n_support_.shape
    assert ours.dual_coef_.shape[0] == 1
    if kernel["kernel"] == "linear":
        np.testing.assert_allclose(ours.coef_, rival.coef_, atol=2e-3)
    ours.certificate_.check(certify(ours, X, y))


def test_the_dual_is_that_of_a_qp_solver():
    for seed in range(10):
        X, y = random_set(seed, n=30, d=3)
        K = rbf_kernel(X, gamma=1.0)
        n, C = len(y), 2.0
        options = clarabel.DefaultSettings()
        options.verbose = False
        A = sp.csc_matrix(np.vstack([y[None, :], np.eye(n), -np.eye(n)]))
        b = np.concatenate([[0.0], np.full(n, C), np.zeros(n)])
        cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)]
        P = sp.csc_matrix(np.triu(y[:, None] * K * y))
        found = clarabel.DefaultSolver(P, -np.ones(n), A, b, cones, options).solve()
        model = SVC(C=C, gamma=1.0, tol=1e-8).fit(X, y)
        assert model.certificate_.dual == pytest.approx(-found.obj_val, rel=1e-6)
        assert model.certificate_.primal >= -found.obj_val * (1 - 1e-7)


def test_weights_multiply_the_price():
    X, y = load("heart_scale")
    X, weights = X.toarray(), np.random.default_rng(0).integers(0, 3, X.shape[0]).astype(float)
    weighted = SVC(tol=1e-7).fit(X, y, sample_weight=weights)
    kept = weights > 0
    rival = LibsvmSVC(tol=1e-8, gamma=weighted._kernel.gamma).fit(X[kept], y[kept], sample_weight=weights[kept])
    np.testing.assert_allclose(weighted.decision_function(X), rival.decision_function(X), atol=1e-3)
    by_class = SVC(class_weight="balanced", tol=1e-7).fit(X, y)
    rival = LibsvmSVC(class_weight="balanced", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(by_class.decision_function(X), rival.decision_function(X), atol=1e-3)
    np.testing.assert_allclose(by_class.class_weight_, rival.class_weight_)


def test_a_gram_matrix_and_a_function_are_kernels_too():
    X, y = load("heart_scale")
    X = X.toarray()
    named = SVC(gamma=0.2, tol=1e-7).fit(X, y)
    gram = SVC(kernel="precomputed", tol=1e-7).fit(rbf_kernel(X, gamma=0.2), y)
    function = SVC(kernel=lambda a, b: rbf_kernel(a, b, gamma=0.2), tol=1e-7).fit(X, y)
    for model, data in ((gram, rbf_kernel(X, gamma=0.2)), (function, X)):
        np.testing.assert_allclose(model.decision_function(data), named.decision_function(X), atol=1e-3)
        model.certificate_.check(certify(model, data, y))
    three = np.digitize(X[:, 0], [-0.3, 0.3])
    many = SVC(kernel="precomputed", tol=1e-6).fit(rbf_kernel(X, gamma=0.2), three)
    np.testing.assert_allclose(
        many.decision_function(rbf_kernel(X, gamma=0.2)),
        SVC(gamma=0.2, tol=1e-6).fit(X, three).decision_function(X),
        atol=1e-3,
    )


@pytest.mark.parametrize("n_rows", [300, 3000])
def test_the_same_bits_for_any_number_of_threads(n_rows):
    X, y = random_set(1, n=n_rows, d=10, noise=0.2)
    one, two = SVC(n_jobs=1).fit(X, y), SVC(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)


@pytest.mark.parametrize("cache_size", [0.02, 1, 50])
def test_a_small_cache_costs_time_and_not_the_result(cache_size):
    X, y = random_set(1, n=3000, d=10, noise=0.2)
    model = SVC(cache_size=cache_size, tol=1e-3).fit(X, y)
    assert model.status_ is Status.SOLVED
    assert model.certificate_.relative <= 1e-3


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_more_rows_than_a_block_are_solved_to_the_gap(C):
    X, y = random_set(2, n=4000, d=8, noise=0.1)
    model = SVC(C=C, tol=1e-4).fit(X.astype(np.float32), y)
    assert model.certificate_.relative <= 1e-4
    rival = LibsvmSVC(C=C, tol=1e-4, gamma=model._kernel.gamma).fit(X, y)
    K = rbf_kernel(X, gamma=model._kernel.gamma)
    best = dual_value(K, signs_of(y), betas(rival, 4000))
    assert dual_value(K, signs_of(y), betas(model, 4000)) >= best * (1 - 2e-4)


def test_a_kernel_that_is_not_definite_ends_and_claims_nothing():
    X, y = load("heart_scale")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        model = SVC(kernel="sigmoid", gamma=0.5, coef0=1.0, max_time=20).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.certificate_.dual == -np.inf


def test_limits_are_told_with_the_gap():
    X, y = random_set(2, n=3000, d=8, noise=0.3)
    with pytest.warns(LimitWarning, match="max_iter was reached.*Proven: relative duality gap"):
        model = SVC(max_iter=1).fit(X, y)
    assert model.status_ is Status.ITERATION_LIMIT
    assert model.fit_status_ == 1
    X, y = random_set(2, n=6000, d=8, noise=0.3)
    with pytest.warns(LimitWarning, match="max_time"):
        SVC(max_time=1e-9).fit(X, y)


@pytest.mark.parametrize("C", [0.01, 1e-4])
def test_the_intercept_lies_in_the_middle_of_those_that_are_as_good(C):
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(100, 2)) + np.repeat([[-2.0], [2.0]], 50, axis=0), np.arange(100) // 50
    ours, rival = SVC(C=C).fit(X, y), LibsvmSVC(C=C).fit(X, y)
    np.testing.assert_allclose(ours.intercept_, rival.intercept_, atol=1e-5)
    assert (ours.predict(X) == rival.predict(X)).all()
    constant = SVR(epsilon=1.0).fit(X, np.linspace(2.0, 3.0, 100))
    assert constant.predict(X[:1]) == pytest.approx(2.5)


def test_kernels_that_are_not_semidefinite_claim_nothing_and_run_once():
    X, y = random_set(3, n=40, d=2)
    odd = np.random.default_rng(0).standard_normal((40, 40))
    machines = [(SVC(kernel="poly", degree=2, coef0=-1.0, gamma=1.0), X), (SVC(kernel="precomputed"), odd + odd.T)]
    for machine, rows in machines:
        with pytest.warns(LimitWarning):
            machine.fit(rows, y)
        assert machine.certificate_.dual == -math.inf
        assert machine.n_iter_[0] > 0
    with pytest.warns(LimitWarning):
        SVC(kernel="precomputed", C=math.inf).fit(odd + odd.T, y)


def test_nearly_whole_numbers_are_not_taken_for_whole():
    X = np.array([[2.0000000129597906, 1.0000000233846327], [1.0000000268167375, 2.000000011606377]])
    assert RowBlock(X).in_single is None
    assert RowBlock(np.full((2, 2), 1e-50)).in_single is None


def test_sparse_fits_have_scikit_learns_types():
    X, y = load_iris(return_X_y=True)
    ours, rival = (machine(kernel="linear").fit(sp.csr_matrix(X), y) for machine in (SVC, LibsvmSVC))
    assert ours.coef_.shape == rival.coef_.shape
    for name in ("dual_coef_", "support_vectors_", "coef_"):
        assert type(getattr(ours, name)) is type(getattr(rival, name))
    with pytest.raises(ValueError, match="sample_weight is zero"):
        SVC(C=math.inf).fit(X, y, np.where(y == 2, 0.0, 1.0))


def test_a_perturbed_model_is_refused():
    X, y = load("heart_scale")
    model = SVC().fit(X, y)
    model.dual_coef_ = model.dual_coef_ * 0.7
    with pytest.raises(CertificateError):
        model.certificate_.check(certify(model, X, y))


@pytest.mark.parametrize(
    ("options", "name"),
    [({"C": 0.0}, "C"), ({"C": 1e200}, "C"), ({"max_iter": 0}, "max_iter"), ({"cache_size": 0}, "cache_size"),
     ({"kernel": "cosine"}, "kernel"), ({"gamma": -1.0}, "gamma"), ({"degree": -1}, "degree"), ({"tol": 0.0}, "tol")],
)  # fmt: skip
def test_bad_parameters_are_named(options, name):
    with pytest.raises(ValueError, match=name):
        SVC(**options).fit([[0.0], [1.0]], [0, 1])


def test_pairs_of_repeated_points_have_no_curvature_and_still_end():
    X = np.repeat([[0.0], [1.0]], 20, axis=0)
    y = np.tile([1, -1], 20)
    model = SVC(gamma=1.0).fit(X, y)
    assert model.status_ is Status.SOLVED
    beta, residuals = np.zeros(2), np.array([1.0, -1.0])
    steps = ascend_pairs(
        np.ones((2, 2)), Duals(beta, residuals, np.array([0.0, -1.0]), np.array([1.0, 0.0]), 0.0), 1e-6, 100
    )
    assert steps == 1
    np.testing.assert_array_equal(beta, [1.0, -1.0])


@pytest.mark.parametrize("shrinking", [True, False])
def test_shrinking_changes_the_way_and_not_the_end(shrinking):
    X, y = random_set(5, n=6000, d=4, noise=0.05)
    model = SVC(C=50.0, gamma=2.0, tol=1e-4, shrinking=shrinking).fit(X, y)
    assert model.certificate_.relative <= 1e-4
    labelled = model._data_to_certify(X, y, None)
    pairs = ClassPairs(labelled)
    problem = PairProblems(pairs, model._kernel, model.C).problem(next(pairs.tasks()))
    best, options = Result(np.empty(0), 0.0, np.zeros(6000)), SMOOptions(tol=1e-4)
    run = smo.SMORun(problem, options, Monitor(), best, ThreadEngine(256.0, 1))
    for _ in range(60):
        run.select_working_set(*run.gradients())
        run.violation = 1.0
        run.optimise_working_set()
    before = run.problem.dual_value(run.beta, run.scores)
    run.violation = 0.1
    assert run.shrink(*run.gradients())
    # Scores of all points are those of the duals again, and the duals are better and as feasible as before.
    exact = problem.scores_of(np.arange(6000), np.flatnonzero(run.beta), run.beta[run.beta != 0.0])
    np.testing.assert_allclose(run.scores, exact, atol=1e-3 * np.abs(exact).max())
    assert problem.dual_value(run.beta, exact) >= before * (1 - 1e-6)
    assert abs(run.beta.sum()) <= 1e-6


def test_a_machine_with_intercept_only_and_tiny_sets():
    for X, y in (([[0.0], [0.0]], [0, 1]), ([[0.0], [1.0]], [0, 1]), ([[1.0, 2.0]] * 6, [0, 1, 2] * 2)):
        model = SVC(gamma=1.0).fit(X, y)
        assert model.predict(X).shape == (len(y),)
        assert model.certificate_ is not None
    flat = SVR(epsilon=0.5).fit([[0.0], [1.0]], [1.0, 1.2])
    assert flat.support_.size == 0
    np.testing.assert_allclose(flat.predict([[5.0]]), [1.1], atol=0.45)


@pytest.mark.parametrize("machine", [SVC, SVR])
def test_values_that_cannot_be_used_are_named_and_leave_the_model_as_it_was(machine):
    X, y = random_set(0)
    model = machine().fit(X, y)
    before = model.predict(X)
    for data, parameters, weights, message in (
        (X * 1e60, {"kernel": "poly", "gamma": 1.0}, None, "kernel gives values too large"),
        (X, {"C": 1e60}, np.full(len(y), 1e60), "C times sample_weight"),
        (X[:, :3] * np.nan, {}, None, "NaN"),
    ):
        kept = model.get_params()
        model.set_params(**parameters)
        with pytest.raises(ValueError, match=message):
            model.fit(data, y, sample_weight=weights)
        model.set_params(**kept)
        np.testing.assert_array_equal(model.predict(X), before)


def test_a_class_without_weight_loses_nothing():
    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LimitWarning)
        model = SVC().fit(X, y, sample_weight=(y > 0).astype(float))
    assert model.status_ is Status.SOLVED
    assert model.n_support_[0] == 0


def test_kernel_values_beyond_single_precision_are_kept_in_double():
    X, y = random_set(1, n=2500, d=4, noise=0.1)
    scaled = SVC(kernel="linear", C=1e-40, tol=1e-3).fit(X * 1e20, y)
    plain = SVC(kernel="linear", C=1.0, tol=1e-3).fit(X, y)
    assert scaled.certificate_.relative <= 1e-3
    assert scaled.certificate_.primal * 1e40 == pytest.approx(plain.certificate_.primal, rel=3e-3)


def test_exponentials_are_those_of_the_library():
    values = -np.geomspace(1e-12, 700.0, 4000).reshape(40, 100)
    zeros, exact = np.zeros(100), np.exp(values)
    double = np.empty_like(values)
    exponentiate(values / 2.0, 2.0, zeros[:40], zeros, double)
    np.testing.assert_allclose(double, exact, rtol=2.0**-51)
    single, stored = values.astype(np.float32), np.zeros((40, 120), dtype=np.float32)
    terms = zeros[:40].astype(np.float32), zeros.astype(np.float32)
    store_exponentials(single, terms, np.arange(40), 20, stored)
    exact = np.exp(single.astype(np.float64))
    np.testing.assert_allclose(stored[:, 20:][single > -85.0], exact[single > -85.0], rtol=2e-7)
    assert (stored[:, :20] == 0.0).all()
    # Rounding may make the exponent of equal points positive, and far ones leave the range.
    ends = np.array([[1e-9, -1e4]])
    exponentiate(ends, 1.0, np.zeros(1), np.zeros(2), ends)
    assert ends[0, 0] == 1.0
    assert 0.0 <= ends[0, 1] < 1e-300


@pytest.mark.parametrize("kernel", ["rbf", "poly", "precomputed", rbf_kernel])
def test_pairs_that_share_kernel_values_have_the_scores_of_each_alone(kernel):
    X, y = load_iris(return_X_y=True)
    X = rbf_kernel(X) if kernel == "precomputed" else X
    model = SVC(kernel=kernel, gamma=0.5).fit(X, y)
    labelled = model._data_to_certify(X, y, None)
    pairs = ClassPairs(labelled)
    problems = PairProblems(pairs, model._kernel, model.C)
    rng = np.random.default_rng(0)
    betas = [pair.signs * (rng.random(pair.signs.size) > 0.7) for pair in pairs.tasks()]
    for pair, beta, scores in zip(pairs.tasks(), betas, problems.scores(betas), strict=True):
        support = np.flatnonzero(beta)
        alone = problems.problem(pair).scores_of(slice(None), support, beta[support])
        np.testing.assert_allclose(scores, alone, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_a_whole_kernel_matrix_and_rows_as_needed_end_at_the_same_value(C):
    X, y = random_set(3, n=900, d=5, noise=0.1)
    labelled = SVC(gamma=0.3).fit(X, y)._data_to_certify(X, y, None)
    problem = PairProblems(ClassPairs(labelled), RadialBasis(0.3), C).of_all_points
    problem = replace(problem, loss=hinge(np.where(labelled.codes == 1, 1.0, -1.0), np.ones(900), C))
    options = SMOOptions(tol=1e-6)
    whole = smo.solve(problem, options, Monitor())
    best = initial_result(problem)
    with ThreadEngine(256.0, 1) as blocks:
        smo.SMORun(problem, options, Monitor(), best, blocks).run_to_gap()
    assert whole.status is best.status is Status.SOLVED
    assert whole.dual == pytest.approx(best.dual, rel=2e-6)


def test_rows_far_from_the_origin_are_not_lost_in_single_precision():
    X, y = random_set(7, n=600, d=3, noise=0.1)
    near, far = (SVC(C=10.0, gamma=1.0).fit(X + shift, y) for shift in (0.0, 300.0))
    assert near.certificate_.relative <= 1e-3
    assert far.certificate_.relative <= 1e-3
    # A linear kernel, too: its values hardly differ from one another, and a second run in double precision ends it.
    linear = SVC(kernel="linear").fit(X + 300.0, y)
    assert linear.certificate_.relative <= 1e-3


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_the_hard_margin_in_feature_space(kernel):
    X, y = random_set(11, n=120, d=2, noise=0.0)
    X, far = X[np.abs(X[:, 0]) > 0.2], np.abs(X[:, 0]) > 0.2
    y = (X[:, 0] > 0.0).astype(int) if kernel == "linear" else y[far]
    model = SVC(C=math.inf, kernel=kernel, gamma=1.0, coef0=1.0, tol=1e-6).fit(X, y)
    proof = model.certificate_
    assert isinstance(proof, MarginBracket)
    assert proof.separates
    assert proof.relative <= 1e-6
    # The margin is 1/||w|| of LIBSVM's plane where C is so large that no point pays it.
    other = LibsvmSVC(C=1e9, kernel=kernel, gamma=1.0, coef0=1.0, tol=1e-10).fit(X, y)
    beta, vectors = other.dual_coef_[0], other.support_vectors_
    gram = pairwise_kernels(vectors, metric=kernel, filter_params=True, gamma=1.0, coef0=1.0)
    assert 1.0 / math.sqrt(beta @ gram @ beta) == pytest.approx(proof.lower, rel=1e-4)
    assert (model.predict(X) == y).all()
    with pytest.raises(CertificateError):
        replace(proof, lower=proof.upper, upper=proof.upper).check(replace(proof, lower=0.9 * proof.lower))


def test_no_hard_margin_is_told_with_its_proof_and_leaves_the_model():
    X, y = load_iris(return_X_y=True)
    model = SVC(C=1.0, kernel="linear").fit(X, y)
    before = model.dual_coef_
    with pytest.raises(NotSeparableError, match="class 1 against 2") as caught:
        model.set_params(C=math.inf).fit(X, y)
    assert caught.value.certificate.upper <= 1e-4
    assert model.dual_coef_ is before
    with pytest.raises(ValueError, match="sigmoid"):
        SVC(C=math.inf, kernel="sigmoid").fit(X, y)
    with pytest.raises(ValueError, match="C must be between"):
        SVR(C=math.inf).fit(X, y)


def test_whole_numbers_are_multiplied_in_single_precision_and_nothing_is_lost():
    rng = np.random.default_rng(0)
    X, Z, coefficients = rng.integers(0, 9, (700, 60)), rng.integers(-9, 9, (300, 60)), rng.standard_normal((300, 2))
    exact = rbf_kernel(X, Z, gamma=0.01) @ coefficients
    whole = expansion_scores(RadialBasis(0.01), X.astype(np.float64), Z.astype(np.float64), coefficients)
    np.testing.assert_allclose(whole, exact, rtol=1e-12, atol=1e-12)
    assert RowBlock(X).in_single is not None
    # Not whole, and so large that a sum of products would be rounded.
    assert RowBlock(X + 0.5).in_single is None
    assert RowBlock(X * 1000.0).in_single is None
