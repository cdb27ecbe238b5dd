"""Algorithms, one a file: ``solve(problem, options, start, monitor) -> PerceptronResult``."""

from maxmargin.solvers.core.monitor import Monitor, StepReport, interrupt_handler, step_listener
from maxmargin.solvers.core.status import EpochOptions, LimitWarning, PerceptronResult, Start, Status

__all__ = [
    "EpochOptions",
    "LimitWarning",
    "Monitor",
    "PerceptronResult",
    "Start",
    "Status",
    "StepReport",
    "interrupt_handler",
    "step_listener",
]
