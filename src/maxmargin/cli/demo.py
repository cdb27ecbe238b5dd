"""``maxmargin demo``: the algorithms on real data, each beside what its theorem allows."""

import json
import math
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from maxmargin.cli.demo_files import run_on_files


@dataclass(frozen=True)
class Row:
    """A line of the demo's table."""

    data: str
    algorithm: str
    updates: int
    bound: float
    margin_at_least: float
    largest_margin_at_most: float
    test_accuracy: float
    status: str


@dataclass(frozen=True)
class SvmRow:
    """A line of the table of support vector machines."""

    data: str
    machine: str
    objective: float
    no_plane_below: float
    relative_gap: float
    steps: int
    test_score: float
    status: str


def demo(as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table.")) -> None:
    """Train on real data that scikit-learn ships, and show each result beside its theorem.

    Example: maxmargin demo
    """
    console, errors = Console(), Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=errors,
        transient=True,
        disable=not errors.is_terminal,
    ) as progress:
        task = progress.add_task("loading (compiled code is kept for the next time)", total=None)
        from maxmargin import LimitWarning

        rows, svm_rows = [], []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LimitWarning)
            runs, svm_runs = list(_runs()), list(_svm_runs())
            progress.update(task, total=len(runs) + len(svm_runs))
            for data, algorithm, model, split in runs:
                progress.update(task, description=f"{algorithm} on {data}")
                rows.append(_measured(data, algorithm, model, split))
                progress.advance(task)
            for data, machine, model, split in svm_runs:
                progress.update(task, description=f"{machine} on {data}")
                svm_rows.append(_solved(data, machine, model, split))
                progress.advance(task)
            progress.update(task, description="train, verify and predict on files")
            on_files = run_on_files()
    if as_json:
        tables: dict[str, list[Any]] = {"perceptrons": rows, "support_vector_machines": svm_rows}
        answer: dict[str, Any] = {name: [asdict(row) for row in table] for name, table in tables.items()}
        console.print_json(json.dumps({**answer, "files": asdict(on_files)}))
        return
    console.print(_table(rows))
    console.print(
        "data: iris setosa, wine 1 and digit 0 against the rest; breast cancer.\n"
        "bound: the updates that the algorithm's theorem allows on these data.\n"
        "margin, at most: the plane's margin, and what no plane whatever exceeds.\n"
        "accuracy: on rows held out.\n",
        highlight=False,
    )
    console.print(_svm_table(svm_rows))
    console.print(
        "objective: of the textbook's problem, C = 1, intercept not penalised.\n"
        "gap: no plane whatever has an objective that is less by more than this share.\n"
        "score: accuracy, or R² for the regression, on rows held out.\n",
        highlight=False,
    )
    train, verify, predict = on_files.commands
    console.print(
        f"The same from the shell, on files:\n"
        f"$ {train}\n  {on_files.trained}\n"
        f"$ {verify}\n  true; a changed model file is refused: {'yes' if on_files.tampered_refused else 'no'}\n"
        f"$ {predict}\n  {100 * on_files.test_accuracy:.1f} % of new rows are right",
        highlight=False,
        soft_wrap=True,
    )


def _runs() -> Iterator[tuple[str, str, Any, Any]]:
    from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import scale

    from maxmargin import KernelPerceptron, MarginPerceptron, Perceptron

    iris, wine = load_iris(return_X_y=True), load_wine(return_X_y=True)
    digits, cancer = load_digits(return_X_y=True), load_breast_cancer(return_X_y=True)
    tasks = {
        "iris": (iris[0], iris[1] == 0),
        "wine": (scale(wine[0]), wine[1] == 0),
        "digits": (digits[0] / 16.0, digits[1] == 0),
        "cancer": (scale(cancer[0]), cancer[1] == 1),
    }
    models = {
        "online": Perceptron(tol=None, max_iter=2000),
        "batch": Perceptron(rule="batch", tol=None, max_iter=2000),
        "margin": MarginPerceptron(max_time=10.0),
        "kernel": KernelPerceptron(tol=None),
    }
    for data, (X, y) in tasks.items():
        split = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
        for algorithm, model in models.items():
            yield data, algorithm, model, split


