"""The directive ``replay``: a recorded run of the interactive page, from docs/replays, in a frame of its own."""

from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

FOLDER = Path(__file__).parent / "replays"
# Pixels, enough for the picture and the buttons below it on a page of usual width; the other panels scroll.
HEIGHT = 880


class Replay(SphinxDirective):
    """``{replay} NAME`` shows docs/replays/NAME.html; the content says what to look at."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the frame and its caption."""
        name = self.arguments[0]
        file = FOLDER / f"{name}.html"
        if not file.exists():
            raise self.error(f"there is no {file.name} in docs/replays")
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


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("replay", Replay)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
