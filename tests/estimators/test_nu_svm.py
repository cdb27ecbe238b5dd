"""NuSVC, NuSVR and OneClassSVM against LIBSVM, SVC, exact arithmetic and the nu-property."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.datasets import dump_svmlight_file, load_diabetes, load_iris, make_classification
from sklearn.ensemble import BaggingClassifier
from sklearn.preprocessing import scale

import maxmargin
from command_runner import run
from maxmargin import SVC, SVR, CertificateError, LimitWarning, NuSVC, NuSVR, OneClassSVM, Status, certify
from maxmargin.certificates import measure_nu_gap
from maxmargin.data import Points
from maxmargin.files import read_libsvm_model, write_libsvm_model
from maxmargin.files.verification import check_model
from maxmargin.problems.kernels import Linear, RadialBasis
from maxmargin.problems.nu_svm import Offsets, nu_regression, one_class

KERNELS = [
    {"kernel": "rbf", "gamma": 0.1},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.1},
    {"kernel": "linear"},
]
TIGHT = 1e-8


@pytest.fixture(scope="module")
def regression():
    X, y = load_diabetes(return_X_y=True)
    return scale(X)[:200], scale(y)[:200]


@pytest.fixture(scope="module")
def classes(regression):
    X, y = regression
    return X, (y > np.median(y)).astype(int)


def fits(name, X, y, weights=None, **parameters):
    """Our model and LIBSVM's, and their decision values."""
    tol = parameters.pop("tol", TIGHT)
    ours = getattr(maxmargin, name)(tol=tol, **parameters)
    theirs = getattr(svm, name)(tol=1e-9, **parameters)
    values = []
    for model in (ours, theirs):
        model.fit(X, y, sample_weight=weights)
        values.append(model.predict(X) if name == "NuSVR" else model.decision_function(X))
    return ours, theirs, *values


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel["kernel"])
@pytest.mark.parametrize("name", ["NuSVC", "NuSVR", "OneClassSVM"])
def test_decision_values_are_those_of_libsvm(name, kernel, classes, regression):
    X, y = regression if name == "NuSVR" else classes
    # Around the origin a linear one-class machine has the optimum zero, where LIBSVM does not end.
    X = X + 3.0 if name == "OneClassSVM" else X
    # nu n is no whole number: else the offset may be any number of an interval.
    ours, theirs, f, g = fits(name, X, y, nu=0.703, **kernel)
    assert ours.status_ is Status.SOLVED
    assert ours.certificate_.relative <= TIGHT
    np.testing.assert_allclose(f, g, atol=2e-4 * max(1.0, np.abs(g).max()))
    assert ours.n_support_.shape == theirs.n_support_.shape
    assert ours.dual_coef_.shape[0] == theirs.dual_coef_.shape[0]
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-4 * max(1.0, np.abs(g).max()))


@pytest.mark.parametrize("name", ["NuSVC", "NuSVR", "OneClassSVM"])
def test_sparse_callable_and_precomputed_kernels_are_the_same_machine(name, classes, regression):
    X, y = regression if name == "NuSVR" else classes

    def rbf(rows, others):
        rows, others = (part.toarray() if sp.issparse(part) else part for part in (rows, others))
        return np.exp(-0.1 * ((rows[:, None, :] - others[None, :, :]) ** 2).sum(axis=2))

    make = getattr(maxmargin, name)
    whole = make(nu=0.3, gamma=0.1, tol=TIGHT).fit(X, y)
    others = {
        "sparse": (make(nu=0.3, gamma=0.1, tol=TIGHT), sp.csr_array(X)),
        "callable": (make(nu=0.3, kernel=rbf, tol=TIGHT), X),
        "callable, sparse": (make(nu=0.3, kernel=rbf, tol=TIGHT), sp.csr_array(X)),
        "precomputed": (make(nu=0.3, kernel="precomputed", tol=TIGHT), rbf(X, X)),
    }
    f = whole.predict(X) if name == "NuSVR" else whole.decision_function(X)
    for kind, (model, rows) in others.items():
        model.fit(rows, y)
        g = model.predict(rows) if name == "NuSVR" else model.decision_function(rows)
        np.testing.assert_allclose(f, g, atol=1e-3 * max(1.0, np.abs(f).max()), err_msg=kind)
    assert sp.issparse(others["sparse"][0].dual_coef_)
    assert "positive semidefinite" in str(others["callable"][0].certificate_)


