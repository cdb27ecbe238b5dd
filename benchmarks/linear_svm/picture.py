"""The picture of the linear SVM suite."""

import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from linear_svm.stops import COARSE, FINE

SHOWN_PRICE = 10.0
COLUMNS = 4
LEGEND_COLUMNS = 4
# Nothing below this can be told from zero.
FLOOR = 1e-8
OURS = "maxmargin"
STYLES = {
    OURS: ("#0b4f6c", "o"),
    "LIBLINEAR": ("#e08a00", "s"),
    "LIBLINEAR multi-core": ("#b3541e", "D"),
    "Snap ML": ("#8e3b8a", "^"),
    "ReHLine": ("#3c9d4e", "v"),
    "skglm": ("#7a7a7a", "P"),
}
OTHER_STYLE = ("#000000", "x")


def draw(findings, path):
    """Draw one panel a data set into a file."""
    races = shown(findings["race"].runs.values()) if "race" in findings else []
    columns = min(COLUMNS, max(1, len(races)))
    rows = max(1, -(-len(races) // columns))
    figure, panels = plt.subplots(
        rows, columns, figsize=(1.0 + 3.6 * columns, 1.0 + 3.2 * rows), sharey=True, squeeze=False, layout="constrained"
    )
    for panel in panels.flat[len(races) :]:
        panel.set_axis_off()
    for panel, race in zip(panels.flat, races, strict=False):
        draw_race(panel, race)
    for panel in panels[:, 0]:
        panel.set_ylabel("relative distance")
    for panel in panels[-1]:
        panel.set_xlabel("seconds")
    handles = legend_of(dict.fromkeys(name for race in races for name, ladder in race.ladders.items() if ladder))
    figure.legend(handles=handles, loc="outside lower center", ncols=LEGEND_COLUMNS, frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def legend_of(names):
    """A line for each tool, and one for what we proved."""
    styles = [(name, *STYLES.get(name, OTHER_STYLE), "-") for name in names]
    styles += [(f"{OURS}, proven gap", STYLES[OURS][0], "", "--")] if OURS in names else []
    return [
        Line2D([], [], color=colour, marker=marker, linestyle=line, label=label)
        for label, colour, marker, line in styles
    ]


def shown(races):
    """The race of each data set whose penalty is nearest to the telling one."""
    chosen = {}
    for race in races:
        known = chosen.get(race.data)
        if known is None or abs(race.C - SHOWN_PRICE) < abs(known.C - SHOWN_PRICE):
            chosen[race.data] = race
    return list(chosen.values())


def draw_race(axes, race):
    """Draw the distance that every tool reached against its time, and what we proved."""
    for height in (COARSE, FINE):
        axes.axhline(height, color="#cccccc", linewidth=1, zorder=0)
    for name, ladder in race.ladders.items():
        if ladder:
            draw_tool(axes, name, [(timing.seconds, race.distance(timing)) for timing in ladder])
        if ladder and name == OURS:
            draw_tool(axes, name, [(timing.seconds, timing.result["gap"]) for timing in ladder], "--")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(FLOOR, 1.0)
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_title(f"{race.data}, C = {race.C:g}", fontsize=10)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def draw_tool(axes, name, points, line="-"):
    """Draw the best that was reached by each time as a line; runs that were both slower and worse are pale."""
    colour, marker = STYLES.get(name, OTHER_STYLE)
    order = 3 if name == OURS else 2
    points = sorted((seconds, max(FLOOR, distance)) for seconds, distance in points)
    best = [point for index, point in enumerate(points) if all(point[1] < earlier[1] for earlier in points[:index])]
    if line == "-":
        axes.plot(*zip(*points, strict=True), marker, color=colour, markersize=4, alpha=0.3, zorder=order, mew=0)
    else:
        marker = ""
    axes.plot(*zip(*best, strict=True), line, marker=marker, color=colour, markersize=4, linewidth=1.5, zorder=order)
