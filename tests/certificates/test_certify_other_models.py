"""certify on models that other programs fitted: true gaps, small where the model is good, clear refusals."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
import sklearn.svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

import maxmargin
from maxmargin import ClassificationGap, MarginBracket, MulticlassGap, PerClass, PerPair, RegressionGap, certify

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::FutureWarning")
CANCER = load_breast_cancer(return_X_y=True)
CANCER = scale(CANCER[0]), CANCER[1]
WINE = load_wine(return_X_y=True)
WINE = scale(WINE[0]), WINE[1]
DIABETES = load_diabetes(return_X_y=True)


def is_true_gap(proof, optimum, at_most):
    """The optimum is between both values, and the relative gap is small."""
    slack = 1e-6 * abs(optimum)
    return proof.dual <= optimum + slack and optimum - slack <= proof.primal and proof.relative <= at_most


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_svc_of_scikit_learn(C, kernel):
    X, y = CANCER
    proof = certify(sklearn.svm.SVC(C=C, kernel=kernel, tol=1e-5).fit(X, y), X, y)
    ours = maxmargin.SVC(C=C, kernel=kernel, tol=1e-6).fit(X, y).certificate_
    assert isinstance(proof, ClassificationGap)
    assert is_true_gap(proof, ours.primal, at_most=1e-3)
    assert proof.outside + proof.on_margin + proof.inside + proof.misclassified == len(y)


@pytest.mark.parametrize("sparse", [False, True])
def test_svc_of_several_classes_with_weights(sparse):
    X, y = WINE
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    rows = sp.csr_array(X) if sparse else X
    model = sklearn.svm.SVC(tol=1e-6, class_weight={0: 2.0, 1: 0.5}).fit(sp.csr_matrix(X) if sparse else X, y, weights)
    proof = certify(model, rows, y, weights)
    ours = maxmargin.SVC(tol=1e-7, class_weight={0: 2.0, 1: 0.5}).fit(X, y, weights).certificate_
    assert isinstance(proof, PerPair)
    assert list(proof) == [(0, 1), (0, 2), (1, 2)]
    assert all(is_true_gap(proof[pair], ours[pair].primal, at_most=1e-4) for pair in proof)
    with pytest.raises(ValueError, match="X has 10 rows"):
        certify(model, rows[:10], y[:10])


def test_a_precomputed_kernel():
    X, y = CANCER
    gram = X @ X.T
    proof = certify(sklearn.svm.SVC(kernel="precomputed", tol=1e-5).fit(gram, y), gram, y)
    assert is_true_gap(proof, maxmargin.LinearSVC(tol=1e-7).fit(X, y).objective_, at_most=1e-4)


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("scaling", [None, 1.0, 5.0])
def test_linear_svc_of_scikit_learn(C, loss, scaling):
    """LIBLINEAR penalises the intercept; it keeps no duals, so that they are recovered from the hyperplane."""
    X, y = CANCER
    parameters = {"fit_intercept": scaling is not None, "intercept_scaling": scaling or 1.0}
    theirs = sklearn.svm.LinearSVC(C=C, loss=loss, tol=1e-7, max_iter=10**6, random_state=0, **parameters)
    proof = certify(theirs.fit(X, y), X, y)
    ours = maxmargin.LinearSVC(C=C, loss=loss, tol=1e-9, penalize_intercept=scaling is not None, **parameters)
    optimum = ours.fit(X, y).certificate_
    assert is_true_gap(proof, optimum.primal, at_most=1e-5)
    assert (proof.on_margin, proof.misclassified) == (optimum.on_margin, optimum.misclassified)
    if loss == "squared_hinge":
        assert proof.on_margin == 0


def test_a_poor_hyperplane_has_a_true_and_large_gap():
    X, y = CANCER
    model = sklearn.svm.LinearSVC(loss="hinge", max_iter=1, random_state=0).fit(X, y)
    best = maxmargin.LinearSVC(tol=1e-8, penalize_intercept=True).fit(X, y).objective_
    proof = certify(model, X, y)
    assert is_true_gap(proof, best, at_most=1.0)
    assert proof.gap >= proof.primal - best > 0.01
    model.coef_ = -model.coef_
    assert certify(model, X, y).gap >= certify(model, X, y).primal - best > 1.0


def test_linear_svc_of_several_classes():
    X, y = WINE
    one_vs_rest = certify(sklearn.svm.LinearSVC(tol=1e-6, max_iter=10**5).fit(X, y), X, y)
    assert isinstance(one_vs_rest, PerClass)
    assert one_vs_rest.worst.relative < 1e-4
    joint = certify(sklearn.svm.LinearSVC(multi_class="crammer_singer", tol=1e-6, max_iter=10**5).fit(X, y), X, y)
    best = maxmargin.LinearSVC(multi_class="crammer_singer", penalize_intercept=True, tol=1e-7).fit(X, y).objective_
    assert isinstance(joint, MulticlassGap)
    assert is_true_gap(joint, best, at_most=1e-5)
    two = y < 2
    pair = sklearn.svm.LinearSVC(multi_class="crammer_singer", tol=1e-7, max_iter=10**6).fit(X[two], y[two])
    assert certify(pair, X[two], y[two]).relative < 1e-4


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("epsilon", [0.0, 5.0])
def test_linear_svr_of_scikit_learn(loss, epsilon):
    X, y = DIABETES
    theirs = sklearn.svm.LinearSVR(loss=loss, C=10.0, epsilon=epsilon, tol=1e-8, max_iter=10**6, random_state=0)
    proof = certify(theirs.fit(X, y), X, y)
    ours = maxmargin.LinearSVR(loss=loss, C=10.0, epsilon=epsilon, tol=1e-9, penalize_intercept=True).fit(X, y)
    assert isinstance(proof, RegressionGap)
    assert is_true_gap(proof, ours.objective_, at_most=1e-4)


def test_svr_of_scikit_learn():
    X, y = DIABETES
    proof = certify(sklearn.svm.SVR(C=100.0, epsilon=3.0).fit(X, y), X, y)
    optimum = maxmargin.SVR(C=100.0, epsilon=3.0, tol=1e-6).fit(X, y).certificate_.primal
    assert is_true_gap(proof, optimum, at_most=1e-4)


@pytest.mark.parametrize("solver", ["lbfgs", "liblinear", "newton-cholesky"])
def test_logistic_regression_of_scikit_learn(solver):
    X, y = CANCER
    model = sklearn.linear_model.LogisticRegression(C=0.7, solver=solver, tol=1e-8, max_iter=10**5).fit(X, y)
    proof = certify(model, X, y)
    assert proof.relative < 1e-8
    assert certify(model, sp.csr_array(X), y).relative < 1e-8
    if solver != "liblinear":
        ours = maxmargin.LogisticRegression(C=0.7, tol=1e-9).fit(X, y).certificate_
        assert is_true_gap(proof, ours.primal, at_most=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_lasso_and_least_squares_of_scikit_learn(weighted):
    X, y = DIABETES
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else None
    total = len(y) if weights is None else weights.sum()
    for theirs, ours, at_most in [
        (sklearn.linear_model.Ridge(alpha=0.3), maxmargin.Ridge(lam=0.3), 1e-10),
        (sklearn.linear_model.Lasso(alpha=0.1, tol=1e-10), maxmargin.Lasso(lam=0.1 * total, tol=1e-8), 1e-7),
    ]:
        proof = certify(theirs.fit(X, y, sample_weight=weights), X, y, weights)
        assert is_true_gap(proof, ours.fit(X, y, sample_weight=weights).objective_, at_most)
    least_squares = certify(sklearn.linear_model.LinearRegression().fit(X, y, weights), X, y, weights)
    assert least_squares.relative < 1e-8
    assert math.isfinite(least_squares.radius)


@pytest.mark.parametrize("seed", range(5))
def test_any_linear_classifier_has_its_margin_bracketed(seed):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(40, 4))
    X = X[np.abs(X[:, 0]) > 0.1]
    y = np.where(X[:, 0] > 0.0, 1, -1)
    best = maxmargin.separate(X, y, tol=1e-6).certificate
    for model in (sklearn.linear_model.Perceptron(), sklearn.linear_model.SGDClassifier(random_state=0)):
        proof = certify(model.fit(X, y), X, y)
        assert isinstance(proof, MarginBracket)
        assert proof.lower <= best.upper
        assert best.lower <= proof.upper
        distances = y * model.decision_function(X) / np.linalg.norm(model.coef_)
        assert proof.lower == pytest.approx(distances.min(), rel=1e-9)
    # The nearest points of the best hyperplane are enough to prove that it is the best one.
    w = maxmargin.LinearSVC(C=math.inf, tol=1e-6).fit(X, y)
    assert certify((w.coef_, w.intercept_), X, y).relative < 1e-4


def test_plain_vectors():
    X, y = CANCER
    model = maxmargin.LinearSVC(C=0.5, tol=1e-8).fit(X, y)
    problem = {"loss": "hinge", "C": 0.5}
    proof = certify((model.coef_, model.intercept_, model.dual_coef_), X, y, **problem)
    assert proof == model.certificate_
    assert certify((model.coef_, model.intercept_), X, y, **problem).relative < 1e-6
    # Other duals prove less, and never more.
    wild = np.random.default_rng(0).normal(size=len(y))
    assert certify((model.coef_, model.intercept_, wild), X, y, **problem).dual <= proof.primal
    without = maxmargin.LinearSVC(C=0.5, fit_intercept=False, loss="squared_hinge", tol=1e-8).fit(X, y)
    assert certify((without.coef_, None), X, y, loss="squared_hinge", C=0.5).relative < 1e-6
    logistic = maxmargin.LogisticRegression(C=2.0, tol=1e-8).fit(X, y)
    assert certify((logistic.coef_, logistic.intercept_), X, y, loss="logistic", C=2.0).relative < 1e-7
    X, y = DIABETES
    lasso = maxmargin.Lasso(lam=3.0, tol=1e-8).fit(X, y)
    vectors = lasso.coef_, lasso.intercept_
    assert certify(vectors, X, y, loss="squared_error", penalty="l1", lam=3.0) == lasso.certificate_
    assert certify(vectors, X, y, loss="squared_error", lam=3.0).relative > 1e-3
    weights = np.random.default_rng(2).uniform(0.5, 2.0, len(y))
    svr = maxmargin.LinearSVR(C=2.0, epsilon=1.0, tol=1e-8).fit(X, y, weights)
    vectors = svr.coef_, svr.intercept_, svr.dual_coef_
    assert certify(vectors, X, y, weights, loss="epsilon_insensitive", C=2.0, epsilon=1.0) == svr.certificate_


@pytest.mark.parametrize(("l1_ratio", "solver"), [(1.0, "liblinear"), (1.0, "saga"), (0.3, "saga")])
def test_logistic_regression_with_an_l1_penalty(l1_ratio, solver):
    X, y = StandardScaler().fit_transform(WINE[0]), WINE[1] == 0
    theirs = sklearn.linear_model.LogisticRegression(l1_ratio=l1_ratio, solver=solver, tol=1e-8, max_iter=10**5)
    proof = certify(theirs.fit(X, y), X, y)
    ours = maxmargin.LogisticRegression(l1_ratio=l1_ratio, solver=solver, tol=1e-9).fit(X, y)
    assert ours.certificate_.dual <= proof.primal <= ours.certificate_.primal * (1.0 + 1e-6)
    assert proof.relative <= 1e-3
    assert proof.unused <= (theirs.coef_ == 0.0).sum() + (solver == "liblinear" and theirs.intercept_[0] == 0.0)


@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("scaling", [None, 1.0, 5.0])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_svc_with_an_l1_penalty(C, scaling, n_classes):
    """LIBLINEAR's -s 5: the penalty counts the intercept, where there is one."""
    X, y = (CANCER, WINE)[n_classes - 2]
    parameters = {"penalty": "l1", "C": C, "fit_intercept": scaling is not None, "intercept_scaling": scaling or 1.0}
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    theirs = sklearn.svm.LinearSVC(tol=1e-7, max_iter=10**5, **parameters).fit(X, y, weights)
    options = {"loss": "squared_hinge", "penalize_intercept": scaling is not None}
    ours = maxmargin.LinearSVC(tol=1e-9, **options, **parameters).fit(X, y, weights)
    proofs, optima = certify(theirs, X, y, weights), ours.certificate_
    assert isinstance(proofs, PerClass) == (n_classes > 2)
    pairs = [(proofs[k], optima[k]) for k in proofs] if n_classes > 2 else [(proofs, optima)]
    for proof, optimum in pairs:
        # Duals that are recovered from rounded coefficients prove less.
        assert is_true_gap(proof, optimum.primal, at_most=1e-3)
        assert proof.primal <= optimum.primal * (1.0 + 1e-6)
    # Of a poor model the gap is as large as it is far from the optimum.
    theirs.coef_ = np.zeros_like(theirs.coef_)
    poor = certify(theirs, sp.csr_array(X), y, weights)
    for proof, optimum in zip(poor.values(), optima.values(), strict=True) if n_classes > 2 else [(poor, optima)]:
        assert proof.dual <= optimum.primal * (1.0 + 1e-6)
        assert proof.gap >= proof.primal - optimum.primal


