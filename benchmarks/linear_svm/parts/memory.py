"""What a fit needs in memory."""

from measure import InTurn, duration, median_seconds, yes_or_no

ENTRY_BYTES = 8
SHARE = 0.3
FEW_VECTORS = 10.0
MEGABYTE = 1e6


class Memory(InTurn):
    """The rise of the resident memory during a fit."""

    name = "memory"
    title = "memory: the rise during a fit"
    text = (
        "A fresh process loads the data, warms up on a few rows, and fits `LinearSVC(tol=1e-4)`; `rise` is the peak "
        "of its resident memory during the fit, less what it had before. Wanted: a peak of at most 1.3 times the "
        f"input plus a few vectors: rise - {SHARE:g} input is at most {FEW_VECTORS:g} vectors of n float64 numbers. "
        "A copy of float32 data in float64 would show as a rise of about twice the entries. `process` is the time "
        "of the whole process."
    )
    shortest_total = 0.0
    most_repeats = 1

    def row(self, dataset, data, runs):
        """Report the rise in several units."""
        run = runs["maxmargin memory"]
        result = run[0].result
        given, rise = result["input"], result["rise"]
        vector = ENTRY_BYTES * data["y"].size
        beyond = max(0.0, rise - SHARE * given) / vector
        return {
            "data": dataset.name,
            "input": f"{given / MEGABYTE:.1f} MB",
            "rise": f"{rise / MEGABYTE:.1f} MB" + ("" if result["peak was reset"] else " at most"),
            "rise / input": f"{rise / given:.2f}",
            "rise in vectors of n": f"{rise / vector:.1f}",
            f"vectors beyond {SHARE:g} input": f"{beyond:.1f}",
            "proven gap": f"{result['gap']:.1e}",
            "process": duration(median_seconds(run)),
            "as wanted": yes_or_no(beyond <= FEW_VECTORS),
        }
