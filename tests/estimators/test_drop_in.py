"""What users of scikit-learn meet when they change the import only."""

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
import sklearn.svm as rivals
import skops.io as skops
from joblib import Parallel, delayed, parallel_config
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.callback import ScoringMonitor
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, LeaveOneOut
from sklearn.multiclass import OneVsRestClassifier

import maxmargin as mm

X, Y = load_iris(return_X_y=True)
PUBLIC = [getattr(mm, name) for name in mm.__all__]
ESTIMATORS = [value for value in PUBLIC if isinstance(value, type) and issubclass(value, BaseEstimator)]


def threads_of(model):
    return model._n_threads()


@pytest.mark.parametrize(
    "labels", [Y, Y == 1, Y.astype(float), np.array(["a", "b", "c"])[Y], np.array([*"abc"], object)[Y]]
)
def test_scores_are_the_accuracies_of_scikit_learn(labels):
    model = mm.LinearSVC(loss="squared_hinge", penalize_intercept=True).fit(X[::3], labels[::3])
    for rows in (slice(None), slice(1, None, 7), [0], [100, 100, 60]):
        found = model.score(X[rows], labels[rows])
        assert type(found) is float
        assert found == accuracy_score(labels[rows], model.predict(X[rows]))
    weights = np.arange(Y.size)
    assert model.score(X, labels, weights) == accuracy_score(labels, model.predict(X), sample_weight=weights)


def test_scores_refuse_what_scikit_learn_refuses():
    model = mm.LinearSVC().fit(X, Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score(X, Y[:-1])
    with pytest.raises(ValueError, match="continuous"):
        model.score(X, Y + 0.5)
    assert model.score(X, np.arange(Y.size) + 3) == 0.0


def test_class_weight_is_what_was_used_and_scikit_learns():
    weights = np.where(Y == 0, 3.0, 1.0)
    rows = np.r_[:30, 50:120]
    ours = mm.SVC(class_weight="balanced", tol=1e-9).fit(X[rows], Y[rows], weights[rows])
    theirs = rivals.SVC(class_weight="balanced", tol=1e-9).fit(X[rows], Y[rows], weights[rows])
    np.testing.assert_allclose(ours.class_weight_, theirs.class_weight_)
    np.testing.assert_allclose(
        ours.set_params(decision_function_shape="ovo").decision_function(X),
        theirs.set_params(decision_function_shape="ovo").decision_function(X),
        atol=1e-5,
    )


def test_one_thread_inside_of_workers_and_where_the_configuration_says_so():
    for model in (mm.LinearSVC(), mm.SVC(), mm.LogisticRegression()):
        assert Parallel(2, prefer="threads")(delayed(threads_of)(model) for _ in range(2)) == [1, 1]
        with parallel_config(n_jobs=1):
            assert model._n_threads() == 1
        with parallel_config(n_jobs=2):
            assert model._n_threads() == 2


def read_again(model):
    """The model, written by skops and read without any other code."""
    data = skops.dumps(model)
    return skops.loads(data, trusted=skops.get_untrusted_types(data=data))


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_all_models_go_into_files_of_skops(estimator):
    assert repr(read_again(estimator())) == repr(estimator())
    for targets in (Y, Y == 1) if is_classifier(estimator()) else (X[:, 0] + Y,):
        model = estimator().fit(X, targets)
        again = read_again(model)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        model.certificate_.check(mm.certify(again, X, targets))
        assert again.get_params() == model.get_params()


def test_pairs_of_classes_go_into_files_of_skops():
    model = mm.SVC().fit(X, Y)
    assert read_again(model).certificate_[0, 1] == model.certificate_[0, 1]


def steps_seen(model, targets):
    """The log of the steps of a fit of few rows; the last one of a regression has the score of the fitted model."""
    monitor = ScoringMonitor(scoring={"inside": lambda model, X, y: np.mean(model.predict(X) == y)})
    if is_classifier(model) or is_regressor(model):
        monitor = ScoringMonitor(scoring="accuracy" if is_classifier(model) else "r2")
    fitted = clone(model).set_callbacks(monitor).fit(X[:20], targets)
    steps = [row for row in monitor.get_logs().data if len(row["task_id_path"]) > 1]
    if is_regressor(model) and targets.ndim == 1:
        assert steps[-1]["r2"] == pytest.approx(fitted.score(X[:20], targets), abs=1e-2)
    return steps


@pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
@pytest.mark.parametrize("model", [estimator() for estimator in ESTIMATORS], ids=lambda model: type(model).__name__)
def test_callbacks_see_at_least_one_step_on_small_data(model):
    assert steps_seen(model, np.arange(20) % 2)
    if is_classifier(model):
        assert steps_seen(model, np.arange(20) % 3)
    elif model.__sklearn_tags__().target_tags.multi_output:
        assert steps_seen(model, np.random.default_rng(0).normal(size=(20, 2)))


def test_the_two_arguments_that_give_scikit_learns_linear_svc():
    ours = mm.LinearSVC(loss="squared_hinge", penalize_intercept=True, tol=1e-9, dual=True).fit(X, Y)
    theirs = rivals.LinearSVC(tol=1e-9, max_iter=10**6).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)


