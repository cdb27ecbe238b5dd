"""Tables of solvers and certificates: which of them an estimator takes for which problem."""

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

# A solver: problem, options, monitor and start to result.
Solve = Callable[..., Any]

# For every class of problems the place of its solver: "family.module", for the function ``solve`` there, or
# "family.module:function". Where a class has several, they have names, of which the estimator chooses one.
SolverTable = Mapping[type, str | Mapping[str, str]]

# For every class of problems the function that measures its certificate, given a problem and vectors.
CertificateTable = Mapping[type, Callable[..., Any]]


@cache
def solver_at(place: str) -> Solve:
    """The solver at a place of ``maxmargin.solvers``.

    It is imported when it is first needed: solvers bring their compiled loops.
    """
    module, _, name = place.partition(":")
    solve: Solve = getattr(import_module(f"maxmargin.solvers.{module}"), name or "solve")
    return solve
