"""Every decision on separability agrees with exact arithmetic, on data where rounding hides the answer."""

import copy
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from hostile_sets import KINDS, hostile_set, is_separable, squared_hull_distance
from maxmargin import LinearSVC, MarginPerceptron, Perceptron, Status, hull_distance, separate
from maxmargin.certificates import NotSeparableError
from maxmargin.data import Dataset, Points
from maxmargin.data.printed_bounds import digits_up
from maxmargin.problems.exact_arithmetic import hulls_meet
from maxmargin.problems.hard_margin import HardMarginProblem
from real_data import load

pytestmark = pytest.mark.filterwarnings("ignore::maxmargin.LimitWarning")
intercepts = pytest.mark.parametrize("fit_intercept", [True, False])


def exact_margins(X, y, w, b):
    w, b = [Fraction(float(entry)) for entry in w], Fraction(float(b))
    return [
        int(sign) * (sum(a * Fraction(v) for a, v in zip(w, row, strict=True)) + b)
        for row, sign in zip(X.tolist(), y, strict=True)
    ]


def is_exact_proof(X, y, witness, separable, fit_intercept):
    rows = [[Fraction(value) for value in row] + [Fraction(1)] for row in X.tolist()]
    if separable:
        return all(
            int(sign) * sum(a * v for a, v in zip(witness, row, strict=True)) > 0
            for row, sign in zip(rows, y, strict=True)
        )
    columns = list(zip(*rows, strict=True))[: None if fit_intercept else -1]
    sums = [sum(c * int(s) * v for c, s, v in zip(witness, y, column, strict=True)) for column in columns]
    return min(witness) >= 0 and sum(witness) == 1 and not any(sums)


@intercepts
@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
def test_no_decision_contradicts_exact_arithmetic(kind, fit_intercept):
    decided = 0
    for seed in range(kind, kind + 20 * len(KINDS), len(KINDS)):
        X, y = hostile_set(seed)
        truth = is_separable(X, y, fit_intercept)
        for method in ("newton", "linear_program"):
            result = separate(X, y, fit_intercept, method=method)
            assert result.separable in (truth, None)
            decided += result.separable is not None
            if result.certificate.separates:
                assert min(exact_margins(X, y, result.coef, result.intercept)) > 0
            if result.witness is not None:
                assert is_exact_proof(X, y, result.witness, result.separable, fit_intercept)
        distance = hull_distance(X, y, fit_intercept)
        assert not (distance.distance.lower > 0.0 and not truth)
        assert not (distance.certificate.hulls_meet and truth)
        model = LinearSVC(C=np.inf, fit_intercept=fit_intercept)
        try:
            model.fit(X, y)
        except NotSeparableError:
            assert not truth
            continue
        assert model.status_ is not Status.NOT_SEPARABLE
        if model.certificate_.separates:
            assert min(exact_margins(X, y, model.coef_[0], model.intercept_[0])) > 0
    # Small data are always decided.
    assert decided == 40


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
def test_perceptrons_call_no_separable_data_inseparable(kind):
    for seed in range(kind, kind + 6 * len(KINDS), len(KINDS)):
        X, y = hostile_set(seed)
        truth = is_separable(X, y)
        for normalize in (False, True):
            model = Perceptron(max_iter=2000, normalize=normalize).fit(X, y)
            assert not (model.status_ is Status.NOT_SEPARABLE and truth)
            assert not (model.certificate_.bracket.hulls_meet and truth)
            assert not (model.certificate_.bracket.separates and not truth)
            searched = MarginPerceptron(max_iter=200, normalize=normalize).fit(X, y)
            assert not (searched.certificate_.separates and not truth)
            assert not (searched.status_ is Status.NOT_SEPARABLE and searched.certificate_.separates)


def test_columns_of_very_different_sizes_are_decided():
    generator = np.random.default_rng(0)
    for _ in range(20):
        n = int(generator.integers(4, 60))
        y = np.where(np.arange(n) % 2, 1, -1)
        X = np.column_stack([y, 1e13 * generator.normal(size=n)])
        result = separate(X, y)
        assert result.separable is True
        assert result.certificate.separates
        assert LinearSVC(C=np.inf).fit(X, y).certificate_.separates
        X[0, 0] = 1.0
        X[0, 1] = X[1::2, 1].mean()
        assert separate(X, y).separable is is_separable(X, y)


