"""``maxmargin train``: from a file to a model with its proof."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli.checks import STANDARD_INPUT, labelled, refuse_unreadable, refuse_unwritable
from maxmargin.cli.console import JSON, ZERO_BASED, Entry, proof_entry, tell, working
from maxmargin.cli.models import KERNELS, MODELS, is_regression, make_model, number_or_name, score, score_name

if TYPE_CHECKING:
    from maxmargin.files import DataFile

# Prices that --search tries, and factors on gamma.
PRICES = tuple(10.0**k for k in range(-3, 4))
WIDTHS = tuple(4.0**k for k in range(-2, 3))
SEARCH_FOLDS = 5
# What a fit gets where no time is left: limits of zero are refused.
LEAST_SECONDS = 1e-3
# The exit code of a run that Ctrl-C has ended.
INTERRUPTED = 130


def train(
    data: Annotated[str, typer.Argument(help="svmlight text (also .gz .bz2 .xz .zst), .csv or .parquet; - for stdin.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The model file to write.")],
    model: Annotated[
        str, typer.Option("-m", "--model", help=" | ".join(MODELS), autocompletion=lambda: list(MODELS))
    ] = "linear-svc",
    C: Annotated[float | None, typer.Option("-C", help="The price of slack; inf for the hard margin.")] = None,
    loss: Annotated[str | None, typer.Option(help="hinge, squared_hinge, epsilon_insensitive, ...")] = None,
    kernel: Annotated[
        str | None, typer.Option(help="rbf, linear, poly, sigmoid.", autocompletion=lambda: list(KERNELS))
    ] = None,
    gamma: Annotated[str | None, typer.Option(help="Of the kernel: a number, scale or auto.")] = None,
    degree: Annotated[int | None, typer.Option(help="Of the polynomial kernel.")] = None,
    coef0: Annotated[float | None, typer.Option(help="Of the polynomial and the sigmoid kernel.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Half the width of a regression's tube.")] = None,
    lam: Annotated[float | None, typer.Option(help="The price of the coefficients of ridge and lasso.")] = None,
    tol: Annotated[float | None, typer.Option(help="The relative gap at which to stop.")] = None,
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
    search: Annotated[bool, typer.Option("--search", help="Choose C (and gamma) by cross-validation.")] = False,
    zero_based: bool = ZERO_BASED,
    as_json: bool = JSON,
) -> None:
    """Train a model on a file, print its accuracy and its certificate, and write it.

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
        "tol": tol,
        "class_weight": class_weight,
        "cache_size": cache_size,
        "max_iter": max_iter,
        "max_time": max_time,
        "n_jobs": jobs,
        "random_state": seed,
    }
    machine = make_model(model, options)
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
    grid = _grid(machine, rows.X, given_c=C, given_gamma=gamma) if search else []
    clock = Clock(max_time, n_fits=SEARCH_FOLDS * len(grid) + (cv or 0) + 1)
    folds_seed = 0 if seed is None else seed
    if search:
        chosen, best = _best_of(grid, _scores(machine, rows, SEARCH_FOLDS, grid, "searching", clock, folds_seed))
        machine.set_params(**chosen)
        answer["chosen"] = {**chosen, "score": best}
    if cv is not None:
        scores = _scores(machine, rows, cv, [{}], "cross-validation", clock, folds_seed)
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


class Clock:
    """Shares the seconds that all fits of a command have: each gets its part of what is left when it begins."""

    def __init__(self, seconds: float | None, n_fits: int) -> None:
        if seconds is not None and not seconds > 0.0:
            raise ValueError(f"--max-time must be more than 0 seconds, got {seconds:g}.")
        self._seconds = seconds
        self._ends = None if seconds is None else time.perf_counter() + seconds
        self._n_waiting = n_fits

    @contextmanager
    def limit(self, machine: Any) -> Iterator[None]:
        """Limit the next fit of a machine, which keeps the limit that the user gave."""
        if self._ends is None:
            yield
            return
        share = (self._ends - time.perf_counter()) / self._n_waiting
        self._n_waiting -= 1
        machine.set_params(max_time=max(LEAST_SECONDS, share))
        try:
            yield
        finally:
            machine.set_params(max_time=self._seconds)


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
    from maxmargin.files.reading import table_format
    from maxmargin.files.store import is_store, is_store_of

    text, path = Path(data), Path(f"{data}.store")
    if is_store(text) or table_format(data) is not None:
        raise ValueError(f"--store is for svmlight text, and {data} is none.")
    if not is_store_of(path, text, zero_based=zero_based):
        store_text(text, path, zero_based=zero_based)
    return str(path)


def _grid(machine: Any, X: Any, *, given_c: float | None, given_gamma: str | None) -> list[dict[str, Any]]:
    """The prices to try, and for a kernel the widths: for each width the prices in rising order."""
    parameters = machine.get_params()
    if "C" not in parameters:
        raise ValueError("--search chooses C, which this model does not have: leave it out.")
    prices = [{"C": price} for price in PRICES] if given_c is None else [{}]
    has_width = "gamma" in parameters and parameters["kernel"] not in ("linear", "precomputed")
    widths = [width / (X.shape[1] * _variance(X)) for width in WIDTHS] if has_width and given_gamma is None else []
    if given_c is not None and not widths:
        raise ValueError("--search has nothing to choose: leave out -C or --gamma.")
    return [{**price, "gamma": width} for width in widths for price in prices] if widths else prices


def _variance(X: Any) -> float:
    import scipy.sparse as sp

    if sp.issparse(X):
        mean = X.mean()
        return float(X.multiply(X).mean() - mean * mean) or 1.0
    return float(X.var()) or 1.0


def _scores(
    machine: Any,
    rows: "DataFile",
    n_folds: int,
    grid: list[dict[str, Any]],
    description: str,
    clock: Clock,
    seed: int,
) -> Any:
    """A score for every fold and every entry of the grid; linear machines go on from price to price."""
    import numpy as np
    from sklearn.base import clone

    from maxmargin.files import DataFile

    X, y = rows.X, rows.y
    warm = {"warm_start": True} if "warm_start" in machine.get_params() and len(grid) > 1 else {}
    scores = np.zeros((n_folds, len(grid)))
    with working(description, steps=scores.size) as advance:
        for fold, (seen, unseen) in enumerate(_folds(y, n_folds, seed, of_values=is_regression(machine))):
            model, held_out = clone(machine).set_params(**warm), DataFile(X[unseen], y[unseen])
            for k, parameters in enumerate(grid):
                model.set_params(**parameters)
                with clock.limit(model):
                    model.fit(X[seen], y[seen])
                scores[fold, k] = score(model, held_out)
                advance()
    return scores


def _folds(y: Any, n_folds: int, seed: int, *, of_values: bool) -> Iterator[Any]:
    """Folds of rows in a random order, since files are often sorted; each with its share of every class."""
    import numpy as np
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = KFold if of_values else StratifiedKFold
    codes = y if of_values else np.unique(y, return_inverse=True)[1]
    return kind(n_folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), codes)


def _best_of(grid: list[dict[str, Any]], scores: Any) -> tuple[dict[str, Any], float]:
    means = scores.mean(axis=0)
    best = int(means.argmax())
    return grid[best], float(means[best])
