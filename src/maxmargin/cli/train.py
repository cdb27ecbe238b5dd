"""``maxmargin train``: train a model on a file, with its certificate."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli.checks import (
    labelled,
    refuse_targets,
    refuse_unreadable_pattern,
    sample_weights,
    weight_column_of,
)
from maxmargin.cli.cluster import connected, fit_on_cluster, refuse_with_scheduler
from maxmargin.cli.console import (
    Entry,
    Stopwatch,
    columns_entry,
    json_key,
    printable,
    progress_lines,
    proof_entry,
    report,
    table_text,
    time_text,
    working,
)
from maxmargin.cli.files import refuse_model_as_data
from maxmargin.cli.models import (
    LINEAR_MODELS,
    MODELS,
    flag_of,
    is_regression,
    make_model,
    model_entry,
    rows_to_score,
    score,
    score_name,
    weights_by_labels,
)
from maxmargin.cli.options import (
    CheckpointOptions,
    ClusterOptions,
    ColumnOptions,
    DataOptions,
    ModelOptions,
    NewRowsOptions,
    PreparationOptions,
    ReportOptions,
    SelectionOptions,
    StoreOptions,
    expand_options,
)
from maxmargin.cli.out_of_core import as_arrays, file_of, learns_from_blocks, stored_rows, with_targets
from maxmargin.cli.plot import draw_picture
from maxmargin.cli.quick_start import do_without_scikit_learn, import_scikit_learn
from maxmargin.cli.search import (
    SEARCH_FOLDS,
    Clock,
    Trial,
    given_grid,
    grid_of,
    nested_scores,
    scores_in_folds,
)
from maxmargin.cli.stream import fit_on_stream, passes_of
from maxmargin.cli.train_checks import (
    refuse_on_cluster,
    refuse_on_stream,
    refuse_paths,
    refuse_selection,
    used_by_folds,
)
from maxmargin.cli.writing import INTERRUPTED_SUFFIX, STANDARD_OUTPUT, Signals, command_line, write_model
from maxmargin.files.compression import name_of

if TYPE_CHECKING:
    from maxmargin.files import DataFile

# Exit code of a run that Ctrl-C ended.
INTERRUPTED = 130

# The folds of --calibrate.
N_FOLDS = 5

# The report: entries by name, in the order in which they are printed.
Answer = dict[str, Any]


@expand_options
def train(
    *,
    data: Annotated[
        list[str],
        typer.Argument(
            help="svmlight text (also compressed), .csv, .tsv or .parquet, also several or a pattern; - for stdin."
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The model file to write; - for standard output.")],
    model: Annotated[
        str, typer.Option("-m", "--model", help=" | ".join(MODELS), autocompletion=lambda: list(MODELS))
    ] = "linear-svc",
    parameters: ModelOptions,
    given: DataOptions,
    stored: StoreOptions,
    columns: ColumnOptions,
    prepared: PreparationOptions,
    new: NewRowsOptions,
    cluster: ClusterOptions,
    kept: CheckpointOptions,
    selection: SelectionOptions,
    reported: ReportOptions,
) -> None:
    """Train a model on a file, print its accuracy (or R²) and its certificate, and write it.

    Ctrl-C, SIGTERM and SIGHUP end the training early: the model found so far goes to NAME.interrupted, with its
    certificate, and the exit code is 130, 143 or 129.

    Example: maxmargin train a9a.svm -o a9a.model -C 0.1 --test a9a.t.svm
    """
    refuse_paths(data, output, selection.test, reported)
    kept.refuse(output, cluster.scheduler)
    if model in LINEAR_MODELS and not (selection.needs_arrays or reported.plot or cluster.scheduler):
        do_without_scikit_learn()
    else:
        import_scikit_learn()
    machine = make_model(model, parameters.parameters(), used_elsewhere=used_by_folds(selection))
    refuse_selection(machine, parameters, selection)
    if cluster.scheduler is None:
        for path in data:
            refuse_unreadable_pattern(path, "DATA")
            refuse_model_as_data(path)
    passes = None
    if cluster.scheduler is None:
        passes = passes_of(machine, data, stored.passes, takes_store=stored.store or stored.store_dir is not None)
    elif stored.passes is not None:
        raise ValueError("--passes reads the rows in one process, and --scheduler does not: leave one out.")
    if passes is not None:
        refuse_on_stream(parameters, stored, columns, prepared, kept, selection, reported)
    answer: Answer = {}
    signals, rows, weights = Signals(), None, None
    watch = Stopwatch()
    with progress_lines(reported.verbose), signals.answered():
        if cluster.scheduler is not None:
            refuse_with_scheduler(
                machine,
                store=stored.store or stored.store_dir,
                cv=selection.cv,
                search=selection.search,
                calibrate=selection.calibrate,
                plot=reported.plot,
            )
            refuse_on_cluster(output, given, columns, prepared, reported)
            interrupted = _fit_on_cluster(machine, data, cluster.scheduler, given, parameters, answer)
        elif passes is not None:
            found, interrupted = fit_on_stream(
                machine,
                data,
                passes,
                target=given.target,
                zero_based=given.zero_based,
                table=columns.table(given),
                scored=not selection.no_score,
            )
            answer |= found
        else:
            needs_arrays = prepared.scale is not None or selection.needs_arrays
            rows, weights = _read(
                machine, data, given, stored, columns, prepared, reported, output, answer, needs_arrays=needs_arrays
            )
            machine.set_params(**weights_by_labels(machine, rows.y))
            clock = _select(machine, rows, weights, parameters, selection, answer)
            with kept.context():
                interrupted = _fit(machine, rows, weights, clock, answer)
            if selection.calibrate is not None and not interrupted:
                interrupted = _calibrate(machine, rows, weights, selection.calibrate, clock, parameters, answer)
        # Save first: what follows may fail.
        target = Path(f"{output}{INTERRUPTED_SUFFIX}") if interrupted and output != STANDARD_OUTPUT else output
        about = _about(data[0] if rows is None else file_of(rows, data), is_one=passes is None or len(data) == 1)
        written, why = write_model(machine, rows, weights, target, strip=reported.strip, provenance=about)
        metrics = {} if interrupted else _score(machine, rows, given, new, selection, answer)
        if metrics and written != STANDARD_OUTPUT:
            _note_metrics(written, about, metrics, strip=reported.strip)
    answer |= watch.compilation_entry()
    answer["status"] = str(machine.status_)
    if hasattr(machine, "certificate_"):
        answer |= proof_entry("certificate", machine.certificate_, "proof", details=reported.details)
    else:
        answer["certificate"] = Entry(
            "none: there was no time for it before the end; maxmargin.certify computes it", {"certificate": None}
        )
    answer["written"] = Entry(
        "standard output" if written == STANDARD_OUTPUT else str(written), {"written": str(written)}
    )
    if reported.plot is not None and rows is not None:
        drawn = draw_picture(machine, rows, reported.plot)
        answer |= {"plot": Entry(f"{drawn['picture']}: {drawn['shows']}", {"plot": drawn})}
    report(answer, reported.as_json, err=output == STANDARD_OUTPUT)
    if why is not None:
        raise OSError(f"{why}; the model was written to {written} instead.")
    if interrupted:
        raise typer.Exit(signals.exit_code)


def _read(
    machine: Any,
    paths: list[str],
    given: DataOptions,
    stored: StoreOptions,
    columns: ColumnOptions,
    prepared: PreparationOptions,
    reported: ReportOptions,
    output: Path,
    answer: Answer,
    *,
    needs_arrays: bool,
) -> "tuple[DataFile, Any]":
    """The rows and their weights, and the first entries of the report."""
    from maxmargin.files import read_data, svmlight  # noqa: F401  (its import is not reading)

    watch, data = Stopwatch(), paths[0]
    with working(f"reading {data}"):
        source, weight = data, weight_column_of(prepared.sample_weight, data)
        table = columns.table(given, weight)
        store = stored_rows(
            machine,
            paths,
            target=given.target,
            zero_based=given.zero_based,
            table=table,
            wanted=stored.store,
            folder=stored.store_dir,
            needs_arrays=needs_arrays or weight is not None or columns.n_features is not None,
        )
        if store is not None:
            if columns.n_features is not None:
                raise ValueError("--n-features is for text that is read as a whole: leave it or --store out.")
            source, rows = str(store.folder), with_targets(store, is_regression(machine))
        else:
            rows = read_data(
                data,
                target=given.target,
                values=is_regression(machine),
                zero_based=given.zero_based,
                table=table,
                n_features=columns.n_features,
            )
    refuse_targets(machine, rows.y, given.target)
    n_rows, n_columns = rows.X.shape
    text = f"{printable(name_of(source))}: {n_rows:,} rows of {n_columns:,} columns"
    text = "; ".join((text, *rows.notes))
    answer["data"] = Entry(text, {"data": source, "rows": n_rows, "columns": n_columns})
    if rows.preparation is not None and rows.preparation.columns is not None:
        answer["columns"] = columns_entry(rows.preparation, details=reported.details)
        if not reported.as_json:
            # Before training, which may take long: what is learned from.
            first = {name: answer.pop(name) for name in ("data", "columns")}
            report(first, as_json=False, err=output == STANDARD_OUTPUT)
    answer["reading"] = watch.entry("reading")
    if prepared.scale is not None:
        rows = as_arrays(rows.scaled(prepared.scale))
        answer["scaled"] = prepared.scale
    weights = sample_weights(rows, prepared.sample_weight)
    return rows, weights


def _select(
    machine: Any,
    rows: "DataFile",
    weights: Any,
    parameters: ModelOptions,
    selection: SelectionOptions,
    answer: Answer,
) -> Clock:
    """Choose parameters by cross-validation and estimate the score by it, as far as asked; returns the clock."""
    grid: list[Answer] = []
    if selection.search:
        grid = given_grid(machine, selection.grid) if selection.grid else []
        grid = grid or grid_of(machine, rows, given_c=parameters.C, given_gamma=parameters.gamma)
    n_inner, n_outer = SEARCH_FOLDS * len(grid), selection.cv or 0
    n_nested = n_outer * (1 + (n_inner if len(grid) > 1 else 0))
    n_calibrated = N_FOLDS if selection.calibrate is not None else 0
    clock = Clock(parameters.max_time, n_fits=n_inner + n_nested + 1 + n_calibrated)
    trial = Trial(rows, weights, selection.metric, clock, parameters.seed or 0)
    name = selection.metric or score_name(machine)
    if n_outer:
        with working("cross-validation", steps=n_nested) as advance:
            scores = nested_scores(machine, trial, n_outer, grid, advance)
        answer["cross-validation"] = _folds_entry(name, scores, nested=len(grid) > 1)
    if grid:
        with working("searching", steps=n_inner) as advance:
            scores = scores_in_folds(machine, trial, SEARCH_FOLDS, grid, advance)
        best = trial.best(scores)
        machine.set_params(**grid[best])
        answer["search"] = search_entry(name, grid, scores)
        value = float(scores[:, best].mean())
        text = ", ".join(f"{flag_of(key)} {_short(number)}" for key, number in grid[best].items())
        answer["chosen"] = Entry(
            f"{text} ({name} {value:.6g} in {SEARCH_FOLDS} folds)", {"chosen": grid[best] | {"score": value}}
        )
    return clock


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def search_entry(name: str, grid: list[Answer], scores: Any) -> Entry:
    """The whole table of a search: every entry of the grid with mean and standard deviation of its score."""
    means, deviations = scores.mean(axis=0), scores.std(axis=0)
    header = [*grid[0], name, "±"]
    rows = [
        [*map(_short, entry.values()), f"{mean:.6g}", f"{deviation:.2g}"]
        for entry, mean, deviation in zip(grid, means, deviations, strict=True)
    ]
    numbers = [
        {"parameters": entry, "mean": float(mean), "std": float(deviation), "folds": scores[:, k].tolist()}
        for k, (entry, mean, deviation) in enumerate(zip(grid, means, deviations, strict=True))
    ]
    return Entry(table_text([header, *rows]), {"search": numbers})


def _fit_on_cluster(
    machine: Any, data: list[str], scheduler: str, given: DataOptions, parameters: ModelOptions, answer: Answer
) -> bool:
    """Fit where the workers have read the files; whether Ctrl-C ended the fit early."""
    with connected(scheduler) as client:
        clock = Clock(parameters.max_time, n_fits=1)
        found, interrupted = fit_on_cluster(client, machine, data, given.target, given.zero_based, clock)
        # The vectors of the model, from the workers.
        vars(machine).update(vars(machine._in_memory()))
    answer |= found
    return interrupted


def _folds_entry(name: str, scores: Any, *, nested: bool) -> Entry:
    mean, deviation = float(scores.mean()), float(scores.std())
    of = f"{len(scores)} {'outer folds' if nested else 'folds'}"
    values = {"mean": mean, "std": deviation, "folds": scores.tolist()}
    return Entry(f"{name} {mean:.6g} ± {deviation:.2g} in {of}", {f"{json_key(name)}_cv": values})


def _fit(machine: Any, rows: "DataFile", weights: Any, clock: Clock, answer: Answer) -> bool:
    """Fit; returns whether Ctrl-C or another signal ended the fit early, with a model."""
    watch, interrupted = Stopwatch(), False
    with working("training", seconds=clock.next_limit):
        try:
            with clock.limit(machine):
                data = (rows,) if learns_from_blocks(machine, rows) else (rows.X, rows.y)
                machine.fit(*data, **({} if weights is None else {"sample_weight": weights}))
        except KeyboardInterrupt:
            if not hasattr(machine, "status_"):
                raise
            interrupted = True
    rows.name_features(machine)
    answer["training"] = watch.entry("training")
    return interrupted


def _calibrate(
    machine: Any,
    rows: "DataFile",
    weights: Any,
    method: str,
    clock: Clock,
    parameters: ModelOptions,
    answer: Answer,
) -> bool:
    """Fit probabilities to the scores; returns whether a signal ended it, which leaves a model without them."""
    from maxmargin import calibrate

    watch = Stopwatch()
    with working("calibrating"):
        try:
            with clock.limit(machine, n_fits=N_FOLDS):
                rows.quietly(calibrate)(
                    machine, rows.X, rows.y, method=method, sample_weight=weights, random_state=parameters.seed or 0
                )
        except KeyboardInterrupt:
            return True
    text = f"{method} on scores of {N_FOLDS} folds, {time_text(watch.seconds())}"
    answer["calibration"] = Entry(text, {"calibration": method, "calibration_seconds": watch.seconds()})
    return False


def _test(machine: Any, test: str, given: DataOptions, new: NewRowsOptions, answer: Answer) -> float:
    """Accuracy or R² on test data."""
    from maxmargin.cli.files import read_rows, target_of

    name = score_name(machine)
    with working(f"testing on {test}"):
        tested = read_rows(machine, test, given, new)
        tested = labelled(machine, tested, test, target_of(machine, test, given))
        value = score(machine, tested)
    text = f"{value:.6g} on the {tested.X.shape[0]:,} rows of {printable(test)}"
    answer[f"test {name}"] = Entry(text, {f"{json_key(name)}_test": value})
    return value


def _score(
    machine: Any,
    rows: "DataFile | None",
    given: DataOptions,
    new: NewRowsOptions,
    selection: SelectionOptions,
    answer: Answer,
) -> dict[str, float]:
    """Accuracy or R² on the rows of the fit and on test data; returns them by their keys."""
    name, metrics = score_name(machine), dict[str, float]()
    answer["model"] = model_entry(machine)
    if not selection.no_score and rows is not None:
        some, n_rows = rows_to_score(machine, rows), rows.X.shape[0]
        with working("scoring"):
            metrics[f"{json_key(name)}_train"] = value = score(machine, some)
        share = f"{some.X.shape[0]:,} of " if some.X.shape[0] < n_rows else ""
        answer[name] = Entry(f"{value:.6g} on {share}the {n_rows:,} training rows", dict(metrics))
    if selection.test is not None:
        metrics[f"{json_key(name)}_test"] = _test(machine, selection.test, given, new, answer)
    return metrics


def _about(data: str, *, is_one: bool) -> Answer:
    from maxmargin.files.file_blocks import is_pattern
    from maxmargin.files.provenance import provenance_of

    return provenance_of(data if is_one and not is_pattern(data) else None, command=command_line())


def _note_metrics(path: Path, about: Answer, metrics: Answer, *, strip: bool) -> None:
    """Write the metrics into the model file."""
    from maxmargin.files.model import add_provenance

    about = {**about, "metrics": metrics}
    try:
        add_provenance(path, {**about, "stripped": True} if strip else about)
    except OSError:
        # The model itself is written.
        return
