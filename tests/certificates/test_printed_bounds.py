"""What sentences say is true of the numbers behind them: upper bounds are printed rounded up, lower bounds down."""

import dataclasses
import inspect
import math
import re
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from maxmargin import MarginBracket, certificates, hull_distance, separate
from maxmargin.certificates.base import Certificate
from maxmargin.cli.console import proof_entry
from maxmargin.cli.stream import mistakes_entry
from maxmargin.data.printed_bounds import digits_down, digits_up, percent_down, percent_up

NUMBER = r"(-?(?:\d+(?:\.\d+)?(?:e[+-]\d+)?|inf))"
# Phrases of the sentences; whether their number is an upper bound; and the value that it bounds.
PHRASES = (
    (rf"relative duality gap {NUMBER}", True, lambda proof: proof.relative),
    (rf"(?<!relative )duality gap {NUMBER}", True, lambda proof: proof.gap),
    (rf"primal {NUMBER}", True, lambda proof: proof.primal),
    (rf"dual {NUMBER}", False, lambda proof: proof.dual),
    (rf"the loss, at most {NUMBER} here", True, lambda proof: proof.primal),
    (rf"margin of at least {NUMBER}:", False, lambda proof: proof.margin),
    (rf"by at least {NUMBER} times the norm", False, lambda proof: proof.margin),
    (rf"hyperplanes of norm up to {NUMBER} in", False, lambda proof: proof.reach),
    (rf"coefficients of norm up to {NUMBER}", False, lambda proof: proof.radius),
    (rf"with margin {NUMBER};", False, lambda proof: bracket_of(proof).lower),
    (rf"margin above {NUMBER}\b", True, lambda proof: bracket_of(proof).upper),
    (rf"\({NUMBER} R\)", True, lambda proof: bracket_of(proof).relative_upper),
    (rf"at least {NUMBER} % of the largest", False, lambda proof: 100 * Decimal(repr(bracket_of(proof).share))),
    (rf"at most {NUMBER} by", True, lambda proof: proof.bound),
    (rf"margin errors {NUMBER} %", True, lambda proof: 100 * Decimal(repr(proof.margin_errors))),
    (rf"<= nu {NUMBER} %", True, lambda proof: 100 * Decimal(repr(proof.nu))),
    (rf"support vectors {NUMBER} %", False, lambda proof: 100 * Decimal(repr(proof.support_share))),
)
# Numbers that bound nothing: the gamma of a mistake bound is one of many, and counts are exact.
OTHERS = re.compile(
    r"\(gamma \S+\)|the points \(x, 1\)|\b\d+ (?:mistakes|support vectors|on the margin|inside it|misclassified|with a|"
    r"coefficients are|points strictly|at their bound|of them)|: \d+, \d+ of them"
)


def bracket_of(proof):
    """The bracket itself, or that of a mistake bound."""
    return getattr(proof, "bracket", proof)


def concrete_certificates():
    """Every class of certificate that the package exports and that has a sentence of its own."""
    exported = (getattr(certificates, name) for name in certificates.__all__)
    return [one for one in exported if inspect.isclass(one) and issubclass(one, Certificate) and one is not Certificate]


def certificate_of(kind, rng):
    """A certificate of a class with numbers of all sizes in its fields."""
    size = 10.0 ** rng.uniform(-12.0, 12.0)
    upper = size * rng.uniform(1.0, 10.0)
    lower = upper * (1.0 - 10.0 ** rng.uniform(-12.0, 0.0)) * (1.0 if rng.random() < 0.8 else -1.0)
    if kind is MarginBracket:
        return MarginBracket(lower, upper, upper * 10.0 ** rng.uniform(0.0, 9.0), "(x, 1)")
    values = {}
    for one in dataclasses.fields(kind):
        share = float(rng.uniform(0.0, 1.0))
        values[one.name] = {
            "primal": upper,
            "dual": lower,
            "mistakes": 0,
            "assumption": "",
            "bracket": certificate_of(MarginBracket, rng),
            "margin": upper if rng.random() < 0.5 else 0.0,
            "nu": max(share, 1e-6),
            "margin_errors": 0.999 * share,
        }.get(one.name, int(rng.integers(1, 1000)) if one.type in (int, "int") else upper * share)
    if "margin_errors" in values:
        values["margin_errors"] = values["nu"] * float(rng.choice([0.5, 0.9999, 1.0]))
    return kind(**values)


def refute(text, proof):
    """The phrases of a sentence that say more than the certificate holds, and the numbers that no phrase explains."""
    false, rest = [], text
    for pattern, is_upper, value in PHRASES:
        for found in re.finditer(pattern, text):
            shown, held = (
                Decimal(found[1]),
                Decimal(repr(value(proof))) if isinstance(value(proof), float) else value(proof),
            )
            if not (shown >= held if is_upper else shown <= held):
                false.append((found[0], value(proof)))
            rest = rest.replace(found[0], "")
    return false, re.findall(r"\d+", OTHERS.sub("", rest))


