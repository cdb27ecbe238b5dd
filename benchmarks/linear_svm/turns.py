"""Runs of several children, in turn."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from linear_svm.children import Child
from linear_svm.stops import Stop
from measure import back_and_forth, median_seconds
from suite import Run

PATIENCE = 4.0
GRACE = 10.0


@dataclass
class Timing:
    """The runs of one tool with one tolerance, each of which may take ``cap`` seconds."""

    child: Child
    stop: Stop
    cap: float
    runs: list[Run] = field(default_factory=list)

    def run(self) -> bool:
        """Run once more; say whether that went well."""
        run = self.child.run(self.stop, self.cap)
        if run is not None:
            self.runs.append(run)
        return run is not None

    @property
    def seconds(self) -> float:
        """The median time."""
        return median_seconds(self.runs)

    @property
    def result(self) -> dict[str, Any]:
        """What came out of the first run."""
        return self.runs[0].result

    @property
    def proven(self) -> bool:
        """Whether every task has the gap that was asked for; nothing is proven by rivals."""
        return bool(self.runs) and self.result.get("worst gap", math.inf) <= self.stop.tolerance


def our_timing(child: Child, C: float, tolerance: float, most_seconds: float) -> Timing:
    """A timing of ours, which ends itself in time; the child is ended only where that fails."""
    return Timing(child, Stop(C, tolerance, most_seconds), PATIENCE * most_seconds + GRACE)


def take_turns(timings: Sequence[Timing], repeats: int) -> None:
    """Run each as often as its time asks for."""
    for rounds in range(repeats):
        for timing in back_and_forth(timings, rounds):
            if len(timing.runs) < wanted_runs(timing, repeats):
                timing.run()


def wanted_runs(timing: Timing, repeats: int) -> int:
    """Fewer runs where they are long."""
    if not timing.runs or timing.seconds < 1.0:
        return repeats
    return min(3, repeats) if timing.seconds < 5.0 else 1