@pytest.mark.parametrize("name", ["NuSVC", "NuSVR", "OneClassSVM"])
def test_weights_are_repeated_rows(name, classes, regression):
    X, y = regression if name == "NuSVR" else classes
    weights = np.random.default_rng(0).integers(0, 4, y.size)
    repeated = np.repeat(np.arange(y.size), weights)
    make = getattr(maxmargin, name)
    weighted = make(nu=0.3, gamma=0.1, tol=1e-10).fit(X, y, sample_weight=weights)
    rows = make(nu=0.3, gamma=0.1, tol=1e-10).fit(X[repeated], y[repeated])
    values = [model.predict(X) if name == "NuSVR" else model.decision_function(X) for model in (weighted, rows)]
    np.testing.assert_allclose(*values, atol=1e-4 * max(1.0, np.abs(values[0]).max()))
    assert weighted.certificate_.primal == pytest.approx(rows.certificate_.primal, rel=1e-8)
    assert weighted.certificate_.nu == pytest.approx(rows.certificate_.nu)
    assert weighted.certificate_.margin_errors == pytest.approx(rows.certificate_.margin_errors)


@pytest.mark.parametrize("nu", [0.05, 0.25, 0.5, 0.9])
def test_nu_bounds_errors_and_support_vectors(nu, classes, regression):
    (X, y), (_, values) = classes, regression
    slack = 1e-6
    model = NuSVC(nu=nu, gamma=0.1, tol=TIGHT).fit(X, y)
    margins = np.where(y == 1, 1.0, -1.0) * model.decision_function(X)
    assert np.mean(margins < 1.0 - slack) <= nu <= model.support_.size / y.size
    detector = OneClassSVM(nu=nu, gamma=0.1, tol=TIGHT).fit(X)
    assert np.mean(detector.decision_function(X) < -slack) <= nu <= detector.support_.size / y.size
    regressor = NuSVR(nu=nu, gamma=0.1, tol=TIGHT).fit(X, values)
    beyond = np.abs(values - regressor.predict(X)) > regressor.epsilon_ + slack
    assert np.mean(beyond) <= nu <= regressor.support_.size / y.size
    for one, errors in ((model, margins < 1.0 - slack), (regressor, beyond)):
        proof = one.certificate_
        assert proof.nu == pytest.approx(nu)
        assert proof.margin_errors == pytest.approx(np.mean(errors), abs=0.02)
        assert proof.margin_errors <= nu <= proof.support_share
        assert proof.support_vectors == one.support_.size


def test_nu_svc_is_svc_with_c_one_over_rho(classes):
    X, y = classes
    model = NuSVC(nu=0.4, gamma=0.1, tol=1e-10).fit(X, y)
    # nu prescribes the sum of the duals before they are divided by rho.
    rho = 0.4 * y.size / np.abs(model.dual_coef_).sum()
    soft = SVC(C=1.0 / rho, gamma=0.1, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), soft.decision_function(X), atol=1e-4)
    assert np.abs(model.dual_coef_).max() == pytest.approx(1.0 / rho)
    # And back: the duals of SVC give the nu of its C.
    nu = np.abs(soft.dual_coef_).sum() / (soft.C * y.size)
    assert nu == pytest.approx(0.4, rel=1e-6)


