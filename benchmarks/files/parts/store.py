"""Training from a store that is larger than the memory."""

import json
import subprocess
import sys

from measure import duration
from suite import HOME, Finding, Part

MEGABYTE = 1e6


class Store(Part):
    """A process whose own memory is limited to half the size of the store."""

    name = "store"
    title = "store: training on twice the memory"
    text = (
        "`maxmargin.files.store_text` writes the text into a store of memory-mapped arrays; `open_store` opens it. A "
        "process whose own memory (`ulimit -d`, which counts everything but mapped files) is limited to half the size "
        "of the store's arrays trains `LinearSVC(C=0.1, tol=1e-3)` from it, and another without a limit in memory."
    )

    def measure(self, dataset, _solvers, settings):
        """Yield a row."""
        data = settings.load(dataset)
        answers = {}
        for kind in ("limited", "in memory"):
            done = subprocess.run(
                [sys.executable, "-m", "files.train_from_store", str(data["X"]), kind],
                cwd=HOME,
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            answers[kind] = json.loads(done.stdout)
        limited, free = answers["limited"], answers["in memory"]
        yield Finding(
            dataset.name,
            answers,
            {
                "data": dataset.name,
                "store": f"{limited['store'] / MEGABYTE:.0f} MB",
                "limit": f"{limited['limit'] / MEGABYTE:.0f} MB",
                "opened in": duration(limited["open"]),
                "trained in": duration(limited["seconds"]),
                "gap": f"{limited['gap']:.1e}",
                "in memory": duration(free["seconds"]),
                "gap in memory": f"{free['gap']:.1e}",
            },
        )
