"""Certificates of machines with nu, penalties with a 1-norm and joint classes against exact values on hostile data.

No claimed primal value is below the exact one of the model, and no claimed dual value is above the exact primal value
of the model or of one that was solved further. Values are computed by the formulas of docs/proof-format.md in
fractions, with exp and log in 330 digits: weights of 1e100 leave 230 of them.
"""

import math
import warnings
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from sklearn.base import is_classifier

import maxmargin as mm
from fuzz.estimators import hostile_labels, hostile_rows, hostile_targets, hostile_weights, parameters_of
from fuzz.further_estimators import MACHINES
from maxmargin.certificates import CertificateError, PerClass
from maxmargin.files.problem import problem_of

CONTEXT = Context(prec=330, Emax=10**9, Emin=-(10**9))
# Relative error of the decimal values: far more than rounding leaves, far less than a float's.
SLACK = Decimal(10) ** -60
# Below minus this, exp counts as zero.
FAR = 10**6


def exact(values):
    return [Fraction(float(value)) for value in np.ravel(values)]


def dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True) if x and y), Fraction(0))


def decimal(value):
    return Decimal(value.numerator) / Decimal(value.denominator)


def exp(value):
    return decimal(value).exp() if value > -FAR else Decimal(0)


def log_sum(values):
    """log sum exp(values)"""
    top = max(values)
    return decimal(top) + sum(exp(value - top) for value in values).ln()


def kernel_matrix(kernel, rows):
    """Decimal kernel values; None for a kernel without a feature space."""
    gram = [[dot(one, other) for other in rows] for one in rows]
    if kernel["name"] == "linear":
        return [[decimal(value) for value in line] for line in gram]
    gamma, coef0 = Fraction(kernel["gamma"]), Fraction(kernel.get("coef0", 0.0))
    if kernel["name"] == "rbf":
        squares = [gram[i][i] for i in range(len(rows))]
        return [
            [exp(-gamma * (a + b - 2 * value)) for b, value in zip(squares, line, strict=True)]
            for a, line in zip(squares, gram, strict=True)
        ]
    if kernel["name"] == "poly" and min(gamma, coef0) >= 0:
        return [[decimal((gamma * value + coef0) ** int(kernel["degree"])) for value in line] for line in gram]
    return None


def primal_of_nu(model, numbers, rows, y, m):
    values = kernel_matrix(numbers["kernel"], rows)
    if values is None or model._duals.shape[0] > 1:
        return None
    beta = {int(i): decimal(Fraction(float(x))) for i, x in zip(model.support_, model._duals[0], strict=True)}
    b, nu, W = Decimal(float(model.intercept_[0])), Decimal(numbers["nu"]), sum(m)
    f = [sum((line[j] * x for j, x in beta.items()), Decimal(0)) + b for line in values]
    norm, zero = sum(((f[j] - b) * x for j, x in beta.items()), Decimal(0)), Decimal(0)
    if numbers["loss"] == "nu_one_class":
        return norm / 2 + nu * W * b + sum(c * max(zero, -s) for c, s in zip(m, f, strict=True))
    if numbers["loss"] == "nu_classification":
        total = sum(map(abs, beta.values()))
        rho, signs = nu * W / total if total else Decimal(1), np.where(y == model.classes_[1], 1, -1).tolist()
        losses = sum(c * max(zero, 1 - t * s) for c, t, s in zip(m, signs, f, strict=True))
        return rho * rho * norm / 2 + rho * (losses - nu * W)
    epsilon = Decimal(float(model.epsilon_))
    losses = sum(c * max(zero, abs(Decimal(float(t)) - s) - epsilon) for c, t, s in zip(m, y, f, strict=True))
    return norm / 2 + Decimal(numbers["C"]) * (nu * W * epsilon + losses)


