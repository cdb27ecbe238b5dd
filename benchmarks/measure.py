"""Timing with rivals in turn, and the few ways in which times are put into words."""

import gc
import statistics
import time
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

from suite import Dataset, Finding, Part, Run, Runs, Solver

Item = TypeVar("Item")


class InTurn(Part):
    """A part with one row a data set, whose solvers run in turn until ``stop``.

    ``stop`` is handed to every solver's ``run``.
    """

    stop: ClassVar[Any] = None
    shortest_total: ClassVar[float] = 0.5  # seconds: short runs are repeated until they add up to this
    most_repeats: ClassVar[int] = 50

    def measure(self, dataset, solvers, options):
        """Run the solvers in turn, at least ``options.repeats`` times where the part allows that."""
        data = options.load(dataset)
        runs = self._rounds(data, solvers, options.repeats)
        yield Finding(dataset.name, runs, self.row(dataset, data, runs))

    def row(self, dataset: Dataset, data: dict[str, Any], runs: Runs) -> dict[str, str]:
        """Return a row of the table, as text under the columns' heads."""
        raise NotImplementedError

    def _rounds(self, data: dict[str, Any], solvers: Sequence[Solver], repeats: int) -> Runs:
        for solver in solvers:
            solver.set_data(**data)
            solver.warm_up(self.stop)
        runs: Runs = {solver.name: [] for solver in solvers}
        total, rounds = 0.0, 0
        while rounds < self.most_repeats and (rounds < repeats or total < self.shortest_total):
            for solver in back_and_forth(solvers, rounds):
                run = timed(solver, self.stop)
                runs[solver.name].append(run)
                total += run.seconds
            rounds += 1
        return runs


def back_and_forth(items: Sequence[Item], rounds: int) -> Sequence[Item]:
    """The order of a round: every other one goes backwards, so that nobody is always first."""
    return items[:: -1 if rounds % 2 else 1]


def timed(solver: Solver, stop: Any) -> Run:
    """Run a solver once."""
    solver.before_run(stop)
    gc.collect()
    started = time.perf_counter()
    solver.run(stop)
    seconds = time.perf_counter() - started
    return Run(seconds, solver.get_result())


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


def shape_text(X: Any) -> str:
    """The numbers of rows and columns."""
    return " × ".join(f"{size:,}" for size in X.shape)


def yes_or_no(condition: bool) -> str:
    """The answer to whether something is as wanted."""
    return "yes" if condition else "**no**"


def markdown_table(rows: Sequence[dict[str, str]]) -> str:
    """Write rows as a Markdown table; a column that a row lacks stays empty."""
    heads = list(dict.fromkeys(head for row in rows for head in row))
    lines = [heads, ["---"] * len(heads), *([row.get(head, "") for head in heads] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
