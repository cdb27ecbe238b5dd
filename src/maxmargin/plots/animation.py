"""A run as a film: HTML with all frames inside, or GIF."""

import base64
import io
import os
import tempfile
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.files.atomic import written_atomically
from maxmargin.plots._matplotlib import Figure, PillowWriter
from maxmargin.plots._steps import TwoColumnData, draw_frame, list_of, refuse_other_data

# Frames of a film, each a picture of some 20 kB.
MOST_FRAMES = 300
DPI = 90
FORMATS = (".html", ".gif")

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body {{ font-family: sans-serif; text-align: center; margin: 1em; }} img {{ max-width: 100%; }}
input {{ width: 60%; vertical-align: middle; }} button {{ font-size: 1em; min-width: 3em; }}</style></head>
<body><img id="frame" alt="{title}">
<p><button id="back" aria-label="one step back">&lt;</button> <button id="play">Play</button>
<button id="next" aria-label="one step on">&gt;</button>
<input id="place" type="range" min="0" max="{last}" value="0" aria-label="step"> <span id="said"></span></p>
<script>
const frames = [{frames}];
const place = document.getElementById("place"), play = document.getElementById("play");
let timer = null;
function show(k) {{
  place.value = Math.max(0, Math.min(frames.length - 1, k));
  document.getElementById("frame").src = "data:image/png;base64," + frames[place.value];
  document.getElementById("said").textContent = (+place.value + 1) + " of " + frames.length;
}}
function stop() {{ clearInterval(timer); timer = null; play.textContent = "Play"; }}
function advance() {{ if (+place.value + 1 >= frames.length) stop(); else show(+place.value + 1); }}
play.onclick = function () {{
  if (timer) {{ stop(); return; }}
  if (+place.value + 1 >= frames.length) show(0);
  timer = setInterval(advance, {pause}); play.textContent = "Stop";
}};
document.getElementById("back").onclick = function () {{ stop(); show(+place.value - 1); }};
document.getElementById("next").onclick = function () {{ stop(); show(+place.value + 1); }};
place.oninput = function () {{ stop(); show(+place.value); }};
show(0);
</script></body></html>
"""


def animate(steps: Any, X: Any, y: Any, path: str | os.PathLike[str], *, fps: float = 2.0) -> Path:
    """Write a film of a run, one frame a step.

    Parameters
    ----------
    steps : iterable of Step
        Of an algorithm of :mod:`maxmargin.lectures` that has a hyperplane; at most 300.
    X : array of shape (n, 2)
    y : array of two labels, of shape (n,)
    path : str or path
        ``.html`` is a page that contains all frames, with buttons, and needs no other file; ``.gif`` is a picture that
        repeats. An existing file is replaced at the end.
    fps : float, default=2.0
        Frames a second.

    Returns
    -------
    Path
        The file.

    See Also
    --------
    RunDisplay : Some of the frames side by side.

    Examples
    --------
    >>> import tempfile
    >>> from maxmargin.lectures import online_perceptron
    >>> from maxmargin.plots import animate
    >>> X, y = [[2.0, 1.0], [1.0, -2.0], [-1.0, 0.5]], [1, -1, -1]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = animate(online_perceptron(X, y), X, y, f"{folder}/run.html")
    ...     print(written.name)
    run.html
    """
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        raise ValueError(f"path must end with {' or '.join(FORMATS)}; it is {os.fspath(path)!r}.")
    if isinstance(fps, bool) or not isinstance(fps, (Real, np.number)) or not 0.0 < float(fps) <= 100.0:
        raise ValueError(f"fps must be a number above 0 and at most 100; it is {fps!r}.")
    data, run = TwoColumnData.of(X, y, "animate"), list_of(steps, most=MOST_FRAMES)
    for step in run:
        refuse_other_data(step, data)
    figure = Figure(figsize=(5.0, 5.0), layout="compressed")

    def draw(step: Any) -> None:
        figure.clear()
        draw_frame(figure.add_subplot(), data, step)

    if target.suffix.lower() == ".html":
        content = _page(figure, draw, run, float(fps))
    else:
        content = _gif(figure, draw, run, float(fps))
    with written_atomically(target) as file:
        file.write(content)
    return target


def _page(figure: Any, draw: Any, run: list[Any], fps: float) -> bytes:
    frames = []
    for step in run:
        draw(step)
        picture = io.BytesIO()
        figure.savefig(picture, format="png", dpi=DPI)
        frames.append(f'"{base64.b64encode(picture.getvalue()).decode()}"')
    pause = round(1000.0 / fps)
    title = f"a run of {len(run)} steps"
    return PAGE.format(title=title, last=len(run) - 1, frames=",\n".join(frames), pause=pause).encode()


def _gif(figure: Any, draw: Any, run: list[Any], fps: float) -> bytes:
    writer = PillowWriter(fps=fps)  # type: ignore[arg-type]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.gif"
        with writer.saving(figure, str(path), DPI):
            for step in run:
                draw(step)
                writer.grab_frame()
        return path.read_bytes()