def test_nu_svr_is_svr_with_its_epsilon(regression):
    X, y = regression
    model = NuSVR(nu=0.3, C=2.0, gamma=0.1, tol=1e-10).fit(X, y)
    tube = SVR(epsilon=model.epsilon_, C=2.0, gamma=0.1, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.predict(X), tube.predict(X), atol=1e-4)
    assert model.objective_ == pytest.approx(tube.objective_ + 2.0 * 0.3 * y.size * model.epsilon_, rel=1e-7)


def test_a_regression_without_noise_has_no_interval():
    X = np.linspace(0.0, 1.0, 30)[:, None]
    model = NuSVR(nu=1.0, C=1e4, gamma=1.0, tol=1e-6).fit(X, np.full(30, 2.5))
    assert model.epsilon_ == 0.0
    np.testing.assert_allclose(model.predict(X), 2.5)
    assert model.certificate_.gap <= 1e-8


def test_infeasible_nu_is_refused_with_the_largest_feasible_one():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"specified nu is infeasible: .* at most 0.75"):
        NuSVC(nu=0.8).fit(X[:80], y[:80])
    NuSVC(nu=0.75).fit(X[:80], y[:80])
    with pytest.raises(ValueError, match="infeasible"):
        NuSVC(nu=0.5).fit(X, y, sample_weight=np.where(y == 1, 0.1, 1.0))


@pytest.mark.parametrize("weights", [[0, -0.5, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]])
def test_weights_that_leave_one_class_make_every_nu_infeasible(weights):
    X = np.array([[-2.0, -1.0], [-1.0, -1.0], [-1.0, -2.0], [1.0, 1.0], [1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match=r"specified nu is infeasible: .* at most 0"):
        NuSVC().fit(X, [0, 0, 0, 1, 1, 1], sample_weight=weights)


def test_classes_of_the_same_points_are_refused():
    X = np.tile([[0.0], [1.0]], (10, 1))
    y = np.repeat([0, 1], 10)
    with pytest.raises(ValueError, match="reduced convex hulls"):
        NuSVC(nu=1.0).fit(X, y)


def test_without_a_margin_the_model_is_the_one_at_which_libsvm_stops():
    X, y = make_classification(n_classes=4, n_informative=4, random_state=42)
    options = {"kernel": "linear", "decision_function_shape": "ovo"}
    with pytest.warns(LimitWarning, match="leaves no margin, class 0 against 2: .* the reduced convex hulls"):
        model = NuSVC(**options).fit(X, y)
    theirs = svm.NuSVC(**options).fit(X, y)
    # LIBSVM stops at twice the violation: its hyperplane of classes 0 and 2 is another one, but not much.
    assert (model.predict(X) == theirs.predict(X)).mean() >= 0.95
    w, v = model.coef_[1], theirs.coef_[1]
    assert w @ v >= 0.98 * np.linalg.norm(w) * np.linalg.norm(v)
    # The optimum is zero: no dual value exceeds that of w.
    assert model.certificate_[0, 2].dual <= 0.0 <= model.certificate_[0, 2].primal
    assert certify(model, X, y) == model.certificate_


def test_rows_around_the_origin_have_the_optimum_zero():
    X = scale(load_iris(return_X_y=True)[0])
    model = OneClassSVM(kernel="linear", nu=0.5).fit(X)
    assert model.status_ is Status.SOLVED
    assert -1e-6 <= model.certificate_.dual <= model.certificate_.primal <= 1e-6


@pytest.fixture(scope="module")
def many_rows():
    generator = np.random.default_rng(0)
    return generator.normal([2.0, 1.0, 0.0, 0.5, -1.0, 3.0], size=(2500, 6))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.float32], ids=["dense", "csr", "float32"])
