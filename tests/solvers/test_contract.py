"""Every solver has the one contract, and refuses what it does not take before it runs."""

import importlib
import inspect
import math
import pkgutil

import numpy as np
import pytest

import maxmargin.solvers
from maxmargin.data import Points
from maxmargin.problems.linear_svm import LinearSVMProblem, hinge
from maxmargin.solvers.core import Monitor, Options
from maxmargin.solvers.linear import newton
from maxmargin.solvers.linear.options import LinearOptions

MODULES = [
    importlib.import_module(found.name)
    for found in pkgutil.walk_packages(maxmargin.solvers.__path__, "maxmargin.solvers.")
]
SOLVERS = [
    function
    for module in MODULES
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__
    and (name == "solve" or (name.startswith("solve_") and hasattr(function, "__wrapped__")))
]


def problem(C=1.0):
    signs = np.array([1.0, -1.0])
    return LinearSVMProblem(Points(np.array([[1.0], [-1.0]])), hinge(signs, np.ones(2), C))


@pytest.mark.parametrize("solve", SOLVERS, ids=lambda solve: f"{solve.__module__}.{solve.__name__}"[18:])
def test_solvers_have_one_contract_and_refuse_other_problems(solve):
    assert list(inspect.signature(solve).parameters) == ["problem", "options", "monitor", "start"]
    with pytest.raises(TypeError, match=rf"{solve.__module__} takes \w+, not Problem"):
        solve(type("Problem", (), {})(), LinearOptions(), Monitor())


def test_solvers_refuse_options_and_values_that_they_do_not_take():
    with pytest.raises(TypeError, match="coordinate_ascent takes LinearOptions, not Options"):
        importlib.import_module("maxmargin.solvers.linear.coordinate_ascent").solve(problem(), Options(), Monitor())
    with pytest.raises(ValueError, match="newton needs a finite C"):
        newton.solve(problem(math.inf), Options(), Monitor())
    assert newton.solve(problem(), Options(), Monitor()).relative_gap <= 1e-4


def test_all_families_have_solvers():
    assert {solve.__module__.split(".")[2] for solve in SOLVERS} == {
        "linear", "kernel", "regression", "perceptron", "separability",
    }  # fmt: skip
