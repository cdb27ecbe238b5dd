"""``maxmargin info``: what is in a model file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.coefficients import coefficients_of
from maxmargin.cli.console import JSON, Entry, proof_entry, tell


def info(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    coefficients: Annotated[
        bool,
        typer.Option(
            "--coefficients",
            help="Print a linear model's coefficients that are not zero, too; of bayesian-regression with intervals.",
        ),
    ] = False,
    as_json: bool = JSON,
) -> None:
    """Print what a model file holds.

    Example: maxmargin info a9a.model
    """
    from maxmargin.cli.files import load_model

    machine = load_model(model)
    answer: dict[str, Any] = {"model": repr(machine), "columns": _count("columns", machine.n_features_in_)}
    for name, attribute in (("classes", "classes_"), ("names", "feature_names_in_")):
        if hasattr(machine, attribute):
            values = getattr(machine, attribute).tolist()
            answer[name] = Entry(", ".join(map(str, values)), {name: values})
    if hasattr(machine, "support_"):
        answer["support vectors"] = _count("support vectors", len(machine.support_))
    if hasattr(machine, "status_"):
        answer["status"] = str(machine.status_)
    if hasattr(machine, "certificate_"):
        answer |= proof_entry("certificate", machine.certificate_, "proof")
    if coefficients:
        answer["coefficients"] = coefficients_of(machine)
    tell(answer, as_json)


def _count(name: str, count: int) -> Entry:
    return Entry(f"{count:,}", {name: int(count)})
