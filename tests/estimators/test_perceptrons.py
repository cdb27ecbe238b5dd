"""The perceptrons as estimators of scikit-learn, and their behaviour at every limit."""

import pickle
import time
from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import KernelPerceptron, LimitWarning, MarginPerceptron, Perceptron, Status, certify
from perceptron_cases import ALL, quiet
from real_data import hardly_separable, load, random_set


@quiet
@pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)
def test_clone_and_pickle(model):
    X, y = load_digits(return_X_y=True)
    fitted = clone(model).fit(X[:300], y[:300])
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))
    again.certificate_.check(fitted.certificate_)
    assert clone(fitted).get_params() == model.get_params()
    assert type(model).__name__ in fitted._repr_html_()


@quiet
@pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)
def test_pipelines_and_searches(model):
    X, y = load("heart_scale")
    pipeline = make_pipeline(StandardScaler(with_mean=False), clone(model))
    name = type(model).__name__.lower()
    search = GridSearchCV(pipeline, {f"{name}__fit_intercept": [True, False]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.6
    scaler, best = search.best_estimator_[0], search.best_estimator_[-1]
    best.certificate_.check(certify(best, scaler.transform(X), y))


@quiet
def test_sample_weights_are_routed():
    import sklearn

    X, y = load("heart_scale")
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        model = Perceptron(max_iter=10).set_fit_request(sample_weight=True)
        scorer = get_scorer("accuracy").set_score_request(sample_weight=False)
        result = cross_validate(model, X, y, params={"sample_weight": weights}, scoring=scorer, return_estimator=True)
    assert len(result["estimator"]) == 5
    plain = cross_validate(Perceptron(max_iter=10), X, y, return_estimator=True)
    assert any(
        not np.array_equal(a.coef_, b.coef_) for a, b in zip(result["estimator"], plain["estimator"], strict=True)
    )


def test_it_ends_as_soon_as_a_pass_makes_no_mistake():
    X, y = load("mushrooms")
    model = Perceptron(tol=None).fit(X, y)
    assert model.status_ is Status.SOLVED
    assert model.mistakes_per_pass_[-1] == 0
    assert (model.mistakes_per_pass_[:-1] > 0).all()
    assert model.n_iter_ == len(model.mistakes_per_pass_)


@pytest.mark.parametrize("limit", [{"max_iter": 3}, {"max_iter": 10**6, "max_time": 0.05}])
def test_a_limit_is_told_with_what_is_proven(limit):
    X, y = hardly_separable(n=270, d=13)
    with pytest.warns(
        LimitWarning, match=r"(max_iter|max_time) was reached.*usable.*Proven: .*mistakes, at most"
    ) as caught:
        model = Perceptron(tol=None, **limit).fit(X, y)
    assert not any("converge" in str(warning.message) for warning in caught)
    assert str(model.status_) in ("iteration limit", "time limit")
    assert model.score(X, y) > 0.4


def test_tol_ends_a_run_that_makes_no_progress_with_a_warning():
    X, y = load("heart_scale")
    with pytest.warns(LimitWarning, match=r"no progress of tol.*tol=None.*max_iter.*n_iter_no_change.*Proven: "):
        model = Perceptron(tol=1e-3, n_iter_no_change=3).fit(X, y)
    assert model.status_ is Status.STALLED
    loss = model.online_loss_per_pass_ / len(y)
    best = np.minimum.accumulate(loss)
    assert (loss[-3:] > best[-4:-1] - 1e-3).all()
    assert not (loss[-4:-1] > best[-5:-2] - 1e-3).all()
    with pytest.warns(LimitWarning, match="no progress of tol"):
        KernelPerceptron(kernel="linear", tol=1e-3).fit(X, y)


def test_by_default_a_perceptron_runs_until_a_pass_makes_no_mistake():
    """On separable data of a small margin, where the loss falls slowly, too."""
    X, y = load("sonar_scale")
    model = Perceptron(max_iter=10**5).fit(X, y)
    assert model.status_ is Status.SOLVED
    assert model.score(X, y) == 1.0
    with pytest.warns(LimitWarning, match="max_iter was reached"):
        assert Perceptron(max_iter=5).fit(X, y).status_ is Status.ITERATION_LIMIT


@quiet
def test_early_stopping_holds_rows_out():
    X, y = load("heart_scale")
    model = Perceptron(early_stopping=True, validation_fraction=0.2, tol=0.01).fit(X, y)
    assert (model.dual_coef_ == 0).sum() >= 0.2 * len(y)
    assert model.n_iter_ < 100
    assert model.score(X, y) > 0.7


@quiet
def test_warm_start_goes_on():
    X, y = load("heart_scale")
    model = Perceptron(max_iter=4, tol=None, shuffle=False, warm_start=True).fit(X, y).fit(X, y)
    whole = Perceptron(max_iter=8, tol=None, shuffle=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-12)
    np.testing.assert_allclose(model.coef_, model.coef_init_ + model.dual_coef_ @ X)
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X, np.arange(len(y)) % 3)


@quiet
def test_coef_init_is_where_it_starts():
    X, y = load("heart_scale")
    first = Perceptron(max_iter=4, tol=None, shuffle=False).fit(X, y)
    second = Perceptron(max_iter=4, tol=None, shuffle=False).fit(X, y, first.coef_, first.intercept_)
    whole = Perceptron(max_iter=8, tol=None, shuffle=False).fit(X, y)
    np.testing.assert_allclose(second.coef_, whole.coef_, rtol=1e-12)


@quiet
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_partial_fit_is_a_pass_in_pieces(average, n_classes):
    X, y = make_classification(300, 10, n_informative=6, n_classes=n_classes, random_state=0)
    whole = Perceptron(max_iter=1, tol=None, shuffle=False, average=average).fit(X, y)
    pieces = Perceptron(average=average)
    for part in np.array_split(np.arange(300), [1, 2, 50, 51, 200]):
        pieces.partial_fit(X[part], y[part], classes=np.arange(n_classes))
    np.testing.assert_allclose(pieces.coef_, whole.coef_, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(pieces.intercept_, whole.intercept_, rtol=1e-10, atol=1e-10)
    assert pieces.n_updates_ == whole.n_updates_
    assert not hasattr(pieces, "certificate_")


@quiet
def test_threads_change_no_bit_of_a_kernel_perceptron():
    """Classes share the kernel columns; a small cache makes them replace each other's."""
    X, y = load_digits(return_X_y=True)
    of_one = KernelPerceptron(n_jobs=1, cache_size=0.05, max_iter=3).fit(X[:600], y[:600])
    for n_jobs in (2, 3, None):
        with parallel_config(n_jobs=2) if n_jobs is None else nullcontext():
            model = KernelPerceptron(n_jobs=n_jobs, cache_size=0.05, max_iter=3).fit(X[:600], y[:600])
            np.testing.assert_array_equal(model.dual_coef_, of_one.dual_coef_)
            np.testing.assert_array_equal(model.decision_function(X), of_one.decision_function(X))


@quiet
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_kernel_partial_fit_is_a_pass_in_pieces(sparse, n_classes):
    X, y = make_classification(200, 6, n_informative=5, n_redundant=0, n_classes=n_classes, random_state=0)
    X = sp.csr_array(X) if sparse else X
    whole = KernelPerceptron(gamma=0.1, max_iter=1, tol=None, shuffle=False).fit(X, y)
    pieces = KernelPerceptron(gamma=0.1)
    for part in np.array_split(np.arange(200), [1, 90, 91]):
        pieces.partial_fit(X[part], y[part], classes=np.arange(n_classes))
    np.testing.assert_array_equal(pieces.support_, whole.support_)
    np.testing.assert_allclose(pieces.decision_function(X), whole.decision_function(X), rtol=1e-8, atol=1e-8)
    assert pieces.n_updates_ == whole.n_updates_


@quiet
@pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)
def test_scores_decide(model):
    X, y = load_digits(return_X_y=True)
    labels = np.array([f"digit {digit}" for digit in y])
    fitted = clone(model).fit(X[:600], labels[:600])
    scores = fitted.decision_function(X)
    assert scores.shape == (len(y), 10)
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[scores.argmax(axis=1)])
    two = clone(model).fit(X[:600], y[:600] == 3)
    np.testing.assert_array_equal(two.predict(X), two.classes_[(two.decision_function(X) >= 0).astype(int)])


