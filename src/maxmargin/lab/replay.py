"""A recorded run as one HTML file, which needs neither Python nor a network."""

import json
from pathlib import Path
from typing import Any

from maxmargin.lab.page import CHUNK, Page
from maxmargin.lab.state import State

STATIC = Path(__file__).parent / "static"
# Frames of a recording; a frame of 200 points takes about 4 kB.
MAX_FRAMES = 500


def recorded_html(state: State, max_frames: int = MAX_FRAMES) -> str:
    """The page with the frames of one run in it: stepping works, and what would need Python is switched off.

    Numbers are recorded to nine digits; whether a claim holds was decided before.

    Parameters
    ----------
    state : State
    max_frames : int, default=500

    Returns
    -------
    str
    """
    page = Page(state)
    messages = page.handle({"type": "open"})
    while not messages[-1]["ended"] and page.sent < max_frames:
        messages += page.handle({"type": "more", "to": min(page.sent + CHUNK, max_frames)})
    messages[-1]["ended"] = True
    messages[0]["algorithms"] = {state.algorithm: messages[0]["algorithms"][state.algorithm]}
    # "</" could end the script element, and "<!--" start a comment in it.
    recorded = json.dumps(_nine_digits(messages), separators=(",", ":")).replace("<", "\\u003c")
    module = (STATIC / "lab.js").read_text(encoding="utf-8").replace("</script", "<\\/script")
    style = (STATIC / "lab.css").read_text(encoding="utf-8")
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>maxmargin lab: a recorded run</title>
<style>{style}</style>
<div id="lab"></div>
<script type="module">
{module}
lab.render({{ model: replayed({recorded}), el: document.getElementById("lab") }});
</script>
</html>
"""


def _nine_digits(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _nine_digits(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_nine_digits(item) for item in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value
