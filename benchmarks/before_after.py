"""Compares our own times of two checkouts, row by row, on the data sets and settings of the suites.

For example: python benchmarks/before_after.py ../maxmargin-0.1.0 . --suites linear_svm,kernel_svm

Each checkout has a process of its own, with its own sources and its own suites. The two processes take turns on every
row, so that what else the machine does meets both.
"""

import argparse
import gc
import hashlib
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SUITES = ("linear_svm", "kernel_svm", "regression", "perceptron")
# Short runs are repeated within a turn until they add up to so many seconds.
SHORTEST_TURN = 0.2
MOST_RUNS = 20
# Seconds after which a run ends itself, where a suite can ask for that.
CAP = 30.0
SLOWER = 1.05


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="checkout with the older state")
    parser.add_argument("after", type=Path, help="checkout with the newer state")
    parser.add_argument("--suites", default=",".join(SUITES))
    parser.add_argument("--rows", default="", help="only rows with one of these words, separated by commas")
    parser.add_argument("--repeats", type=int, default=3, help="turns that a time is the median of (3)")
    parser.add_argument("--out", type=Path, help="file for the table")
    arguments = parser.parse_args()
    words = [word for word in arguments.rows.split(",") if word]
    lines, ratios = ["| row | before | after | after / before |", "|---|---|---|---|"], []
    for suite in arguments.suites.split(","):
        before, after = (Checkout(path, suite) for path in (arguments.before, arguments.after))
        for row in [row for row in after.rows if row in before.rows and (not words or any(w in row for w in words))]:
            times = alternate(before, after, row, arguments.repeats)
            seconds = [statistics.median(taken) for taken in times]
            # The median of the turns' ratios: both checkouts met the same load in a turn.
            ratio = statistics.median(new / old for old, new in zip(*times, strict=True))
            ratios.append(ratio)
            lines.append(f"| {suite}, {row} | {seconds[0]:.4g} s | {seconds[1]:.4g} s | {ratio:.2f} |")
            print(lines[-1], flush=True)
        before.end()
        after.end()
    slower = sum(ratio > SLOWER for ratio in ratios)
    lines += [
        "",
        f"{len(ratios)} rows: median ratio {statistics.median(ratios):.3f}, geometric mean "
        f"{statistics.geometric_mean(ratios):.3f}, largest {max(ratios):.2f}; {slower} above {SLOWER:g}.",
    ]
    print(lines[-1])
    if arguments.out is not None:
        arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


def alternate(before: "Checkout", after: "Checkout", row: str, repeats: int) -> tuple[list[float], list[float]]:
    """Times of both checkouts, which take turns; every other turn the newer one is first."""
    times: tuple[list[float], list[float]] = [], []
    for turn in range(repeats):
        for k in (0, 1) if turn % 2 == 0 else (1, 0):
            times[k].append((before, after)[k].time(row))
    return times


class Checkout:
    """A process with the sources of one checkout."""

    def __init__(self, path: Path, suite: str) -> None:
        path = path.resolve()
        source = path / "src"
        digest = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(source.rglob("*.py")))).hexdigest()
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(path / "benchmarks"), str(source))),
            "NUMBA_CACHE_DIR": str(Path.home() / ".cache" / "maxmargin" / "benchmarks" / "loops" / digest[:16]),
        }
        # -P: the suites of the checkout, not those beside this file.
        command = [sys.executable, "-P", __file__, "--serve", suite]
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=path
        )
        self.rows: list[str] = self._answer()

    def time(self, row: str) -> float:
        """Seconds of one run."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(row) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def end(self) -> None:
        """End the process."""
        self._process.communicate()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"the process of {self._process.args!r} ended")
        return json.loads(line)


# In the process of a checkout.


def serve(name: str) -> None:
    """Write the names of the rows, then time the rows that are asked for."""
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    rows = {
        f"{part}, {dataset.name}, {text}": (solver, dataset, stop) for part, solver, dataset, text, stop in cases(name)
    }
    print(json.dumps(list(rows)), file=answers, flush=True)
    loaded, warm = None, set()
    for line in sys.stdin:
        solver, dataset, stop = rows[json.loads(line)]
        if loaded != (solver, dataset):
            data = dataset.get_data()
            solver.set_data(**data)
            loaded = solver, dataset
        if (solver, dataset, stop) not in warm:
            solver.run(stop)
            warm.add((solver, dataset, stop))
        print(json.dumps(timed(solver, stop)), file=answers, flush=True)


def timed(solver: Any, stop: Any) -> float:
    """The median time of a few runs, of one where it is long."""
    taken: list[float] = []
    while len(taken) < MOST_RUNS and sum(taken) < SHORTEST_TURN:
        solver.before_run(stop)
        gc.collect()
        started = time.perf_counter()
        solver.run(stop)
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def cases(name: str) -> Iterator[tuple[str, Any, Any, str, Any]]:
    """Part, solver, data set, text and stop of every row of a suite; the solvers are our own."""
    from suite import load_suite

    suite = load_suite(name)
    for part in suite.parts:
        datasets, solvers = suite.of_part(part)
        ours = next((solver for solver in solvers if solver.name.startswith("maxmargin")), None)
        for dataset in datasets:
            for text, stop in stops_of(name, part, dataset):
                yield part.name, ours, dataset, text, stop


def stops_of(suite: str, part: Any, dataset: Any) -> list[tuple[str, Any]]:
    """The settings of a part's rows."""
    stops = importlib.import_module(f"{suite}.stops")
    tolerances = 1e-3, 1e-6
    if suite == "linear_svm" and part.name in ("race", "intercept"):
        return [(f"C = {C:g}, {tol:g}", stops.Stop(C, tol, CAP)) for C in (0.1, 1.0, 10.0, 100.0) for tol in tolerances]
    if suite == "kernel_svm" and part.name in ("fit", "regression"):
        return [(str(machine), stops.Stop(machine, tolerances[0])) for machine in dataset.machines]
    if suite == "regression" and part.name == "logistic":
        return [(f"C = 1, {tol:g}", (1.0, tol)) for tol in tolerances]
    if suite == "regression":
        return [(stop.text, stop) for stop in getattr(part, "stops", ())]
    if suite == "perceptron" and part.name in ("passes", "until_clean", "margin"):
        return [("fit", part.stop)]
    return []


if __name__ == "__main__":
    serve(sys.argv[2]) if sys.argv[1:2] == ["--serve"] else main()