@pytest.mark.parametrize("class_weight", [{1: 2.0}, {0: 3.0, 1: 0.2}, "balanced"], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "options", [{}, {"penalty": "l1"}, {"loss": "hinge"}, {"multi_class": "crammer_singer"}], ids=str
)
def test_class_weights_of_linear_svc_are_those_that_liblinear_uses(class_weight, n_classes, options):
    """Of several classes, each is weighted against the rest, and not as a part of it."""
    X, y = (CANCER, WINE)[n_classes - 2]
    X, y = X[20:120:2], y[20:120:2]
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    settings = {"tol": 1e-8, "max_iter": 10**6, "random_state": 0, "class_weight": class_weight}
    model = sklearn.svm.LinearSVC(**settings, **options).fit(X, y, weights)
    proof = certify(model, X, y, weights)
    assert max(one.relative for one in (proof.values() if isinstance(proof, PerClass) else [proof])) < 1e-4


def test_the_joint_problem_has_no_l1_penalty():
    """LIBLINEAR's -s 4 leaves the name of the penalty out of account."""
    X, y = WINE
    options = {"multi_class": "crammer_singer", "tol": 1e-6, "max_iter": 10**5, "random_state": 0}
    plain, named = (sklearn.svm.LinearSVC(penalty=penalty, **options).fit(X, y) for penalty in ("l2", "l1"))
    np.testing.assert_array_equal(named.coef_, plain.coef_)
    assert certify(named, X, y) == certify(plain, X, y)


