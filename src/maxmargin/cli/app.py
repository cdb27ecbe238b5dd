"""The command's entry point."""

import sys
from collections.abc import Callable
from functools import wraps

import typer
from rich.console import Console
from rich.markup import escape

from maxmargin import __version__
from maxmargin.cli.convert import convert
from maxmargin.cli.demo import demo
from maxmargin.cli.evaluate import evaluate
from maxmargin.cli.info import info
from maxmargin.cli.predict import predict
from maxmargin.cli.quick_start import collect_garbage_rarely, import_scikit_learn
from maxmargin.cli.separate import separate
from maxmargin.cli.train import train
from maxmargin.cli.verify import verify

app = typer.Typer(
    name="maxmargin",
    help="Large-margin classification in which every answer carries its proof.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"maxmargin {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    """Large-margin classification in which every answer carries its proof."""


def _started_fast(subcommand: Callable[..., None]) -> Callable[..., None]:
    @wraps(subcommand)
    def run(*arguments: object, **options: object) -> None:
        import_scikit_learn()
        subcommand(*arguments, **options)

    return run


for subcommand in (train, predict, evaluate, verify, separate, info, convert):
    app.command()(_started_fast(subcommand))
app.command()(demo)


def main() -> None:
    """Run the command; an error is one line on standard error and exit code 1, Ctrl-C is exit code 130."""
    collect_garbage_rarely()
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(141)
    except (ValueError, OSError, MemoryError) as error:
        Console(stderr=True).print(
            f"[bold red]error:[/] {escape(str(error) or 'out of memory')}", highlight=False, soft_wrap=True
        )
        sys.exit(1)


if __name__ == "__main__":
    main()