@intercepts
@pytest.mark.parametrize("name", ["heart_scale", "sonar_scale", "mushrooms", "a9a", "ionosphere_scale"])
def test_real_data_are_decided_as_a_linear_program_decides_them(name, fit_intercept):
    X, y = load(name)
    result = separate(X, y, fit_intercept, tol=1.0)
    rows = sp.hstack([X, np.ones((len(y), 1))]) if fit_intercept else sp.csr_array(X)
    signed = sp.csr_array(sp.diags_array(np.where(y == y.max(), 1.0, -1.0)) @ rows)
    # Is there a hyperplane with y f(x) >= 1?
    feasible = linprog(np.zeros(rows.shape[1]), -signed, -np.ones(len(y)), bounds=(None, None), method="highs")
    assert feasible.status in (0, 2)
    assert result.separable is (feasible.status == 0)
    assert result.certificate.hulls_meet is not result.separable


@pytest.mark.parametrize("columns", [300, 40])
def test_many_columns_and_dependent_ones(columns):
    generator = np.random.default_rng(1)
    categories = np.eye(10)[generator.integers(0, 10, 2000)]
    X = np.column_stack([categories, generator.normal(size=(2000, columns)), np.ones(2000)])
    y = generator.integers(0, 2, 2000)
    assert separate(X, y).separable is False
    assert separate(sp.csr_array(X), y).separable is False


def test_weights_that_only_nearly_meet_prove_nothing():
    # Separable with a margin of 2^-53: the hulls' means are equal up to rounding.
    X, y = np.array([[1.0], [1.0 + 2.0**-52]]), np.array([-1.0, 1.0])
    assert not hulls_meet(HardMarginProblem(Dataset(Points(X), y)), np.ones(2))
    assert hulls_meet(HardMarginProblem(Dataset(Points(X[[0, 0]]), y)), np.ones(2))
    # In the plane: the middle of two points is off the other class by one unit in the last place.
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.5, np.nextafter(0.5, 1.0)]])
    problem = HardMarginProblem(Dataset(Points(X), np.array([-1.0, -1.0, 1.0])))
    assert not hulls_meet(problem, np.array([0.5, 0.5, 1.0]))
    X[2] = 0.5
    assert hulls_meet(problem, np.array([0.5, 0.5, 1.0]))


big = 1 << 60
own_numbers = {
    "int64": np.array([[big], [big + 1]]),
    "uint64": np.array([[big << 3], [(big << 3) + 1]], dtype=np.uint64),
    "sparse": sp.csr_array(np.array([[big], [big + 1]])),
    "python integers": [[10**30], [10**30 + 1]],
    "fractions": np.array([[Fraction(1, 3)], [Fraction(1, 3) + Fraction(1, 10**30)]], dtype=object),
    "decimals": [[Decimal("0.1")], [Decimal("0.1000000000000000000000000001")]],
    "data frame": pd.DataFrame({"a": [big, big + 1], "b": [0.0, 0.0]}),
}


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("name", own_numbers)
def test_exact_means_the_numbers_that_were_given(name, exact):
    result = separate(own_numbers[name], [0, 1], exact=exact)
    assert result.separable is True
    assert result.exact
    # The witness separates them; coefficients of float64 cannot.
    assert not result.certificate.separates
    values = own_numbers[name]
    values = values.toarray() if sp.issparse(values) else values
    values = values["a"] if name == "data frame" else [row[0] for row in values]
    low, high = (Fraction(value.item() if isinstance(value, np.generic) else value) for value in values)
    w, b = result.witness[0], result.witness[-1]
    assert w * low + b < 0 < w * high + b
    # The bracket allows for the rounding of X.
    assert hull_distance(own_numbers[name], [0, 1]).distance.upper >= high - low


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float32, np.float64, object])
def test_numbers_that_float64_holds_need_nothing_special(dtype):
    X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=dtype), [0, 1, 1, 0]
    for rows in (X, X.tolist()) if dtype is object else (X, sp.csr_array(X), X.tolist()):
        result = separate(rows, y, exact=True)
        assert result.separable is False
        assert is_exact_proof(X, np.where(y, 1, -1), result.witness, False, True)