# The calls that solve another problem than scikit-learn's, with the arguments that give it.
OTHER_PROBLEMS = {
    "LinearSVC": {"loss": "squared_hinge", "penalize_intercept": True},
    "LinearSVR": {"penalize_intercept": True},
}
GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "from_scikit_learn.md"


def names_its_difference(function, call):
    """Whether guide and docstring, before the parameters, say that the problem is another one, and what gives it."""
    name, arguments = call.rstrip(")").split("(")
    doc = " ".join(function.__doc__.split("Parameters\n")[0].split())
    in_doc = f"scikit-learn's {name}() is" in doc and f"``{arguments.removeprefix('X, y, ')}``" in doc
    return in_doc and f"`{call}`" in GUIDE.read_text()


@pytest.mark.parametrize(
    "name",
    [
        *("LinearSVC", "LinearSVR", "SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"),
        *("LogisticRegression", "Ridge", "Lasso", "ElasticNet"),
    ],
)
def test_a_call_gives_scikit_learns_model_or_the_docstring_says_what_does(name):
    ours, other = getattr(mm, name), OTHER_PROBLEMS.get(name, {})
    limit = {"max_iter": 10**6} if name.startswith(("Linear", "Logistic")) else {}
    rival = getattr(rivals, name, None) or getattr(sklearn.linear_model, name)
    targets = Y if is_classifier(ours()) else X @ [1.0, -2.0, 0.5, 3.0] + 10.0 + np.sin(np.arange(len(X)))

    def scores(model):
        fitted = model.fit(X, targets)
        return getattr(fitted, "decision_function", fitted.predict)(X)

    theirs = scores(rival(tol=1e-9, **limit))
    np.testing.assert_allclose(scores(ours(tol=1e-10, **other)), theirs, atol=1e-3)
    if other:
        assert np.abs(scores(ours(tol=1e-10)) - theirs).max() > 1e-2
        arguments = ", ".join(f"{key}={value!r}".replace("'", '"') for key, value in other.items())
        assert names_its_difference(ours, f"{name}({arguments})")


@pytest.mark.parametrize("loss", ["squared_hinge", "log"])
def test_the_argument_that_gives_scikit_learns_least_c(loss):
    theirs = rivals.l1_min_c(X, Y, loss=loss)
    assert mm.l1_min_c(X, Y, loss=loss, penalize_intercept=True) == pytest.approx(theirs)
    assert mm.l1_min_c(X, Y, loss=loss) > 1.1 * theirs
    assert names_its_difference(mm.l1_min_c, "l1_min_c(X, y, penalize_intercept=True)")


# Attributes of a fit that have another type than scikit-learn's.
OTHER_ATTRIBUTES = {
    # The number of our solver's steps, also where that is one; several targets have an array, not a list.
    ("Ridge", "n_iter_"),
    ("Lasso", "n_iter_"),
    ("ElasticNet", "n_iter_"),
}
SHARED = [one for one in ESTIMATORS if hasattr(rivals, one.__name__) or hasattr(sklearn.linear_model, one.__name__)]


