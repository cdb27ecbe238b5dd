"""Algorithms, one a file: ``solve(problem, settings, start, watch) -> Solution``."""

from maxmargin.solvers.solution import LimitWarning, PassSettings, Solution, Start, Status
from maxmargin.solvers.watch import StepReport, Watch, ctrl_c_asks, step_listener

__all__ = [
    "LimitWarning",
    "PassSettings",
    "Solution",
    "Start",
    "Status",
    "StepReport",
    "Watch",
    "ctrl_c_asks",
    "step_listener",
]
