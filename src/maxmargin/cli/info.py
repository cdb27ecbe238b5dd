"""``maxmargin info``: what is in a model file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.console import JSON, tell


def info(model: Annotated[Path, typer.Argument(help="A model file.")], as_json: bool = JSON) -> None:
    """Print what a model file holds.

    Example: maxmargin info a9a.model
    """
    from maxmargin.cli.files import load_model

    machine = load_model(model)
    answer: dict[str, Any] = {"model": repr(machine), "columns": f"{machine.n_features_in_:,}"}
    if hasattr(machine, "classes_"):
        answer["classes"] = ", ".join(map(str, machine.classes_))
    if hasattr(machine, "feature_names_in_"):
        answer["names"] = ", ".join(map(str, machine.feature_names_in_))
    if hasattr(machine, "support_"):
        answer["support vectors"] = f"{len(machine.support_):,}"
    for name in ("status", "certificate"):
        if hasattr(machine, f"{name}_"):
            answer[name] = str(getattr(machine, f"{name}_"))
    tell(answer, as_json)
