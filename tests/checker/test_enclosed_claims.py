"""Claims with roots, exp, log and minima: the tightest float is TRUE, the next one FALSE, against 80-digit decimals."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxmargin as mm
from checker_cases import above, below, forge, unpack, verdicts, write_data, write_model
from real_data import random_set

SETTINGS = settings(max_examples=20, deadline=None)
# Not so large that exp vanishes beside the other terms: the enclosure, which has an absolute error, then decides nothing.
# Nor so small that 80 digits do not see their squares.
VALUES = st.one_of(st.integers(-4, 4), st.integers(-300_000, 300_000).map(lambda k: k / 100_000)).map(float)
# Of the checker, for numbers of these sizes: a float near 1e-5 has a 2^-69 in its last place.
ERROR = Fraction(1, 2**90)
SHARES = st.sampled_from([0.0, 0.3, 0.5, 1.0])


def exact(values):
    return [Fraction(float(value)) for value in values]


def dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def function(name, x):
    """exp, ln or sqrt of a fraction to some 80 digits, as a fraction; roots of squares are exact."""
    if name == "sqrt":
        root = Fraction(math.isqrt(x.numerator), math.isqrt(x.denominator))
        if root**2 == x:
            return root
    with localcontext() as context:
        context.prec = 90
        return Fraction(getattr(Decimal(x.numerator) / x.denominator, name)())


def balanced(beta):
    """The repair to sum zero."""
    plus, minus = sum(b for b in beta if b > 0), -sum(b for b in beta if b < 0)
    least, most = min(plus, minus), max(plus, minus)
    return [b * least / most if most and (b > 0) == (plus > minus) else b for b in beta]


def lists(values, n):
    return st.lists(values, min_size=n, max_size=n)


@st.composite
def data_sets(draw, n_classes=2):
    """Rows, codes with every class, and the number of columns."""
    n, d = draw(st.integers(n_classes, 5)), draw(st.integers(1, 2))
    X = np.array(draw(lists(lists(VALUES, d), n)))
    y = np.array([*range(n_classes), *draw(lists(st.integers(0, n_classes - 1), n - n_classes))])
    return X, y, draw(lists(lists(VALUES, d), n_classes)), draw(lists(VALUES, n_classes)), draw(lists(SHARES, n))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("claims")


def verdicts_of(folder, data, name, problem, attributes, arrays):
    """What the checker says of a file that claims what it is told to."""
    X, y = data
    of_classes = {} if y.dtype.kind == "f" else {"classes_": np.unique(y).tolist(), "classes_.type": "int64"}
    write_data(folder / "d", X, y)
    write_model(folder / "m", name, problem, {"n_features_in_": X.shape[1], **of_classes, **attributes}, arrays)
    return verdicts(folder / "m", folder / "d")


def check_gap(folder, data, model, bounds, others=None, error=Fraction(0)):
    """The tightest claims are TRUE and the next floats are FALSE; undecided may be what is closer than an error."""
    name, problem, attributes, arrays = model
    tight = above(bounds[0]), below(bounds[1])
    further = math.nextafter(tight[0], -math.inf), math.nextafter(tight[1], math.inf)
    for claims, answer in ((tight, "TRUE"), (further, "FALSE")):
        certificate = {"kind": "a gap", "primal": claims[0], "dual": claims[1], **(others or {})}
        found = verdicts_of(folder, data, name, problem, {**attributes, "certificate_": certificate}, arrays)
        for field, claim, bound in zip(("primal", "dual"), claims, bounds, strict=True):
            is_close = abs(Fraction(claim) - bound) <= error
            assert found[field] == answer or (is_close and found[field] == "NOT CHECKED"), field


@pytest.mark.parametrize("rho", [0.0, 0.5, math.inf])
@given(problem=data_sets(n_classes=3), C=st.sampled_from([0.1, 1.0, 7.0]))
@SETTINGS
def test_crammer_and_singer(folder, rho, problem, C):
    X, y, W, b, shares = problem
    b = b if rho < math.inf else [0.0] * 3
    rows, w, intercepts, c = [exact(x) for x in X], [exact(row) for row in W], exact(b), Fraction(C)
    # The duals of a row go to one or to both other classes.
    B = np.zeros((3, len(y)))
    for i, share in enumerate(shares):
        others = [m for m in range(3) if m != y[i]]
        B[others[0], i], B[others[1], i] = -0.5 * share * C, -0.25 * share * C * (i % 2)
    scores = [[dot(w[m], x) + intercepts[m] for m in range(3)] for x in rows]
    slacks = [max(0, *(1 + f[m] - f[k] for m in range(3) if m != k)) for f, k in zip(scores, y, strict=True)]
    primal = sum(dot(row, row) for row in w) / 2 + c * sum(slacks)
    primal += Fraction(rho) / 2 * dot(intercepts, intercepts) if rho < math.inf else 0
    exact_duals = [exact(row) for row in B]
    A = [-sum(exact_duals[m][i] for m in range(3)) for i in range(len(y))]
    for i, k in enumerate(y):
        exact_duals[k][i] = A[i]
    combined = [[dot(row, [x[j] for x in rows]) for j in range(X.shape[1])] for row in exact_duals]
    sums = [sum(row) for row in exact_duals]
    dual = sum(A) - sum(dot(v, v) for v in combined) / 2
    if rho == 0.0:
        R, root = (function("sqrt", Fraction(x)) for x in (max(dot(x, x) for x in rows), primal))
        dual -= sum(map(abs, sums)) / 2 * (primal / c + 2 * R * root)
    elif rho < math.inf:
        dual -= dot(sums, sums) / (2 * Fraction(rho))
    arrays = {"coef_": np.array(W), "intercept_": np.array(b), "dual_coef_": B}
    numbers = {"loss": "crammer_singer", "C": C, "intercept_penalty": rho}
    check_gap(folder, (X, y), ("LinearSVC", numbers, {}, arrays), (primal, dual))


@pytest.mark.parametrize("intercept", [False, True])
@given(problem=data_sets(), C=st.sampled_from([0.1, 1.0, 7.0]))
@SETTINGS
def test_logistic_regression(folder, intercept, problem, C):
    X, y, (w, _), (b, _), shares = problem
    b, c, signs = b if intercept else 0.0, Fraction(C), [2 * int(k) - 1 for k in y]
    rows, weights, p = [exact(x) for x in X], exact(w), exact(shares)
    margins = [t * (dot(weights, x) + Fraction(b)) for t, x in zip(signs, rows, strict=True)]
    primal = dot(weights, weights) / 2 + c * sum(function("ln", 1 + function("exp", -q)) for q in margins)
    beta = [c * t * x for t, x in zip(signs, p, strict=True)]
    beta = balanced(beta) if intercept else beta
    p = [abs(x) / c for x in beta]
    entropy = -sum(x * function("ln", x) + (1 - x) * function("ln", 1 - x) for x in p if 0 < x < 1)
    v = [dot(beta, [x[j] for x in rows]) for j in range(len(w))]
    dual = max(Fraction(0), c * entropy - dot(v, v) / 2)
    arrays = {"coef_": np.array([w]), "intercept_": np.array([b]), "_dual_point": np.array([shares])}
    numbers = {"loss": "logistic", "C": C, "intercept": intercept}
    others = {"reach": math.inf, "margin": 0.0, "freed": 0}
    check_gap(folder, (X, y), ("LogisticRegression", numbers, {}, arrays), (primal, dual), others, ERROR)


@pytest.mark.parametrize("gamma", [0.3, 2.0])
@given(problem=data_sets(), C=st.sampled_from([0.1, 1.0, 7.0]))
@SETTINGS
def test_rbf_kernels(folder, gamma, problem, C):
    X, y, _, (b, _), shares = problem
    signs = [2 * int(k) - 1 for k in y]
    rows, g, c = [exact(x) for x in X], Fraction(gamma), Fraction(C)
    K = [
        [function("exp", -g * sum((a - z) ** 2 for a, z in zip(x, other, strict=True))) for other in rows] for x in rows
    ]
    duals = np.array([t * share * C for t, share in zip(signs, shares, strict=True)])
    support, beta = np.flatnonzero(duals), exact(duals)
    # Support vectors are ordered by class.
    support = support[np.argsort(y[support], kind="stable")]
    scores = [dot(beta, row) + Fraction(b) for row in K]
    primal = dot(beta, [dot(row, beta) for row in K]) / 2
    primal += c * sum(max(0, 1 - t * f) for t, f in zip(signs, scores, strict=True))
    beta = balanced(beta)
    dual = sum(map(abs, beta)) - dot(beta, [dot(row, beta) for row in K]) / 2
    kernel = {"name": "rbf", "gamma": gamma}
    arrays = {"support_": support.astype(np.int64), "support_vectors_": X[support].reshape(-1, X.shape[1])}
    arrays |= {"_duals": duals[support][None], "intercept_": np.array([b])}
    numbers = {"loss": "hinge", "C": C, "kernel": kernel}
    check_gap(folder, (X, y), ("SVC", numbers, {"_kernel": kernel}, arrays), (primal, dual), error=ERROR)


def best_multiple(G, Q, v, lam, mu):
    """The maximum of h G - h² Q/2 - sum max(0, h v_j - lam)²/(2 mu): concave, quadratic between its kinks."""
    kinks = [Fraction(0), *sorted(lam / x for x in v if x)]
    best = Fraction(0)
    for left, right in zip(kinks, [*kinks[1:], None], strict=True):
        used = [x for x in v if x and lam / x <= left]
        curvature = Q + dot(used, used) / mu
        at = (G + lam * sum(used) / mu) / curvature if curvature else left
        h = max(left, at if right is None else min(at, right))
        best = max(best, h * G - h * h * Q / 2 - sum(max(0, h * x - lam) ** 2 for x in v) / (2 * mu))
    return best


@pytest.mark.parametrize("positive", [False, True])
@given(problem=data_sets(), targets=lists(VALUES, 5), numbers=st.sampled_from([(0.1, 1.0), (2.0, 0.3), (0.0, 0.5)]))
@SETTINGS
def test_elastic_nets(folder, positive, problem, targets, numbers):
    X, _, (w, _), (b, _), _ = problem
    w = np.abs(w) if positive else np.array(w)
    y, (lam, mu) = np.array(targets[: len(X)]) + 0.0, exact(numbers)
    rows, goals, weights = [exact(x) for x in X], exact(y), exact(w)
    r = [goal - dot(weights, x) - Fraction(b) for goal, x in zip(goals, rows, strict=True)]
    primal = lam * sum(map(abs, weights)) + mu / 2 * dot(weights, weights) + dot(r, r) / 2
    point = np.array([float(x) for x in r])
    alpha = [x - sum(exact(point)) / len(r) for x in exact(point)]
    v = [dot(alpha, [x[j] for x in rows]) for j in range(len(w))]
    v = [max(Fraction(0), x) if positive else abs(x) for x in v]
    dual = best_multiple(dot(alpha, goals), dot(alpha, alpha), v, lam, mu)
    loss = "positive_elastic_net" if positive else "elastic_net"
    problem = {"loss": loss, "lam": numbers[0], "squared_penalty": numbers[1], "intercept": True}
    model = "ElasticNet", problem, {"intercept_": [b]}, {"coef_": w, "_dual_point": point}
    check_gap(folder, (X, y), model, (primal, dual))


@pytest.mark.parametrize(("rule", "intercept"), [("online", True), ("online", False), ("batch", True)])
@given(problem=data_sets(), passes=st.integers(1, 4), gamma=st.sampled_from([0.1, 1.0, 3.7]), start=VALUES)
@SETTINGS
def test_mistake_bounds(folder, rule, intercept, problem, passes, gamma, start):
    X, y, (w, _), (b, _), _ = problem
    b, signs, eta = b if intercept else 0.0, [2 * int(k) - 1 for k in y], 0.3
    if not any((*w, b)):
        return
    points = [[*exact(x), Fraction(int(intercept))] for x in X]
    v = [*exact(w), Fraction(b)]
    length = function("sqrt", dot(v, v))
    margins = [t * dot(v, x) / length for t, x in zip(signs, points, strict=True)]
    R = function("sqrt", max(dot(x, x) for x in points))
    T = passes * sum(max(0, Fraction(gamma) - q) for q in margins)
    first = np.zeros(X.shape[1])
    first[0] = start
    a = abs(Fraction(start)) / Fraction(eta)
    radius, deficit, lower = above(R), above(T), below(min(margins))
    quadratic = (Fraction(radius) / Fraction(gamma)) ** 2 * (len(y) if rule == "batch" else 1)
    bound = above(quadratic + 2 * (Fraction(deficit) + a) / Fraction(gamma))
    claims = {"radius": radius, "deficit": deficit, "lower": lower, "bound": bound}
    values = {"radius": R, "deficit": T, "lower": min(margins), "bound": None}
    for name in (None, *claims):
        changed = dict(claims)
        if name is not None:
            changed[name] = math.nextafter(claims[name], math.inf if name == "lower" else -math.inf)
            # Of numbers near zero, and of those that are floats, the next float may be within the error.
            if not abs(claims[name]) > 1e-12 or Fraction(claims[name]) == values[name]:
                continue
        bracket = {"kind": "MarginBracket", "lower": changed["lower"], "upper": radius, "radius": changed["radius"]}
        certificate = {"kind": "MistakeBound", "mistakes": 0, "gamma": gamma, "bracket": bracket}
        certificate |= {key: changed[key] for key in ("bound", "deficit", "radius")}
        attributes = {"n_updates_": [0], "certificate_": certificate}
        arrays = {"coef_": np.array([w]), "intercept_": np.array([b]), "dual_coef_": np.zeros((1, len(y)))}
        arrays |= {"coef_init_": first[None], "intercept_init_": np.zeros(1)}
        arrays["mistakes_per_pass_.0"] = np.zeros(passes, dtype=np.int64)
        numbers = {"loss": "perceptron", "rule": rule, "step": eta, "normalize": False, "intercept": intercept}
        found = verdicts_of(folder, (X, y), "Perceptron", numbers, attributes, arrays)
        if name is not None:
            assert found[name] == "FALSE"
            continue
        for claim, value in claims.items():
            is_tie = Fraction(value) == values[claim]
            assert found[claim] == "TRUE" or (is_tie and found[claim] == "NOT CHECKED")


def hinge_bounds(X, signs, w, b, beta, C):
    """P and D of a linear machine with a free intercept."""
    rows, weights, c = [exact(x) for x in X], exact(w), Fraction(C)
    slacks = [max(0, 1 - t * (dot(weights, x) + Fraction(b))) for t, x in zip(signs, rows, strict=True)]
    beta = balanced(exact(beta))
    v = [dot(beta, [x[j] for x in rows]) for j in range(len(w))]
    return dot(weights, weights) / 2 + c * sum(slacks), sum(map(abs, beta)) - dot(v, v) / 2


def ridge_bounds(X, targets, w, b, point, lam):
    """P and D of ridge regression with an intercept."""
    rows, goals, weights = [exact(x) for x in X], exact(targets), exact(w)
    r = [goal - dot(weights, x) - Fraction(b) for goal, x in zip(goals, rows, strict=True)]
    alpha = [x - sum(exact(point)) / len(r) for x in exact(point)]
    a = [dot(alpha, [x[j] for x in rows]) for j in range(len(w))]
    G, Q = dot(alpha, goals), dot(alpha, alpha) + dot(a, a) / Fraction(lam)
    return dot(r, r) + Fraction(lam) * dot(weights, weights), G * G / Q


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["hinge", "ridge"])
def test_saved_models_one_unit_in_the_last_place_further(tmp_path, kind, seed):
    """The tightest claims that the vectors of a saved model prove, and the next floats."""
    X, y = random_set(seed, n=25, d=3)
    if kind == "hinge":
        model = mm.LinearSVC(C=0.5).fit(X, y)
        bounds = hinge_bounds(X, y.tolist(), model.coef_[0], model.intercept_[0], model.dual_coef_[0], 0.5)
    else:
        y = X[:, 0] + 0.1 * y
        model = mm.Ridge(lam=0.3).fit(X, y)
        bounds = ridge_bounds(X, y, model.coef_, model.intercept_, model._dual_point, 0.3)
    mm.save(model, tmp_path / "m", X, y)
    write_data(tmp_path / "d", X, y)
    sound = (tmp_path / "m").read_bytes()
    proof = model.certificate_
    assert Fraction(proof.primal) >= bounds[0]
    assert Fraction(proof.dual) <= bounds[1]
    tight = {"primal": above(bounds[0]), "dual": below(bounds[1])}
    for further in (None, "primal", "dual"):
        claims = dict(tight)
        if further is not None:
            claims[further] = math.nextafter(tight[further], -math.inf if further == "primal" else math.inf)

        def claim(content, _, claims=claims):
            for pair in content["attributes"]["certificate_"]["pairs"]:
                pair[1] = {"float": claims[pair[0]].hex()} if pair[0] in claims else pair[1]

        (tmp_path / "m").write_bytes(sound)
        forge(tmp_path / "m", claim)
        found = verdicts(tmp_path / "m", tmp_path / "d")
        assert {name: found[name] for name in tight} == {name: "FALSE" if name == further else "TRUE" for name in tight}
    assert unpack(sound)[2]["class"] == type(model).__name__