@pytest.mark.parametrize("nu", [0.03, 0.5, 0.7003])
def test_the_linear_machine_of_many_rows_is_that_of_libsvm(nu, form, many_rows):
    X = form(many_rows)
    ours = OneClassSVM(kernel="linear", nu=nu, tol=TIGHT).fit(X)
    theirs = svm.OneClassSVM(kernel="linear", nu=nu, tol=1e-7).fit(X.astype(np.float64))
    # Newton steps are few.
    assert ours.status_ is Status.SOLVED
    assert ours.n_iter_ < 200
    size = abs(float(theirs.offset_[0]))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5 * size)
    assert ours.offset_ == pytest.approx(float(theirs.offset_[0]), rel=1e-5)
    coef, other = (m.coef_.toarray() if sp.issparse(m.coef_) else m.coef_ for m in (ours, theirs))
    np.testing.assert_allclose(coef, other, rtol=1e-4, atol=1e-5 * np.abs(other).max())
    proof = ours.certificate_
    assert proof.margin_errors <= nu <= proof.support_share + 1e-12
    assert (ours.predict(X) == -1).mean() <= nu + 1e-3
    certify(ours, X).check(proof)


def test_weights_of_the_linear_machine_of_many_rows_repeat_rows(many_rows):
    counts = np.random.default_rng(1).integers(0, 4, len(many_rows))
    by_weight = OneClassSVM(kernel="linear", nu=0.1, tol=1e-9).fit(many_rows, sample_weight=counts)
    repeated = OneClassSVM(kernel="linear", nu=0.1, tol=1e-9).fit(np.repeat(many_rows, counts, axis=0))
    np.testing.assert_allclose(by_weight.coef_, repeated.coef_, rtol=1e-6)
    assert by_weight.offset_ == pytest.approx(repeated.offset_, rel=1e-6)
    assert by_weight.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-9)


def test_the_linear_machine_of_many_rows_does_not_depend_on_threads(many_rows):
    X = np.repeat(many_rows, 20, axis=0) * np.random.default_rng(2).uniform(0.5, 1.5, (50_000, 6))
    one, two = (OneClassSVM(kernel="linear", nu=0.1, n_jobs=n).fit(X) for n in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)


@pytest.mark.parametrize("nu", [0.05, 0.5])
def test_many_rows_around_the_origin_have_the_optimum_zero(nu):
    X = np.random.default_rng(0).normal(size=(3000, 5))
    model = OneClassSVM(kernel="linear", nu=nu).fit(X)
    assert model.status_ is Status.SOLVED
    assert model.certificate_.gap <= 1e-11 * (nu * 3000) ** 2


def test_the_linear_machine_of_many_rows_in_files_and_the_command(many_rows, tmp_path):
    X = many_rows
    model = OneClassSVM(kernel="linear", nu=0.1).fit(X)
    write_libsvm_model(model, tmp_path / "libsvm.model")
    again = read_libsvm_model(tmp_path / "libsvm.model")
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), rtol=1e-9, atol=1e-9)
    dump_svmlight_file(X, np.ones(len(X)), str(tmp_path / "rows"), zero_based=False)
    arguments = "-m", "one-class-svm", "--kernel", "linear", "--nu", 0.1
    run("train", tmp_path / "rows", *arguments, "-o", tmp_path / "model")
    assert maxmargin.load(tmp_path / "model").offset_ == pytest.approx(model.offset_, rel=1e-6)


def test_limits_of_the_linear_machine_of_many_rows(many_rows):
    with pytest.warns(LimitWarning):
        model = OneClassSVM(kernel="linear", nu=0.1, tol=1e-9, max_iter=2).fit(many_rows)
    assert model.status_ is Status.ITERATION_LIMIT
    assert np.isfinite(model.decision_function(many_rows)).all()
    model.certificate_.check(certify(model, many_rows))


@pytest.mark.parametrize("weights", [None, "by class"])
def test_more_classes_are_pairs(weights):
    X, y = load_iris(return_X_y=True)
    weights = None if weights is None else np.where(y == 0, 0.5, 1.0)
    ours, theirs, f, g = fits("NuSVC", X, y, weights, nu=0.2, gamma=0.5)
    np.testing.assert_allclose(f, g, atol=1e-3)
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.99
    assert set(ours.certificate_) == {(0, 1), (0, 2), (1, 2)}
    assert all(proof.margin_errors <= 0.2 <= proof.support_share for proof in ours.certificate_.values())
    ours.certificate_.check(certify(ours, X, y, sample_weight=weights))


