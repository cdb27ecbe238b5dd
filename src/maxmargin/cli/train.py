"""``maxmargin train``: from a file to a model with its proof."""

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli.console import JSON, ZERO_BASED, tell, working
from maxmargin.cli.models import MODELS, is_regression, make_model, number_or_name, score, score_name

if TYPE_CHECKING:
    from maxmargin.files import DataFile

# Prices that --search tries, and factors on gamma.
PRICES = tuple(10.0**k for k in range(-3, 4))
WIDTHS = tuple(4.0**k for k in range(-2, 3))
SEARCH_FOLDS = 5
# The exit code of a run that Ctrl-C has ended.
INTERRUPTED = 130


def train(
    data: Annotated[str, typer.Argument(help="svmlight text (also .gz .bz2 .xz .zst), .csv or .parquet; - for stdin.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The model file to write.")],
    model: Annotated[str, typer.Option("-m", "--model", help=" | ".join(MODELS))] = "linear-svc",
    C: Annotated[float | None, typer.Option("-C", help="The price of slack; inf for the hard margin.")] = None,
    loss: Annotated[str | None, typer.Option(help="hinge, squared_hinge, epsilon_insensitive, ...")] = None,
    kernel: Annotated[str | None, typer.Option(help="rbf, linear, poly, sigmoid.")] = None,
    gamma: Annotated[str | None, typer.Option(help="Of the kernel: a number, scale or auto.")] = None,
    degree: Annotated[int | None, typer.Option(help="Of the polynomial kernel.")] = None,
    coef0: Annotated[float | None, typer.Option(help="Of the polynomial and the sigmoid kernel.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Half the width of a regression's tube.")] = None,
    lam: Annotated[float | None, typer.Option(help="The price of the coefficients of ridge and lasso.")] = None,
    tol: Annotated[float | None, typer.Option(help="The relative gap at which to stop.")] = None,
    class_weight: Annotated[str | None, typer.Option(help="balanced.")] = None,
    cache_size: Annotated[float | None, typer.Option(help="Megabytes for kernel rows.")] = None,
    max_iter: Annotated[int | None, typer.Option(help="The most passes or steps.")] = None,
    max_time: Annotated[float | None, typer.Option(help="The most seconds to train.")] = None,
    jobs: Annotated[
        int | None,
        typer.Option("-j", "--jobs", help="Threads, by default one a core; the result does not depend on it."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of random orders.")] = None,
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
        if store:
            data, zero_based = _stored(data, zero_based), False
        rows = read_data(data, target=target, values=is_regression(machine), zero_based=zero_based)
    answer: dict[str, Any] = {
        "data": f"{data}: {rows.X.shape[0]:,} rows of {rows.X.shape[1]:,} columns",
        "reading": time.perf_counter() - began,
    }
    if search:
        grid = _grid(machine, rows.X, given_c=C, given_gamma=gamma)
        chosen, best = _best_of(grid, _scores(machine, rows, SEARCH_FOLDS, grid, "searching"))
        machine.set_params(**chosen)
        answer["chosen"] = {**chosen, "score": best}
    if cv is not None:
        scores = _scores(machine, rows, cv, [{}], "cross-validation")
        answer[f"{score_name(machine)} in {cv} folds"] = f"{scores.mean():.6g} ± {scores.std():.2g}"
    began = time.perf_counter()
    with working("training"), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        interrupted = _fit_or_stop(machine, rows)
    answer["training"] = time.perf_counter() - began
    answer["model"] = repr(machine)
    answer[score_name(machine)] = score(machine, rows)
    if test is not None:
        with working(f"testing on {test}"):
            new = read_data(test, target=target, like=machine, zero_based=zero_based)
            answer[f"{score_name(machine)} on {test}"] = score(machine, new)
    answer["status"] = str(machine.status_)
    answer["certificate"] = str(machine.certificate_)
    with working("writing"):
        save(machine, output)
    answer["written"] = str(output)
    for warning in told:
        if not as_json:
            typer.echo(f"warning: {warning.message}", err=True)
    tell(answer, as_json)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _fit_or_stop(machine: Any, rows: "DataFile") -> bool:
    """Train; where Ctrl-C ends that early, say so, and keep what was found with its certificate."""
    interrupted = False
    try:
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


def _scores(machine: Any, rows: "DataFile", n_folds: int, grid: list[dict[str, Any]], description: str) -> Any:
    """A score for every fold and every entry of the grid; linear machines go on from price to price."""
    import numpy as np
    from sklearn.base import clone
    from sklearn.model_selection import check_cv

    from maxmargin.files import DataFile

    X, y = rows.X, rows.y
    folds = check_cv(n_folds, y, classifier=not is_regression(machine))
    warm = {"warm_start": True} if "warm_start" in machine.get_params() and len(grid) > 1 else {}
    scores = np.zeros((n_folds, len(grid)))
    with working(description, steps=scores.size) as advance:
        for fold, (seen, unseen) in enumerate(folds.split(X, y)):
            model, held_out = clone(machine).set_params(**warm), DataFile(X[unseen], y[unseen])
            for k, parameters in enumerate(grid):
                model.set_params(**parameters).fit(X[seen], y[seen])
                scores[fold, k] = score(model, held_out)
                advance()
    return scores


def _best_of(grid: list[dict[str, Any]], scores: Any) -> tuple[dict[str, Any], float]:
    means = scores.mean(axis=0)
    best = int(means.argmax())
    return grid[best], float(means[best])