@pytest.mark.parametrize("kind", concrete_certificates())
def test_every_sentence_is_true_of_its_certificate(kind):
    rng = np.random.default_rng(0)
    if inspect.isabstract(kind):
        pytest.skip("has no sentence")
    for _ in range(300):
        proof = certificate_of(kind, rng)
        false, unexplained = refute(str(proof), proof)
        assert not false, (false, str(proof))
        assert not unexplained, (unexplained, str(proof))


def test_a_sentence_that_rounds_to_nearest_is_found():
    proof = MarginBracket(1.63511145 / 2, 0.81755577, 1.0, "x")
    text = f"separates with margin {proof.lower:.6g}; no hyperplane has a margin above {proof.upper - 1e-7:.6g}"
    assert len(refute(text, proof)[0]) == 1
    assert refute(str(proof), proof) == ([], [])


@pytest.mark.parametrize("classes", [0, 1])
def test_separations_and_distances_print_what_they_prove(classes):
    X, y = load_iris(return_X_y=True)
    found, distance = separate(X, y == classes), hull_distance(X, y == classes)
    assert refute(str(found), found.certificate)[0] == []
    numbers = [Decimal(text) for text in re.findall(rf"(?:between|and|at most) {NUMBER}\b", str(distance))]
    held = Decimal(repr(distance.distance.lower)), Decimal(repr(distance.distance.upper))
    assert numbers[-1] >= held[1]
    assert len(numbers) == 1 or numbers[0] <= held[0]
    assert len(numbers) == (2 if distance.distance.lower > 0.0 else 1)


def test_summaries_of_many_certificates_round_outwards():
    gaps = {k: certificates.LassoGap(3.0, 3.0 - 10.0 ** (-0.37 * k), 1) for k in range(20)}
    text = proof_entry("certificate", certificates.PerClass(gaps), "proof")["certificate"].text
    worst, median = (Decimal(number) for number in re.findall(rf"(?:worst|median) {NUMBER}", text)[:2])
    relative = sorted(one.relative for one in gaps.values())
    assert worst >= Decimal(repr(relative[-1]))
    assert median >= Decimal(repr(relative[10]))


def test_the_mistake_bound_of_a_stream_is_rounded_up():
    bracket = MarginBracket(-1.0, 1.0, 1.0, "x")
    bounds = [certificates.MistakeBound(3, 100.000013 + k / 3.0, 1.0, 1.0, 1.0, 5, bracket) for k in range(2)]
    machine = SimpleNamespace(
        mistakes_per_pass_=np.array([[3], [2]]),
        rows_evaluated_per_pass_=np.array([[5], [5]]),
        certificate_=certificates.PerClass(dict(enumerate(bounds))),
    )
    entry = mistakes_entry(machine, 5)
    [shown] = re.findall(rf"at most {NUMBER} by", entry.text)
    exact = sum(Decimal(one.bound) for one in bounds)
    assert Decimal(shown) >= Decimal(entry.entries["mistake_bound"]) >= exact


# Subnormal numbers have fewer digits than are asked for.
NUMBERS = st.floats(allow_subnormal=False, min_value=-1e300, max_value=1e300)


@given(NUMBERS, st.integers(1, 12))
def test_digits_are_rounded_outwards_by_less_than_a_unit(value, digits):
    above, below = Decimal(digits_up(value, digits)), Decimal(digits_down(value, digits))
    exact = Decimal(repr(value))
    assert below <= exact <= above
    unit = Decimal(10) ** (exact.adjusted() - digits + 1) if exact else Decimal(0)
    assert above - exact <= unit
    assert exact - below <= unit
    assert len(above.normalize().as_tuple().digits) <= digits


@given(st.floats(1e-300, 1.0), st.integers(1, 12))
def test_percentages_are_rounded_outwards(share, digits):
    exact = 100 * Decimal(repr(share))
    unit = Decimal(10) ** (exact.adjusted() - digits + 1)
    assert exact <= Decimal(percent_up(share, digits)) <= exact + unit
    assert exact - unit <= Decimal(percent_down(share, digits)) <= exact


def test_short_numbers_are_printed_as_they_are():
    assert [digits_up(value, 6) for value in (0.07, 3.0, 0.0, -0.0, -2.5, math.inf)] == [
        "0.07",
        "3",
        "0",
        "0",
        "-2.5",
        "inf",
    ]
    assert [digits_down(value, 6) for value in (0.07, 0.0, -0.0, -math.inf)] == ["0.07", "0", "0", "-inf"]
    assert (percent_up(0.07, 4), percent_down(0.2, 4), percent_down(1.0 - 2.0**-53, 3)) == ("7", "20", "99.9")