def test_class_weight_multiplies_the_weights_of_rows(classes):
    X, y = classes
    by_class = NuSVC(nu=0.2, gamma=0.1, class_weight={0: 2.0, 1: 1.0}).fit(X, y)
    by_row = NuSVC(nu=0.2, gamma=0.1).fit(X, y, sample_weight=np.where(y == 0, 2.0, 1.0))
    np.testing.assert_array_equal(by_class.decision_function(X), by_row.decision_function(X))
    np.testing.assert_array_equal(by_class.class_weight_, [2.0, 1.0])


@pytest.mark.filterwarnings("ignore:NuSVC")
def test_probabilities(classes):
    X, y = classes
    model = NuSVC(nu=0.4, gamma=0.1, probability=True, random_state=0).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert np.corrcoef(probabilities[:, 1], model.decision_function(X))[0, 1] > 0.9


def test_outliers(classes):
    X, _ = classes
    model = OneClassSVM(nu=0.1, gamma=0.1).fit(X)
    theirs = svm.OneClassSVM(nu=0.1, gamma=0.1, tol=1e-9).fit(X)
    np.testing.assert_allclose(model.score_samples(X), theirs.score_samples(X), atol=1e-2)
    assert model.offset_ == pytest.approx(theirs.offset_, abs=1e-2)
    assert model.offset_ == -model.intercept_[0]
    clear = np.abs(theirs.decision_function(X)) > 1e-2
    np.testing.assert_array_equal(model.predict(X)[clear], theirs.predict(X)[clear])
    assert set(OneClassSVM(nu=0.1, gamma=0.1).fit_predict(X)) == {-1, 1}


@pytest.mark.parametrize("name", ["NuSVC", "NuSVR", "OneClassSVM"])
@pytest.mark.parametrize("shrinking", [True, False])
def test_many_rows_with_a_small_cache(name, shrinking):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(9000, 3))
    y = X[:, 0] + X[:, 1] ** 2 + 0.3 * generator.normal(size=9000)
    y = y if name == "NuSVR" else y > np.median(y)
    model = getattr(maxmargin, name)(nu=0.3, gamma=0.3, cache_size=40, shrinking=shrinking).fit(X, y)
    assert model.status_ is Status.SOLVED
    assert model.certificate_.relative <= 1e-3
    part = getattr(maxmargin, name)(nu=0.3, gamma=0.3, cache_size=2000).fit(X[:3000], y[:3000])
    assert part.status_ is Status.SOLVED


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize("name", ["NuSVC", "NuSVR", "OneClassSVM"])
def test_a_fit_that_stops_early_has_a_true_certificate(name, classes, regression):
    X, y = regression if name == "NuSVR" else classes
    model = getattr(maxmargin, name)(nu=0.3, gamma=0.1, max_iter=3).fit(X, y)
    best = getattr(maxmargin, name)(nu=0.3, gamma=0.1, tol=1e-9).fit(X, y)
    assert model.status_ is Status.ITERATION_LIMIT
    assert model.certificate_.dual <= best.certificate_.primal
    assert best.certificate_.dual <= model.certificate_.primal
    model.certificate_.check(certify(model, X, y))


@pytest.mark.parametrize("name", ["NuSVC", "OneClassSVM"])
def test_models_of_scikit_learn_are_certified(name, classes):
    X, y = classes
    model = getattr(svm, name)(nu=0.3, gamma=0.1, tol=1e-6).fit(X, y)
    best = getattr(maxmargin, name)(nu=0.3, gamma=0.1, tol=TIGHT).fit(X, y)
    proof = certify(model, X, y)
    assert proof.relative <= 1e-2
    assert proof.dual <= best.certificate_.primal
    assert proof.primal >= best.certificate_.dual


