"""What a user waits for before the first result."""

import statistics

from measure import InTurn, duration, yes_or_no

MOST_COLD = 5.0
MOST_SECOND = 0.5


class Startup(InTurn):
    """Import and first fit in fresh processes."""

    name = "startup"
    title = "startup: import and first fit"
    text = (
        "Two fresh processes with one folder for compiled loops (NUMBA_CACHE_DIR), empty before the "
        "first. `load` is the first use of `maxmargin.Perceptron`, which loads numba and scikit-learn. "
        "The fits run until nothing is misclassified, so that the loops of lazy passes are compiled "
        "too. Wanted: `import maxmargin` does not load numba; the first fit with an empty cache takes "
        "less than 5 s; in the second process it takes at most 0.5 s more than a warm one. Medians of 3 "
        "rounds."
    )
    most_repeats = 3

    def row(self, dataset, data, runs):
        """Report the seconds of every step."""
        results = [run.result for run in runs["maxmargin process"]]

        def median(process, step):
            return statistics.median(result[process][step] for result in results)

        numba_loaded = any(process["numba loaded"] for result in results for process in result.values())
        cold, second = median("empty cache", "first fit"), median("second process", "first fit")
        warm = median("second process", "warm fit")
        return {
            "data": f"{dataset.name} ({'dense' if hasattr(data['X'], 'ctypes') else 'sparse'})",
            "import": duration(median("second process", "import")),
            "numba loaded by it": "**yes**" if numba_loaded else "no",
            "load": duration(median("second process", "load")),
            "first fit, empty cache": duration(cold),
            "as wanted": yes_or_no(cold < MOST_COLD),
            "first fit, second process": duration(second),
            "warm fit": duration(warm),
            "second process - warm": duration(max(0.0, second - warm)),
            "second as wanted": yes_or_no(second - warm <= MOST_SECOND),
        }
