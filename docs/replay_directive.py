"""The directive ``replay``: a recorded run of the interactive page in a frame of its own.

The runs are those of examples/lab_replays.py, recorded at every build into docs/replays.
"""

import runpy
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

FOLDER = Path(__file__).parent / "replays"
# Pixels, enough for the picture and the buttons below it on a page of usual width; the other panels scroll.
HEIGHT = 880


class Replay(SphinxDirective):
    """``{replay} NAME`` shows the run NAME; the content says what to look at."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the frame and its caption."""
        name = self.arguments[0]
        file = FOLDER / f"{name}.html"
        if not file.exists():
            raise self.error(f"examples/lab_replays.py records no {name}")
        self.env.note_dependency(str(file))
        # html_static_path has the folder, so that the pages of all depths find one copy.
        address = "../" * self.env.docname.count("/") + f"_static/{file.name}"
        caption = escape(" ".join(self.content))
        frame = (
            f'<figure class="replay"><iframe src="{address}" title="A recorded run: {escape(name)}" loading="lazy" '
            f'height="{HEIGHT}"></iframe>'
            f'<figcaption>{caption} <a href="{address}">In a page of its own.</a></figcaption></figure>'
        )
        return [nodes.raw("", frame, format="html")]


def record(app: Sphinx) -> None:  # noqa: ARG001
    """Record all runs anew, with the page as it is now."""
    program = Path(__file__).parents[1] / "examples" / "lab_replays.py"
    runpy.run_path(str(program))["main"](FOLDER)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    FOLDER.mkdir(exist_ok=True)  # Sphinx looks for the folders of html_static_path before it calls record
    app.connect("builder-inited", record)
    app.add_directive("replay", Replay)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
