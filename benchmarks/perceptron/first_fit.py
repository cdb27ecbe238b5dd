"""Fits once in a fresh process, then a few times more, and prints the seconds of each step as JSON."""

import json
import statistics
import sys
import time
from pathlib import Path

WARM_FITS = 5


def main(folder: Path) -> None:
    """Time the import, the first fit and later ones on the data in a folder."""
    started = time.perf_counter()
    import maxmargin

    imported = time.perf_counter() - started
    numba_loaded = "numba" in sys.modules

    started = time.perf_counter()
    perceptron = maxmargin.Perceptron
    loaded = time.perf_counter() - started

    from processes import load_data

    X, y = load_data(folder)
    seconds = []
    for _ in range(1 + WARM_FITS):
        started = time.perf_counter()
        perceptron(shuffle=False, tol=None, max_iter=1_000_000).fit(X, y)
        seconds.append(time.perf_counter() - started)
    answer = {
        "import": imported,
        "numba loaded": numba_loaded,
        "load": loaded,
        "first fit": seconds[0],
        "warm fit": statistics.median(seconds[1:]),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