TARGETS = np.column_stack([DIABETES[1], DIABETES[1][::-1], np.sin(np.arange(len(DIABETES[1])))])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("Ridge", {"alpha": 0.3}),
        ("Ridge", {"alpha": np.array([0.3, 10.0, 0.01])}),
        ("Ridge", {"alpha": np.array([0.3, 10.0, 0.01]), "fit_intercept": False}),
        ("Ridge", {"alpha": 0.3, "positive": True}),
        ("Lasso", {"alpha": 0.1}),
        ("Lasso", {"alpha": 0.1, "positive": True}),
        ("ElasticNet", {"alpha": 0.1, "l1_ratio": 0.3}),
        ("ElasticNet", {"alpha": 0.1, "l1_ratio": 0.0}),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:.*l1_reg=0")
def test_regressions_of_one_target_and_of_several(name, options, weighted):
    X, _ = DIABETES
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X)) if weighted else None
    limit = {} if name == "Ridge" and "positive" not in options else {"max_iter": 10**5}
    tol = {"tol": 1e-10} if name != "ElasticNet" else {"tol": 1e-8}
    theirs = getattr(sklearn.linear_model, name)(**options, **limit, **tol).fit(X, TARGETS, sample_weight=weights)
    ours = getattr(maxmargin, name)(**options, tol=1e-9).fit(X, TARGETS, sample_weight=weights)
    proof = certify(theirs, X, TARGETS, weights)
    assert isinstance(proof, maxmargin.PerTarget)
    assert list(proof) == [0, 1, 2]
    for k in proof:
        assert is_true_gap(proof[k], ours.certificate_[k].primal, at_most=1e-5)
    with pytest.raises(TypeError, match="it has 3 targets, and y has 1"):
        certify(theirs, X, TARGETS[:, 0], weights)
    # A column is one target.
    if np.ndim(options["alpha"]) == 0:
        column = theirs.fit(X, TARGETS[:, :1], sample_weight=weights)
        assert is_true_gap(certify(column, X, TARGETS[:, :1], weights), ours.certificate_[0].primal, at_most=1e-5)