def form_of(name, value):
    """What a caller may rely on: an array and its shape, a number, or another type."""
    if isinstance(value, (np.ndarray, list)):
        # The number of support vectors depends on the tolerance.
        of_support = name in ("support_", "support_vectors_", "dual_coef_")
        return np.ndim(value) if of_support else np.shape(value), np.asarray(value).dtype.kind
    return "number" if isinstance(value, (int, float, np.number)) else type(value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", SHARED)
def test_attributes_and_routed_arguments_are_scikit_learns(estimator):
    name = estimator.__name__
    rival = getattr(rivals, name, None) or getattr(sklearn.linear_model, name)
    assert str(estimator().get_metadata_routing()) == str(rival().get_metadata_routing())
    targets = [Y, Y == 1] if is_classifier(estimator()) else [X[:, 0] + Y]
    if estimator().__sklearn_tags__().target_tags.multi_output:
        targets += [X[:, :2], X[:, :1]]
    for y in targets:
        ours, theirs = estimator().fit(X, y), rival().fit(X, y)
        for attribute in vars(theirs).keys() | {one for one in dir(rival) if one.endswith("_")}:
            if attribute[0] == "_" or attribute[-1] != "_" or attribute[-2:] == "__" or not hasattr(theirs, attribute):
                continue
            found, expected = (form_of(attribute, getattr(model, attribute)) for model in (ours, theirs))
            assert found == expected or (name, attribute) in OTHER_ATTRIBUTES, attribute
    if name == "OneClassSVM":
        assert ours.offset_[0] == -ours.intercept_[0] == pytest.approx(theirs.offset_[0], rel=1e-3)


RECIPES = re.findall(
    r"^\| `(\w+[(].*?[)])` \| `(.*?)` \|", GUIDE.read_text().split("## What has no class here")[1], re.MULTILINE
)
FACTORIES = {
    "np": np,
    "GridSearchCV": GridSearchCV,
    "LeaveOneOut": LeaveOneOut,
    "OneVsRestClassifier": OneVsRestClassifier,
}
# How scikit-learn's are brought near to the optimum that they approximate.
MORE_STEPS = {"SGDClassifier": {"random_state": 0, "max_iter": 2000, "tol": 1e-6, "n_iter_no_change": 20}}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("theirs", "ours"), RECIPES)
def test_recipes_of_the_guide_give_the_model_that_they_say(theirs, ours):
    rival = eval(theirs, vars(sklearn.linear_model))
    rival.set_params(**MORE_STEPS.get(type(rival).__name__, {}))
    rows, values = load_diabetes(return_X_y=True)
    targets = [Y, Y == 1] if is_classifier(rival) else [values]
    rows = (X - X.mean(axis=0)) / X.std(axis=0) if is_classifier(rival) else rows[:200]
    for y in targets:
        y = y[: len(rows)]
        model = eval(
            ours, {**{name: getattr(mm, name) for name in mm.__all__}, **FACTORIES, "X": rows, "y": y, "n": len(y)}
        )
        model.fit(rows, y)
        rival.fit(rows, y)
        if isinstance(model, GridSearchCV):
            (name, chosen), found = *model.best_params_.items(), model.predict(rows)
            np.testing.assert_allclose(np.ravel(getattr(rival, f"{name}_")), chosen)
            agreement = (
                np.mean(found == rival.predict(rows)) if is_classifier(rival) else r2_score(rival.predict(rows), found)
            )
            assert agreement > 0.99
        elif type(rival).__name__ == "RidgeClassifier":
            np.testing.assert_array_equal(model.predict(rows), rival.predict(rows))
        elif isinstance(model, mm.Perceptron):
            # Another model, which is as good.
            assert model.score(rows, y) >= rival.score(rows, y) - 0.05
            model.partial_fit(rows, y)
        else:
            assert np.mean(model.predict(rows) == rival.predict(rows)) > 0.95
            problem = {"loss": {"hinge": "hinge", "log_loss": "logistic"}[rival.loss], "C": model.C}
            for k, (w, b) in enumerate(zip(rival.coef_, rival.intercept_, strict=True)):
                task = y == rival.classes_[k] if len(rival.classes_) > 2 else y
                reached, proof = mm.certify((w, b), rows, task, **problem), as_list(model.certificate_)[k]
                # Nothing is better than ours, and theirs is near: it is the same problem.
                assert proof.dual <= reached.primal * (1.0 + 1e-9)
                assert reached.primal <= 1.2 * proof.primal


