"""``maxmargin verify``: check a model file's certificate against the data."""

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.checks import labelled
from maxmargin.cli.console import proof_entry, report, working
from maxmargin.cli.options import JSON, DataOptions, expand_options

# Exit code where the certificate does not hold; errors have another one.
FALSE_CLAIM = 1
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
        Path | None, typer.Option(help="Sample weights of the fit, if there were any: a text file, one number a line.")
    ] = None,
    as_json: Annotated[bool, JSON] = False,
) -> None:
    """Recompute a model's certificate from the data and the file; exit code 1 if the file claims more.

    Checks that the data are those of the fit, the certificate, the objective, the margin and the status, and everything
    that predictions use: support vectors, duals, the posterior. Then the independent checker, maxmargin-check, decides
    the claims in exact arithmetic, where the data are small enough. An error, such as a file that cannot be read, is
    exit code 2.

    Example: maxmargin verify a9a.model a9a.svm
    """
    from maxmargin.cli.files import stored_model
    from maxmargin.files import read_data
    from maxmargin.files.verification import verify_file

    stored = stored_model(model)
    machine = stored.model
    if not hasattr(machine, "certificate_"):
        raise ValueError(f"{model} holds no certificate: only models that maxmargin trained do.")
    with working(f"reading {data}"):
        rows = read_data(data, target=given.target, like=machine, zero_based=given.zero_based)
        rows = labelled(machine, rows, data, given.target)
        sample_weight = None if weights is None else read_weights(weights, len(rows.y))
    identified = "by its hashes" if stored.fingerprint is not None else "not identified by the file"
    answer: dict[str, Any] = {**proof_entry("claimed", machine.certificate_, "claim"), "data": identified}
    with working("certifying"):
        verdict = rows.quietly(verify_file)(stored, rows.X, rows.y, sample_weight)
    if verdict.proof is not None:
        answer |= proof_entry("proven", verdict.proof, "proof")
    if not verdict.true:
        report({**answer, "true": False, "why": verdict.why}, as_json)
        raise typer.Exit(FALSE_CLAIM)
    with working("checking in exact arithmetic"):
        too_large = size_refused(machine, rows) if stored.fingerprint is not None else "the file has no hashes"
        found = [] if too_large else exact_answers(model, data, weights, given.target, given.zero_based)
    false = [f"{claim}: {detail}" for claim, verdict, detail in found if verdict == "FALSE"]
    number = {kind: sum(verdict == kind for _, verdict, _ in found) for kind in ("TRUE", "FALSE", "NOT CHECKED")}
    counts = ", ".join(f"{count} {kind}" for kind, count in number.items() if count)
    reasons = "; ".join(f"{claim}: {detail}" for claim, verdict, detail in found if verdict == "NOT CHECKED")
    answer["maxmargin-check"] = (counts + (f" ({reasons})" if reasons else "")) or f"not run: {too_large}"
    if false:
        report({**answer, "true": False, "why": f"in exact arithmetic: {false[0]}"}, as_json)
        raise typer.Exit(FALSE_CLAIM)
    report({**answer, "true": True}, as_json)


def size_refused(machine: Any, rows: Any) -> str:
    """Why the data are too large for the independent checker; empty if they are not."""
    import numpy as np

    kernel = not hasattr(machine, "coef_") or hasattr(machine, "support_vectors_")
    tasks = 1 if kernel or np.ndim(machine.coef_) < 2 else len(machine.coef_)
    entries = getattr(rows.X, "nnz", rows.X.size)
    size, limit = (len(machine.support_) * len(rows.y), CHECKED_KERNEL_VALUES) if kernel else (entries, CHECKED_ENTRIES)
    name = "kernel values" if kernel else "entries"
    return f"{size * tasks:,} {name}, more than {limit:,}" if size * tasks > limit else ""


def exact_answers(model: Path, data: str, *options: Any) -> list[tuple[str, str, str]]:
    """What the independent checker says; data in a format that it does not read are one answer, NOT CHECKED."""
    import maxmargin_check

    try:
        return list(maxmargin_check.check_model(model, data, *options))
    except maxmargin_check.Unreadable as error:
        return [("data", "NOT CHECKED", str(error))]


def read_weights(path: Path, n_rows: int) -> Any:
    """Sample weights from a text file."""
    import numpy as np

    try:
        values = np.array([float(line) for line in path.read_text().split()])
    except ValueError as error:
        raise ValueError(f"--weights {path}: {error}: give one number a line.") from error
    if values.size != n_rows:
        raise ValueError(f"--weights {path} has {values.size:,} numbers for {n_rows:,} rows: give one a line.")
    return values
