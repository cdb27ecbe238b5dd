"""``maxmargin train``: train a model on a file, with its certificate."""

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli.checks import labelled, refuse_unreadable, refuse_unwritable
from maxmargin.cli.console import JSON, ZERO_BASED, Entry, expand_options, proof_entry, report, working
from maxmargin.cli.models import KERNELS, MODELS, is_regression, make_model, number_or_name, score, score_name
from maxmargin.cli.plot import draw_picture, refuse_picture
from maxmargin.cli.search import SEARCH_FOLDS, Clock, best_of, grid_of, refuse_empty_search, scores_in_folds
from maxmargin.files.compression import STANDARD_INPUT

if TYPE_CHECKING:
    from maxmargin.files import DataFile

# Exit code of a run that Ctrl-C ended.
INTERRUPTED = 130


@dataclass(frozen=True)
class ModelOptions:
    """Options that set parameters of the model; None keeps the model's default."""

    C: Annotated[
        float | None,
        typer.Option(
            "-C",
            help="Weight of the loss against the L2 penalty. inf: the hard margin of linear-svc and svc; "
            "no penalty for logistic-regression.",
        ),
    ] = None
    loss: Annotated[str | None, typer.Option(help="hinge, squared_hinge, epsilon_insensitive, ...")] = None
    kernel: Annotated[
        str | None, typer.Option(help="rbf, linear, poly, sigmoid.", autocompletion=lambda: list(KERNELS))
    ] = None
    gamma: Annotated[
        str | None,
        typer.Option(help="Kernel: a number, scale or auto. margin-perceptron: the margin to find."),
    ] = None
    degree: Annotated[int | None, typer.Option(help="Degree of the polynomial kernel.")] = None
    coef0: Annotated[float | None, typer.Option(help="Constant of the polynomial and the sigmoid kernel.")] = None
    epsilon: Annotated[float | None, typer.Option(help="linear-svr, svr: errors up to epsilon cost nothing.")] = None
    alpha: Annotated[
        float | None,
        typer.Option(help="Regularisation strength of ridge and lasso, 1 by default; of lasso for every row."),
    ] = None
    lam: Annotated[float | None, typer.Option(help="The same for all rows together, as in the lecture.")] = None
    sigma2: Annotated[
        float | None, typer.Option(help="Variance of the noise; with --tau2 or --rate instead of --alpha.")
    ] = None
    tau2: Annotated[float | None, typer.Option(help="Prior variance of ridge's coefficients; see --sigma2.")] = None
    rate: Annotated[float | None, typer.Option(help="Rate of the lasso's Laplace prior; see --sigma2.")] = None
    no_intercept: Annotated[bool, typer.Option("--no-intercept", help="Fit no intercept.")] = False
    solver: Annotated[
        str | None,
        typer.Option(help="auto, newton, coordinate (linear-svc, linear-svr), gradient (logistic-regression)."),
    ] = None
    step_size: Annotated[float | None, typer.Option(help="Step size of --solver gradient.")] = None
    tol: Annotated[
        float | None,
        typer.Option(help="Relative duality gap to stop at; perceptrons: least progress per epoch."),
    ] = None
    class_weight: Annotated[str | None, typer.Option(help="balanced.")] = None
    cache_size: Annotated[float | None, typer.Option(help="Size of the kernel cache in megabytes.")] = None
    max_iter: Annotated[int | None, typer.Option(help="Most epochs or iterations.")] = None
    max_time: Annotated[
        float | None, typer.Option(help="Most seconds of training, of all fits together with --cv and --search.")
    ] = None
    jobs: Annotated[
        int | None,
        typer.Option("-j", "--jobs", help="Threads, by default one per core; the result does not depend on it."),
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of random orders, and of the folds of --cv and --search (default 0)."),
    ] = None

    def parameters(self) -> dict[str, Any]:
        """The parameters by their names in the library."""
        values = asdict(self)
        values["gamma"] = number_or_name(self.gamma)
        values["fit_intercept"] = False if values.pop("no_intercept") else None
        values["n_jobs"], values["random_state"] = values.pop("jobs"), values.pop("seed")
        return values