def test_least_squares_and_cross_validated_ridge_of_several_targets():
    X, _ = DIABETES
    for model in (
        sklearn.linear_model.LinearRegression(),
        sklearn.linear_model.RidgeCV(alphas=[0.1, 1.0, 10.0]),
        sklearn.linear_model.RidgeCV(alphas=[0.1, 1.0, 10.0], alpha_per_target=True),
    ):
        proof = certify(model.fit(X, TARGETS), X, TARGETS)
        assert max(proof[k].relative for k in range(3)) < 1e-8
    for model in (sklearn.linear_model.MultiTaskLasso(), sklearn.linear_model.MultiTaskElasticNet()):
        with pytest.raises(TypeError, match="its penalty joins the targets"):
            certify(model.fit(X, TARGETS), X, TARGETS)


def test_models_whose_problem_is_another_one_are_refused():
    X, y = WINE
    svm, linear = sklearn.svm, sklearn.linear_model
    for model, message in [
        (svm.NuSVR(), "keeps no epsilon"),
        (linear.Ridge(alpha=0.0, positive=True), "positive=True without a penalty"),
        (linear.LinearRegression(positive=True), "positive=True without a penalty"),
        (linear.Lasso(alpha=0.0, positive=True), "positive=True without a penalty"),
        (make_pipeline(StandardScaler(), svm.SVC()), "last step"),
    ]:
        with pytest.raises(TypeError, match=message):
            certify(model.fit(X, y), X, y)
    with pytest.raises(TypeError, match="estimator must be a linear or kernel model"):
        certify(SimpleNamespace(), X, y)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        certify(svm.SVC(), X, y)
    with pytest.raises(TypeError, match="only a tuple"):
        certify(svm.SVC().fit(X, y), X, y, C=3.0)


@pytest.mark.parametrize(
    ("vectors", "problem", "message"),
    [
        ((np.ones(13),), {}, "it has 1 entries"),
        ((np.ones(12), 0.0), {}, "coef has shape"),
        ((np.ones(13), 0.0, np.ones(5)), {}, "dual has shape"),
        ((np.ones(13), 0.0), {"loss": "absolute"}, "loss must be one of"),
        ((np.ones(13), 0.0), {"loss": "hinge", "C": -1.0}, "C must be"),
        ((np.ones(13), 0.0), {"loss": "hinge", "C": math.inf}, "C must be"),
        ((np.ones(13), 0.0), {"loss": "hinge", "penalty": "l1"}, "penalty must be"),
    ],
)
def test_bad_vectors_are_named(vectors, problem, message):
    X, y = WINE
    with pytest.raises(ValueError, match=message):
        certify(vectors, X, y == 0, **problem)
    with pytest.raises(ValueError, match="3 classes"):
        certify((np.ones(13), 0.0), X, y)
