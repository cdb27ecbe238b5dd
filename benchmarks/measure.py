"""Timing with rivals in turn, and the few ways in which times are put into words."""

import gc
import statistics
import time
from collections.abc import Sequence
from typing import Any

from suite import Part, Run, Runs, Solver


def measure(part: Part, data: dict[str, Any], solvers: Sequence[Solver], repeats: int) -> Runs:
    """Run all solvers in turn, at least ``repeats`` times where the part allows that.

    Every other round goes backwards, so that nobody is always first.
    """
    for solver in solvers:
        solver.set_data(**data)
        solver.warm_up(part.stop)
    runs: Runs = {solver.name: [] for solver in solvers}
    total, rounds = 0.0, 0
    while rounds < part.most_repeats and (rounds < repeats or total < part.shortest_total):
        for solver in solvers[:: -1 if rounds % 2 else 1]:
            solver.before_run(part.stop)
            gc.collect()
            started = time.perf_counter()
            solver.run(part.stop)
            seconds = time.perf_counter() - started
            runs[solver.name].append(Run(seconds, solver.get_result()))
            total += seconds
        rounds += 1
    return runs


def median_seconds(runs: Sequence[Run]) -> float:
    """The median time of a solver's runs."""
    return statistics.median(run.seconds for run in runs)


def median_ratio(ours: Sequence[Run], rival: Sequence[Run]) -> float:
    """The median over the rounds of our time divided by the rival's in the same round."""
    return statistics.median(one.seconds / other.seconds for one, other in zip(ours, rival, strict=True))


def duration(seconds: float) -> str:
    """A time with three digits and a fitting unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.9995 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def yes_or_no(condition: bool) -> str:
    """The answer to whether something is as wanted."""
    return "yes" if condition else "**no**"