@pytest.mark.parametrize("kind", [np.array, np.ndarray.tolist, sp.csr_array, pd.DataFrame], ids=str)
def test_large_data_that_float64_rounds_are_told(kind):
    X = np.arange(50_000, dtype=np.int64).reshape(-1, 2) + (1 << 60)
    with pytest.warns(UserWarning, match="numbers that float64 rounds"):
        separate(kind(X), np.arange(25_000) % 2, tol=1.0)


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("offset", [0.0, 4e15, 1e6, -3e12])
def test_the_distance_of_hulls_is_bracketed_exactly(columns, offset):
    checked = 0
    for seed in range(25):
        generator = np.random.default_rng(seed)
        X = generator.normal(size=(int(generator.integers(2, 9)), columns)) + offset
        y = np.where(np.arange(len(X)) % 2, 1, -1)
        X[y > 0, 0] += 3.0
        if not is_separable(X, y):
            continue
        result = hull_distance(X, y)
        square = squared_hull_distance(X[y > 0], X[y < 0])
        assert Fraction(result.distance.lower) ** 2 <= square <= Fraction(result.distance.upper) ** 2
        assert digits_up(result.distance.upper, 6) in str(result)
        checked += 1
    assert checked > 10


def test_a_bracket_of_a_distance_is_a_number():
    result = hull_distance([[0.0, 0.0], [0.0, 2.0], [3.0, 1.0]], [0, 0, 1])
    assert result.distance == result.distance.upper == pytest.approx(3.0)
    assert result.at_least == result.distance.lower <= 3.0 <= result.distance.upper
    again = copy.deepcopy(result)
    assert (again.distance.lower, again.distance.upper) == (result.distance.lower, result.distance.upper)


@intercepts
def test_a_tiny_time_leaves_convex_weights(fit_intercept):
    X, y = np.random.default_rng(0).normal(size=(200, 5)), np.arange(200) % 2
    for method in ("newton", "linear_program"):
        result = separate(X, y, fit_intercept, method=method, max_time=1e-9)
        assert np.isfinite(result.hull_weights).all()
        sums = [result.hull_weights[y == side].sum() for side in (0, 1)]
        assert (sums if fit_intercept else [sum(sums)]) == pytest.approx([1.0] * (1 + fit_intercept))


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    "X", [[[1e-140], [-1e-155]], [[0.0], [0.0]], [[1.0], [0.0]], [[1.0], [-5e-324]], [[1e139], [-1e-160]]]
)
def test_extreme_rows_crash_nothing(X, fit_intercept, normalize):
    truth = is_separable(X, [1, -1], fit_intercept)
    for model in (
        Perceptron(fit_intercept=fit_intercept, normalize=normalize, max_iter=50),
        Perceptron(fit_intercept=fit_intercept, normalize=normalize, max_iter=50, rule="batch"),
        MarginPerceptron(fit_intercept=fit_intercept, normalize=normalize, max_iter=50),
        MarginPerceptron(fit_intercept=fit_intercept, normalize=normalize, max_iter=50, accelerated=True),
    ):
        if normalize and not fit_intercept and X[1] == [-5e-324]:
            # Its direction is lost: a quotient by its length has no digits.
            with pytest.raises(ValueError, match="rows shorter than 1e-300"):
                model.fit(X, [1, -1])
            continue
        model.fit(X, [1, -1])
        bracket = getattr(model.certificate_, "bracket", model.certificate_)
        assert not (bracket.separates and not truth)
        assert np.isfinite(model.coef_).all()


def test_short_rows_are_normalised():
    # The squares of the last two rows underflow; normalised, all four rows are alike.
    X = np.array([[1.0, 0.5], [-1.0, 0.5], [2e-165, 1e-165], [-2e-165, 1e-165]])
    y = [1, 0, 1, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (
            Perceptron(fit_intercept=False, normalize=True),
            MarginPerceptron(fit_intercept=False, normalize=True),
        ):
            model.fit(X, y)
            bracket = getattr(model.certificate_, "bracket", model.certificate_)
            assert bracket.separates
            assert bracket.lower > 0.4
            assert bracket.upper <= 1.0 + 1e-12
