"""What pictures of the lectures' steps share: their data, and one step among the points."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.data.validation import validate_rows
from maxmargin.lectures import GuessStep, Step
from maxmargin.plots._display import (
    Box,
    add_legend,
    box_of,
    class_name,
    draw_line,
    draw_points,
    number,
    set_box,
    set_title,
)
from maxmargin.plots._view import dense, names_of, signs_of

# The most steps that a run keeps: a run on inseparable data would never end.
MOST_STEPS = 10_000


@dataclass(frozen=True)
class TwoColumnData:
    """Labelled points of two columns, among which a run is drawn.

    Attributes
    ----------
    points : ndarray of shape (n, 2)
    codes : ndarray of int of shape (n,)
        1 for the larger label, which counts as +1, else 0.
    names : tuple of two str
        Of the classes.
    columns : list of str
        Of the axes.
    """

    points: np.ndarray
    codes: np.ndarray
    names: tuple[str, ...]
    columns: Sequence[str]

    @classmethod
    def of(cls, X: Any, y: Any, caller: str) -> "TwoColumnData":
        """Check the data: two columns, two labels."""
        matrix = validate_rows(X)
        if matrix.shape[1] != 2:
            raise ValueError(
                f"X has {matrix.shape[1]} columns; {caller} shows the steps of a run on two: choose two of them "
                "for the run."
            )
        classes, codes = signs_of(y, matrix.shape[0], caller)
        return cls(dense(matrix), codes, tuple(map(class_name, classes)), names_of(None, X, 2))

    @property
    def box(self) -> Box:
        """The rectangle around the points."""
        return box_of(self.points)

    def finish(self, ax: Any, box: Box) -> None:
        """Set the limits and the labels of the axes."""
        set_box(ax, box)
        ax.set_xlabel(self.columns[0])
        ax.set_ylabel(self.columns[1])


def list_of(steps: Any, kind: type = Step, most: int = MOST_STEPS) -> list[Any]:
    """The steps of a run, or an error that says what is missing."""
    found = [steps] if isinstance(steps, Step) else list(itertools.islice(steps, most + 1))
    if len(found) > most:
        raise ValueError(f"steps has more than {most:,}: cut it with itertools.islice, or lower max_passes of the run.")
    if not found:
        raise ValueError("steps is empty: the run made no step.")
    for step in found:
        if not isinstance(step, Step):
            raise ValueError(f"steps must hold steps of maxmargin.lectures; it has a {type(step).__name__}.")
    chosen = [step for step in found if isinstance(step, kind)]
    if not chosen:
        raise ValueError(f"steps has no {kind.__name__}: run another algorithm of maxmargin.lectures.")
    return chosen


def refuse_other_data(step: Step, data: TwoColumnData) -> None:
    """A step belongs to the data of its run."""
    if step.margins.shape != data.codes.shape or step.w is None or step.w.shape != (2,):
        raise ValueError(
            f"steps are of other data, or of a kernel: X has {len(data.codes)} rows of two columns, and a step of a "
            "run on them has w and one margin for each row."
        )


def mark_rows(ax: Any, points: np.ndarray, rows: Sequence[int], label: str) -> None:
    """Put a ring around rows."""
    if rows:
        ax.scatter(
            *points[list(rows)].T, s=150, facecolor="none", edgecolor="black", linewidth=1.8, zorder=4.5, label=label
        )


def draw_frame(ax: Any, data: TwoColumnData, step: Step, legend: str | None = "below") -> None:
    """Draw one step: the points, the rows that it used, the hyperplane before and after."""
    box = data.box
    draw_points(ax, data.points, data.codes, data.names)
    if step.w_before is not None and len(step.rows):
        draw_line(ax, step.w_before, step.b_before, box, linestyle=":", color="0.45", label="before")
    drawn = step.w is not None and draw_line(ax, step.w, step.b, box, label="after")
    if isinstance(step, GuessStep) and step.w is not None:
        draw_band(ax, step.w, step.b, step.guess, box)
    hulls = [getattr(step, name) for name in ("positive", "negative") if hasattr(step, name)]
    if hulls:
        ax.plot(*np.array(hulls).T, color="black", linestyle="--", marker="*", markersize=11, label="hull points")
    mark_rows(ax, data.points, step.rows, "used now")
    where = "" if drawn else " (f = 0 is outside)" if step.w is not None and step.w.any() else " (w = 0)"
    rows = f", row {step.rows[0]}" if len(step.rows) == 1 else f", {len(step.rows)} rows" if step.rows else ""
    shown = ("J", "mistakes", "primal", "dual", "distance")
    values = ", ".join(f"{name} {number(step.values[name])}" for name in shown if name in step.values)
    claims = ""
    if step.claims:
        claims = f"{sum(claim.holds for claim in step.claims)} of {len(step.claims)} claims hold"
    set_title(ax, f"step {step.number}: {step.reason}{rows}{where}", values, claims, width=44)
    data.finish(ax, box)
    if legend:
        add_legend(ax, legend)


def draw_band(ax: Any, w: np.ndarray, b: float, guess: float, box: Box, **style: Any) -> None:
    """Shade where points (x, 1) are nearer to the hyperplane than half the guess."""
    half = 0.5 * guess * float(np.hypot(np.linalg.norm(w), b))
    if half == 0.0:
        return
    xx0, xx1 = np.meshgrid(np.linspace(*box[:2], 200), np.linspace(*box[2:], 200))
    values = w[0] * xx0 + w[1] * xx1 + b
    if values.min() < half and values.max() > -half:
        ax.contourf(xx0, xx1, values, levels=[-half, half], colors=["0.85"], zorder=0.5)
    for level, label in ((half, "guess/2 from f = 0"), (-half, None)):
        draw_line(ax, w, b - level, box, **{"linestyle": "--", "linewidth": 1.0, "label": label, **style})
