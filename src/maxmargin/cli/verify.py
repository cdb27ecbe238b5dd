"""``maxmargin verify``: check a model file's certificate against the data."""

from pathlib import Path
from typing import Annotated

import typer

from maxmargin.cli.checks import labelled
from maxmargin.cli.console import JSON, ZERO_BASED, proof_entry, report, working

# Exit code where the certificate does not hold; errors have another one.
FALSE_CLAIM = 1


def verify(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="The rows it was trained on.")],
    target: Annotated[str | None, typer.Option(help="Column of a table that holds the labels.")] = None,
    zero_based: bool = ZERO_BASED,
    as_json: bool = JSON,
) -> None:
    """Recompute a model's certificate from the data and the file; exit code 1 if the file claims more.

    Checks the certificate, the objective, the margin and the status. An error, such as a file that cannot be read, is
    exit code 2.

    Example: maxmargin verify a9a.model a9a.svm
    """
    from maxmargin import CertificateError, certify
    from maxmargin.cli.files import load_model
    from maxmargin.estimators.certification import check_claims
    from maxmargin.files import read_data

    machine = load_model(model)
    if not hasattr(machine, "certificate_"):
        raise ValueError(f"{model} holds no certificate: only models that maxmargin trained do.")
    with working(f"reading {data}"):
        rows = labelled(machine, read_data(data, target=target, like=machine, zero_based=zero_based), data, target)
    with working("certifying"):
        proof = rows.quietly(certify)(machine, rows.X, rows.y)
    answer = {**proof_entry("claimed", machine.certificate_, "claim"), **proof_entry("proven", proof, "proof")}
    try:
        check_claims(machine, proof)
    except CertificateError as error:
        report({**answer, "true": False, "why": str(error)}, as_json)
        raise typer.Exit(FALSE_CLAIM) from error
    report({**answer, "true": True}, as_json)
