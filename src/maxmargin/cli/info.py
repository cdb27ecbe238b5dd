"""``maxmargin info``: the contents of a model file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.console import Entry, proof_entry, report
from maxmargin.cli.options import JSON

# Posterior probability of the credible intervals of bayesian-regression.
LEVEL = 0.95


def info(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    coefficients: Annotated[
        bool,
        typer.Option(
            "--coefficients",
            help="Print a linear model's non-zero coefficients, for bayesian-regression with credible intervals.",
        ),
    ] = False,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Print the contents of a model file.

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
        answer["support vectors"] = _count("support_vectors", len(machine.support_))
    if hasattr(machine, "status_"):
        answer["status"] = str(machine.status_)
    if hasattr(machine, "certificate_"):
        answer |= proof_entry("certificate", machine.certificate_, "proof")
    if coefficients:
        answer["coefficients"] = _coefficients(machine)
    report(answer, as_json)


def _count(name: str, count: int) -> Entry:
    return Entry(f"{count:,}", {name: int(count)})


def _coefficients(machine: Any) -> list[list[Any]]:
    """A table with a header, and a row for the intercept and for every column whose coefficients are not all zero."""
    import numpy as np

    if not hasattr(machine, "coef_") or hasattr(machine, "support_vectors_"):
        raise ValueError("--coefficients: a model with a kernel has none: leave it out.")
    numbers = np.atleast_2d(machine.coef_).T
    names = _names(machine)
    header = ["column", *(map(str, machine.classes_) if numbers.shape[1] > 1 else ["coefficient"])]
    if machine.fit_intercept:
        numbers = np.vstack([numbers, np.atleast_1d(machine.intercept_)])
        names.append("intercept")
    if hasattr(machine, "credible_interval"):
        numbers = np.hstack([numbers, machine.credible_interval(LEVEL)])
        header += [f"{100 * LEVEL:g} % from", "to"]
    return [header, *([names[k], *numbers[k].tolist()] for k in np.flatnonzero(numbers.any(axis=1)))]


def _names(machine: Any) -> list[str]:
    """Names of the columns; without names their numbers from 1 on, as in svmlight text."""
    if hasattr(machine, "feature_names_in_"):
        return list(map(str, machine.feature_names_in_))
    return [str(number + 1) for number in range(machine.n_features_in_)]
