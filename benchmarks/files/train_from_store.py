"""Trains from a store, with or without a limit on the process's own memory, and prints as JSON how that went."""

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np

from maxmargin import LinearSVC
from maxmargin.files import open_store, store_text


def main(text: Path, kind: str) -> None:
    """Open, limit, train."""
    store = text.with_suffix(".store")
    if not store.exists():
        store_text(text, store)
    rng = np.random.default_rng(0)
    small = rng.random((3000, 54))
    for solver in ("newton", "coordinate", "auto"):
        LinearSVC(solver=solver).fit(small, small[:, 0] > 0.5)
    began = time.perf_counter()
    data = open_store(store)
    opened = time.perf_counter() - began
    size = data.X.data.nbytes + data.X.indices.nbytes + data.X.indptr.nbytes
    X, y, limit = data.X, data.y, 0
    if kind == "limited":
        limit = size // 2
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    else:
        X, y = X.copy(), np.array(y)
    began = time.perf_counter()
    model = LinearSVC(C=0.1, tol=1e-3).fit(X, y)
    seconds = time.perf_counter() - began
    gap = model.certificate_.relative
    print(json.dumps({"store": size, "limit": limit, "open": opened, "seconds": seconds, "gap": gap}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
