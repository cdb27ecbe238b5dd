"""The contract ``solve(problem, options, monitor, start) -> Result``, checked before a run.

The signature of a solver declares the problem and the options that it takes, and by ``start: None`` that it takes no
start; what else it needs stands in the decorator.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TypeVar, get_type_hints

SolverT = TypeVar("SolverT", bound=Callable[..., object])


def solver(needs: Mapping[str, Callable[..., bool]] | None = None) -> Callable[[SolverT], SolverT]:
    """Declare a solver.

    Parameters
    ----------
    needs : mapping from str to callable, optional
        What problem and options must have, in words, and the test of it.
    """

    def declare(solve: SolverT) -> SolverT:
        hints, name = get_type_hints(solve), solve.__module__
        needed, takes_start = dict(needs or {}), hints["start"] is not type(None)
        of_problem, of_options = hints["problem"], hints["options"]

        @wraps(solve)
        def checked(problem: object, options: object, monitor: object, start: object = None) -> object:
            if not (isinstance(problem, of_problem) and isinstance(options, of_options)):
                value, kind = (options, of_options) if isinstance(problem, of_problem) else (problem, of_problem)
                raise TypeError(f"{name} takes {kind.__name__}, not {type(value).__name__}.")
            if start is not None and not takes_start:
                raise TypeError(f"{name} takes no start.")
            for need, is_met in needed.items():
                if not is_met(problem, options):
                    raise ValueError(f"{name} needs {need}.")
            return solve(problem, options, monitor, start)

        return checked  # type: ignore[return-value]

    return declare
