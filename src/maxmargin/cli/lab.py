"""``maxmargin lab``: the interactive page."""

from typing import Annotated

import typer

from maxmargin.cli.checks import refuse_unreadable
from maxmargin.cli.console import working
from maxmargin.cli.options import ZERO_BASED, expand_options

MISSING = "maxmargin lab needs the extra lab: pip install 'maxmargin[lab]'."


@expand_options
def lab(
    *,
    data: Annotated[str | None, typer.Argument(help="Rows to start with, in any format that train reads.")] = None,
    port: Annotated[
        int, typer.Option(help="Port on this machine; 0: any free one.", min=0, max=65535, metavar="<int>")
    ] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open the page in the browser.")] = False,
    target: Annotated[str | None, typer.Option(help="The column of a table that holds the labels.")] = None,
    zero_based: Annotated[bool, ZERO_BASED] = False,
) -> None:
    """Watch the algorithms of the lectures step by step, with their proofs, in the browser.

    The address that is printed holds a secret token; the page is served to this machine only. Ctrl-C ends it.

    Example: maxmargin lab iris.csv --target species
    """
    try:
        from maxmargin.lab.server import Server
    except ImportError as error:
        raise ImportError(f"{MISSING} ({error})") from error
    from maxmargin.lab.page import Page

    new_page = Page
    if data is not None:
        refuse_unreadable(data, "DATA")
        from maxmargin.lab.data_file import page_maker

        with working(f"reading {data}"):
            new_page = page_maker(data, target=target, zero_based=zero_based)  # type: ignore[assignment]
    server = Server(port, new_page)
    typer.echo(f"{server.address}\nCtrl-C ends the page.")
    if not no_browser:
        import webbrowser

        webbrowser.open(server.address)
    server.run()