def test_a_score_of_exactly_zero_is_the_greater_label():
    model = Perceptron(fit_intercept=False).fit([[1.0, 0.0], [-1.0, 0.0]], ["minus", "plus"])
    assert model.decision_function([[0.0, 5.0]])[0] == 0.0
    assert model.predict([[0.0, 5.0]])[0] == "plus"


@quiet
@pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)
def test_the_same_seed_gives_the_same_bits_for_every_n_jobs(model):
    X, y = load_digits(return_X_y=True)
    runs = []
    for n_jobs in (None, 1, 2, 4):
        one = clone(model)
        one.set_params(**({"n_jobs": n_jobs} if "n_jobs" in one.get_params() else {}))
        runs.append(one.fit(X[:500], y[:500]).decision_function(X))
    for other in runs[1:]:
        np.testing.assert_array_equal(runs[0], other)


@quiet
def test_seeds_and_generators():
    X, y = load("heart_scale")
    options = {"max_iter": 5, "tol": None}
    first = Perceptron(**options, random_state=1).fit(X, y).coef_
    assert np.array_equal(first, Perceptron(**options, random_state=1).fit(X, y).coef_)
    assert not np.array_equal(first, Perceptron(**options, random_state=2).fit(X, y).coef_)
    drawn = Perceptron(**options, random_state=np.random.RandomState(5)).fit(X, y).coef_
    assert np.array_equal(drawn, Perceptron(**options, random_state=np.random.RandomState(5)).fit(X, y).coef_)
    assert Perceptron(**options, random_state=None).fit(X, y).coef_.shape == first.shape


