"""Options of the solvers of linear support vector machines."""

from dataclasses import dataclass

from maxmargin.solvers.core import Options

SOLVERS = ("auto", "coordinate", "newton")
SELECTIONS = ("random", "cyclic", "greedy")


def gap_of_width(width: float) -> float:
    """The relative gap of the objective, 1 - (1 - width)², for a relative width of the margin's bracket."""
    width = min(1.0, width)
    return width * (2.0 - width)


@dataclass(frozen=True)
class LinearOptions(Options):
    """Options of linear support vector machines.

    Attributes
    ----------
    solver : {"auto", "coordinate", "newton"}
    selection : {"random", "cyclic", "greedy"}
        The order of coordinate ascent.
    switch_on_slow_progress : bool
        End coordinate ascent as stalled as soon as Newton steps are the faster way to ``tol``.
    """

    solver: str = "auto"
    selection: str = "random"
    switch_on_slow_progress: bool = False
