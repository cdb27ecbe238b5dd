"""The contract ``solve(problem, options, monitor, start) -> Result``, with one termination test and one stall test."""

from maxmargin.solvers.core.checkpoint import CheckpointError, Positions, stage
from maxmargin.solvers.core.contract import solver
from maxmargin.solvers.core.monitor import (
    ENTRIES_PER_CALL,
    Monitor,
    StepReport,
    StopRequest,
    interrupt_handler,
    step_listener,
)
from maxmargin.solvers.core.result import Options, Result, warm_start
from maxmargin.solvers.core.stall import StallTest
from maxmargin.solvers.core.status import LimitWarning, Status

__all__ = [
    "ENTRIES_PER_CALL",
    "CheckpointError",
    "LimitWarning",
    "Monitor",
    "Options",
    "Positions",
    "Result",
    "StallTest",
    "Status",
    "StepReport",
    "StopRequest",
    "interrupt_handler",
    "solver",
    "stage",
    "step_listener",
    "warm_start",
]
