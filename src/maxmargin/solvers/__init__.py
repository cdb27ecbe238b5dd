"""Algorithms by family, one a file: ``solve(problem, options, monitor, start) -> Result[float]``."""

from maxmargin.solvers.core import CheckpointError, LimitWarning, Status

__all__ = ["CheckpointError", "LimitWarning", "Status"]
