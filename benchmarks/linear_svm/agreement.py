"""A check on small data that the tools solve the same problem."""

from collections.abc import Iterator
from typing import Any

from data import as_signs, load_text
from linear_svm.children import Child
from linear_svm.stops import Stop
from linear_svm.tool import Tool
from suite import Run

# Not 1, at which a penalty that is forgotten or counted twice would not show.
C = 0.1
OUR_TOLERANCE = 1e-8
SECONDS = 30.0
MOST = 1e-4
SECTOR_CLASSES = 5


def refusals(ours: Tool, rivals: list[Tool]) -> dict[str, str]:
    """Return the rivals whose objective is not ours on one of the small data sets, and why."""
    refused: dict[str, str] = {}
    for name, data in small_sets():
        best, failure = _objective(ours, data, OUR_TOLERANCE)
        if best is None:
            raise RuntimeError(f"{ours.name} has no answer on {name}: {failure}")
        for rival in (rival for rival in rivals if rival.name not in refused):
            reached, failure = _objective(rival, data, rival.tolerances[-1])
            if reached is None:
                refused[rival.name] = f"on {name}: {failure}"
            elif abs(reached - best) > MOST * best:
                refused[rival.name] = f"on {name} its objective is {reached:.8g}, where ours is {best:.8g}"
    return refused


def small_sets() -> Iterator[tuple[str, dict[str, Any]]]:
    """Two classes in sparse rows and as an array, and many classes."""
    X, y = load_text("heart_scale")
    yield "heart_scale, sparse", {"X": X, "y": as_signs(y > 0)}
    yield "heart_scale, dense", {"X": X.toarray(), "y": as_signs(y > 0)}
    X, y = load_text("sector.scale")
    chosen = y <= SECTOR_CLASSES
    yield f"{SECTOR_CLASSES} classes of sector.scale", {"X": X[chosen], "y": y[chosen].astype(int)}


def _objective(tool: Tool, data: dict[str, Any], tolerance: float) -> tuple[float | None, str | None]:
    with Child(tool, data) as child:
        run: Run | None = child.run(Stop(C, tolerance), SECONDS)
        return (None if run is None else run.result["objective"]), child.failure
