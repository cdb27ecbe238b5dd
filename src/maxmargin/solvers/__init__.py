"""Algorithms by family, one a file: ``solve(problem, options, monitor, start) -> Result[float]``."""

from maxmargin.solvers.core import LimitWarning, Status

__all__ = ["LimitWarning", "Status"]
