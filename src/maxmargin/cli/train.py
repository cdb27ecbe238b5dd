"""``maxmargin train``: from a file to a model with its proof."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli.checks import STANDARD_INPUT, labelled, refuse_unreadable, refuse_unwritable
from maxmargin.cli.console import JSON, ZERO_BASED, Entry, proof_entry, tell, working
from maxmargin.cli.grids import grid_of, refuse_no_choice
from maxmargin.cli.models import KERNELS, MODELS, is_regression, make_model, number_or_name, score, score_name
from maxmargin.cli.search import SEARCH_FOLDS, Clock, best_of, scores_in_folds

if TYPE_CHECKING:
    from maxmargin.files import DataFile

# The exit code of a run that Ctrl-C has ended.
INTERRUPTED = 130


def train(
    data: Annotated[str, typer.Argument(help="svmlight text (also .gz .bz2 .xz .zst), .csv or .parquet; - for stdin.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The model file to write.")],
    model: Annotated[
        str, typer.Option("-m", "--model", help=" | ".join(MODELS), autocompletion=lambda: list(MODELS))
    ] = "linear-svc",
    C: Annotated[
        float | None,
        typer.Option(
            "-C",
            help="The price of slack; inf for the hard margin of linear-svc and svc. Of logistic-regression: the price "
            "of its loss; inf, as by default, for no penalty.",
        ),
    ] = None,
    loss: Annotated[str | None, typer.Option(help="hinge, squared_hinge, epsilon_insensitive, ...")] = None,
    kernel: Annotated[
        str | None, typer.Option(help="rbf, linear, poly, sigmoid.", autocompletion=lambda: list(KERNELS))
    ] = None,
    gamma: Annotated[
        str | None,
        typer.Option(help="Of the kernel: a number, scale or auto. Of margin-perceptron: the margin to ask for."),
    ] = None,
    degree: Annotated[int | None, typer.Option(help="Of the polynomial kernel.")] = None,
    coef0: Annotated[float | None, typer.Option(help="Of the polynomial and the sigmoid kernel.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Half the width of the tube of linear-svr and svr.")] = None,
    lam: Annotated[
        float | None, typer.Option(help="The price of the coefficients of ridge and lasso, 1 by default.")
    ] = None,
    sigma2: Annotated[
        float | None, typer.Option(help="The variance of the errors; with --tau2 or --rate in place of --lam.")
    ] = None,
    tau2: Annotated[float | None, typer.Option(help="The variance of ridge's coefficients; see --sigma2.")] = None,
    rate: Annotated[float | None, typer.Option(help="Of the lasso's Laplace prior; see --sigma2.")] = None,
    no_intercept: Annotated[bool, typer.Option("--no-intercept", help="Learn no intercept.")] = False,
    solver: Annotated[
        str | None,
        typer.Option(help="auto, newton, coordinate (linear-svc, linear-svr), gradient (logistic-regression)."),
    ] = None,
    step_size: Annotated[float | None, typer.Option(help="Of the steps of --solver gradient.")] = None,
    tol: Annotated[
        float | None, typer.Option(help="The relative gap at which to stop; of perceptrons, the least progress.")
    ] = None,
    class_weight: Annotated[str | None, typer.Option(help="balanced.")] = None,
    cache_size: Annotated[float | None, typer.Option(help="Megabytes for kernel rows.")] = None,
    max_iter: Annotated[int | None, typer.Option(help="The most passes or steps.")] = None,
    max_time: Annotated[
        float | None, typer.Option(help="The most seconds to train; of --cv and --search, for all fits together.")
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("-j", "--jobs", help="Threads, by default one a core; the result does not depend on it."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Of random orders, and of the folds of --cv and --search (there 0 by default).")
    ] = None,
    target: Annotated[str | None, typer.Option(help="The column of a table that is to be predicted.")] = None,
    test: Annotated[str | None, typer.Option(help="Data to measure the model on.")] = None,
    cv: Annotated[int | None, typer.Option(min=2, help="Folds of a cross-validation before training.")] = None,
    store: Annotated[
        bool, typer.Option("--store", help="Train from DATA.store, which is made beside the text if need be.")
    ] = False,
    search: Annotated[
        bool, typer.Option("--search", help="Choose C (and gamma), or lam, by cross-validation.")
    ] = False,
    zero_based: bool = ZERO_BASED,
    as_json: bool = JSON,
) -> None:
    """Train a model on a file, print its accuracy (or R²) and its certificate, and write it.

    Example: maxmargin train a9a.svm -o a9a.model -C 0.1 --test a9a.t.svm
    """
    refuse_unwritable(output)
    if test is not None:
        refuse_unreadable(test, "--test")
        if test == data == STANDARD_INPUT:
            raise ValueError("--test -: standard input holds the rows to train on; name a file.")
    options: dict[str, Any] = {
        "C": C,
        "loss": loss,
        "kernel": kernel,
        "gamma": number_or_name(gamma),
        "degree": degree,
        "coef0": coef0,
        "epsilon": epsilon,
        "lam": lam,
        "sigma2": sigma2,
        "tau2": tau2,
        "rate": rate,
        "fit_intercept": False if no_intercept else None,
        "solver": solver,
        "step_size": step_size,
        "tol": tol,
        "class_weight": class_weight,
        "cache_size": cache_size,
        "max_iter": max_iter,
        "max_time": max_time,
        "n_jobs": jobs,
        "random_state": seed,
    }
    has_folds = search or cv is not None
    machine = make_model(model, options, used_elsewhere=("random_state",) if has_folds else ())
    if search:
        refuse_no_choice(machine, given_c=C, given_gamma=gamma)
    from maxmargin.files import read_data, save

    began = time.perf_counter()
    with working(f"reading {data}"):
        source = _stored(data, zero_based) if store else data
        rows = read_data(source, target=target, values=is_regression(machine), zero_based=zero_based and not store)
    n_rows, n_columns = rows.X.shape
    answer: dict[str, Any] = {
        "data": Entry(
            f"{source}: {n_rows:,} rows of {n_columns:,} columns",
            {"data": source, "rows": n_rows, "columns": n_columns},
        ),
        "reading": time.perf_counter() - began,
    }
    grid = grid_of(machine, rows, given_c=C, given_gamma=gamma) if search else []
    clock = Clock(max_time, n_fits=SEARCH_FOLDS * len(grid) + (cv or 0) + 1)
    folds_seed = 0 if seed is None else seed
    if search:
        chosen, best = best_of(grid, scores_in_folds(machine, rows, SEARCH_FOLDS, grid, "searching", clock, folds_seed))
        machine.set_params(**chosen)
        answer["chosen"] = {**chosen, "score": best}
    if cv is not None:
        scores = scores_in_folds(machine, rows, cv, [{}], "cross-validation", clock, folds_seed)
        answer |= _mean_entry(f"{score_name(machine)} in {cv} folds", scores)
    began = time.perf_counter()
    with working("training"):
        interrupted = _fit_or_stop(machine, rows, clock)
    answer["training"] = time.perf_counter() - began
    # Before anything else can fail.
    with working("writing"):
        save(machine, output)
    answer["model"] = repr(machine)
    answer[score_name(machine)] = score(machine, rows)
    if test is not None:
        with working(f"testing on {test}"):
            new = read_data(test, target=target, like=machine, zero_based=zero_based)
            answer[f"{score_name(machine)} on {test}"] = score(machine, labelled(machine, new, test, target))
    answer["status"] = str(machine.status_)
    answer |= proof_entry("certificate", machine.certificate_, "proof")
    answer["written"] = str(output)
    tell(answer, as_json)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _mean_entry(name: str, scores: Any) -> dict[str, Entry]:
    mean, deviation = float(scores.mean()), float(scores.std())
    return {name: Entry(f"{mean:.6g} ± {deviation:.2g}", {name: {"mean": mean, "std": deviation}})}


def _fit_or_stop(machine: Any, rows: "DataFile", clock: Clock) -> bool:
    """Train; where Ctrl-C ends that early, say so, and keep what was found with its certificate."""
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
    """The store beside a text, made anew where it is missing or was made of another state of the text."""
    from maxmargin.files import store_text
    from maxmargin.files.data_file import table_format
    from maxmargin.files.store import is_store, is_store_of

    text, path = Path(data), Path(f"{data}.store")
    if is_store(text) or table_format(data) is not None:
        raise ValueError(f"--store is for svmlight text, and {data} is none.")
    if not is_store_of(path, text, zero_based=zero_based):
        store_text(text, path, zero_based=zero_based)
    return str(path)