def _svm_runs() -> Iterator[tuple[str, str, Any, Any]]:
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import scale

    from maxmargin import LinearSVC, LinearSVR

    cancer, digits, diabetes = (load(return_X_y=True) for load in (load_breast_cancer, load_digits, load_diabetes))
    tasks = {
        "cancer": (
            (scale(cancer[0]), cancer[1]),
            {
                "hinge": LinearSVC(tol=1e-6, random_state=0),
                "squared hinge": LinearSVC(loss="squared_hinge", tol=1e-6, random_state=0),
                "by coordinates": LinearSVC(tol=1e-6, solver="coordinate", random_state=0),
            },
        ),
        "digits": (
            (digits[0] / 16.0, digits[1]),
            {"joint classes": LinearSVC(multi_class="crammer_singer", tol=1e-4, random_state=0)},
        ),
        "diabetes": (
            (scale(diabetes[0]), diabetes[1]),
            {"regression": LinearSVR(epsilon=10.0, tol=1e-6, random_state=0)},
        ),
    }
    for data, ((X, y), machines) in tasks.items():
        split = train_test_split(X, y, test_size=0.25, random_state=0)
        for machine, model in machines.items():
            yield data, machine, model, split


def _solved(data: str, machine: str, model: Any, split: Any) -> SvmRow:
    X_train, X_test, y_train, y_test = split
    model.fit(X_train, y_train)
    return SvmRow(
        data=data,
        machine=machine,
        objective=model.certificate_.primal,
        no_plane_below=model.certificate_.dual,
        relative_gap=model.certificate_.relative,
        steps=int(model.n_iter_),
        test_score=float(model.score(X_test, y_test)),
        status=str(model.status_),
    )


def _measured(data: str, algorithm: str, model: Any, split: Any) -> Row:
    from maxmargin import MistakeBound, incremental_search_bound

    X_train, X_test, y_train, y_test = split
    model.fit(X_train, y_train)
    proof = model.certificate_
    if isinstance(proof, MistakeBound):
        updates, bound, bracket = model.n_updates_, proof.bound, proof.bracket
    else:
        updates, bracket = model.n_updates_, proof
        bound = incremental_search_bound(proof.radius, proof.lower) if proof.separates else math.inf
    return Row(
        data=data,
        algorithm=algorithm,
        updates=int(updates),
        bound=float(bound),
        margin_at_least=bracket.lower,
        largest_margin_at_most=bracket.upper,
        test_accuracy=float(model.score(X_test, y_test)),
        status=str(model.status_),
    )


def _svm_table(rows: list[SvmRow]) -> Table:
    table = Table(title="Support vector machines and their gaps", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("data", no_wrap=True)
    table.add_column("machine", no_wrap=True)
    for name in ("objective", "gap", "steps", "score"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("ended", no_wrap=True)
    shown = None
    for row in rows:
        table.add_row(
            row.data if row.data != shown else "",
            row.machine,
            f"{row.objective:.7g}",
            f"{row.relative_gap:.1e}",
            _short(row.steps),
            f"{100 * row.test_score:.1f} %",
            row.status,
        )
        shown = row.data
    return table


def _table(rows: list[Row]) -> Table:
    table = Table(title="The perceptrons and their theorems", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("data", no_wrap=True)
    table.add_column("rule", no_wrap=True)
    for name in ("updates", "bound", "margin", "at most", "accuracy"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("ended", no_wrap=True)
    shown = None
    for row in rows:
        table.add_row(
            row.data if row.data != shown else "",
            row.algorithm,
            _short(row.updates),
            _short(row.bound),
            f"{row.margin_at_least:.3g}" if row.margin_at_least > 0 else "none",
            f"{row.largest_margin_at_most:.3g}",
            f"{100 * row.test_accuracy:.1f} %",
            row.status,
        )
        shown = row.data
    return table


def _short(count: float) -> str:
    return f"{count:,.0f}" if count < 1e6 else f"{count:.1e}"
