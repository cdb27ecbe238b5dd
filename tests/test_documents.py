"""The README, the docs and the examples say what is true."""

import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import maxmargin

ROOT = Path(__file__).parents[1]


def test_the_readme_prints_what_it_says():
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "benchmarks/README.md"])
def test_local_links_lead_somewhere(document):
    path = ROOT / document
    for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
        assert (path.parent / target).exists(), target


@pytest.mark.parametrize("name", [name for name in maxmargin.__all__ if name != "__version__"])
def test_every_public_name_is_documented(name):
    text = inspect.getdoc(getattr(maxmargin, name))
    assert text
    assert text.splitlines()[0].endswith(".")


def test_the_worst_ratio_to_each_bound_is_below_one():
    run = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "theorems.py")],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    rows = [line[42:].split() for line in run.stdout.splitlines()[1:]]
    assert len(rows) == 6
    assert all(0 < float(row[2]) <= 1 for row in rows)


def test_the_accelerated_perceptron_stays_below_its_theorem():
    run = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "accelerated_perceptron.py")],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    rows = [[float(value) for value in line.split()] for line in run.stdout.splitlines()[1:]]
    assert len(rows) == 12
    for _, _, updates, most_updates, passes, most_passes, to_half, *_ in rows:
        assert updates <= most_updates
        assert passes <= most_passes
        assert to_half >= passes
    narrow, wide = rows[:6], rows[6:]
    # Ten times as small a margin takes the smooth perceptron about ten times as many passes at most, not a hundred.
    for rows_of_width in (narrow, wide):
        assert rows_of_width[-1][4] <= 20 * rows_of_width[-3][4]
    # What the example says of its picture: the cost of both algorithms in row operations.
    cheaper = [[online < smooth for *_, online, smooth, _ in part] for part in (narrow, wide)]
    assert cheaper == [[True] * 6, [True] * 5 + [False]]


def test_each_objective_is_smallest_at_the_hyperplane_that_minimises_it():
    run = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "three_losses.py")],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    table = [line[24:].split() for line in run.stdout.splitlines()[1:4]]
    perceptron, hinge, logistic = [[float(value) for value in row[:4]] for row in table]
    assert hinge[2] < min(perceptron[2], logistic[2])
    assert logistic[3] < min(perceptron[3], hinge[3])