def as_list(certificate):
    return list(certificate.values()) if isinstance(certificate, mm.PerClass) else [certificate]


def test_recipes_name_what_has_no_class_here():
    names = {theirs.split("(")[0] for theirs, _ in RECIPES}
    assert names >= {
        "RidgeClassifier",
        "SGDClassifier",
        "PassiveAggressiveClassifier",
        "LogisticRegressionCV",
        "RidgeCV",
        "LassoCV",
    }
    assert not any(hasattr(mm, name) for name in names)


def test_random_state_of_svc_changes_nothing():
    one, other = mm.SVC(random_state=0).fit(X, Y), mm.SVC(random_state=1).fit(X, Y)
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_those_of_libsvm_but_for_the_folds(n_classes, tmp_path):
    points, labels = X[n_classes > Y][:, :2], Y[n_classes > Y]
    with pytest.warns(FutureWarning, match="CalibratedClassifierCV"):
        ours = mm.SVC(probability=True, random_state=0).fit(points, labels)
    with pytest.warns(FutureWarning):
        theirs = rivals.SVC(probability=True, random_state=0).fit(points, labels)
    chances = ours.predict_proba(points)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    np.testing.assert_allclose(chances, theirs.predict_proba(points), atol=0.12)
    np.testing.assert_allclose(ours.predict_log_proba(points), np.log(chances))
    mm.save(ours, tmp_path / "model", points, labels)
    np.testing.assert_array_equal(mm.load(tmp_path / "model").predict_proba(points), chances)
    assert not hasattr(mm.SVC().fit(points, labels), "predict_proba")


def test_probabilities_of_a_class_of_one_row_as_libsvm_has_them():
    rows = np.r_[:20, 50:70, 100]
    for labels in (Y[rows], np.where(Y[rows] == 2, 1, 0)):
        with pytest.warns(FutureWarning, match="`probability` parameter was deprecated"):
            model = mm.SVC(probability=True, random_state=0).fit(X[rows], labels)
        chances = model.predict_proba(X[rows])
        np.testing.assert_allclose(chances.sum(axis=1), 1.0)
        assert np.mean(model.classes_[chances.argmax(axis=1)] == labels) > 0.9
        with pytest.warns(FutureWarning, match="Attribute `probA_` was deprecated"):
            assert model.probA_.shape == model.intercept_.shape


def test_rows_without_a_positive_weight_are_left_out_as_libsvm_does():
    weights = np.where(np.arange(len(Y)) % 3 == 0, -0.5, 2.0)
    kept = weights > 0.0
    for name in ("SVC", "SVR"):
        model = getattr(mm, name)(tol=1e-8).fit(X, Y, weights)
        theirs = getattr(rivals, name)(tol=1e-8).fit(X, Y, weights)
        fewer = getattr(mm, name)(tol=1e-8, gamma=model._gamma).fit(X[kept], Y[kept], weights[kept])
        np.testing.assert_allclose(model.predict(X), fewer.predict(X), atol=1e-6)
        np.testing.assert_allclose(model.predict(X), theirs.predict(X), atol=1e-5)
        model.certificate_.check(mm.certify(model, X, Y, sample_weight=weights))
        with pytest.raises(ValueError, match="all samples have zero or negative weights"):
            model.fit(X, Y, -weights * kept)
    with pytest.raises(ValueError, match="all samples with positive weights belong to the same class"):
        mm.SVC().fit(X, Y, np.where(Y == 1, 1.0, -1.0))


def test_sparse_coefficients_predict_and_are_certified_like_dense_ones():
    model = mm.LinearSVC().fit(X, Y)
    scores = model.decision_function(X)
    model.sparsify()
    np.testing.assert_array_equal(model.decision_function(X), scores)
    mm.certify(model, X, Y)
    np.testing.assert_array_equal(model.densify().coef_, mm.LinearSVC().fit(X, Y).coef_)