@quiet
def test_max_time_is_kept():
    X, y = hardly_separable(n=5000, d=20)
    for model in (Perceptron(max_iter=10**8, tol=None), MarginPerceptron(min_gamma=1e-12), KernelPerceptron(tol=None)):
        model.set_params(max_time=0.5)
        started = time.perf_counter()
        model.fit(X, y)
        assert model.status_ is Status.TIME_LIMIT
        assert time.perf_counter() - started < 10.0


@quiet
def test_max_time_is_shared_between_the_classes():
    generator = np.random.default_rng(0)
    y = np.arange(20_000) % 4
    X = generator.standard_normal((20_000, 50))
    X[np.arange(20_000), y] += 1.5
    Perceptron(max_iter=1, tol=None).fit(X, y)
    model = Perceptron(max_time=0.4, tol=None, max_iter=10**6).fit(X, y)
    assert model.coef_.any(axis=1).all()
    assert model.score(X, y) > 0.4


@pytest.mark.parametrize("off", [False, np.False_, 0])
def test_average_off(off):
    X, y = load("mushrooms")
    np.testing.assert_array_equal(Perceptron(average=off).fit(X, y).coef_, Perceptron().fit(X, y).coef_)
    assert not np.array_equal(Perceptron(average=np.True_).fit(X, y).coef_, Perceptron().fit(X, y).coef_)


@quiet
def test_rows_of_weight_zero_are_not_held_out():
    X, y = load("heart_scale")
    weights = (np.arange(len(y)) % 3 > 0).astype(float)
    flipped = np.where(weights == 0, -y, y)
    options = {"early_stopping": True, "validation_fraction": 0.4}
    one, other = (Perceptron(**options).fit(X, labels, sample_weight=weights) for labels in (y, flipped))
    np.testing.assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("normalize", [False, True])
def test_points_of_length_zero_end_with_a_proof(normalize):
    with pytest.warns(LimitWarning):
        model = MarginPerceptron(fit_intercept=False, normalize=normalize).fit(np.zeros((4, 2)), [0, 1, 0, 1])
    assert model.status_ is Status.NO_SUCH_MARGIN
    assert model.certificate_.upper < 1e-100


@quiet
def test_no_such_margin_is_said_only_with_its_proof():
    for seed in range(200):
        X, y = random_set(seed, n=8, d=3, noise=0.1, grid=2)
        for min_gamma in (0.05, 0.2):
            model = MarginPerceptron(min_gamma=min_gamma, random_state=seed).fit(X, y)
            proof = model.certificate_
            if model.status_ is Status.NO_SUCH_MARGIN:
                assert proof.upper <= min_gamma * proof.radius * (1 + 1e-9)
            else:
                assert proof.separates