@dataclass(frozen=True)
class RunOptions:
    """Options of the data, of cross-validation and of the report."""

    target: Annotated[str | None, typer.Option(help="Column of a table to be predicted.")] = None
    test: Annotated[str | None, typer.Option(help="Test data, in any format that is read.")] = None
    cv: Annotated[int | None, typer.Option(min=2, help="Cross-validate with this number of folds first.")] = None
    store: Annotated[
        bool, typer.Option("--store", help="Train from DATA.store, which is written first if it is missing or old.")
    ] = False
    search: Annotated[bool, typer.Option("--search", help="Choose C (and gamma), or lam, by cross-validation.")] = False
    plot: Annotated[
        Path | None, typer.Option(help="Draw the model into this file, .png, .svg or .pdf; see maxmargin plot.")
    ] = None
    zero_based: Annotated[bool, ZERO_BASED] = False
    as_json: Annotated[bool, JSON] = False


@expand_options
def train(
    *,
    data: Annotated[str, typer.Argument(help="svmlight text (also .gz .bz2 .xz .zst), .csv or .parquet; - for stdin.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The model file to write.")],
    model: Annotated[
        str, typer.Option("-m", "--model", help=" | ".join(MODELS), autocompletion=lambda: list(MODELS))
    ] = "linear-svc",
    options: ModelOptions,
    run: RunOptions,
) -> None:
    """Train a model on a file, print its accuracy (or R²) and its certificate, and write it.

    Example: maxmargin train a9a.svm -o a9a.model -C 0.1 --test a9a.t.svm
    """
    refuse_unwritable(output)
    if run.plot is not None:
        refuse_picture(run.plot, "--plot")
        if run.plot == output:
            raise ValueError(f"--plot {run.plot} is the model file of -o: name another file.")
    if run.test is not None:
        refuse_unreadable(run.test, "--test")
        if run.test == data == STANDARD_INPUT:
            raise ValueError("--test -: standard input holds the rows to train on; name a file.")
    has_folds = run.search or run.cv is not None
    machine = make_model(model, options.parameters(), used_elsewhere=("random_state",) if has_folds else ())
    if run.search:
        refuse_empty_search(machine, given_c=options.C, given_gamma=options.gamma)
    from maxmargin.files import read_data, save

    began = time.perf_counter()
    with working(f"reading {data}"):
        source = _stored(data, run.zero_based) if run.store else data
        zero_based = run.zero_based and not run.store
        rows = read_data(source, target=run.target, values=is_regression(machine), zero_based=zero_based)
    n_rows, n_columns = rows.X.shape
    answer: dict[str, Any] = {
        "data": Entry(
            f"{source}: {n_rows:,} rows of {n_columns:,} columns",
            {"data": source, "rows": n_rows, "columns": n_columns},
        ),
        "reading": time.perf_counter() - began,
    }
    grid = grid_of(machine, rows, given_c=options.C, given_gamma=options.gamma) if run.search else []
    clock = Clock(options.max_time, n_fits=SEARCH_FOLDS * len(grid) + (run.cv or 0) + 1)
    folds_seed = options.seed or 0
    if run.search:
        chosen, best = best_of(grid, scores_in_folds(machine, rows, SEARCH_FOLDS, grid, "searching", clock, folds_seed))
        machine.set_params(**chosen)
        answer["chosen"] = {**chosen, "score": best}
    if run.cv is not None:
        scores = scores_in_folds(machine, rows, run.cv, [{}], "cross-validation", clock, folds_seed)
        answer |= _mean_entry(f"{score_name(machine)} in {run.cv} folds", scores)
    began = time.perf_counter()
    with working("training"):
        interrupted = _fit_or_stop(machine, rows, clock)
    answer["training"] = time.perf_counter() - began
    # Save first: what follows may fail.
    with working("writing"):
        rows.quietly(save)(machine, output, rows.X, rows.y)
    answer["model"] = repr(machine)
    answer[score_name(machine)] = score(machine, rows)
    if run.test is not None:
        with working(f"testing on {run.test}"):
            new = read_data(run.test, target=run.target, like=machine, zero_based=run.zero_based)
            new = labelled(machine, new, run.test, run.target)
            answer[f"{score_name(machine)} on {run.test}"] = score(machine, new)
    answer["status"] = str(machine.status_)
    answer |= proof_entry("certificate", machine.certificate_, "proof")
    answer["written"] = str(output)
    if run.plot is not None:
        drawn = draw_picture(machine, rows, run.plot)
        answer |= {"plot": Entry(f"{drawn['picture']}: {drawn['shows']}", {"plot": drawn})}
    report(answer, run.as_json)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


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