def primal_values(model, X, y, weights):
    """The exact primal value of every task; None where the oracle has none."""
    numbers, rows = problem_of(model), [exact(row) for row in X]
    m = exact(np.ones(len(y)) if weights is None else np.maximum(weights, 0.0))
    if "kernel" in numbers:
        value = primal_of_nu(model, numbers, rows, y, [decimal(c) for c in m])
        return None if value is None else [value]
    coef = [exact(w) for w in np.atleast_2d(model.coef_)]
    b, loss, unpenalised = exact(model.intercept_), numbers["loss"], numbers.get("C") == math.inf
    factor, scale = Fraction(1 if unpenalised else numbers.get("C", 1.0)), numbers.get("intercept_scaling")
    # A penalised intercept is the coefficient of a column of constants.
    penalised = [[*w, x / Fraction(scale)] if scale else w for w, x in zip(coef, b, strict=True)]
    scores = [[dot(row, w) + x for row in rows] for w, x in zip(coef, b, strict=True)]
    l1 = Fraction(numbers.get("lam", 0.0)) if loss != "squared_error" else Fraction(0)
    default = numbers["lam"] if loss == "squared_error" else 0.0 if "lam" in numbers or unpenalised else 1.0
    l2 = Fraction(numbers.get("squared_penalty", default))
    penalties = [decimal(l1 * sum(map(abs, w), Fraction(0)) + l2 / 2 * dot(w, w)) for w in penalised]
    if loss == "multinomial":
        codes = np.searchsorted(model.classes_, y).tolist()
        losses = (
            decimal(factor * c) * log_sum([f[i] - scores[code][i] for f in scores])
            for i, (c, code) in enumerate(zip(m, codes, strict=True))
            if c
        )
        return [sum(penalties) + sum(losses)]
    found = []
    for k, (f, penalty) in enumerate(zip(scores, penalties, strict=True)):
        if not is_classifier(model):
            squares = sum((c * (t - s) ** 2 for c, t, s in zip(m, exact(y), f, strict=True)), Fraction(0)) / 2
            found.append((decimal(squares) + penalty) * (2 if loss == "squared_error" else 1))
            continue
        signs = np.where(y == model.classes_[1 if len(coef) == 1 else k], 1, -1).tolist()
        margins = [(c, t * s) for c, t, s in zip(m, signs, f, strict=True) if c]
        if "logistic" in loss:
            found.append(penalty + sum(decimal(factor * c) * log_sum([Fraction(0), -s]) for c, s in margins))
        else:
            squares = sum((c * max(Fraction(0), 1 - s) ** 2 for c, s in margins), Fraction(0))
            found.append(penalty + decimal(factor * squares))
    return found


def gaps_of(model):
    proof = model.certificate_
    return list(proof.values()) if isinstance(proof, PerClass) else [proof]


def above(value):
    """The value, and what the decimals may have lost."""
    return value + abs(value) * SLACK


@pytest.mark.parametrize("number", range(90))
def test_no_bound_is_on_the_wrong_side(number):
    random = Random(f"exact statements {number}")
    kind, fixed, choices = random.choice([machine for machine in MACHINES if machine[0] is not mm.Perceptron])
    X = hostile_rows(random)[:20, :6]
    y = hostile_labels(X, random) if is_classifier(kind()) else hostile_targets(X, random)
    weights = hostile_weights(len(y), random)
    parameters = parameters_of(kind, choices, y, random) | {name: random.choice(of) for name, of in fixed.items()}
    # Class weights and warm starts change the problem.
    parameters = {k: v for k, v in parameters.items() if k not in ("class_weight", "warm_start", "max_time")}
    check_bounds(kind, parameters, X, y, weights)


def check_bounds(kind, parameters, X, y, weights):
    further = {"tol": 1e-13, "max_iter": 2000}
    with warnings.catch_warnings(), localcontext(CONTEXT):
        warnings.simplefilter("ignore")
        try:
            model = kind(**parameters).fit(X, y, sample_weight=weights)
        except (ValueError, TypeError) as error:
            assert not isinstance(error, CertificateError)  # noqa: PT017
            return
        found = primal_values(model, X, y, weights)
        if found is None:
            return
        other = kind(**parameters | further).fit(X, y, sample_weight=weights)
        values = primal_values(other, X, y, weights)
        assert values is not None
        for gap, own, best, solved in zip(gaps_of(model), found, values, gaps_of(other), strict=True):
            assert math.isinf(gap.primal) or own <= above(Decimal(gap.primal))
            for claim in (gap, solved):
                # Without a penalty the dual value is about coefficients up to a norm.
                if math.isfinite(claim.dual) and math.isinf(getattr(claim, "reach", math.inf)):
                    assert Decimal(claim.dual) <= above(min(own, best))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [mm.OneClassSVM, mm.NuSVR, mm.SVR, mm.SVC])
def test_overflow_bounds_nothing(kind):
    """Errors of distances near 1e130, times gamma = 1e100, are not finite: nothing is known of the kernel values."""
    X = np.array([[1e30, -5e-294, 1e130, 1e30], [0.0, 1e30, 1e130, 0.0], [1e30, 0.0, 1e130, 1e30]])
    model = kind(gamma=1e100, max_iter=20).fit(X, np.array([0, 1, 1]), sample_weight=[1e-100, 1e-100, 1e-100])
    gap = model.certificate_
    assert gap.primal == math.inf
    assert gap.dual == -math.inf
