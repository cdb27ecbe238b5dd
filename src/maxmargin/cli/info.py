"""``maxmargin info``: the contents of a model file, of data or of a store."""

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.console import Entry, columns_entry, proof_entry, report, table_text, working
from maxmargin.cli.models import model_entry
from maxmargin.cli.options import DETAILS, JSON, ColumnOptions, DataOptions, expand_options

# Posterior probability of the credible intervals of bayesian-regression.
LEVEL = 0.95
# Names and labels that are printed; more with --details.
MOST_NAMES, MOST_LABELS = 40, 40


@expand_options
def info(
    *,
    file: Annotated[Path, typer.Argument(help="A model file, a data file or a store.")],
    coefficients: Annotated[
        bool,
        typer.Option(
            "--coefficients",
            help="Print a linear model's non-zero coefficients, for bayesian-regression with credible intervals.",
        ),
    ] = False,
    given: DataOptions,
    columns: ColumnOptions,
    as_json: Annotated[bool, JSON] = False,
    details: Annotated[bool, DETAILS] = False,
) -> None:
    """Print the contents of a model file, of data or of a store.

    Example: maxmargin info a9a.model
    """
    from maxmargin.cli.files import looks_like_data, stored_model
    from maxmargin.files.proof_file import proof_path

    if file.is_dir() or looks_like_data(file):
        if coefficients:
            raise ValueError(f"--coefficients: {file} is data, not a model: leave it out.")
        report(_of_data(str(file), given, columns, details=details), as_json)
        return
    stored = stored_model(file)
    machine = stored.model
    answer: dict[str, Any] = {"model": model_entry(machine), "columns": _count("columns", machine.n_features_in_)}
    for name, attribute in (("classes", "classes_"), ("names", "feature_names_in_")):
        if hasattr(machine, attribute):
            values = getattr(machine, attribute).tolist()
            shown = (
                values if details or len(values) <= MOST_NAMES else [*values[:MOST_NAMES], "... (all with --details)"]
            )
            answer[name] = Entry(", ".join(map(str, shown)), {name: values})
    preparation = getattr(machine, "preparation_", None)
    if preparation is not None:
        if preparation.columns is not None:
            answer["table"] = columns_entry(preparation, details=details)
        if preparation.scaling is not None:
            answer["scaled"] = preparation.scaling.kind
    if hasattr(machine, "calibration_"):
        answer["calibrated"] = machine.calibration_.method
    if hasattr(machine, "support_vectors_") or len(getattr(machine, "support_", ())):
        answer["support vectors"] = _count("support_vectors", len(machine.support_))
    if hasattr(machine, "status_"):
        answer["status"] = str(machine.status_)
    if hasattr(machine, "certificate_"):
        answer |= proof_entry("certificate", machine.certificate_, "proof", details=details)
    elif stored.provenance.get("stripped"):
        answer["certificate"] = Entry(f"in the proof, {proof_path(file).name}", {"proof": str(proof_path(file))})
    answer |= _provenance(stored.provenance)
    if coefficients:
        answer["coefficients"] = _coefficients(machine)
    report(answer, as_json)


def _provenance(about: dict[str, Any]) -> dict[str, Any]:
    """Where the model comes from: version, time, command, data and metrics, as far as the file says."""
    if not about:
        return {}
    answer: dict[str, Any] = {
        "trained": Entry(f"by maxmargin {about.get('version')}, {about.get('time')}", {"provenance": about})
    }
    if "command" in about:
        answer["command"] = Entry(str(about["command"]), {})
    data = about.get("data")
    if isinstance(data, dict):
        size = f", {data['size']:,} bytes, sha256 {str(data['sha256'])[:12]}" if "sha256" in data else ""
        answer["data"] = Entry(f"{data.get('name')}{size}", {})
    metrics = about.get("metrics")
    if isinstance(metrics, dict):
        answer["metrics"] = Entry(", ".join(f"{name} {value:.6g}" for name, value in metrics.items()), {})
    return answer


def _of_data(data: str, given: DataOptions, options: ColumnOptions, *, details: bool) -> dict[str, Any]:
    """Rows, columns, density and labels of data; of a table also what its columns are."""
    import numpy as np
    import scipy.sparse as sp

    from maxmargin.files import read_data
    from maxmargin.files.data_file import reads_as_table
    from maxmargin.files.tables import columns_of_file

    answer: dict[str, Any] = {"data": data}
    if reads_as_table(data, given.target, None) and given.target is None:
        names, n_rows, kinds = columns_of_file(data, options.table(given))
        answer |= {"rows": _count("rows", n_rows), "columns": _count("columns", len(names))}
        lines: list[list[Any]] = [[name, kind] for name, kind in zip(names, kinds, strict=True)]
        answer["types"] = Entry(table_text(lines, left=True), {"types": dict(zip(names, kinds, strict=True))})
        return answer
    with working(f"reading {data}"):
        rows = read_data(
            data,
            target=given.target,
            values=True,
            zero_based=given.zero_based,
            table=options.table(given),
            n_features=options.n_features,
        )
    n_rows, n_columns = rows.X.shape
    answer |= {"rows": _count("rows", n_rows), "columns": _count("columns", n_columns)}
    if rows.preparation is not None and rows.preparation.columns is not None:
        answer["table"] = columns_entry(rows.preparation, details=details)
    if sp.issparse(rows.X):
        share = rows.X.nnz / max(1, n_rows * n_columns)
        answer["entries"] = Entry(
            f"{rows.X.nnz:,}, density {100 * share:.3g} %", {"entries": rows.X.nnz, "density": share}
        )
    answer["type"] = str(rows.X.dtype)
    labels, counts = np.unique(rows.y, return_counts=True)
    if labels.size <= MOST_LABELS:
        found = {
            f"{label:g}" if isinstance(label, float) else str(label): int(n)
            for label, n in zip(labels.tolist(), counts, strict=True)
        }
        answer["labels"] = Entry(", ".join(f"{label}: {n:,}" for label, n in found.items()), {"labels": found})
    elif rows.y.dtype.kind in "fiu":
        low, high = float(labels[0]), float(labels[-1])
        text = f"{labels.size:,} values from {low:.6g} to {high:.6g}, mean {float(rows.y.mean()):.6g}"
        answer["targets"] = Entry(text, {"targets": {"least": low, "most": high, "mean": float(rows.y.mean())}})
    else:
        answer["labels"] = Entry(f"{labels.size:,} different texts", {"labels": int(labels.size)})
    return answer


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
