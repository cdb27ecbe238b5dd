"""The command's entry point."""

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperCommand

from maxmargin import __version__
from maxmargin.cli.completion import completion
from maxmargin.cli.console import printable, warnings_reported
from maxmargin.cli.convert import convert
from maxmargin.cli.demo import demo
from maxmargin.cli.evaluate import evaluate
from maxmargin.cli.info import info
from maxmargin.cli.lab import lab
from maxmargin.cli.mapped_files import end_on_cut_stores
from maxmargin.cli.models import options_as_typed
from maxmargin.cli.plot import plot
from maxmargin.cli.predict import predict
from maxmargin.cli.quick_start import collect_garbage_rarely, import_scikit_learn
from maxmargin.cli.separate import separate
from maxmargin.cli.train import INTERRUPTED, train
from maxmargin.cli.verify import verify

# Exit codes besides 0; ``verify`` adds 1 (the certificate does not hold), ``separate`` 3 (undecided) and ``train`` 130.
ERROR = 2
UNEXPECTED = 70
BROKEN_PIPE = 141
# Errors whose message says what to do.
EXPLAINED = (ValueError, OSError, ImportError, MemoryError)

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
        if subcommand is not train:
            import_scikit_learn()
        with warnings_reported():
            subcommand(*arguments, **options)

    return run


class Command(TyperCommand):
    """A subcommand whose option --help has no type in the help, as all flags."""

    def get_help_option(self, ctx: Any) -> Any:
        """The option --help."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.metavar = ""
        return option


for subcommand in (train, predict, evaluate, verify, separate, info, convert, plot):
    app.command(cls=Command)(_started_fast(subcommand))
for subcommand in (demo, lab, completion):
    app.command(cls=Command)(subcommand)


def main() -> None:
    """Run the command.

    An error prints one line on standard error, with exit code 2; an unexpected error with exit code 70, and with its
    traceback if the environment variable MAXMARGIN_DEBUG is set. Ctrl-C is exit code 130, a closed pipe (``maxmargin
    predict ... | head``) 141. Further exit codes are in the help of the subcommands.
    """
    collect_garbage_rarely()
    end_on_cut_stores(sys.argv[1:], ERROR)
    try:
        code = app(standalone_mode=False, prog_name="maxmargin")
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except SystemExit as end:
        # Typer turns a broken pipe into an error of its own.
        code = BROKEN_PIPE if isinstance(end.__context__, BrokenPipeError) else end.code
    except Exception as error:
        if os.environ.get("MAXMARGIN_DEBUG"):
            raise
        code = _explain(error)
    sys.exit(code)


def _explain(error: Exception) -> int:
    """Print an error as one line; return the exit code."""
    if hasattr(error, "format_message"):
        return _explain_usage(error)
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        # Its stack does not fit.
        error = MemoryError(str(error))
    if isinstance(error, EXPLAINED):
        if isinstance(error, MemoryError):
            found = f" ({error})" if str(error) else ""
            error = MemoryError(f"out of memory{found}: train a linear model with --store, or give more memory.")
        _print_error(_text_of(error))
        return ERROR
    _print_error(f"unexpected {type(error).__name__}: {error} (MAXMARGIN_DEBUG=1 shows where)")
    return UNEXPECTED


def _text_of(error: Exception) -> str:
    """The text of an error; one of the system begins with its file."""
    if not isinstance(error, OSError) or error.filename is None:
        return str(error)
    missing = isinstance(error, FileNotFoundError)
    return f"{error.filename}: {'there is no such file' if missing else error.strerror}."


def _explain_usage(error: Any) -> int:
    """Print what Typer refuses: an unknown option, a value of another type, or no subcommand."""
    message = error.format_message()
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(message, err=True, nl=bool(message))
    else:
        context = getattr(error, "ctx", None)
        hint = f" ({context.command_path} --help shows all)" if context is not None else ""
        _print_error(f"{message}{hint}")
    return ERROR


def _print_error(message: str) -> None:
    line = printable(" ".join(options_as_typed(message).split()))
    console = Console(stderr=True, emoji=False)
    # Elsewhere than on a terminal an error is one line.
    console.print(f"[bold red]error:[/] {escape(line)}", highlight=False, soft_wrap=not console.is_terminal)


if __name__ == "__main__":
    main()