def test_a_certificate_that_claims_more_is_refused(classes):
    X, y = classes
    model = NuSVC(nu=0.3, gamma=0.1).fit(X, y)
    proof = model.certificate_
    for change in ({"primal": proof.primal - 1.0, "dual": proof.dual - 1.0}, {"margin_errors": 0.0}, {"nu": 0.4}):
        claim = type(proof)(**{**vars(proof), **change})
        with pytest.raises(CertificateError):
            claim.check(certify(model, X, y))
    with pytest.raises(CertificateError, match="more than nu"):
        type(proof)(**{**vars(proof), "margin_errors": 0.5})


def exact_values(X, targets, bounds, sums, beta, offsets):
    """Primal and dual value of a linear machine in exact arithmetic; beta must be exactly feasible."""
    rows = [[Fraction(float(value)) for value in row] for row in X]
    duals = [Fraction(float(value)) for value in beta]
    w = [sum(dual * row[j] for dual, row in zip(duals, rows, strict=True)) for j in range(len(rows[0]))]
    square = sum(value * value for value in w)
    above, below = (Fraction(float(offset)) for offset in offsets)
    primal = square / 2 + Fraction(sums[0]) * above - Fraction(sums[1]) * below
    linear = Fraction(0)
    for row, target, most_above, most_below, dual in zip(rows, targets, *bounds, duals, strict=True):
        residual = Fraction(float(target)) - sum(a * b for a, b in zip(w, row, strict=True))
        primal += Fraction(float(most_above)) * max(Fraction(0), residual - above)
        primal += Fraction(float(most_below)) * max(Fraction(0), below - residual)
        linear += Fraction(float(target)) * dual
    return primal, linear - square / 2


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("is_regression", [True, False])
def test_the_gap_holds_in_exact_arithmetic(is_regression, shift):
    generator = np.random.default_rng(3)
    X = np.round(generator.normal(size=(16, 2)), 3) + shift
    points, targets = Points(X), np.round(generator.normal(size=16), 3)
    if is_regression:
        problem = nu_regression(points, Linear(), targets, np.ones(16), 4.0, 0.5, 1)
        beta = np.tile([1.0, -1.0, 0.5, -0.5], 4)
    else:
        problem = one_class(points, Linear(), np.ones(16), 0.5, 1)
        beta = np.tile([1.0, 0.25, 0.5, 0.25], 4)
    scores = X @ (beta @ X)
    offsets = problem.best_offsets(scores)
    proof = measure_nu_gap(problem, beta, offsets)
    primal, dual = exact_values(X, problem.targets, problem.bounds, problem.sums, beta, offsets)
    assert Fraction(proof.primal) >= primal
    assert Fraction(proof.dual) <= dual
    # The columns near 1e6 cost the scores 12 digits.
    lost = 1e-9 if shift == 0.0 else 0.1
    assert proof.primal == pytest.approx(float(primal), rel=lost)
    assert proof.dual == pytest.approx(float(dual), rel=lost)


def test_best_offsets_are_those_of_a_line_search():
    generator = np.random.default_rng(5)
    X, weights = generator.normal(size=(25, 2)), generator.uniform(0.2, 2.0, 25)
    problem = nu_regression(Points(X), RadialBasis(1.0), generator.normal(size=25), weights, 1.0, 0.4, 1)
    beta = problem.feasible(generator.normal(size=25))
    scores = problem.scores_of(slice(None), np.arange(25), beta)
    best = problem.primal_value(beta, scores, problem.best_offsets(scores))
    for b in np.linspace(-2.0, 2.0, 81):
        for epsilon in np.linspace(0.0, 2.0, 41):
            assert best <= problem.primal_value(beta, scores, Offsets(b + epsilon, b - epsilon)) + 1e-12


