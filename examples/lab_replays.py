"""Recorded runs of the interactive page: one HTML file each, which a browser opens without Python or a network.

Run it as ``python examples/lab_replays.py FOLDER``. The documentation site shows them.
"""

import sys
from dataclasses import replace
from pathlib import Path

from maxmargin.lab.lessons import LESSONS
from maxmargin.lab.replay import recorded_html
from maxmargin.lab.state import from_preset

RUNS = {
    "perceptron": replace(LESSONS[0].state, lesson=0),
    "hulls": from_preset("separable", "hulls"),
    "smo": from_preset("outlier", "smo", C=1.0),
    "kernel": from_preset("circles", "kernel", gamma=1.0),
}


def main(folder: Path) -> None:
    """Write all replays."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, state in RUNS.items():
        html = recorded_html(state, max_frames=60)
        (folder / f"{name}.html").write_text(html, encoding="utf-8")
        print(f"{name}.html: {len(html.encode()) / 1000:.0f} kB")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/lab_replays.py FOLDER")
    main(Path(sys.argv[1]))
