"""The tightest true claims are TRUE and the next float beyond is FALSE, against formulas in fractions."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxmargin_check
from checker_cases import above, below, verdicts, write_data, write_model

# Powers of two and short decimals: exact ties, zeros and very unequal sizes occur.
VALUES = st.one_of(
    st.integers(-4, 4).map(float),
    st.floats(-3, 3, allow_nan=False, allow_subnormal=False),
    st.sampled_from([1e-30, -3e20, 2.0**-70, 1e8 + 1]),
)
SETTINGS = settings(max_examples=40, deadline=None)


def exact(values):
    return [Fraction(float(value)) for value in values]


def dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def repaired(beta):
    """The positive or the negative duals, whichever are heavier, scaled so that all sum to zero."""
    plus, minus = sum(b for b in beta if b > 0), -sum(b for b in beta if b < 0)
    if plus > minus:
        return [b * minus / plus if b > 0 else b for b in beta]
    return [b * plus / minus if b < 0 else b for b in beta] if minus > plus else beta


@st.composite
def problems(draw):
    """Rows, labels, a hyperplane, C, and duals in the box."""
    n, d = draw(st.integers(2, 6)), draw(st.integers(1, 3))
    X = np.array(draw(st.lists(st.lists(VALUES, min_size=d, max_size=d), min_size=n, max_size=n)))
    y = np.array([-1, 1] + draw(st.lists(st.sampled_from([-1, 1]), min_size=n - 2, max_size=n - 2)))
    w = np.array(draw(st.lists(VALUES, min_size=d, max_size=d)))
    C = draw(st.sampled_from([0.1, 1.0, 3e5]))
    share = np.array(draw(st.lists(st.sampled_from([0.0, 0.3, 0.5, 1.0]), min_size=n, max_size=n)))
    return X, y, w, draw(VALUES), C, share * C


def classification_claims(folder, loss, problem, primal, dual, rho):
    X, y, w, b, C, alpha = problem
    certificate = {"kind": "ClassificationGap", "primal": primal, "dual": dual, "kkt_violation": 0.0}
    certificate |= {"outside": 0, "on_margin": 0, "inside": 0, "misclassified": 0}
    attributes = {
        "n_features_in_": X.shape[1],
        "classes_": [-1, 1],
        "classes_.type": "int64",
        "certificate_": certificate,
    }
    arrays = {"coef_": w[None], "intercept_": np.array([b]), "dual_coef_": (alpha * y)[None]}
    write_model(folder / "m", "LinearSVC", {"loss": loss, "C": C, "intercept_penalty": rho}, attributes, arrays)
    write_data(folder / "d", X, y)
    return verdicts(folder / "m", folder / "d")


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("rho", [0.0, 0.5, math.inf])
@given(problem=problems())
@SETTINGS
def test_support_vector_classification(tmp_path_factory, loss, rho, problem):
    X, y, w, b, C, alpha = problem
    problem = X, y, w, b if rho < math.inf else 0.0, C, alpha
    rows, signs, weights, intercept, c = (
        [exact(row) for row in X],
        exact(y),
        exact(w),
        Fraction(problem[3]),
        Fraction(C),
    )
    slacks = [max(0, 1 - s * (dot(weights, row) + intercept)) for row, s in zip(rows, signs, strict=True)]
    squared = loss == "squared_hinge"
    primal = dot(weights, weights) / 2 + c * sum(e**2 if squared else e for e in slacks)
    primal += Fraction(rho) / 2 * intercept**2 if rho < math.inf else 0
    beta = exact(alpha * y)
    beta = beta if rho else repaired(beta)
    v = [dot(beta, [row[j] for row in rows]) for j in range(len(w))]
    dual = dot(signs, beta) - dot(v, v) / 2
    dual -= dot(beta, beta) / (4 * c) if squared else 0
    dual -= sum(beta) ** 2 / (2 * Fraction(rho)) if 0 < rho < math.inf else 0
    folder = tmp_path_factory.mktemp("exact")
    tight = classification_claims(folder, loss, problem, above(primal), below(dual), rho)
    assert (tight["primal"], tight["dual"]) == ("TRUE", "TRUE")
    wrong = math.nextafter(above(primal), -math.inf), math.nextafter(below(dual), math.inf)
    beyond = classification_claims(folder, loss, problem, *wrong, rho)
    assert (beyond["primal"], beyond["dual"]) == ("FALSE", "FALSE")


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@given(problem=problems(), targets=st.lists(VALUES, min_size=6, max_size=6))
@SETTINGS
def test_support_vector_regression(tmp_path_factory, loss, problem, targets):
    X, y, w, b, C, alpha = problem
    t, epsilon, squared = np.array(targets[: len(y)]) + 0.0, 0.1, "squared" in loss
    rows, goals, weights, c = [exact(row) for row in X], exact(t), exact(w), Fraction(C)
    excess = [
        max(0, abs(g - dot(weights, row) - Fraction(b)) - Fraction(epsilon)) for row, g in zip(rows, goals, strict=True)
    ]
    primal = dot(weights, weights) / 2 + c * sum(e**2 if squared else e for e in excess)
    beta = repaired(exact(alpha * y))
    v = [dot(beta, [row[j] for row in rows]) for j in range(len(w))]
    dual = dot(goals, beta) - Fraction(epsilon) * sum(map(abs, beta)) - dot(v, v) / 2
    dual -= dot(beta, beta) / (4 * c) if squared else 0
    folder = tmp_path_factory.mktemp("exact")
    write_data(folder / "d", X, t)
    for step, answer in ((0, "TRUE"), (1, "FALSE")):
        p, q = above(primal), below(dual)
        p, q = (math.nextafter(p, -math.inf), math.nextafter(q, math.inf)) if step else (p, q)
        certificate = {"kind": "RegressionGap", "primal": p, "dual": q, "kkt_violation": 0.0}
        certificate |= {"within_epsilon": 0, "on_boundary": 0, "beyond_epsilon": 0}
        attributes = {"n_features_in_": X.shape[1], "certificate_": certificate}
        arrays = {"coef_": w, "intercept_": np.array([b]), "dual_coef_": (alpha * y)[None]}
        numbers = {"loss": loss, "C": C, "epsilon": epsilon, "intercept_penalty": 0.0}
        write_model(folder / "m", "LinearSVR", numbers, attributes, arrays)
        found = verdicts(folder / "m", folder / "d")
        assert (found["primal"], found["dual"]) == (answer, answer)


@pytest.mark.parametrize("lasso", [False, True])
@given(problem=problems(), targets=st.lists(VALUES, min_size=6, max_size=6), intercept=st.booleans())
@SETTINGS
def test_ridge_and_lasso(tmp_path_factory, lasso, problem, targets, intercept):
    X, y, w, b, lam, _ = problem
    t, L = np.array(targets[: len(y)]) + 0.0, Fraction(lam)
    rows, goals, weights = [exact(row) for row in X], exact(t), exact(w)
    b = b if intercept else 0.0
    r = [g - dot(weights, row) - Fraction(b) for row, g in zip(rows, goals, strict=True)]
    point = np.array([float(x) for x in r])
    alpha = exact(point)
    alpha = [x - (sum(alpha) / len(r) if intercept else 0) for x in alpha]
    G, Q, a = dot(alpha, goals), dot(alpha, alpha), [dot(alpha, [row[j] for row in rows]) for j in range(len(w))]
    if lasso:
        primal, largest = dot(r, r) / 2 + L * sum(map(abs, weights)), max(map(abs, a))
        h = 0 if G <= 0 else min(G / Q, L / largest) if largest else G / Q
        dual = max(Fraction(0), h * G - h * h * Q / 2)
    else:
        primal, dual = dot(r, r) + L * dot(weights, weights), G * G / (Q + dot(a, a) / L) if G > 0 else Fraction(0)
    folder = tmp_path_factory.mktemp("exact")
    write_data(folder / "d", X, t)
    for step, answer in ((0, "TRUE"), (1, "FALSE")):
        p, q = above(primal), below(dual)
        p, q = (math.nextafter(p, -math.inf), math.nextafter(q, math.inf)) if step else (p, q)
        certificate = {"kind": "LassoGap" if lasso else "RidgeGap", "primal": p, "dual": q}
        certificate |= {"unused": 0} if lasso else {"radius": math.inf}
        attributes = {"n_features_in_": X.shape[1], "certificate_": certificate, "intercept_": [b]}
        numbers = {"loss": "absolute_penalty" if lasso else "squared_error", "lam": lam, "intercept": intercept}
        write_model(
            folder / "m", "Lasso" if lasso else "Ridge", numbers, attributes, {"coef_": w, "_dual_point": point}
        )
        found = verdicts(folder / "m", folder / "d")
        assert (found["primal"], found["dual"]) == (answer, answer)


@given(problem=problems())
@SETTINGS
def test_hard_margin(tmp_path_factory, problem):
    X, y, w, b, _, alpha = problem
    rows, signs, weights = [exact(row) for row in X], exact(y), exact(w)
    alpha = alpha + 1.0
    beta = exact(alpha * y)
    side = {s: sum(abs(x) for x, t in zip(beta, signs, strict=True) if t == s) for s in (1, -1)}
    scaled = [x / side[s] for x, s in zip(beta, signs, strict=True)]
    v = [dot(scaled, [row[j] for row in rows]) for j in range(len(w))]
    squares = {
        "radius": max(dot(row, row) for row in rows),
        "upper": dot(v, v) / 4,
    }
    lowest = min(s * (dot(weights, row) + Fraction(b)) for row, s in zip(rows, signs, strict=True))
    norm = dot(weights, weights)

    def below_root(square):
        """The largest float that is not above the square root."""
        # Squares of floats overflow and underflow: the root is taken in integers.
        root = math.isqrt((square.numerator << 4800) // square.denominator)
        guess = float(Fraction(root, 1 << 2400))
        while Fraction(guess) ** 2 > square:
            guess = math.nextafter(guess, 0.0)
        while Fraction(math.nextafter(guess, math.inf)) ** 2 <= square:
            guess = math.nextafter(guess, math.inf)
        return guess

    folder = tmp_path_factory.mktemp("exact")
    write_data(folder / "d", X, y)
    for step, answer in ((0, "TRUE"), (1, "FALSE")):
        ends = {name: below_root(square) for name, square in squares.items()}
        if not step:  # from the other side, or equal where the root is a float
            ends = {k: e if Fraction(e) ** 2 == squares[k] else math.nextafter(e, math.inf) for k, e in ends.items()}
        else:
            ends = {k: math.nextafter(e, 0.0) if Fraction(e) ** 2 == squares[k] else e for k, e in ends.items()}
        lower = -math.inf
        if norm:
            margin = below_root(lowest**2 / norm)
            tight = margin if lowest >= 0 else -math.nextafter(margin, math.inf)
            if lowest < 0 and Fraction(margin) ** 2 == lowest**2 / norm:
                tight = -margin
            lower = math.nextafter(tight, math.inf) if step else tight
        certificate = {"kind": "MarginBracket", "lower": lower, **ends, "space": "x"}
        attributes = {
            "n_features_in_": X.shape[1],
            "classes_": [-1, 1],
            "classes_.type": "int64",
            "certificate_": certificate,
        }
        arrays = {"coef_": w[None], "intercept_": np.array([b]), "dual_coef_": (alpha * y)[None]}
        write_model(
            folder / "m",
            "LinearSVC",
            {"loss": "hard_margin", "C": math.inf, "intercept_penalty": 0.0},
            attributes,
            arrays,
        )
        found = verdicts(folder / "m", folder / "d")
        assert found["radius"] == answer or (step and not squares["radius"])
        assert found.get("upper", answer) == answer or (step and not squares["upper"])
        assert found["lower"] == answer or not norm


@given(st.fractions(0, 200), st.fractions(Fraction(1, 10**190), 10**190))
@settings(max_examples=150, deadline=None)
def test_exp_and_log_within_their_error_bounds(t, a):
    with localcontext() as context:
        context.prec = 150
        unit = Decimal(2) ** maxmargin_check.BITS
        error = int(maxmargin_check.ERROR * 2**maxmargin_check.BITS)
        found = maxmargin_check.rounded(maxmargin_check.DECIMAL.exp, -t.numerator, t.denominator)
        assert abs((-Decimal(t.numerator) / t.denominator).exp() * unit - found) <= error
        found = maxmargin_check.rounded(maxmargin_check.DECIMAL.ln, a.numerator, a.denominator)
        assert abs((Decimal(a.numerator) / a.denominator).ln() * unit - found) <= error


@given(st.fractions(Fraction(1, 10**300), 2), st.integers(1, 2**60), st.integers(0, 600))
@settings(max_examples=300, deadline=None)
def test_the_log_by_a_table_is_within_its_error_bound(a, odd, shift):
    numbers = [a, 1 - a, Fraction(odd, 1 << odd.bit_length() + shift), Fraction(1), Fraction(2)]
    with localcontext() as context:
        context.prec = 300
        unit = Decimal(2) ** maxmargin_check.BITS
        for x in filter(lambda x: 0 < x <= 2, numbers):
            exact = (Decimal(x.numerator) / x.denominator).ln() * unit
            found = maxmargin_check.log(x.numerator, x.denominator)
            assert abs(exact - found) <= 20 + max(0, x.denominator.bit_length() - x.numerator.bit_length())
            # The entropy is bounded with x log x.
            assert abs(exact - found) * Decimal(x.numerator) / x.denominator <= int(maxmargin_check.ERROR * (1 << 112))