def test_feasible_duals_have_the_sums():
    generator = np.random.default_rng(6)
    weights = generator.uniform(0.5, 2.0, 30)
    problem = one_class(Points(generator.normal(size=(30, 2))), Linear(), weights, 0.3, 1)
    for beta in (np.zeros(30), np.full(30, 100.0), generator.normal(size=30)):
        found = problem.feasible(beta)
        assert found.sum() == pytest.approx(0.3 * weights.sum(), rel=1e-12)
        assert (found >= 0.0).all()
        assert (found <= weights).all()


@pytest.mark.parametrize(
    ("model", "message"),
    [(NuSVC(nu=0.0), "nu"), (NuSVR(nu=1.5), "nu"), (OneClassSVM(nu=-0.1), "nu"), (NuSVR(C=math.inf), "C")],
)
def test_parameters_out_of_range(model, message, classes):
    with pytest.raises(ValueError, match=message):
        model.fit(*classes)


def test_weights_of_zero_for_every_row(classes):
    X, _ = classes
    with pytest.raises(ValueError, match=r"zero or negative weights|sample_weight"):
        OneClassSVM().fit(X, sample_weight=np.zeros(len(X)))


@pytest.mark.parametrize("name", ["NuSVC", "NuSVR", "OneClassSVM"])
def test_model_files_of_both_formats(name, tmp_path, classes, regression):
    X, y = regression if name == "NuSVR" else classes
    model = getattr(maxmargin, name)(nu=0.3, gamma=0.1).fit(X, y)
    maxmargin.save(model, tmp_path / "model")
    write_libsvm_model(model, tmp_path / "libsvm")
    f = model.predict(X) if name == "NuSVR" else model.decision_function(X)
    loaded = maxmargin.load(tmp_path / "model")
    loaded.certificate_.check(certify(loaded, X, y))
    assert loaded.certificate_ == model.certificate_
    for other in (loaded, read_libsvm_model(tmp_path / "libsvm", n_features=X.shape[1])):
        assert type(other) is type(model)
        values = other.predict(X) if name == "NuSVR" else other.decision_function(X)
        np.testing.assert_allclose(values, f, rtol=1e-12, atol=1e-12)
    kinds = {"NuSVC": "nu_svc", "NuSVR": "nu_svr", "OneClassSVM": "one_class"}
    assert (tmp_path / "libsvm").read_text().startswith(f"svm_type {kinds[name]}\n")


@pytest.mark.parametrize("name", ["nu-svc", "nu-svr", "one-class-svm"])
def test_the_command_trains_and_verifies(name, tmp_path, classes, regression):
    X, y = regression if name == "nu-svr" else classes
    data, model = tmp_path / "rows.svm", tmp_path / "rows.model"
    dump_svmlight_file(X, y, str(data), zero_based=False)
    run("train", data, "-m", name, "--nu", "0.3", "-o", model)
    verified = run("verify", model, data).output
    assert "NOT CHECKED" in verified
    assert "FALSE" not in verified
    run("evaluate", model, data)
    run("train", data, "-m", "svc", "--nu", "0.3", "-o", model, code=1)


def test_forged_duals_are_refused(classes):
    X, y = classes
    model = OneClassSVM(nu=0.3, gamma=0.1).fit(X)
    data = model._data_to_certify(X, y, None)
    check_model(model, data, certify(model, X))
    model._duals = model._duals.copy()
    model._duals[0, 0] *= 0.5
    with pytest.raises(CertificateError):
        check_model(model, data, certify(model, X))


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize("name", ["SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"])
def test_no_step_at_all(name, classes):
    X, y = classes
    model = getattr(maxmargin, name)(max_iter=0).fit(X, y)
    assert model.status_ is Status.ITERATION_LIMIT
    assert np.all(model.n_iter_ == 0)
    assert model.predict(X).shape == y.shape
    model.certificate_.check(certify(model, X, y))


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_default_decision_values_are_no_farther_from_the_optimum_than_libsvms(C, classes, regression):
    for name, (X, y) in (("SVC", classes), ("SVR", regression)):
        best, ours = (getattr(maxmargin, name)(C=C, tol=tol).fit(X, y) for tol in (1e-9, 1e-3))
        values = [
            model.predict(X) if name == "SVR" else model.decision_function(X)
            for model in (best, ours, getattr(svm, name)(C=C).fit(X, y))
        ]
        # Kernel values of single precision have 7 digits.
        assert np.abs(values[1] - values[0]).max() <= np.abs(values[2] - values[0]).max() + 1e-6


