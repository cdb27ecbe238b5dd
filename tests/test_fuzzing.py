"""A bounded part of the fuzzing run: fixed seeds, every target, no fault."""

import pytest

from fuzz.harness import Figures, count, outcomes
from fuzz.targets import TARGETS

# Inputs of each target: about as much time for all as one slow test.
INPUTS = {
    "estimators": 200,
    "further_estimators": 200,
    "calibrated": 40,
    "functions": 100,
    "separability": 60,
    "svmlight": 1000,
    "csv": 1000,
    "parquet": 1000,
    "stores": 1000,
    "models": 300,
    "checkpoints": 150,
    "libsvm": 1000,
    "liblinear": 1000,
    "command": 120,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_no_input_breaks_a_promise(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    target, figures = TARGETS[name](), Figures()
    target.prepare(tmp_path)
    for answer in outcomes(target, name, 0, range(INPUTS[name]), tmp_path):
        count(figures, *answer)
    assert figures.faults == {}
    # A run in which everything is refused, or nothing, tests little.
    assert 0 < figures.refused < figures.inputs == INPUTS[name]


@pytest.mark.parametrize(("seed", "number"), [(102, 5224), (102, 9504), (401, 6073)])
def test_inputs_of_former_faults(seed, number, tmp_path):
    """Duals that unequal steps unbalance, a posterior's factor whose squares overflow, a polynomial that underflows."""
    target, figures = TARGETS["estimators"](), Figures()
    for answer in outcomes(target, "estimators", seed, [number], tmp_path):
        count(figures, *answer)
    assert (figures.faults, figures.refused) == ({}, 0)


def test_the_same_seed_gives_the_same_inputs(tmp_path):
    tried = []
    for _ in range(2):
        target = TARGETS["csv"]()
        target.prepare(tmp_path)
        tried.append([target.last for _ in outcomes(target, "csv", 7, range(20), tmp_path)])
    assert tried[0] == tried[1]
    assert len(set(tried[0])) > 10
