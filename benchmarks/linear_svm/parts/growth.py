"""How the time grows with the data."""

import numpy as np

from linear_svm.children import Child
from linear_svm.stops import COARSE, FINE, power_text
from linear_svm.turns import Timing, our_timing, take_turns
from measure import duration, yes_or_no
from suite import Finding, Part

PARTS_OF_ALL = (16, 8, 4, 2, 1)
C = 1.0
SEED = 0
MOST = 1.5


class Growth(Part):
    """Time per entry, from a small share of the rows to all of them."""

    name = "growth"
    title = "growth: time per entry"
    text = (
        f"The first rows after a fixed shuffle, C = {C:g}, no intercept, to a proven gap of {power_text(COARSE)} and "
        f"of {power_text(FINE)}: time divided by the number of entries that are not zero. Wanted: it stays flat, "
        f"which is read as at most {MOST:g} times the time per entry of the smallest share."
    )

    def measure(self, dataset, solvers, options):
        """Yield a row for each share."""
        data = options.load(dataset)
        (tool,) = solvers
        n_rows = data["y"].size
        order = np.random.default_rng(SEED).permutation(n_rows)
        for divisor in PARTS_OF_ALL:
            chosen = order[: n_rows // divisor]
            X = data["X"][chosen]
            with Child(tool, {"X": X, "y": data["y"][chosen]}) as child:
                timings = [our_timing(child, C, tolerance, options.cap) for tolerance in (COARSE, FINE)]
                take_turns(timings, options.repeats)
            share = "all" if divisor == 1 else f"1/{divisor}"
            row = {"data": dataset.name, "share": share, "rows": f"{X.shape[0]:,}", "entries": f"{X.nnz:,}"}
            for timing in timings:
                row |= columns(timing, X.nnz)
            yield Finding(f"{dataset.name}, {share}", (X.nnz, timings), row)

    def conclusion(self, runs):
        """Compare every share with the smallest one."""
        lines = []
        for index, tolerance in enumerate((COARSE, FINE)):
            each = [timings[index].seconds / entries for entries, timings in runs.values() if timings[index].runs]
            if each:
                worst = max(each) / each[0]
                lines.append(
                    f"To {power_text(tolerance)} the time per entry is at most {worst:.2f} times that of the smallest "
                    f"share; flat: {yes_or_no(worst <= MOST and len(each) == len(runs))}."
                )
        return " ".join(lines)


def columns(timing: Timing, entries: int) -> dict[str, str]:
    """Time, and time per entry."""
    head = power_text(timing.stop.tolerance)
    if not timing.runs:
        return {f"{head}: proven": yes_or_no(False)}
    return {
        f"{head}: time": duration(timing.seconds),
        f"{head}: an entry": duration(timing.seconds / entries),
        f"{head}: proven": yes_or_no(timing.proven),
    }
