"""``maxmargin plot``: draw a model and its data into a file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.checks import labelled, refuse_unwritable
from maxmargin.cli.console import report, working
from maxmargin.cli.options import JSON, DataOptions, NewRowsOptions, expand_options

# The kinds of pictures, as in maxmargin.plots.drawing, which is not imported before it is needed. The gap along the
# fit is not among them: model files do not contain it.
PICTURES = (
    "regions", "margin", "used", "hulls", "losses", "bracket", "mistakes", "coefficients", "posterior", "prediction",
)  # fmt: skip
SUFFIXES = (".png", ".svg", ".pdf")


@expand_options
def plot(
    *,
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="Labelled rows in any format that train reads; those of the fit.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The picture to write: .png, .svg or .pdf.")],
    kind: Annotated[
        str | None,
        typer.Option(
            help=f"{' | '.join(PICTURES)}; by default what suits the model.", autocompletion=lambda: list(PICTURES)
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            help="Two columns, by name or by number from 1, with a comma between them (one for --kind prediction); pca "
            "for principal components; score for f(x)."
        ),
    ] = None,
    given: DataOptions,
    new: NewRowsOptions,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Draw a model and its data into a file; needs matplotlib, the extra plot.

    Example: maxmargin plot iris.model iris.csv --target species -o iris.svg
    """
    refuse_picture(output, "-o")
    if kind is not None and kind not in PICTURES:
        raise ValueError(f"--kind {kind} is none of {', '.join(PICTURES)}.")
    from maxmargin.cli.files import load_model, read_rows, takes_any_width, target_of

    machine = load_model(model, data)
    with working(f"reading {data}"):
        any_width = takes_any_width(model)
        rows = read_rows(machine, data, given, new, any_width=any_width)
        rows = labelled(machine, rows, data, target_of(machine, data, given))
    answer = draw_picture(machine, rows, output, kind=kind, columns=columns)
    report(answer, as_json)


def refuse_picture(output: Path, option: str) -> None:
    """Refuse a picture that could not be written at the end."""
    if output.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{option} {output} must end with {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}.")
    refuse_unwritable(output, option)


def draw_picture(
    machine: Any, rows: Any, output: Path, *, kind: str | None = None, columns: str | None = None
) -> dict[str, Any]:
    """Draw a model and rows into a file; return what the report says of it."""
    from maxmargin.plots.drawing import default_kind, picture

    with working("drawing"):
        try:
            display = picture(machine, rows.X, rows.y, output, kind=kind, columns=_columns(columns, machine))
        except ValueError as error:
            raise ValueError(_named(str(error))) from error
    title = getattr(display.ax_, "get_title", lambda: "")()
    return {"kind": kind or default_kind(machine), "shows": " ".join(title.split()), "picture": str(output)}


def _columns(given: str | None, machine: Any) -> Any:
    """The columns by position or name; numbers count from 1, as in svmlight text, where no column has that name."""
    if given is None or given in ("pca", "score"):
        return given
    names = [str(name) for name in getattr(machine, "feature_names_in_", ())]
    chosen: list[Any] = []
    for part in map(str.strip, given.split(",")):
        if part in names or not part.isdecimal():
            chosen.append(part)
        elif int(part) == 0:
            raise ValueError("--columns 0: columns are counted from 1.")
        else:
            chosen.append(int(part) - 1)
    return chosen


def _named(message: str) -> str:
    """An error of the library with the names of the command's options."""
    for name in ("columns", "kind"):
        message = message.replace(f"{name} must", f"--{name} must").replace(f"{name} has", f"--{name} has")
    return message