def test_names_that_change_nothing_and_names_that_are_refused():
    values = X @ [1.0, -2.0, 0.5, 3.0]
    plain = mm.Ridge(alpha=2.0).fit(X, values).coef_
    np.testing.assert_array_equal(mm.Ridge(alpha=2.0, solver="cholesky", random_state=1).fit(X, values).coef_, plain)
    shuffled = mm.Lasso(alpha=0.1, selection="random", random_state=3, tol=1e-10).fit(X, values)
    np.testing.assert_allclose(shuffled.coef_, mm.Lasso(alpha=0.1, tol=1e-10).fit(X, values).coef_, atol=1e-6)
    for model in (mm.Ridge(positive=True, solver="svd"), mm.Ridge(solver="lbfgs")):
        with pytest.raises(ValueError, match=r"not support|only when positive"):
            model.fit(X, np.minimum(Y, 1))


@pytest.mark.parametrize("positive", [False, True])
def test_every_target_is_a_regression_of_its_own_with_its_own_penalty(positive):
    rng = np.random.default_rng(3)
    targets = X @ rng.normal(size=(4, 3)) + rng.normal(size=(len(X), 3)) + [0.0, 50.0, -7.0]
    weights, alphas = rng.integers(0, 3, len(X)), np.array([1e6, 0.3, 20.0])
    model = mm.Ridge(alpha=alphas, positive=positive).fit(X, targets, weights)
    for k, alpha in enumerate(alphas):
        one = mm.Ridge(alpha=alpha, positive=positive).fit(X, targets[:, k], weights)
        np.testing.assert_allclose(model.coef_[k], one.coef_, rtol=1e-7, atol=1e-12)
        np.testing.assert_allclose(model.predict(X)[:, k], one.predict(X), rtol=1e-9)
        assert model.certificate_[k].relative <= 1e-6
    model.certificate_.check(mm.certify(model, X, targets, sample_weight=weights))
    reference = sklearn.linear_model.Ridge(alpha=alphas, positive=positive, tol=1e-12).fit(X, targets, weights)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-5)
    with pytest.raises(ValueError, match="number of penalties do not correspond: 2 != 3"):
        mm.Ridge(alpha=alphas[:2]).fit(X, targets)


def test_the_elastic_net_between_least_squares_and_ridge_regression():
    values = X @ [1.0, -2.0, 0.5, 3.0] + np.sin(np.arange(len(X)))
    ridge = mm.Ridge(alpha=0.2 * len(X)).fit(X, values)
    net = mm.ElasticNet(alpha=0.2, l1_ratio=0.0, tol=1e-10).fit(X, values)
    np.testing.assert_allclose(net.coef_, ridge.coef_, rtol=1e-7)
    assert net.certificate_.primal == pytest.approx(0.5 * ridge.certificate_.primal)
    least = np.linalg.lstsq(X - X.mean(axis=0), values - values.mean(), rcond=None)[0]
    for model in (mm.Lasso(alpha=0.0), mm.ElasticNet(alpha=0.0)):
        np.testing.assert_allclose(model.fit(X, values).coef_, least, rtol=1e-8)
        assert model.status_ == "solved"


@pytest.mark.parametrize(
    "model", [mm.Ridge(), mm.Ridge(positive=True), mm.Lasso(alpha=0.01), mm.ElasticNet(alpha=0.01)]
)
def test_rows_in_single_precision_have_a_certificate_that_holds_after_a_file(model, tmp_path):
    # Columns far from zero.
    rows = (X + np.array([100.0, 0.0, -30.0, 5.0])).astype(np.float32)
    values = (X @ [1.0, 2.0, 0.5, 3.0]).astype(np.float32)
    model.fit(rows, values)
    assert model.status_ == "solved"
    np.testing.assert_array_equal(model.predict(rows.astype(np.float64)).astype(np.float32), model.predict(rows))
    mm.save(model, tmp_path / "model.safetensors", rows, values)
    again = mm.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    again.certificate_.check(mm.certify(again, rows, values))


