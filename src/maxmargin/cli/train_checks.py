"""What ``maxmargin train`` refuses before it reads rows: contradicting options, and paths that cannot be used."""

from pathlib import Path
from typing import Any

from maxmargin.cli.checks import (
    refuse_input_as_output,
    refuse_unreadable,
    refuse_unwritable,
)
from maxmargin.cli.metrics import refuse_metric
from maxmargin.cli.models import (
    is_regression,
)
from maxmargin.cli.options import (
    CheckpointOptions,
    ColumnOptions,
    DataOptions,
    ModelOptions,
    PreparationOptions,
    ReportOptions,
    SelectionOptions,
    StoreOptions,
)
from maxmargin.cli.plot import refuse_picture
from maxmargin.cli.search import (
    given_grid,
    refuse_empty_search,
)
from maxmargin.cli.writing import STANDARD_OUTPUT
from maxmargin.files.compression import STANDARD_INPUT

# What --calibrate takes.
CALIBRATIONS = ("sigmoid", "isotonic")


def refuse_paths(data: list[str], output: Path, test: str | None, reported: ReportOptions) -> None:
    """Refuse paths that could not be read or written at the end."""
    plot = reported.plot
    if output == STANDARD_OUTPUT:
        if reported.strip:
            raise ValueError("--strip writes two files: name one by -o.")
    else:
        refuse_unwritable(output)
        refuse_input_as_output(output, (*data, test))
    if plot is not None:
        refuse_picture(plot, "--plot")
        refuse_input_as_output(plot, (*data, test), "--plot")
        if plot == output:
            raise ValueError(f"--plot {plot} is the model file of -o: name another file.")
    if test is not None:
        refuse_unreadable(test, "--test")
        if test == STANDARD_INPUT in data:
            raise ValueError("--test -: standard input holds the rows to train on; name a file.")


def used_by_folds(selection: SelectionOptions) -> tuple[str, ...]:
    """Options that a model may not have, and the folds use."""
    return ("random_state",) if selection.search or selection.cv is not None else ()


def refuse_selection(machine: Any, parameters: ModelOptions, selection: SelectionOptions) -> None:
    if selection.calibrate is not None:
        if selection.calibrate not in CALIBRATIONS:
            raise ValueError(f"--calibrate {selection.calibrate} is none of {', '.join(CALIBRATIONS)}.")
        if is_regression(machine):
            raise ValueError("--calibrate is for classifiers, and this model is a regression: leave it out.")
        if hasattr(machine, "predict_proba"):
            raise ValueError("--calibrate: this model has probabilities of its own: leave it out.")
    if selection.metric is not None:
        refuse_metric(selection.metric, machine)
        if not selection.search and selection.cv is None:
            raise ValueError("--metric is what --search and --cv compare: give one of them.")
    if selection.grid and not selection.search:
        raise ValueError("--grid holds the values for --search: give it, too.")
    if selection.search:
        given_grid(machine, selection.grid)
        refuse_empty_search(
            machine, given_c=parameters.C, given_gamma=parameters.gamma, given_grid=bool(selection.grid)
        )


def refuse_on_cluster(
    output: Path, given: DataOptions, columns: ColumnOptions, prepared: PreparationOptions, reported: ReportOptions
) -> None:
    """Refuse options of the columns and of the model file that a fit on a cluster does not have."""
    plain = DataOptions(target=given.target, zero_based=given.zero_based)
    if given != plain or columns != ColumnOptions() or prepared != PreparationOptions():
        raise ValueError("--scheduler reads the columns as they are: leave out the options of columns and of CSV.")
    if reported.strip or output == STANDARD_OUTPUT:
        raise ValueError("--scheduler writes one model file: leave out --strip, and name a file by -o.")


def refuse_on_stream(
    parameters: ModelOptions,
    stored: StoreOptions,
    columns: ColumnOptions,
    prepared: PreparationOptions,
    kept: CheckpointOptions,
    selection: SelectionOptions,
    reported: ReportOptions,
) -> None:
    """Refuse options that need all rows at once."""
    refused = {
        "--max-iter": (parameters.max_iter, "--passes is the number of passes"),
        "--tol": (parameters.tol, "the number of passes ends the training"),
        "--seed": (parameters.seed, "rows are read in their order"),
        "--class-weight balanced": (parameters.class_weight == "balanced", "all rows would be counted first"),
        "--store": (stored.store or stored.store_dir, "files are read as they are: convert them first"),
        "--n-features": (columns.n_features, "the columns are counted in a pass of their own"),
        "--scale": (prepared.scale, "the columns would be measured first"),
        "--sample-weight": (prepared.sample_weight, "it needs all rows at once"),
        "--checkpoint": (kept.path, "a pass keeps nothing that could be lost"),
        "--cv": (selection.cv, "it needs all rows at once"),
        "--search": (selection.search, "it needs all rows at once"),
        "--calibrate": (selection.calibrate, "it needs all rows at once"),
        "--plot": (reported.plot, "it needs all rows at once"),
        "--strip": (reported.strip, "the file has no vectors over the rows anyway"),
    }
    for option, (value, why) in refused.items():
        if value not in (None, False):
            raise ValueError(f"--passes reads the rows block by block, without {option}: {why}.")
