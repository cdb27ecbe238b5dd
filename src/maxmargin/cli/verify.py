"""``maxmargin verify``: check a model file's certificate against the data."""

from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.checks import labelled, sample_weights, weight_column_of
from maxmargin.cli.console import proof_entry, report, working
from maxmargin.cli.options import DETAILS, JSON, DataOptions, expand_options

# Exit code where the certificate does not hold; errors have another one.
FALSE_CLAIM = 1
CONTRADICTION = "the file contradicts itself"
# Sizes up to which the independent checker runs too, some 20 s: stored entries of X times tasks, and kernel values.
CHECKED_ENTRIES = 5_000_000
CHECKED_KERNEL_VALUES = 1_000_000


@expand_options
def verify(
    *,
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="The rows it was trained on.")],
    given: DataOptions,
    weights: Annotated[
        str | None,
        typer.Option(
            "--sample-weight",
            "--weights",
            help="Sample weights of the fit: a column of the table, or a text file with one number a line.",
        ),
    ] = None,
    details: Annotated[bool, DETAILS] = False,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Recompute a model's certificate from the data and the file; exit code 1 if the file claims more.

    Checks that the data are those of the fit, the certificate, the objective, the margin and the status, and everything
    that predictions use: support vectors, duals, the posterior, and, each computed anew, the preparation of the columns
    and the curves of a calibration, which takes as many fits as it has folds. Then the independent checker,
    maxmargin-check, decides the claims in exact arithmetic, where the data are small enough. An error, such as a file
    that cannot be read, is exit code 2.

    Example: maxmargin verify a9a.model a9a.svm
    """
    from maxmargin.cli.files import refuse_model_as_data, target_of
    from maxmargin.files import read_data
    from maxmargin.files.model import needs_targets
    from maxmargin.files.verification import verify_file

    stored, proof = with_proof(model, data)
    machine = stored.model
    refuse_model_as_data(data)
    target, weight_column = target_of(machine, data, given), weight_column_of(weights, data)
    preparation, table = getattr(machine, "preparation_", None), given.table(weight=weight_column)
    with working(f"reading {data}"):
        rows = read_data(
            data,
            target=target,
            like=without_scaling(machine),
            zero_based=given.zero_based,
            table=table,
            unseen="error",
        )
        prepared, other_columns = columns_compared(preparation, rows, data, table)
        if preparation is not None and preparation.scaling is not None:
            rows = replace(rows, X=preparation.scaling(rows.X), preparation=preparation)
        if rows.y is not None or needs_targets(machine):
            rows = labelled(machine, rows, data, target)
        sample_weight = sample_weights(rows, weights)
    identified = "identified by its hashes" if stored.fingerprint is not None else "not identified by the file"
    answer: dict[str, Any] = {
        **({} if proof == model else {"proof": str(proof)}),
        **proof_entry("claimed", machine.certificate_, "claim", details=details),
        "data": identified,
    }
    with working("certifying"):
        verdict = rows.quietly(verify_file)(stored, rows.X, rows.y, sample_weight)
    if verdict.proof is not None:
        answer |= proof_entry("proven", verdict.proof, "proof", details=details)
    unnamed = rows.names is None and hasattr(machine, "feature_names_in_")
    names = "not checked: the rows have no names of columns" if unnamed else ""
    ties = "broken by the scores of the pairs: break_ties=True" if getattr(machine, "break_ties", False) else ""
    compared = {"columns": names, "ties of votes": ties, "preparation": prepared, "calibration": verdict.calibration}
    answer |= {what: text for what, text in compared.items() if text}
    if why := verdict.why or other_columns:
        report({**answer, "true": False, "why": why}, as_json)
        raise typer.Exit(FALSE_CLAIM)
    with working("checking in exact arithmetic"):
        not_run = unchecked(stored, rows, given, weight_column)
        found = [] if not_run else exact_answers(proof, data, weights, target, given.zero_based)
    false = [f"{claim}: {detail}" for claim, verdict, detail in found if verdict == "FALSE"]
    number = {kind: sum(verdict == kind for _, verdict, _ in found) for kind in ("TRUE", "FALSE", "NOT CHECKED")}
    counts = ", ".join(f"{count} {kind}" for kind, count in number.items() if count)
    reasons = "; ".join(f"{claim}: {detail}" for claim, verdict, detail in found if verdict == "NOT CHECKED")
    answer["maxmargin-check"] = (counts + (f" ({reasons})" if reasons else "")) or f"not run: {not_run}"
    if false:
        report({**answer, "true": False, "why": f"in exact arithmetic: {false[0]}"}, as_json)
        raise typer.Exit(FALSE_CLAIM)
    report({**answer, "true": True}, as_json)


def without_scaling(machine: Any) -> Any:
    """The model, or where it scales rows a copy that does not: the scaling is compared with unscaled rows."""
    preparation = getattr(machine, "preparation_", None)
    if preparation is None or preparation.scaling is None:
        return machine
    found = copy(machine)
    found.preparation_ = replace(preparation, scaling=None)
    return found


def columns_compared(preparation: Any, rows: Any, data: str, table: Any) -> tuple[str, str]:
    """What was compared of the preparation of the columns, and how it differs; empty where there is nothing."""
    from maxmargin.certificates import CertificateError
    from maxmargin.files.verification import check_preparation

    if preparation is None:
        return "", ""
    try:
        return check_preparation(preparation, rows, data, table), ""
    except CertificateError as error:
        return "", str(error)


def with_proof(path: Path, data: str | None = None) -> tuple[Any, Path]:
    """A stored model with its certificate, and its file: for a stripped model the proof beside it."""
    from maxmargin.cli.files import stored_model
    from maxmargin.files.proof_file import proof_path, same_predictions

    stored = stored_model(path, data)
    if hasattr(stored.model, "certificate_"):
        return stored, path
    beside = proof_path(path)
    if not beside.is_file():
        if stored.provenance.get("stripped"):
            trained = "and there is no proof beside it: only models that maxmargin trained do"
        else:
            trained = "(max_time or Ctrl-C left no time for it, or another program trained it), and there is no proof"
        raise ValueError(f"{path} holds no certificate {trained} ({beside.name}).")
    proof = stored_model(beside)
    if not same_predictions(stored.model, proof.model):
        raise ValueError(f"{beside} is the proof of another model than {path}.")
    return proof, beside


def unchecked(stored: Any, rows: Any, given: DataOptions, weight_column: str | None) -> str:
    """Why the independent checker does not run; empty if it does."""
    preparation = getattr(stored.model, "preparation_", None)
    if stored.fingerprint is None:
        return "the file has no hashes"
    if preparation is not None and not preparation.is_plain:
        return "the columns were scaled, or filled in, before the fit"
    if weight_column is not None or given != DataOptions(target=given.target, zero_based=given.zero_based):
        return "it reads CSV with commas, and sample weights from a file"
    return size_refused(stored.model, rows)


def size_refused(machine: Any, rows: Any) -> str:
    """Why the data are too large for the independent checker; empty if they are not."""
    import numpy as np

    kernel = not hasattr(machine, "coef_") or hasattr(machine, "support_vectors_")
    tasks = 1 if kernel or np.ndim(machine.coef_) < 2 else len(machine.coef_)
    entries = getattr(rows.X, "nnz", rows.X.size)
    size, limit = entries, CHECKED_ENTRIES
    if kernel:
        size, limit = len(machine.support_) * rows.X.shape[0], CHECKED_KERNEL_VALUES
    name = "kernel values" if kernel else "entries"
    return f"{size * tasks:,} {name}, more than {limit:,}" if size * tasks > limit else ""


def exact_answers(model: Path, data: str, *options: Any) -> list[tuple[str, str, str]]:
    """What the independent checker says.

    Data in a format that it does not read are one answer, NOT CHECKED, and a file that contradicts itself is FALSE.
    """
    import maxmargin_check as checker

    try:
        return list(checker.Check(model, data, *options))
    except checker.Unreadable as error:
        reason = str(error)
    try:
        content, _ = checker.read_model(Path(model).read_bytes())
    except checker.Unreadable:
        return [(CONTRADICTION, "FALSE", reason)]
    try:
        checker.read_data(content, data, *options)
    except checker.Unreadable:
        return [("data", "NOT CHECKED", reason)]
    return [(CONTRADICTION, "FALSE", reason)]