@pytest.mark.parametrize("model", [maxmargin.LinearSVC(), maxmargin.LogisticRegression(), maxmargin.Perceptron()])
def test_weights_that_leave_one_class_fit_a_constant_as_in_scikit_learn(model, classes):
    X, y = classes
    fitted = model.fit(X, y, sample_weight=(y == 1).astype(float))
    assert fitted.status_ is Status.SOLVED
    np.testing.assert_array_equal(fitted.classes_, [0, 1])
    assert (fitted.predict(X[y == 1]) == 1).all()
    # The sentences are scikit-learn's.
    for kernel_machine, words in ((SVC(), "same class"), (NuSVC(), "nu is infeasible")):
        with pytest.raises(ValueError, match=words):
            kernel_machine.fit(X, y, sample_weight=(y == 1).astype(float))


def test_bagging_on_a_rare_class(regression):
    X, y = regression
    rare = (y >= np.sort(y)[-3]).astype(int)
    ensemble = BaggingClassifier(maxmargin.LinearSVC(), n_estimators=30, random_state=0).fit(X, rare)
    assert any(not (drawn[rare[drawn] == 1]).size for drawn in ensemble.estimators_samples_)
    assert ensemble.predict(X).shape == rare.shape


@pytest.mark.parametrize("name", ["NuSVC", "NuSVR", "OneClassSVM"])
@pytest.mark.parametrize("capacity", [8, 90])
def test_a_cache_of_few_rows_changes_nothing_but_time(name, capacity, monkeypatch):
    """As with half a million rows: the cache then holds fewer rows than a working set."""
    X, y = make_classification(900, 5, random_state=0)
    model = getattr(maxmargin, name)(nu=0.3, tol=1e-3)
    whole = model.fit(X, y).certificate_
    monkeypatch.setattr("maxmargin.solvers.kernel.kernel_cache.SMALLEST_CACHE", 0.0)
    few = model.set_params(cache_size=capacity * 900 * 4 / 2**20).fit(X, y)
    assert few.status_ == "solved"
    assert few.certificate_.primal == pytest.approx(whole.primal, rel=2e-3)


@pytest.mark.parametrize("n_rows", [50, 300, 900])
def test_rows_around_the_origin_take_few_steps(n_rows):
    """The optimum is zero; that of a matrix of rounded kernel values is not, and took millions of steps."""
    X = np.random.default_rng(0).standard_normal((n_rows, 4))
    model = OneClassSVM(kernel="linear", nu=0.3, tol=1e-3).fit(X)
    assert model.status_ == "solved"
    assert model.n_iter_ < 50_000
    assert model.certificate_.gap < 1e-12 * n_rows**2 * 16.0


@pytest.mark.parametrize("nu", [0.1, 0.5])
@pytest.mark.parametrize("n_rows", [30, 500])
def test_linear_one_class_of_few_rows_around_the_origin_does_not_stall(n_rows, nu):
    rows = np.random.default_rng(0).normal(size=(n_rows, 5 if n_rows > 30 else 2))
    model = OneClassSVM(kernel="linear", nu=nu).fit(rows)
    assert model.status_ == "solved"
    # w = 0 is optimal; steps on pairs alone took 200,000 for 30 rows, and had not ended after a million for 500.
    assert model.n_iter_ < 100 * n_rows
    assert abs(model.certificate_.primal) < 1e-6 * nu * n_rows
    limited = OneClassSVM(kernel="linear", nu=nu, max_iter=10)
    with pytest.warns(LimitWarning):
        limited.fit(rows)
    assert limited.n_iter_ <= 10
