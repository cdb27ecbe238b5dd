"""Steps of the lectures' algorithms among the points: one update, a run frame by frame."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.data.validation import validate_rows
from maxmargin.lectures import Step, online_perceptron
from maxmargin.plots._display import (
    BLUE,
    GREEN,
    PURPLE,
    RED,
    Box,
    Display,
    add_legend,
    box_of,
    draw_arrow,
    draw_line,
    draw_points,
    number,
    set_title,
    size_for,
)
from maxmargin.plots._matplotlib import MaxNLocator
from maxmargin.plots._steps import (
    TwoColumnData,
    draw_frame,
    list_of,
    mark_rows,
    refuse_other_data,
)
from maxmargin.plots._view import dense


@dataclass(repr=False)
class UpdateDisplay(Display):
    """One update of a perceptron, before and after: w, y·x and the new w as arrows from the origin.

    Parameters
    ----------
    data : TwoColumnData
    step : Step
        With one row.

    See Also
    --------
    RunDisplay : Many steps.
    maxmargin.lectures.online_perceptron : The algorithm.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from maxmargin.lectures import online_perceptron
    >>> from maxmargin.plots import UpdateDisplay
    >>> X, y = [[2.0, 1.0], [1.0, -2.0], [-1.0, 0.5]], [1, -1, -1]
    >>> display = UpdateDisplay.from_steps(online_perceptron(X, y), X, y)
    >>> len(display.ax_)
    2
    >>> plt.close(display.figure_)
    """

    data: TwoColumnData
    step: Step

    @classmethod
    def from_steps(cls, steps: Any, X: Any, y: Any, *, number: int | None = None, ax: Any = None) -> "UpdateDisplay":
        """Draw one step of a run.

        Parameters
        ----------
        steps : Step or iterable of Step
        X : array of shape (n, 2)
        y : array of two labels, of shape (n,)
        number : int, optional
            That of the step; by default the first update of a w other than zero, or else the first one.
        ax : sequence of two Axes, or Axes, optional

        Returns
        -------
        UpdateDisplay
        """
        data = TwoColumnData.of(X, y, cls.__name__)
        updates = [step for step in list_of(steps) if len(step.rows) == 1]
        if number is not None:
            updates = [step for step in updates if step.number == number]
        if not updates:
            which = "" if number is None else f" with number {number}"
            raise ValueError(f"steps has no update on a single row{which}: give those of the online perceptron.")
        chosen = next((step for step in updates if step.w_before is not None and step.w_before.any()), updates[0])
        refuse_other_data(chosen, data)
        return cls(data, chosen).plot(ax)

    @classmethod
    def from_data(cls, X: Any, y: Any, *, number: int | None = None, ax: Any = None) -> "UpdateDisplay":
        """Run the online perceptron of the lectures, and draw one of its updates.

        Parameters
        ----------
        X : array or data frame of shape (n, 2)
        y : array of two labels, of shape (n,)
        number : int, optional
        ax : sequence of two Axes, or Axes, optional

        Returns
        -------
        UpdateDisplay
        """
        rows = dense(validate_rows(X))
        return cls.from_steps(online_perceptron(rows, y, max_passes=20), X, y, number=number, ax=ax)

    @property
    def factor(self) -> float:
        """By how much the arrows are shortened, so that they fit among the points: a power of ten, or one."""
        longest = max(float(np.linalg.norm(self.step.w)), float(np.linalg.norm(self.step.w_before)), 1e-300)
        left, right, bottom, top = box_of(self.data.points, np.zeros(2))
        reach = max(right - left, top - bottom)
        return float(10.0 ** -np.ceil(max(0.0, np.log10(longest / reach))))

    def _shape(self) -> tuple[int, int]:
        return 1, 2

    def _box(self) -> Box:
        step, factor = self.step, self.factor
        moved = step.w - step.w_before
        return box_of(self.data.points, np.zeros(2), *(factor * one for one in (step.w, step.w_before, moved)))

    def _panel_size(self) -> tuple[float, float]:
        width, height = size_for(self._box())
        return width - 1.2, height + 0.6

    def _draw(self, axes: Sequence[Any]) -> None:
        step, data, factor = self.step, self.data, self.factor
        [i] = step.rows
        moved = factor * (step.w - step.w_before)
        sign = "+" if data.codes[i] else "-"
        box = self._box()
        for ax, w, b, when in ((axes[0], step.w_before, step.b_before, "before"), (axes[1], step.w, step.b, "after")):
            draw_points(ax, data.points, data.codes, data.names)
            mark_rows(ax, data.points, step.rows, f"row {i}, y = {sign}1")
            ax.plot(0.0, 0.0, marker="+", color="black", markersize=9)
            drawn = draw_line(ax, w, b, box, label="f(x) = 0")
            if when == "after":
                draw_line(ax, step.w_before, step.b_before, box, linestyle=":", color="0.45", label="f(x) = 0 before")
            if step.w_before.any():
                draw_arrow(ax, (0.0, 0.0), factor * step.w_before, GREEN, "w before" if when == "after" else "w")
            start = factor * step.w_before if when == "after" else np.zeros(2)
            draw_arrow(ax, start, moved, PURPLE, "y x", width=0.008)
            if when == "after":
                draw_arrow(ax, (0.0, 0.0), factor * step.w, RED, "new w")
            margin = _margin(data, i, w, b)
            said = f"y f(x) = {number(margin)}{' (mistake)' if margin <= 0 else ''}"
            note = "" if factor == 1.0 else f"arrows times {factor:g}"
            where = "" if drawn else "; f = 0 is outside" if w.any() else "; w = 0"
            set_title(ax, f"{when} step {step.number}: {said}{where}", note, width=44)
            data.finish(ax, box)
            add_legend(ax, "below")


def _margin(data: TwoColumnData, i: int, w: np.ndarray, b: float) -> float:
    return float((1.0 if data.codes[i] else -1.0) * (data.points[i] @ w + b))


@dataclass(repr=False)
class RunDisplay(Display):
    """A run frame by frame, and how many mistakes (or how large a gap) each step leaves.

    On inseparable data the last panel shows the oscillation: mistakes never stay away.

    Parameters
    ----------
    data : TwoColumnData
    steps : list of Step
        The whole run.
    frames : list of int
        Positions of the steps that have a frame.

    See Also
    --------
    animate : All frames as a film.
    UpdateDisplay : One update with its arrows.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.plots import RunDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = RunDisplay.from_data(X[:, 2:], y == 0, frames=3)
    >>> len(display.ax_)
    4
    >>> plt.close(display.figure_)
    """

    data: TwoColumnData
    steps: Sequence[Step]
    frames: Sequence[int]

    @classmethod
    def from_steps(cls, steps: Any, X: Any, y: Any, *, frames: int = 5, ax: Any = None) -> "RunDisplay":
        """Draw frames of a run.

        Parameters
        ----------
        steps : iterable of Step
            Of any algorithm of :mod:`maxmargin.lectures` that has a hyperplane.
        X : array of shape (n, 2)
        y : array of two labels, of shape (n,)
        frames : int, default=5
            How many, evenly spaced from the first step to the last one.
        ax : sequence of Axes, one a frame and one more; or Axes; optional

        Returns
        -------
        RunDisplay
        """
        if isinstance(frames, bool) or not isinstance(frames, (int, np.integer)) or frames < 1:
            raise ValueError(f"frames must be a whole number of at least 1; it is {frames!r}.")
        data, run = TwoColumnData.of(X, y, cls.__name__), list_of(steps)
        for step in run:
            refuse_other_data(step, data)
        places = np.unique(np.linspace(0, len(run) - 1, min(int(frames), len(run))).round().astype(int))
        return cls(data, run, places.tolist()).plot(ax)

    @classmethod
    def from_data(cls, X: Any, y: Any, *, frames: int = 5, max_passes: int = 20, ax: Any = None) -> "RunDisplay":
        """Run the online perceptron of the lectures, and draw frames of it.

        Parameters
        ----------
        X : array or data frame of shape (n, 2)
        y : array of two labels, of shape (n,)
        frames : int, default=5
        max_passes : int, default=20
            On inseparable data the run would never end.
        ax : sequence of Axes, or Axes, optional

        Returns
        -------
        RunDisplay
        """
        rows = dense(validate_rows(X))
        return cls.from_steps(online_perceptron(rows, y, max_passes=max_passes), X, y, frames=frames, ax=ax)

    def _shape(self) -> tuple[int, int]:
        n_panels = len(self.frames) + 1
        n_columns = min(3, n_panels)
        while n_panels % n_columns:
            n_columns -= 1
        return n_panels // n_columns, n_columns

    def _panel_size(self) -> tuple[float, float]:
        return 4.3, size_for(self.data.box)[1] * 0.9 + 0.5

    def _draw(self, axes: Sequence[Any]) -> None:
        *panels, last = axes
        for ax, place in zip(panels, self.frames, strict=True):
            draw_frame(ax, self.data, self.steps[place], None)
        add_legend(panels[0], "below", ncols=3)
        self._draw_values(last)

    def _draw_values(self, ax: Any) -> None:
        name = next((name for name in ("mistakes", "gap", "distance", "loss") if name in self.steps[0].values), None)
        numbers = [step.number for step in self.steps]
        if name is None:
            values, name = [float(np.count_nonzero(step.margins <= 0.0)) for step in self.steps], "mistakes"
        else:
            values = [step.values.get(name, np.nan) for step in self.steps]
        ax.plot(numbers, values, color=BLUE, linewidth=1.0, drawstyle="steps-post", label=f"{name} after the step")
        chosen = list(self.frames)
        ax.plot(
            [numbers[k] for k in chosen], [values[k] for k in chosen], color="black", marker="o", linestyle="none",
            markersize=4, label="frames shown",
        )  # fmt: skip
        if name == "mistakes":
            ax.set_ylim(bottom=-0.5)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlabel("step")
        ax.set_ylabel(name)
        end = self.steps[-1]
        finished = not end.rows
        title = f"the run ended after {end.updates:,} updates: {end.reason}"
        if not finished:
            title = f"no end after {end.updates:,} updates: {name} {number(values[-1])}"
        set_title(ax, title, width=44)
        add_legend(ax, "below")
