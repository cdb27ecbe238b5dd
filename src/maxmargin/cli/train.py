"""``maxmargin train``: train a model on a file, with its certificate."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli.checks import labelled, refuse_unreadable, refuse_unwritable
from maxmargin.cli.cluster import connected, fit_on_cluster, refuse_with_scheduler
from maxmargin.cli.console import Entry, proof_entry, report, working
from maxmargin.cli.models import MODELS, is_regression, make_model, score, score_name
from maxmargin.cli.options import (
    CheckpointOptions,
    ClusterOptions,
    DataOptions,
    ModelOptions,
    ReportOptions,
    SelectionOptions,
    StoreOptions,
    expand_options,
)
from maxmargin.cli.plot import draw_picture, refuse_picture
from maxmargin.cli.search import SEARCH_FOLDS, Clock, best_of, grid_of, refuse_empty_search, scores_in_folds
from maxmargin.files.compression import STANDARD_INPUT

if TYPE_CHECKING:
    from maxmargin.files import DataFile

# Exit code of a run that Ctrl-C ended.
INTERRUPTED = 130

# The report: entries by name, in the order in which they are printed.
Answer = dict[str, Any]


@expand_options
def train(
    *,
    data: Annotated[
        list[str],
        typer.Argument(
            help="svmlight text (also .gz .bz2 .xz .zst), .csv, .parquet; - for stdin. Several with --scheduler."
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The model file to write.")],
    model: Annotated[
        str, typer.Option("-m", "--model", help=" | ".join(MODELS), autocompletion=lambda: list(MODELS))
    ] = "linear-svc",
    parameters: ModelOptions,
    given: DataOptions,
    stored: StoreOptions,
    cluster: ClusterOptions,
    kept: CheckpointOptions,
    selection: SelectionOptions,
    reported: ReportOptions,
) -> None:
    """Train a model on a file, print its accuracy (or R²) and its certificate, and write it.

    Example: maxmargin train a9a.svm -o a9a.model -C 0.1 --test a9a.t.svm
    """
    _refuse_paths(data, output, selection.test, reported.plot)
    kept.refuse(output, cluster.scheduler)
    if cluster.scheduler is None and len(data) > 1:
        raise ValueError(f"{len(data)} files are given: one is trained on, or several with --scheduler.")
    used_elsewhere = ("random_state",) if selection.search or selection.cv is not None else ()
    machine = make_model(model, parameters.parameters(), used_elsewhere=used_elsewhere)
    if selection.search:
        refuse_empty_search(machine, given_c=parameters.C, given_gamma=parameters.gamma)
    rows = None
    if cluster.scheduler is not None:
        refuse_with_scheduler(machine, store=stored.store, cv=selection.cv, search=selection.search, plot=reported.plot)
        answer, interrupted = _train_on_cluster(machine, data, output, cluster.scheduler, given, parameters)
    else:
        answer, rows = _read(machine, data[0], given, stored)
        clock = _select(machine, rows, parameters, selection, answer)
        with kept.context():
            interrupted = _fit(machine, rows, clock, answer)
        # Save first: what follows may fail.
        _write(machine, rows, output)
        answer["model"] = repr(machine)
        answer[score_name(machine)] = score(machine, rows)
    _test(machine, selection.test, given, answer)
    answer["status"] = str(machine.status_)
    answer |= proof_entry("certificate", machine.certificate_, "proof")
    answer["written"] = str(output)
    if reported.plot is not None and rows is not None:
        drawn = draw_picture(machine, rows, reported.plot)
        answer |= {"plot": Entry(f"{drawn['picture']}: {drawn['shows']}", {"plot": drawn})}
    report(answer, reported.as_json)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _refuse_paths(data: list[str], output: Path, test: str | None, plot: Path | None) -> None:
    """Refuse paths that could not be read or written at the end."""
    refuse_unwritable(output)
    if plot is not None:
        refuse_picture(plot, "--plot")
        if plot == output:
            raise ValueError(f"--plot {plot} is the model file of -o: name another file.")
    if test is not None:
        refuse_unreadable(test, "--test")
        if test == STANDARD_INPUT in data:
            raise ValueError("--test -: standard input holds the rows to train on; name a file.")


def _read(machine: Any, data: str, given: DataOptions, stored: StoreOptions) -> "tuple[Answer, DataFile]":
    """The rows, and the first entries of the report."""
    from maxmargin.files import read_data

    began = time.perf_counter()
    with working(f"reading {data}"):
        source = _stored(data, given.zero_based) if stored.store else data
        zero_based = given.zero_based and not stored.store
        rows = read_data(source, target=given.target, values=is_regression(machine), zero_based=zero_based)
    n_rows, n_columns = rows.X.shape
    answer = {
        "data": Entry(
            f"{source}: {n_rows:,} rows of {n_columns:,} columns",
            {"data": source, "rows": n_rows, "columns": n_columns},
        ),
        "reading": time.perf_counter() - began,
    }
    return answer, rows


def _select(
    machine: Any, rows: "DataFile", parameters: ModelOptions, selection: SelectionOptions, answer: Answer
) -> Clock:
    """Choose parameters by cross-validation and estimate the score by it, as far as asked; returns the clock."""
    grid = grid_of(machine, rows, given_c=parameters.C, given_gamma=parameters.gamma) if selection.search else []
    clock = Clock(parameters.max_time, n_fits=SEARCH_FOLDS * len(grid) + (selection.cv or 0) + 1)
    seed = parameters.seed or 0
    if selection.search:
        chosen, best = best_of(grid, scores_in_folds(machine, rows, SEARCH_FOLDS, grid, "searching", clock, seed))
        machine.set_params(**chosen)
        answer["chosen"] = {**chosen, "score": best}
    if selection.cv is not None:
        scores = scores_in_folds(machine, rows, selection.cv, [{}], "cross-validation", clock, seed)
        answer |= _mean_entry(f"{score_name(machine)} in {selection.cv} folds", scores)
    return clock


def _fit(machine: Any, rows: "DataFile", clock: Clock, answer: Answer) -> bool:
    """Fit; returns whether Ctrl-C ended the fit early."""
    began = time.perf_counter()
    with working("training"):
        interrupted = _fit_or_stop(machine, rows, clock)
    answer["training"] = time.perf_counter() - began
    return interrupted


def _write(machine: Any, rows: "DataFile", output: Path) -> None:
    from maxmargin.files import save

    with working("writing"):
        rows.quietly(save)(machine, output, rows.X, rows.y)


def _train_on_cluster(
    machine: Any, data: list[str], output: Path, scheduler: str, given: DataOptions, parameters: ModelOptions
) -> tuple[Answer, bool]:
    """Fit where the workers have read the files, and write the model; also whether Ctrl-C ended the fit early."""
    from maxmargin.files import save

    with connected(scheduler) as client:
        clock = Clock(parameters.max_time, n_fits=1)
        answer, interrupted = fit_on_cluster(client, machine, data, given.target, given.zero_based, clock)
        with working("writing"):
            save(machine, output)
    return answer, interrupted


def _test(machine: Any, test: str | None, given: DataOptions, answer: Answer) -> None:
    """Accuracy or R² on test data."""
    if test is None:
        return
    from maxmargin.files import read_data

    with working(f"testing on {test}"):
        new = read_data(test, target=given.target, like=machine, zero_based=given.zero_based)
        new = labelled(machine, new, test, given.target)
        answer[f"{score_name(machine)} on {test}"] = score(machine, new)


def _mean_entry(name: str, scores: Any) -> dict[str, Entry]:
    mean, deviation = float(scores.mean()), float(scores.std())
    return {name: Entry(f"{mean:.6g} ± {deviation:.2g}", {name: {"mean": mean, "std": deviation}})}


def _fit_or_stop(machine: Any, rows: "DataFile", clock: Clock) -> bool:
    """Fit; returns whether Ctrl-C ended the fit early, with a model and its certificate all the same."""
    interrupted = False
    try:
        with clock.limit(machine):
            machine.fit(rows.X, rows.y)
    except KeyboardInterrupt:
        if not hasattr(machine, "certificate_"):
            raise
        interrupted = True
    rows.name_features(machine)
    return interrupted


def _stored(data: str, zero_based: bool) -> str:
    """The store beside a text file; it is written where it is missing or older than the text."""
    from maxmargin.files import store_text
    from maxmargin.files.data_file import table_format
    from maxmargin.files.store import is_store, is_store_of

    text, path = Path(data), Path(f"{data}.store")
    if is_store(text) or table_format(data) is not None:
        raise ValueError(f"--store is for svmlight text, and {data} is none.")
    if not is_store_of(path, text, zero_based=zero_based):
        store_text(text, path, zero_based=zero_based)
    return str(path)
