"""Algorithms, one a file: ``solve(problem, settings, start, watch) -> Solution``."""

from maxmargin.solvers.solution import LimitWarning, PassSettings, Solution, Start, Status
from maxmargin.solvers.watch import PassReport, Watch, ctrl_c_asks

__all__ = ["LimitWarning", "PassReport", "PassSettings", "Solution", "Start", "Status", "Watch", "ctrl_c_asks"]
