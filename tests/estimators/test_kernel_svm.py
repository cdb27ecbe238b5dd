"""The kernel support vector machine: against scikit-learn's, a QP solver and the lecture's SMO."""

import math
import warnings

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
from maxmargin import SVC, SVR, LimitWarning, Status, certify
from maxmargin.problems import kernel_expansion
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


def test_weights_are_factors_on_c():
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


def test_sparse_fits_have_scikit_learns_types():
    X, y = load_iris(return_X_y=True)
    ours, rival = (machine(kernel="linear").fit(sp.csr_matrix(X), y) for machine in (SVC, LibsvmSVC))
    assert ours.coef_.shape == rival.coef_.shape
    for name in ("dual_coef_", "support_vectors_", "coef_"):
        assert type(getattr(ours, name)) is type(getattr(rival, name))
    with pytest.raises(ValueError, match="sample_weight is zero"):
        SVC(C=math.inf).fit(X, y, np.where(y == 2, 0.0, 1.0))


@pytest.mark.parametrize(
    ("options", "name"),
    [({"C": 0.0}, "C"), ({"C": 1e200}, "C"), ({"max_iter": -2}, "max_iter"), ({"cache_size": 0}, "cache_size"),
     ({"kernel": "cosine"}, "kernel"), ({"gamma": -1.0}, "gamma"), ({"degree": -1}, "degree"), ({"tol": 0.0}, "tol")],
)  # fmt: skip
def test_bad_parameters_are_named(options, name):
    with pytest.raises(ValueError, match=name):
        SVC(**options).fit([[0.0], [1.0]], [0, 1])


def test_a_machine_with_intercept_only_and_tiny_sets():
    # Alike points of two classes lose one each, whatever b; of two points apart both duals are at their bound.
    for X, y, optimum in (
        ([[0.0], [0.0]], [0, 1], 2.0),
        ([[0.0], [1.0]], [0, 1], 1.0 + math.exp(-1.0)),
        ([[1.0, 2.0]] * 6, [0, 1, 2] * 2, 4.0),
    ):
        model = SVC(gamma=1.0).fit(X, y)
        assert model.status_ is Status.SOLVED
        assert model.predict(X).shape == (len(y),)
        np.testing.assert_allclose(model.objective_, optimum, rtol=1e-3)
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


def test_rows_far_from_the_origin_are_not_lost_in_single_precision():
    X, y = random_set(7, n=600, d=3, noise=0.1)
    near, far = (SVC(C=10.0, gamma=1.0).fit(X + shift, y) for shift in (0.0, 300.0))
    assert near.certificate_.relative <= 1e-3
    assert far.certificate_.relative <= 1e-3
    # A linear kernel, too: its values hardly differ from one another, and a second run in double precision ends it.
    linear = SVC(kernel="linear").fit(X + 300.0, y)
    assert linear.certificate_.relative <= 1e-3


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_margin_objective_and_slack_are_those_of_the_primal_problem(kernel, C):
    X, y = load("heart_scale")
    X = X.toarray()
    model = SVC(kernel=kernel, C=C, gamma=0.2).fit(X, y)
    K, beta = pairwise_kernels(X, metric=kernel, filter_params=True, gamma=0.2), betas(model, len(y))
    square = beta @ K @ beta
    # The certificate counts rounding errors: its margin is a lower bound.
    assert model.margin_ == pytest.approx(1.0 / math.sqrt(square), rel=1e-7)
    slack = np.maximum(0.0, 1.0 - signs_of(y) * model.decision_function(X))
    np.testing.assert_allclose(model.slack(X, y), slack, atol=1e-12)
    assert model.objective_ == model.certificate_.primal
    assert model.objective_ == pytest.approx(0.5 * square + C * slack.sum(), rel=1e-9)
    if kernel == "linear":
        assert model.margin_ <= (1.0 + 1e-14) / np.linalg.norm(model.coef_)
    hard = SVC(kernel="rbf", C=math.inf, gamma=5.0).fit(X, y)
    assert hard.margin_ == hard.certificate_.lower
    assert hard.objective_ == pytest.approx(0.5 / hard.margin_**2)


def test_margins_and_slacks_of_pairs_are_those_of_two_classes():
    X, y = load_iris(return_X_y=True)
    model = SVC(gamma=0.5, tol=1e-6).fit(X, y)
    slack = model.slack(X, y)
    assert model.margin_.shape == (3,)
    assert slack.shape == (150, 3)
    for pair, (first, second) in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows = (y == first) | (y == second)
        alone = SVC(gamma=0.5, tol=1e-6).fit(X[rows], y[rows])
        assert model.margin_[pair] == pytest.approx(alone.margin_, rel=1e-4)
        assert model.objective_[pair] == pytest.approx(alone.objective_, rel=1e-5)
        np.testing.assert_allclose(slack[rows, pair], alone.slack(X[rows], y[rows]), atol=1e-3)
        assert (slack[~rows, pair] == 0.0).all()


def test_a_kernel_without_feature_space_has_no_margin():
    X, y = load("heart_scale")
    with pytest.warns(LimitWarning):
        model = SVC(kernel="sigmoid", gamma=0.5, coef0=1.0, max_time=20).fit(X, y)
    with pytest.raises(AttributeError, match="the kernel may be indefinite"):
        _ = model.margin_
    flat = SVC(gamma=1.0).fit([[0.0], [0.0]], [0, 1])
    assert flat.margin_ > 1e6


def test_objective_and_slack_of_a_regression():
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X)[:200], scale(y)[:200]
    model = SVR(C=2.0, epsilon=0.2, gamma=0.1).fit(X, y)
    K, beta = rbf_kernel(X, gamma=0.1), betas(model, 200)
    slack = np.maximum(0.0, np.abs(y - model.predict(X)) - 0.2)
    np.testing.assert_allclose(model.slack(X, y), slack, atol=1e-12)
    assert model.objective_ == pytest.approx(0.5 * beta @ K @ beta + 2.0 * slack.sum(), rel=1e-9)


def test_only_the_folds_of_probabilities_are_random():
    with pytest.raises(TypeError, match="random_state"):
        SVR(random_state=0)
    X, y = random_set(1, n=200, d=4, noise=0.2)
    first, second = (SVC(random_state=seed).fit(X, y) for seed in (0, 1))
    np.testing.assert_array_equal(first.dual_coef_, second.dual_coef_)


def test_scores_take_as_many_threads_as_n_jobs_says(monkeypatch):
    X, y = random_set(1, n=1500, d=4, noise=0.2)
    taken = []
    each_block = kernel_expansion.each_block
    monkeypatch.setattr(kernel_expansion, "each_block", lambda *given: (taken.append(given[-1]), each_block(*given)))
    model = SVC(n_jobs=3).fit(X, y)
    one = model.decision_function(X)
    model.set_params(n_jobs=1)
    np.testing.assert_array_equal(model.decision_function(X), one)
    assert taken == [3, 3, 1]
