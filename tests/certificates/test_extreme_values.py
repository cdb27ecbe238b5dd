"""What certificates state is true where products underflow or overflow: decided in exact arithmetic.

Data, weights and factors range over the exponents of float64. ``primal`` must be at least the exact objective of the
coefficients, and ``dual`` at most that of all coefficients tried: those given, zero, those through single points, and
exact optima of single columns.
"""

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.certificates import (
    measure_gap,
    measure_lasso_gap,
    measure_logistic_gap,
    measure_multiclass_gap,
    measure_ridge_gap,
)
from maxmargin.certificates.recovered_duals import recovered_duals, recovered_multiclass_duals
from maxmargin.data import Points, TargetPoints
from maxmargin.problems.crammer_singer import CrammerSingerProblem
from maxmargin.problems.linear_svm import LOSSES, REGRESSION_LOSSES, LinearSVMProblem
from maxmargin.problems.logistic import LogisticProblem
from maxmargin.problems.squared_errors import LassoProblem, RidgeProblem, SquaredErrors

# Digits of the logarithms and exponentials of the logistic loss, and the share by which they may be off.
DIGITS, OFF = 60, Fraction(1, 10**40)


def fractions(values):
    return [Fraction(float(value)) for value in np.ravel(values)]


class Case:
    """Data of extreme sizes, and the exact objective of a problem on them.

    Attributes
    ----------
    rows, targets, weights : lists of Fraction
        Entry by entry what the arrays hold.
    """

    def __init__(self, seed, fit=False):
        rng = np.random.default_rng(seed)
        self.rng = rng
        n, d = int(rng.integers(2, 7)), int(rng.integers(1, 4))
        largest = 140.0 if fit else 300.0
        middle = rng.choice([0.0, rng.uniform(-130.0, largest - 10.0)])
        sizes = np.where(rng.random(d) < 0.5, middle, rng.uniform(-322.0, middle, d))
        sizes[rng.integers(d)] = middle
        self.X = rng.standard_normal((n, d)) * self.powers(sizes)
        if rng.random() < 0.3:
            self.X = self.X * self.powers(rng.uniform(-60.0, 0.0, (n, 1)))
        if rng.random() < 0.3:
            self.X[rng.random((n, d)) < 0.4] = 0.0
        self.X[0] = np.where(self.X[0] == 0.0, self.powers(sizes), self.X[0])
        self.signs = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        self.signs[:2] = 1.0, -1.0
        size = rng.choice([0.0, -161.0, rng.uniform(-322.0, 140.0)])
        self.y = rng.standard_normal(n) * self.powers(size) + rng.choice([0.0, 1.0]) * self.powers(min(140.0, size + 5))
        self.y = np.clip(self.y, -1e140, 1e140)
        spread = rng.choice([0.0, 1.0, 99.0])
        self.weights = self.powers(rng.uniform(-spread, spread, n)) if spread else np.ones(n)
        if n > 3 and rng.random() < 0.3:
            self.weights[-1] = 0.0
        reach = 99.0 - spread if fit else 300.0
        self.C = float(self.powers(rng.choice([0.0, rng.uniform(-reach, reach)])))
        self.has_intercept = bool(rng.random() < 0.6)
        self.epsilon = float(rng.choice([0.0, 0.1, abs(self.y).max() * rng.random()]))
        self.rows = [fractions(row) for row in self.X]
        self.m = fractions(self.weights)
        matrix = sp.csr_array(self.X) if rng.random() < 0.4 else self.X
        self.matrix = matrix
        self.points = Points(matrix)

    @staticmethod
    def powers(exponents):
        return 10.0 ** np.asarray(exponents, dtype=np.float64)

    def scores(self, w, b):
        return [sum((a * c for a, c in zip(row, w, strict=True)), start=b) for row in self.rows]

    def coefficients(self, targets):
        """Coefficients to compare with, as fractions: zero, lines through points, optima of single columns."""
        zero = [Fraction(0)] * self.X.shape[1]
        counted = [i for i, m in enumerate(self.m) if m > 0]
        offsets = [Fraction(0), *{targets[i] for i in counted}] if self.has_intercept else [Fraction(0)]
        yield from ((zero, b) for b in offsets)
        for j in range(len(zero)):
            for b in offsets:
                for i in counted:
                    if self.rows[i][j]:
                        for factor in (1, Fraction(1, 2), 20, 300):
                            w = list(zero)
                            w[j] = factor * (targets[i] - b) / self.rows[i][j]
                            yield w, b
            for lam in (Fraction(0), 1 / Fraction(self.C), Fraction(self.C)):
                yield self.least_squares(targets, j, lam)

    def least_squares(self, targets, j, lam):
        """The ridge coefficients of a single column."""
        column, total = [row[j] for row in self.rows], sum(self.m)
        mean = sum(m * x for m, x in zip(self.m, column, strict=True)) / total if self.has_intercept else 0
        middle = sum(m * t for m, t in zip(self.m, targets, strict=True)) / total if self.has_intercept else 0
        square = lam + sum(m * (x - mean) ** 2 for m, x in zip(self.m, column, strict=True))
        product = sum(m * (x - mean) * (t - middle) for m, x, t in zip(self.m, column, targets, strict=True))
        w = [Fraction(0)] * self.X.shape[1]
        w[j] = product / square if square else Fraction(0)
        return w, middle - w[j] * mean

    def models(self, targets):
        """Coefficients in float64 to certify: zero, some of those above, rounded, and any."""
        found = list(self.coefficients(fractions(targets)))
        for k in {0, *self.rng.integers(0, len(found), 4)}:
            w, b = found[k]
            try:
                yield np.array([float(entry) for entry in w]), float(b)
            except OverflowError:
                continue
        size = self.powers(self.rng.uniform(-320.0, 300.0))
        yield self.rng.standard_normal(self.X.shape[1]) * size, float(self.rng.standard_normal() * self.has_intercept)


