"""The base class of all displays: axes, colours, markers, points and hyperplanes."""

import math
import textwrap
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from maxmargin.plots._matplotlib import Axes, GridSpecFromSubplotSpec, ScaledTranslation, plt

# The palette of Okabe and Ito ("Color universal design", 2008), which people with any kind of colour vision can tell
# apart. The first two differ most in grey, too: the second class of two is dark, the first one light.
BLUE, ORANGE, GREEN, PURPLE, SKY, RED = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"
COLOURS = (ORANGE, BLUE, GREEN, PURPLE, SKY, RED)
MARKERS = ("^", "o", "s", "D", "v", "P", "X", "<", ">", "p")
LINES = ("-", "--", ":", "-.")
# Points above this number are drawn as an image also in SVG and PDF files, which would be too large otherwise.
MOST_VECTOR_POINTS = 3000
# The largest ratio of the two axes' ranges that is drawn to scale.
LARGEST_RATIO = 3.0
# The space around the points, as a share of their range.
PADDING = 0.08

Box = tuple[float, float, float, float]


class Display:
    """A picture that follows scikit-learn's convention: ``plot(ax=None)`` draws it.

    Attributes
    ----------
    ax_ : Axes, or ndarray of Axes where there are several panels
    figure_ : Figure
    """

    _size: ClassVar[tuple[float, float]] = (5.6, 4.4)

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : Axes, or sequence of Axes for the panels, optional
            Where to draw; a new figure by default. A single Axes is divided where there are several panels.

        Returns
        -------
        self
            With ``ax_`` and ``figure_``.
        """
        axes = make_panels(ax, self._shape(), self._panel_size())
        self._draw(axes)
        self.ax_ = axes[0] if len(axes) == 1 else np.array(axes, dtype=object)
        self.figure_ = axes[0].figure
        return self

    def _shape(self) -> tuple[int, int]:
        """Rows and columns of panels."""
        return 1, 1

    def _panel_size(self) -> tuple[float, float]:
        """Width and height of a panel in inches."""
        return self._size

    def _draw(self, axes: Sequence[Any]) -> None:
        raise NotImplementedError


def make_panels(ax: Any, shape: tuple[int, int], size: tuple[float, float]) -> list[Any]:
    """The axes of all panels: new ones, those given, or a single one divided."""
    rows, columns = shape
    if ax is None:
        _, axes = plt.subplots(
            rows, columns, figsize=(size[0] * columns, size[1] * rows), layout="compressed", squeeze=False
        )
        return list(axes.ravel())
    if isinstance(ax, Axes):
        if rows * columns == 1:
            return [ax]
        place = ax.get_subplotspec()
        if place is None:
            raise ValueError(f"ax is not part of a grid and cannot be divided: give {rows * columns} axes.")
        ax.set_axis_off()
        grid = GridSpecFromSubplotSpec(rows, columns, subplot_spec=place)
        return [ax.figure.add_subplot(grid[k, m]) for k in range(rows) for m in range(columns)]
    axes = np.ravel(np.asarray(ax, dtype=object))
    if len(axes) != rows * columns or not all(isinstance(one, Axes) for one in axes):
        raise ValueError(f"ax must be one Axes, or {rows * columns} of them; it is {ax!r}.")
    return list(axes)


def class_name(label: Any) -> str:
    """A label as the legend shows it."""
    plain = label.item() if isinstance(label, np.generic) else label
    return plain if isinstance(plain, str) else f"y = {plain}"


def draw_points(ax: Any, points: np.ndarray, codes: np.ndarray, names: Sequence[str], **style: Any) -> None:
    """Scatter the points of every class with its colour and marker; ``style`` changes the way they are drawn."""
    area = style.pop("area", point_area(len(points)))
    for code, name in enumerate(names):
        chosen = codes == code
        ax.scatter(
            *points[chosen].T,
            s=area,
            marker=MARKERS[code % len(MARKERS)],
            label=name,
            rasterized=len(points) > MOST_VECTOR_POINTS,
            **{
                "facecolor": COLOURS[code % len(COLOURS)],
                "edgecolor": "black",
                "linewidth": 0.4,
                "zorder": 2.5,
                **style,
            },
        )


def point_area(n_points: int) -> float:
    """The area of a marker: smaller where there are many."""
    return float(np.clip(6000.0 / max(1, n_points), 8.0, 42.0))


def box_of(*points: np.ndarray) -> Box:
    """The rectangle (left, right, bottom, top) around points, with some space."""
    together = np.vstack([np.atleast_2d(one) for one in points])
    low, high = together.min(axis=0), together.max(axis=0)
    spread = np.where(high > low, high - low, np.maximum(1.0, np.abs(high)))
    low, high = low - PADDING * spread, high + PADDING * spread
    return float(low[0]), float(high[0]), float(low[1]), float(high[1])


def set_box(ax: Any, box: Box, *, to_scale: bool = True) -> None:
    """Set the limits; lengths and angles are to scale where the ranges are not too different."""
    left, right, bottom, top = box
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    ratio = (right - left) / (top - bottom)
    if to_scale and 1.0 / LARGEST_RATIO <= ratio <= LARGEST_RATIO:
        ax.set_aspect("equal", adjustable="box")


def line_in_box(w: np.ndarray, b: float, box: Box) -> np.ndarray | None:
    """The two points where the line w·x + b = 0 leaves the box, of shape (2, 2); None where it does not cross it."""
    left, right, bottom, top = box
    low, high = np.array([left, bottom]), np.array([right, top])
    ends = []
    for fixed, free in ((0, 1), (1, 0)):
        if w[free] == 0.0:
            continue
        for value in (low[fixed], high[fixed]):
            other = -(b + w[fixed] * value) / w[free]
            slack = 1e-12 * (high[free] - low[free])
            if low[free] - slack <= other <= high[free] + slack:
                end = np.empty(2)
                end[fixed], end[free] = value, other
                ends.append(end)
    if len(ends) < 2:
        return None
    # A line through a corner meets the border there twice.
    distances = [float(np.abs(end - ends[0]).max()) for end in ends]
    return np.array([ends[0], ends[int(np.argmax(distances))]])


def draw_line(ax: Any, w: np.ndarray, b: float, box: Box, **style: Any) -> bool:
    """Draw the line w·x + b = 0 within the box; returns whether any of it is there."""
    ends = line_in_box(w, b, box) if np.any(w) else None
    if ends is None:
        return False
    ax.plot(*ends.T, **{"color": "black", "linewidth": 1.6, "zorder": 3.0, **style})
    return True


def draw_arrow(ax: Any, start: Any, vector: Any, colour: str, label: str, **style: Any) -> None:
    """Draw a vector as an arrow in the units of the axes."""
    options = {"zorder": 4.0, "width": 0.012, **style}
    ax.quiver(*start, *vector, angles="xy", scale_units="xy", scale=1.0, color=colour, label=label, **options)
    middle = np.asarray(start) + 0.55 * np.asarray(vector)
    white = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
    ax.annotate(label, middle, ha="center", va="center", fontsize="small", bbox=white, zorder=4.6)


def add_legend(ax: Any, place: str = "beside", **options: Any) -> None:
    """Put the legend where it covers nothing: beside or below the axes, where the figure makes room for it.

    Parameters
    ----------
    ax : Axes
    place : {"beside", "below", "inside"}
    **options
        Of ``ax.legend``.
    """
    handles, _ = ax.get_legend_handles_labels()
    if not handles:
        return
    style = {"fontsize": "small", "markerscale": 0.75, "handletextpad": 0.7}
    if place == "inside" or ax.figure.get_layout_engine() is None:
        style |= {"loc": "best", "framealpha": 0.9}
    elif place == "beside":
        style |= {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0, "frameon": False}
    else:
        # Below the label of the axis, whatever the height of the axes.
        below = ScaledTranslation(0.0, -0.5, ax.figure.dpi_scale_trans)
        style |= {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "bbox_transform": ax.transAxes + below}
        style |= {"borderaxespad": 0.0, "frameon": False, "ncols": 2}
    ax.legend(**{**style, **options})


def set_title(ax: Any, *lines: str, width: int = 50) -> None:
    """Set the title: a line for every text that is not empty, long ones broken."""
    broken = [part for text in lines for line in text.split("\n") if line for part in textwrap.wrap(line, width)]
    ax.set_title("\n".join(broken), fontsize="medium")


def size_for(box: Box, n_lines: int = 0) -> tuple[float, float]:
    """The size of a figure in inches whose axes have the shape of the box, with a legend beside them."""
    left, right, bottom, top = box
    ratio = (right - left) / (top - bottom)
    height = 4.0 / ratio if 1.0 / LARGEST_RATIO <= ratio <= LARGEST_RATIO else 3.4
    return 5.9, float(np.clip(height, 2.0, 4.4)) + 1.0 + 0.2 * n_lines


def number(value: float) -> str:
    """A number as titles show it."""
    return f"{value:.3g}" if math.isfinite(value) else ("inf" if value > 0 else "-inf")
