"""Loads data in a fresh process, fits once, and prints as JSON by how many bytes the process grew meanwhile."""

import gc
import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from data import small_part
from maxmargin import LinearSVC
from processes import load_data

TOLERANCE = 1e-4


def main(folder: Path) -> None:
    """Fit with the solver that is chosen, after all of them have been compiled."""
    X, y = load_data(folder)
    for solver in ("coordinate", "newton", "auto"):
        LinearSVC(tol=TOLERANCE, solver=solver).fit(*small_part(X, y))
    report_rise(X, y, lambda rows, labels: LinearSVC(tol=TOLERANCE).fit(rows, labels).certificate_.relative)


def report_rise(X: Any, y: np.ndarray, fit: Callable[[Any, np.ndarray], float], **more: float) -> None:
    """Compare the resident memory before a fit, which returns its proven gap, with its peak meanwhile."""
    fit(*small_part(X, y))
    gc.collect()
    before = status_bytes("VmRSS")
    reset = reset_peak()
    gap = fit(X, y)
    peak = status_bytes("VmHWM") if reset else 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer = {
        "input": array_bytes(X) + y.nbytes,
        "rise": max(0, peak - before),
        "peak was reset": reset,
        "gap": gap,
        **more,
    }
    print(json.dumps(answer))


def array_bytes(X: Any) -> int:
    """The bytes of an array or of sparse rows."""
    return X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes


def status_bytes(field: str) -> int:
    """A field of this process's status, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def reset_peak() -> bool:
    """Let the recorded peak begin anew, where the system allows that."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main(Path(sys.argv[1]))