def check(proof, of_model, others):
    assert Fraction(proof.primal) >= of_model * (1 - OFF) if math.isfinite(proof.primal) else proof.primal > 0.0
    assert not math.isnan(proof.dual)
    if proof.dual > 0.0:
        for value in others:
            assert Fraction(proof.dual) <= value * (1 + OFF)


def svm_value(case, loss, w, b, rho=Fraction(0)):
    targets = fractions(case.signs if loss in LOSSES else case.y)
    scores, C = case.scores(w, b), Fraction(case.C)
    if loss in LOSSES:
        excess = [1 - t * f for t, f in zip(targets, scores, strict=True)]
    else:
        excess = [abs(t - f) - Fraction(case.epsilon) for t, f in zip(targets, scores, strict=True)]
    power = 2 if "squared" in loss else 1
    losses = sum(C * m * max(Fraction(0), v) ** power for m, v in zip(case.m, excess, strict=True))
    return sum(c * c for c in w) / 2 + rho * b * b / 2 + losses


def exact(w, b):
    return fractions(w), Fraction(float(b))


def every_svm(case, loss):
    targets = case.signs if loss in LOSSES else case.y
    others = [svm_value(case, loss, *point) for point in case.coefficients(fractions(targets))]
    arguments = (case.C,) if loss in LOSSES else (case.C, case.epsilon)
    form = {**LOSSES, **REGRESSION_LOSSES}[loss](targets, case.weights, *arguments)
    return targets, others, LinearSVMProblem(case.points, form, 0.0 if case.has_intercept else math.inf)


@pytest.mark.parametrize("loss", [*LOSSES, *REGRESSION_LOSSES])
@pytest.mark.parametrize("seed", range(40))
def test_gaps_of_linear_machines(seed, loss):
    case = Case(seed)
    targets, others, problem = every_svm(case, loss)
    for w, b in case.models(targets):
        of_model = svm_value(case, loss, *exact(w, b))
        with np.errstate(all="ignore"):
            ends = np.where(targets > 0, 1.0, -1.0) * case.C * case.weights
            duals = [recovered_duals(problem, w, b), ends, ends * case.rng.random(ends.size), 1e300 * ends]
        for beta in duals:
            check(measure_gap(problem, w, b, beta), of_model, [of_model, *others])


@pytest.mark.parametrize("seed", range(40))
def test_gaps_of_crammer_and_singer(seed):
    case = Case(seed)
    n = len(case.signs)
    codes = np.arange(n) % 3
    problem = CrammerSingerProblem(case.points, codes, case.weights, 3, case.C, 0.0 if case.has_intercept else math.inf)

    def value(W, b):
        total = sum(c * c for w in W for c in w) / 2
        scores = [case.scores(w, a) for w, a in zip(W, b, strict=True)]
        for i, m in enumerate(case.m):
            slack = max(scores[k][i] - scores[codes[i]][i] + (k != codes[i]) for k in range(3))
            total += Fraction(case.C) * m * slack
        return total

    single = list(case.coefficients(fractions(case.signs)))
    zero = [Fraction(0)] * case.X.shape[1]
    chosen = [single[k] for k in {0, *case.rng.integers(0, len(single), 12)}]
    tried = [([w, zero, [-c for c in w]], [b, Fraction(0), -b]) for w, b in chosen]
    tried += [([zero, [-c for c in w], w], [Fraction(0), -b, b]) for w, b in chosen]
    others = [value(W, b) for W, b in tried]
    for (W, b), of_model in zip(tried, others, strict=True):
        try:
            W, b = np.array([[float(c) for c in w] for w in W]), np.array([float(a) for a in b])
        except OverflowError:
            continue
        of_model = value([fractions(w) for w in W], fractions(b))
        with np.errstate(all="ignore"):
            full = np.where(np.arange(3) == codes[:, None], 0.0, -case.C * case.weights[:, None] / 2.0)
            duals = [recovered_multiclass_duals(problem, W, b), full, full * case.rng.random(full.shape)]
        for B in duals:
            check(measure_multiclass_gap(problem, W, b, B), of_model, [of_model, *others])


