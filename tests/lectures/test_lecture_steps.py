"""The lectures' algorithms: equal to the estimators, with claims that hold on real data and fail where they should."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxmargin
from maxmargin import SVC, KernelPerceptron, LinearSVC, LogisticRegression, MarginPerceptron, Perceptron, hull_distance
from maxmargin.lectures import (
    Claim,
    PairStep,
    batch_perceptron,
    coordinate_ascent,
    dual,
    gradient_descent,
    incremental_search,
    kernel_matrix,
    kernel_perceptron,
    kkt_conditions,
    lagrangian,
    margin_perceptron,
    nearest_hull_points,
    online_perceptron,
    primal,
    smo,
)
from maxmargin.lectures.margin_perceptrons import margin_claims
from maxmargin.lectures.perceptrons import perceptron_claims
from maxmargin.lectures.points import Points, Reference
from real_data import NOT_SEPARABLE, SEPARABLE, load, random_set, signs_of

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")


def dense(name):
    X, y = load(name)
    return X.toarray(), signs_of(y)


def widest(X, y, intercept):
    """A separating hyperplane with nearly the largest margin, for the points as the perceptron sees them."""
    model = MarginPerceptron(fit_intercept=intercept, accelerated=True).fit(X, y)
    return model.coef_[0], model.intercept_[0] if intercept else 0.0


def assert_claims_hold(steps):
    broken = [(step.number, str(claim)) for step in steps for claim in step.claims if not claim.holds]
    assert not broken
    assert any(step.claims for step in steps)


def assert_same_hyperplane(step, model):
    scale = np.abs(model.coef_).max()
    np.testing.assert_allclose(step.w, model.coef_[0], rtol=1e-9, atol=1e-9 * scale)
    np.testing.assert_allclose(step.b, model.intercept_[0], rtol=1e-9, atol=1e-9 * scale)


@pytest.mark.parametrize("name", [*SEPARABLE, *NOT_SEPARABLE])
@pytest.mark.parametrize("algorithm", [online_perceptron, batch_perceptron])
def test_perceptrons_are_those_of_the_estimators(name, algorithm):
    X, y = dense(name)
    rule = algorithm.__name__.removesuffix("_perceptron")
    model = Perceptron(rule=rule, shuffle=False, max_iter=20, eta0=0.5, tol=None).fit(X, y)
    reference = widest(X, y, intercept=True) if name in SEPARABLE else (model.coef_[0], model.intercept_[0], 0.1)
    # A run that the estimator ends by a proof of inseparability is followed as far.
    steps = list(algorithm(X, y, eta=0.5, max_passes=model.n_iter_, reference=reference))
    np.testing.assert_allclose(steps[-1].alpha, np.abs(model.dual_coef_[0]))
    assert steps[-1].updates == model.n_updates_
    assert_same_hyperplane(steps[-1], model)
    assert (steps[-1].reason == "no mistake") == (model.mistakes_per_pass_[-1] == 0)
    assert_claims_hold(steps)
    names = {claim.name for claim in steps[0].claims}
    assert {"progress along u", "length of w"} <= names


@pytest.mark.parametrize("intercept", [True, False])
def test_unit_length_and_a_start_other_than_zero(intercept):
    X, y = dense("sonar_scale")
    model = Perceptron(shuffle=False, normalize=True, max_iter=20, fit_intercept=intercept).fit(X, y)
    steps = list(online_perceptron(X, y, unit_length=True, intercept=intercept, max_passes=model.n_iter_))
    assert_same_hyperplane(steps[-1], model)
    w0, b0 = np.linspace(-3, 2, X.shape[1]), 0.7 * intercept
    model = Perceptron(shuffle=False, max_iter=20, fit_intercept=intercept, eta0=2.0)
    model.fit(X, y, coef_init=w0[None], intercept_init=[b0])
    reference = (*widest(X, y, intercept), 0.01)
    runs = online_perceptron(
        X, y, start=(w0, b0), eta=2.0, intercept=intercept, max_passes=model.n_iter_, reference=reference
    )
    steps = list(runs)
    assert_same_hyperplane(steps[-1], model)
    assert_claims_hold(steps)
    # Novikoff's bound is about runs from zero, and is not claimed here.
    assert not {"Novikoff's bound", "angle to u"} & {claim.name for claim in steps[-1].claims}


@pytest.mark.parametrize("name", [pytest.param("mushrooms", marks=pytest.mark.slow), "leu", "colon-cancer"])
def test_incremental_search_is_that_of_the_estimator(name):
    X, y = dense(name)
    model = MarginPerceptron(shuffle=False).fit(X, y)
    steps = list(incremental_search(X, y, reference=widest(X, y, intercept=True)))
    ends = [step for step in steps if not step.rows]
    assert [step.reason for step in ends] == ["forced stop"] * (model.n_rounds_ - 1) + ["no violation"]
    assert tuple(step.updates for step in ends) == tuple(model.updates_per_round_)
    assert ends[-1].guess == pytest.approx(model.gamma_guess_, rel=1e-14)
    assert_same_hyperplane(steps[-1], model)
    assert_claims_hold(steps)
    assert {"quarter of the margin", "incremental search bound"} <= {claim.name for claim in steps[-1].claims}


def test_margin_perceptron_is_that_of_the_estimator_and_makes_all_five_claims():
    X, y = dense("leu")
    w, b = widest(X, y, intercept=False)
    gamma = (y * (X @ w)).min() / np.linalg.norm(w)
    model = MarginPerceptron(gamma=0.9 * gamma, fit_intercept=False, shuffle=False).fit(X, y)
    steps = list(margin_perceptron(X, y, 0.9 * gamma, intercept=False, reference=(w, b)))
    assert steps[-1].updates == model.n_updates_
    assert_same_hyperplane(steps[-1], model)
    assert_claims_hold(steps)
    assert {"mistake", "too close", "no violation"} == {step.reason for step in steps}
    # Claim 4 needs a long w, which these runs seldom reach: it is made for the same update from far out.
    points = Points.of(X, y, intercept=False, unit_length=False)
    u = Reference.of((w, b), points)
    unit = w / np.linalg.norm(w)
    radius = points.radius
    far = 3 * radius**2 / gamma * unit
    near = far - ((X[0] @ far) / (X[0] @ X[0])) * X[0]
    assert np.linalg.norm(near) >= 2 * radius**2 / gamma
    step = next(
        iter(margin_perceptron(X, y, 0.9 * gamma, intercept=False, order=[0], start=(near, 0.0), reference=(w, b)))
    )
    claims = {claim.name: claim for claim in step.claims}
    assert {"claim 1", "claim 2", "claim 3", "claim 4"} <= set(claims)
    assert step.holds
    longer = margin_claims(replace(step, w=step.w * 1.5), points, u)
    assert {claim.name for claim in longer if not claim.holds} >= {"claim 2", "claim 3", "claim 4"}


@pytest.mark.parametrize("name", ["sonar_scale", "heart_scale"])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_kernel_perceptron_is_that_of_the_estimator(name, kernel):
    X, y = dense(name)
    model = KernelPerceptron(kernel=kernel, gamma=0.5, coef0=1.0, shuffle=False, max_iter=20).fit(X, y)
    settings = {"kernel": kernel, "gamma": 0.5, "coef0": 1.0}
    steps = list(kernel_perceptron(X, y, **settings, max_passes=model.n_iter_))
    expected = np.zeros(len(y))
    expected[model.support_] = np.abs(model.dual_coef_[0])
    np.testing.assert_array_equal(steps[-1].alpha, expected)
    assert steps[-1].b == model.intercept_[0]
    solved = steps[-1].reason == "no mistake"
    reference = (steps[-1].alpha,) if solved else (steps[-1].alpha, 0.1)
    assert_claims_hold(list(kernel_perceptron(X, y, **settings, max_passes=model.n_iter_, reference=reference)))
    if kernel == "linear":
        np.testing.assert_allclose(steps[-1].w, (steps[-1].alpha * y) @ X)


@pytest.mark.parametrize("intercept", [True, False])
def test_gradient_descent_is_that_of_the_estimator(intercept):
    X, y = dense("heart_scale")
    steps = list(itertools.islice(gradient_descent(X, y, eta=1e-3, intercept=intercept), 200))
    model = LogisticRegression(
        C=math.inf, solver="gradient", step_size=1e-3, max_iter=200, tol=1e-12, fit_intercept=intercept
    ).fit(X, y)
    assert_same_hyperplane(steps[-1], model)
    assert_claims_hold(steps)
    best = LogisticRegression(C=math.inf, tol=1e-9, fit_intercept=intercept).fit(X, y)
    last = list(gradient_descent(X, y, intercept=intercept, tol=1e-7, max_steps=200_000))[-1]
    assert last.reason == "optimal"
    assert last.values["loss"] == pytest.approx(np.logaddexp(0, -y * best.decision_function(X)).sum(), rel=1e-8)


@pytest.mark.parametrize("order", ["round robin", "random", "greatest improvement"])
def test_coordinate_ascent_reaches_the_certified_optimum(order):
    X, y = dense("heart_scale")
    model = LinearSVC(C=0.1, fit_intercept=False, tol=1e-9).fit(X, y)
    steps = list(coordinate_ascent(X, y, lambda_=5.0, order=order, tol=1e-3))
    assert_claims_hold(steps)
    last = steps[-1]
    assert last.reason == "optimal"
    certificate = model.certificate_
    assert last.values["dual"] == pytest.approx(certificate.dual, rel=1e-3)
    assert last.values["primal"] == pytest.approx(certificate.primal, rel=1e-3)
    assert last.values["primal"] == pytest.approx(primal(X, y, last.w, 0.0, 0.1), rel=1e-12)
    assert last.values["dual"] == pytest.approx(dual(X, y, last.alpha, 0.1, intercept=False), rel=1e-12)
    assert all(claim.holds for claim in kkt_conditions(X, y, last.w, 0.0, last.alpha, 0.1, intercept=False, tol=1e-3))
    # Somewhere on the way the conditions of the optimum do not hold.
    assert not all(claim.holds for claim in steps[0].conditions)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_smo_reaches_the_certified_optimum(kernel, C):
    X, y = dense("sonar_scale")
    model = SVC(C=C, kernel=kernel, gamma=0.1, tol=1e-8).fit(X, y)
    steps = list(smo(X, y, C, kernel=kernel, gamma=0.1, tol=1e-2))
    assert_claims_hold(steps)
    last, pairs = steps[-1], [step for step in steps if isinstance(step, PairStep)]
    assert last.reason == "optimal"
    certificate = model.certificate_
    assert last.values["dual"] == pytest.approx(certificate.dual, rel=1e-2)
    assert last.values["primal"] == pytest.approx(certificate.primal, rel=1e-2)
    assert (last.w is None) == (kernel == "rbf")
    for step in pairs:
        i, j = step.rows
        low, high = np.array(step.segment)
        for place in (low, high, step.clipped):
            assert y[i] * place[0] + y[j] * place[1] == pytest.approx(
                y[i] * step.pair_before[0] + y[j] * step.pair_before[1]
            )
        box = np.array([low, high, step.clipped])
        assert box.min() >= 0
        assert box.max() <= C
        assert tuple(step.alpha[[i, j]]) == step.clipped
    assert C < 1 or any(step.unclipped == step.clipped for step in pairs)
    assert any(step.unclipped != step.clipped for step in pairs)


def test_hard_margins_and_hulls_agree():
    X, y = dense("leu")
    distance = hull_distance(X, y).distance
    *_, pairs = smo(X, y, math.inf)
    *steps, hulls = nearest_hull_points(X, y)
    assert pairs.reason == hulls.reason == "optimal"
    assert_claims_hold([*steps, hulls])
    assert hulls.values["distance"] == pytest.approx(float(distance), rel=2e-4)
    assert 2 / np.linalg.norm(pairs.w) == pytest.approx(float(distance), rel=1e-3)
    assert hulls.values["lower"] <= distance.upper / 2
    assert hulls.values["upper"] >= distance.lower / 2
    np.testing.assert_allclose(hulls.positive - hulls.negative, hulls.w)
    through_origin = LinearSVC(C=math.inf, fit_intercept=False, tol=1e-6).fit(X, y)
    *_, ascent = coordinate_ascent(X, y, math.inf, max_passes=5000)
    *_, hull = nearest_hull_points(X, y, intercept=False)
    assert ascent.reason == hull.reason == "optimal"
    assert 1 / np.linalg.norm(ascent.w) == pytest.approx(1 / np.linalg.norm(through_origin.coef_), rel=1e-3)
    assert hull.values["upper"] == pytest.approx(1 / np.linalg.norm(through_origin.coef_), rel=1e-3)


def test_hulls_that_meet_and_an_infeasible_hard_margin():
    X, y = dense("heart_scale")
    *_, last = nearest_hull_points(X, y, tol=1e-3)
    assert last.reason == "hulls meet"
    assert last.values["distance"] <= 1e-3 * np.linalg.norm(X, axis=1).max()
    twice = [[1.0, 2.0], [1.0, 2.0], [3.0, 0.0]]
    *_, last = smo(twice, [1, -1, 1], math.inf)
    assert last.reason == "unbounded"
    *_, last = coordinate_ascent([[0.0], [1.0]], [1, -1], math.inf)
    assert last.reason == "unbounded"


def test_a_run_goes_on_from_any_step():
    X, y = dense("heart_scale")
    runs = [
        lambda start: online_perceptron(X, y, order="shuffled", seed=3, max_passes=5, start=start),
        lambda start: batch_perceptron(X, y, max_passes=20, start=start),
        lambda start: margin_perceptron(X, y, 0.5, max_passes=3, start=start),
        lambda start: kernel_perceptron(X, y, max_passes=5, start=start),
        lambda start: coordinate_ascent(X, y, order="random", max_passes=3, start=start),
        lambda start: smo(X, y, pair="random", max_steps=300, start=start),
        lambda start: nearest_hull_points(X, y, max_steps=100, start=start),
        lambda start: gradient_descent(X, y, max_steps=50, start=start),
    ]
    for run in runs:
        steps = list(run(None))
        rest = list(run(steps[9]))
        assert [step.number for step in rest] == [step.number for step in steps[10:]]
        assert [step.rows for step in rest] == [step.rows for step in steps[10:]]
        np.testing.assert_array_equal(rest[-1].alpha, steps[-1].alpha)
        assert rest[-1].updates == steps[-1].updates
        with pytest.raises(ValueError, match="read-only"):
            rest[-1].alpha[0] = 1.0


def test_rows_and_pairs_may_be_chosen_by_a_function():
    X, y = dense("sonar_scale")
    worst = list(online_perceptron(X, y, order=lambda _, margins: int(margins.argmin()), max_passes=3))
    assert all(step.rows == (step.rows[0],) for step in worst)
    assert worst[0].rows == (0,)
    clicked = iter([(0, 150), (1, 160), None])
    steps = list(smo(X, y, pair=lambda *_: next(clicked)))
    assert [step.rows for step in steps] == [(0, 150), (1, 160)]
    stream = list(online_perceptron(X, y, order=np.arange(len(y)), every_row=True))
    assert len(stream) == len(y)
    assert stream[-1].updates == Perceptron(shuffle=False).partial_fit(X, y, classes=[-1, 1]).n_updates_


def test_false_claims_are_seen():
    X, y = dense("mushrooms")
    points = Points.of(X, y, intercept=True, unit_length=False)
    reference = widest(X, y, intercept=True)
    u = Reference.of(reference, points)
    step = list(itertools.islice(online_perceptron(X, y, reference=reference), 60))[-1]

    def broken(step, u=u):
        return {claim.name for claim in perceptron_claims(step, points, u) if not claim.holds}

    assert not broken(step)
    assert broken(replace(step, w=1.2 * step.w)) >= {"effect of one update"}
    assert broken(replace(step, w=-step.w, b=-step.b)) >= {"effect of one update", "progress along u", "angle to u"}
    assert broken(replace(step, w=100 * step.w)) >= {"length of w"}
    many = int((points.radius / u.gamma) ** 2) + 1
    assert broken(replace(step, updates=many)) >= {"progress along u", "Novikoff's bound"}
    # A margin that the reference does not have makes claims of this run that are false.
    assert broken(step, replace(u, gamma=30 * u.gamma)) >= {"progress along u"}


def test_an_update_on_a_point_that_is_no_mistake_breaks_the_proof():
    X = np.array([[3.0, 1.0], [-3.0, 1.0]])
    points = Points.of(X, [1, -1], intercept=False, unit_length=False)
    w = np.array([300.0, 0.0])
    steps = list(online_perceptron(X, [1, -1], intercept=False))
    forged = replace(steps[0], w_before=w - X[0], w=w, updates=2, alpha=np.array([2.0, 0.0]))
    assert {claim.name for claim in perceptron_claims(forged, points, None) if not claim.holds} == {"length of w"}


def test_claims_of_false_optima_do_not_hold():
    X, y = dense("heart_scale")
    model = LinearSVC(C=1.0, tol=1e-10, solver="newton").fit(X, y)
    *_, last = smo(X, y, 1.0, tol=1e-7)
    arguments = (X, y, last.w, last.b, last.alpha)
    assert all(claim.holds for claim in kkt_conditions(*arguments, tol=1e-5))
    assert last.values["primal"] == pytest.approx(model.certificate_.primal, rel=1e-6)
    cases = {
        "KKT (2)": (X, y, last.w * 1.1, last.b, last.alpha),
        "KKT (3)": (X, y, last.w, last.b + 0.5, last.alpha),
        "KKT (5)": (X, y, last.w, last.b, last.alpha - 0.1),
        "strong duality": (X, y, last.w * 1.1, last.b, last.alpha),
    }
    for name, changed in cases.items():
        assert name in {claim.name for claim in kkt_conditions(*changed, tol=1e-5) if not claim.holds}
    hard = kkt_conditions(X, y, last.w, last.b, last.alpha, math.inf)
    assert {"KKT (4)", "strong duality"} <= {claim.name for claim in hard if not claim.holds}


@given(st.integers(0, 10**6), st.sampled_from([0.3, 1.0, math.inf]))
@settings(max_examples=30, deadline=None)
def test_the_lagrangian_lies_between_dual_and_primal(seed, C):
    """For feasible duals, min over w of L is the dual value; max over the multipliers is the primal value."""
    X, y = random_set(seed, n=12, d=3)
    generator = np.random.default_rng(seed)
    alpha = generator.uniform(0, min(C, 1.0), len(y))
    for sign in (1, -1):
        alpha[y == sign] *= min(1.0, alpha[y == -sign].sum() / alpha[y == sign].sum())
    w, b = generator.standard_normal(3), generator.standard_normal()
    value = lagrangian(X, y, w, b, alpha, C)
    best = (alpha * y) @ X
    assert lagrangian(X, y, best, 0.0, alpha, C) == pytest.approx(dual(X, y, alpha, C), rel=1e-9, abs=1e-9)
    assert dual(X, y, alpha, C) <= value + 1e-9
    assert value <= primal(X, y, w, b, C) + 1e-9
    assert dual(X, y, -alpha, C) == -math.inf


@given(st.integers(0, 10**6), st.booleans(), st.booleans(), st.sampled_from([0.1, 1.0, 7.0]))
@settings(max_examples=40, deadline=None)
def test_claims_hold_for_every_hyperplane_and_every_gamma(seed, intercept, unit_length, eta):
    X, y = random_set(seed, n=25, d=3, noise=0.1, grid=8)
    X[np.abs(X).sum(axis=1) == 0] = 1.0
    generator = np.random.default_rng(seed)
    reference = (generator.standard_normal(3), intercept * generator.standard_normal(), generator.uniform(0.01, 2))
    options = {"intercept": intercept, "unit_length": unit_length, "reference": reference}
    assert_claims_hold(list(online_perceptron(X, y, eta=eta, order="shuffled", seed=seed, max_passes=8, **options)))
    assert_claims_hold(list(batch_perceptron(X, y, eta=eta, max_passes=8, **options)))
    assert_claims_hold(list(margin_perceptron(X, y, generator.uniform(0.01, 1), max_passes=4, **options)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: online_perceptron(X, y[:-1]), "y must hold one label"),
        (lambda X, y: online_perceptron(X * np.nan, y), "X must be finite"),
        (lambda X, y: online_perceptron(X, np.arange(len(y))), "two labels"),
        (lambda X, y: online_perceptron(X, y, eta=0.0), "eta must be a positive"),
        (lambda X, y: online_perceptron(X, y, order="sorted"), "order must be one of"),
        (lambda X, y: online_perceptron(X, y, order=[0, len(y)]), "order must hold whole numbers"),
        (lambda X, y: online_perceptron(X, y, start=(np.zeros(3), 0.0)), "w of start"),
        (lambda X, y: online_perceptron(X, y, intercept=False, start=(X[0], 1.0)), "intercept=False"),
        (lambda X, y: online_perceptron(X, y, reference=(-X[0], 0.0)), "give \\(w, b, gamma\\)"),
        (lambda X, y: online_perceptron(X * 0.0, y, unit_length=True, intercept=False), "row 0 of X is zero"),
        (lambda X, y: margin_perceptron(X, y, -1.0), "gamma must be a positive"),
        (lambda X, y: incremental_search(X, y, order=[0, 1]), "every round"),
        (lambda X, y: kernel_perceptron(X, y, kernel="cubic"), "kernel must be one of"),
        (lambda X, y: kernel_perceptron(X, y, kernel="sigmoid", reference=(np.ones(len(y)),)), "semidefinite"),
        (lambda X, y: coordinate_ascent(X, y, 1.0, lambda_=1.0), "give one of them"),
        (lambda X, y: smo(X, np.ones(len(y))), "both classes"),
        (lambda X, y: smo(X, y, pair="best"), "pair must be"),
        (lambda X, y: smo(X, y, start=np.ones(len(y))), "start must lie in the box"),
        (lambda X, y: nearest_hull_points(X, y, start=np.ones(len(y))), "sum 1"),
        (lambda X, y: gradient_descent(X, y, max_steps=0), "max_steps"),
        (lambda X, _: kernel_matrix(X, gamma=-1.0), "gamma must be a positive"),
        (lambda X, _: kernel_matrix(X[0]), "X must be a matrix"),
        (lambda X, y: dual(X, y, np.zeros(3)), "alpha must hold"),
        (lambda X, y: primal(X, y, X[0], C=-1.0), "C must be a positive"),
    ],
)
def test_bad_input_is_refused_at_the_call(call, message):
    X, y = dense("heart_scale")
    with pytest.raises(ValueError, match=message):
        call(X, y)


def test_sparse_rows_are_refused_and_labels_of_any_name_taken():
    X, y = load("heart_scale")
    with pytest.raises(TypeError, match=r"X\.toarray"):
        online_perceptron(X, y)
    with pytest.raises(TypeError, match=r"X\.toarray"):
        kernel_matrix(X)
    names = np.where(signs_of(y) > 0, "yes", "no")
    named, signed = (next(online_perceptron(X.toarray(), labels)) for labels in (names, y))
    np.testing.assert_array_equal(named.w, signed.w)


def test_a_claim_compares_its_sides():
    cases = {"<=": (1, 2, 2, 1), "<": (1, 2, 2, 2), ">=": (2, 1, 1, 2), ">": (2, 1, 1, 1), "=": (1, 1, 1, 2)}
    for relation, (left, right, wrong_left, wrong_right) in cases.items():
        assert Claim("", "", left, relation, right).holds
        assert not Claim("", "", wrong_left, relation, wrong_right).holds
        assert not Claim("", "", math.nan, relation, 1.0).holds
    assert Claim("", "", 1.5, "<=", 1.0, tolerance=0.5).holds


def test_the_module_is_an_attribute_of_the_package():
    assert "lectures" in dir(maxmargin)
    assert maxmargin.lectures.smo is smo