def test_a_gram_matrix_of_other_rows_is_refused():
    values, centred = X @ [1.0, -2.0, 0.5, 3.0], X - X.mean(axis=0)
    given = mm.Lasso(alpha=0.1, precompute=centred.T @ centred).fit(centred, values)
    np.testing.assert_array_equal(given.coef_, mm.Lasso(alpha=0.1).fit(centred, values).coef_)
    with pytest.raises(ValueError, match="did not pass validation"):
        mm.Lasso(alpha=0.1, precompute=2.0 * (centred.T @ centred)).fit(centred, values)
    with pytest.raises(ValueError, match="has shape"):
        mm.Lasso(alpha=0.1, precompute=np.eye(3)).fit(centred, values)


@pytest.mark.parametrize("early_stopping", [False, True])
def test_perceptrons_count_the_rows_that_they_have_read(early_stopping):
    options = {"max_iter": 7, "tol": None, "early_stopping": early_stopping, "random_state": 0}
    ours = mm.Perceptron(**options).fit(X, Y)
    assert ours.t_ == ours.n_iter_ * len(Y) + 1
    streams = [
        kind(shuffle=False).partial_fit(X[:50], Y[:50], classes=[0, 1, 2]).partial_fit(X[50:], Y[50:])
        for kind in (mm.Perceptron, sklearn.linear_model.Perceptron)
    ]
    assert streams[0].t_ == streams[1].t_ == 151


def test_a_kernel_its_matrix_and_a_function_give_the_same_model():
    models = [
        mm.SVC(kernel="linear").fit(X, Y),
        mm.SVC(kernel="precomputed").fit(X @ X.T, Y),
        mm.SVC(kernel=lambda A, B: A @ B.T).fit(X, Y),
        mm.SVC(kernel="linear").fit(sp.csr_array(X), Y),
    ]
    for model in models[1:]:
        np.testing.assert_allclose(model._duals, models[0].dual_coef_, atol=1e-9)
        np.testing.assert_array_equal(model.support_, models[0].support_)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "newton-cholesky", "sag", "saga"])
def test_the_scale_of_an_intercept_without_a_penalty_has_no_effect_as_in_scikit_learn(solver):
    with pytest.warns(UserWarning, match="intercept_scaling has no effect"):
        model = mm.LogisticRegression(solver=solver, intercept_scaling=100.0).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, mm.LogisticRegression().fit(X, Y).coef_)
    for refused in (mm.LogisticRegression(intercept_scaling=100.0), mm.LinearSVC(intercept_scaling=100.0)):
        with pytest.raises(ValueError, match="set penalize_intercept=True"):
            refused.fit(X, Y)


def test_combinations_that_liblinear_refuses_are_named_in_its_words():
    for options in ({"loss": "hinge"}, {"loss": "hinge", "dual": True}, {"loss": "squared_hinge", "dual": True}):
        with pytest.raises(ValueError, match=f"Unsupported set of arguments: penalty='l1', loss='{options['loss']}'"):
            mm.LinearSVC(penalty="l1", **options).fit(X, Y)


def test_a_lasso_starts_from_coefficients_alone():
    values = X @ [1.0, -2.0, 0.5, 3.0]
    for options in ({}, {"precompute": True}):
        model = mm.Lasso(alpha=0.01, warm_start=True, fit_intercept=False, **options)
        model.coef_ = np.array([1.0, 1.0, 1.0, 1000.0])
        expected = mm.Lasso(alpha=0.01, fit_intercept=False, tol=1e-10).fit(X, values).coef_
        np.testing.assert_allclose(model.set_params(tol=1e-10).fit(X, values).coef_, expected, atol=1e-4)


def test_rows_whose_squares_overflow_are_refused_with_scikit_learns_sentence():
    huge = X * 1e307
    for model, words in ((mm.SVC(), "dual coefficients or intercepts are not finite"), (mm.Lasso(), "non-finite")):
        with pytest.raises(ValueError, match=words):
            model.fit(huge, Y)


def test_callbacks_see_a_fit_without_steps():
    monitor = ScoringMonitor(scoring="accuracy")
    model = mm.LogisticRegression(max_iter=0).set_callbacks(monitor)
    with pytest.warns(mm.LimitWarning):
        model.fit(X, Y == 1)
    assert model.n_iter_.max() == 0
    # Its start, and its end.
    assert sum(len(row["task_id_path"]) > 1 for row in monitor.get_logs().data) == 2
