"""``maxmargin completion``: the script by which a shell completes names of options, models and kernels."""

from typing import Annotated

import typer

SHELLS = ("bash", "zsh", "fish", "powershell")


def completion(
    shell: Annotated[str, typer.Argument(help=" | ".join(SHELLS), autocompletion=lambda: list(SHELLS))],
) -> None:
    """Print the script that completes the command in a shell.

    Example: maxmargin completion bash > ~/.local/share/bash-completion/completions/maxmargin
    """
    from typer._completion_shared import get_completion_script

    if shell not in SHELLS:
        raise ValueError(f"{shell} is none of {', '.join(SHELLS)}.")
    typer.echo(get_completion_script(prog_name="maxmargin", complete_var="_MAXMARGIN_COMPLETE", shell=shell))