def logistic_value(case, C, w, b):
    """The objective as a fraction, up to OFF."""
    with localcontext(Context(prec=DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        total = Fraction(0)
        for f, sign, m in zip(case.scores(w, b), case.signs, case.m, strict=True):
            margin = f * int(sign)
            if margin > 10**5:
                continue
            loss = max(Fraction(0), -margin)
            size = min(abs(margin), Fraction(10**5))
            tail = (-Decimal(size.numerator) / Decimal(size.denominator)).exp()
            rest = (1 + tail).ln() if tail > Decimal("1e-20") else tail - tail * tail / 2 + tail**3 / 3
            total += m * (loss + Fraction(rest))
    return total if math.isinf(C) else sum(c * c for c in w) / 2 + Fraction(C) * total


@pytest.mark.parametrize("is_penalised", [True, False])
@pytest.mark.parametrize("seed", range(40))
def test_gaps_of_logistic_regression(seed, is_penalised):
    case = Case(seed)
    C = case.C if is_penalised else math.inf
    problem = LogisticProblem(case.points, case.signs, case.weights, C, case.has_intercept)
    deviations = fractions(problem.columns.deviations) if np.isfinite(problem.columns.deviations).all() else None
    tried = list(case.coefficients([5 * sign for sign in fractions(case.signs)]))
    others = [logistic_value(case, C, *point) for point in tried]
    for w, b in case.models(case.signs):
        proof = measure_logistic_gap(problem, w, b)
        values = others
        if math.isfinite(proof.reach) and deviations is not None:
            values = [
                value
                for value, (v, _) in zip(others, tried, strict=True)
                if sum((s * c) ** 2 for s, c in zip(deviations, v, strict=True)) <= Fraction(proof.reach) ** 2
            ]
        of_model = logistic_value(case, C, *exact(w, b))
        check(proof, of_model, values)


def squares(case, w, b):
    return sum(m * (t - f) ** 2 for m, t, f in zip(case.m, fractions(case.y), case.scores(w, b), strict=True))


def errors_of(case):
    return SquaredErrors.of(TargetPoints(case.points, case.y, case.weights), case.has_intercept)


@pytest.mark.parametrize("is_penalised", [True, False])
@pytest.mark.parametrize("seed", range(60))
def test_gaps_of_ridge_and_least_squares(seed, is_penalised):
    case = Case(seed)
    lam = case.C if is_penalised else 0.0
    errors = errors_of(case)

    def value(w, b):
        return squares(case, w, b) + Fraction(lam) * sum(c * c for c in w)

    total = sum(case.m)
    columns = list(zip(*case.rows, strict=True))
    means = [sum(m * x for m, x in zip(case.m, c, strict=True)) / total * case.has_intercept for c in columns]
    spreads = [
        sum(m * (x - mean) ** 2 for m, x in zip(case.m, c, strict=True)) for c, mean in zip(columns, means, strict=True)
    ]
    tried = list(case.coefficients(fractions(case.y)))
    others = [value(*point) for point in tried]
    for w, b in case.models(case.y):
        proof = measure_ridge_gap(RidgeProblem(errors, lam), w, b)
        values = others
        if math.isfinite(proof.radius):
            values = [
                value
                for value, (v, _) in zip(others, tried, strict=True)
                if sum(s * c * c for s, c in zip(spreads, v, strict=True)) <= Fraction(proof.radius) ** 2
            ]
        check(proof, value(*exact(w, b)), values)


@pytest.mark.parametrize("seed", range(60))
def test_gaps_of_the_lasso(seed):
    case = Case(seed)
    errors, lam = errors_of(case), case.C

    def value(w, b):
        return squares(case, w, b) / 2 + Fraction(lam) * sum(abs(c) for c in w)

    others = [value(*point) for point in case.coefficients(fractions(case.y))]
    for w, b in case.models(case.y):
        proof = measure_lasso_gap(LassoProblem(errors, lam), w, b)
        of_model = value(*exact(w, b))
        check(proof, of_model, [of_model, *others])
        if case.X.shape[1] == 1 and proof.unused:
            # The coefficient of a single column is zero where its product with the targets is at most lambda.
            w, b = case.least_squares(fractions(case.y), 0, Fraction(0))
            column, t = [row[0] for row in case.rows], fractions(case.y)
            mean = sum(m * v for m, v in zip(case.m, t, strict=True)) / sum(case.m) * case.has_intercept
            product = sum(m * x * (v - mean) for m, x, v in zip(case.m, column, t, strict=True))
            assert abs(product) <= Fraction(lam)
