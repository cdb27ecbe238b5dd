"""``maxmargin demo``: every algorithm on real data, with the bound of its theorem or its duality gap."""

import json
import math
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from maxmargin.cli.options import JSON, expand_options


@expand_options
def demo(*, as_json: Annotated[bool, JSON] = False) -> None:
    """Train on data sets of scikit-learn, and print each result with the bound that its theorem proves.

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
        task = progress.add_task("loading (the first time, loops are compiled)", total=None)
        from maxmargin import LimitWarning

        rows, svm_rows = [], []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LimitWarning)
            runs, svm_runs = list(_runs()), list(_svm_runs())
            progress.update(task, total=len(runs) + len(svm_runs))
            for data, algorithm, model, split in runs:
                progress.update(task, description=f"{algorithm} on {data}")
                rows.append(_perceptron_row(data, algorithm, model, split))
                progress.advance(task)
            for data, machine, model, split in svm_runs:
                progress.update(task, description=f"{machine} on {data}")
                svm_rows.append(_svm_row(data, machine, model, split))
                progress.advance(task)
            progress.update(task, description="train, verify and predict on files")
            on_files = _run_on_files()
    if as_json:
        answer = {"perceptrons": rows, "support_vector_machines": svm_rows, "files": on_files}
        console.print_json(json.dumps(answer))
        return
    console.print(_perceptron_table(rows))
    console.print(
        "data: iris setosa, wine 1 and digit 0 against the rest; breast cancer.\n"
        "bound: the most updates by the algorithm's mistake bound on these data.\n"
        "margin, at most: margin of the hyperplane found, upper bound on all margins.\n"
        "accuracy: on held-out rows.\n",
        highlight=False,
    )
    console.print(_svm_table(svm_rows))
    console.print(
        "objective: primal objective for C = 1; the intercept is not penalised.\n"
        "gap: relative duality gap; no coefficients lower the objective by more.\n"
        "score: accuracy, or R² for the regression, on held-out rows.\n",
        highlight=False,
    )
    train, verify, predict = on_files["commands"]
    refused = "yes" if on_files["tampered_refused"] else "no"
    console.print(
        f"The same on files, from the shell:\n"
        f"$ {train}\n  {on_files['trained']}\n"
        f"$ {verify}\n  true; refused after a change of any of {len(on_files['tensors_changed'])} tensors: {refused}\n"
        f"$ {predict}\n  accuracy on new rows: {100 * on_files['test_accuracy']:.1f} %",
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
        "margin": MarginPerceptron(max_time=30.0),
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
                "coordinate": LinearSVC(tol=1e-6, solver="coordinate", random_state=0),
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


def _svm_row(data: str, machine: str, model: Any, split: Any) -> dict[str, Any]:
    """A support vector machine's objective, and its duality gap."""
    X_train, X_test, y_train, y_test = split
    model.fit(X_train, y_train)
    return {
        "data": data,
        "machine": machine,
        "objective": model.certificate_.primal,
        "dual_objective": model.certificate_.dual,
        "relative_gap": model.certificate_.relative,
        "iterations": int(model.n_iter_),
        "test_score": float(model.score(X_test, y_test)),
        "status": str(model.status_),
    }


def _perceptron_row(data: str, algorithm: str, model: Any, split: Any) -> dict[str, Any]:
    """A perceptron's updates and margin, and their bounds."""
    from maxmargin import MistakeBound, incremental_search_bound

    X_train, X_test, y_train, y_test = split
    model.fit(X_train, y_train)
    proof = model.certificate_
    if isinstance(proof, MistakeBound):
        updates, bound, bracket = model.n_updates_, proof.bound, proof.bracket
    else:
        updates, bracket = model.n_updates_, proof
        bound = incremental_search_bound(proof.radius, proof.lower) if proof.separates else math.inf
    return {
        "data": data,
        "algorithm": algorithm,
        "updates": int(updates),
        "bound": float(bound),
        "margin_at_least": bracket.lower,
        "largest_margin_at_most": bracket.upper,
        "test_accuracy": float(model.score(X_test, y_test)),
        "status": str(model.status_),
    }


def _run_on_files() -> dict[str, Any]:
    """Train on a file, verify the model file, verify it again after changes of every tensor, and predict new rows."""
    import numpy as np
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from maxmargin import SVC, save
    from maxmargin.data.printed_bounds import digits_up
    from maxmargin.files import read_data, write_svmlight
    from maxmargin.files.model import read_model_file
    from maxmargin.files.verification import verify_file

    X, X_new, y, y_new = train_test_split(*load_digits(return_X_y=True), test_size=0.3, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        text, new, path = (Path(folder) / name for name in ("digits.svm", "new.svm", "digits.model"))
        write_svmlight(text, X, y)
        write_svmlight(new, X_new, y_new)
        data = read_data(text)
        save(SVC().fit(data.X, data.y), path, data.X, data.y)
        stored = read_model_file(path)
        verdict = verify_file(stored, data.X, data.y)
        new_rows = read_data(new, like=stored.model).X
        found = stored.model.predict(new_rows)
        changed = _tensors_changed(path, data, new_rows)
    worst = max(one.relative for one in stored.model.certificate_.values())
    return {
        "commands": [
            "maxmargin train digits.svm -o digits.model --model svc",
            "maxmargin verify digits.model digits.svm",
            "maxmargin predict digits.model new.svm",
        ],
        "trained": f"{len(y):,} rows, 10 classes, {len(stored.model.certificate_)} pairs, relative duality gaps up to "
        f"{digits_up(worst, 2)}",
        "verified": verdict.true,
        "tampered_refused": all(changed.values()),
        "tensors_changed": sorted(changed),
        "test_accuracy": float(np.mean(found == y_new)),
    }


def _tensors_changed(path: Path, data: Any, new_rows: Any) -> dict[str, bool]:
    """Change every tensor of a model file in turn, with a new checksum; whether each file is refused.

    A tensor that no prediction uses, such as the number of steps, may pass.
    """
    import numpy as np

    from maxmargin import ModelFileError
    from maxmargin.files.container import CHECKSUM, content_of, pack, tensors_of
    from maxmargin.files.model import read_model_file
    from maxmargin.files.verification import verify_file

    original = path.read_bytes()
    content = {key: value for key, value in content_of(original).items() if key != CHECKSUM}
    tensors = {name: tensor.array() for name, tensor in tensors_of(original).items()}
    scores = read_model_file(path).model.decision_function(new_rows)
    refused = {}
    for name, array in tensors.items():
        changed = 0.9 * array if array.dtype.kind == "f" else np.roll(array, 1)
        path.write_bytes(pack({**tensors, name: changed.astype(array.dtype)}, content))
        try:
            stored = read_model_file(path)
            is_refused = not verify_file(stored, data.X, data.y).true
        except ModelFileError:
            refused[name] = True
            continue
        if is_refused or not np.array_equal(stored.model.decision_function(new_rows), scores):
            refused[name] = is_refused
    path.write_bytes(original)
    return refused


def _svm_table(rows: list[dict[str, Any]]) -> Table:
    from maxmargin.data.printed_bounds import digits_up

    columns = ("data", "machine", "objective", "gap", "iterations", "score", "status")
    cells = (
        (
            row["data"],
            row["machine"],
            digits_up(row["objective"], 7),
            digits_up(row["relative_gap"], 2),
            _short(row["iterations"]),
            f"{100 * row['test_score']:.1f} %",
            row["status"],
        )
        for row in rows
    )
    return _table("Support vector machines and their duality gaps", columns, cells)


def _perceptron_table(rows: list[dict[str, Any]]) -> Table:
    from maxmargin.data.printed_bounds import digits_down, digits_up

    columns = ("data", "rule", "updates", "bound", "margin", "at most", "accuracy", "status")
    cells = (
        (
            row["data"],
            row["algorithm"],
            _short(row["updates"]),
            _short(row["bound"]) if row["bound"] < 1e6 else digits_up(row["bound"], 2),
            digits_down(row["margin_at_least"], 3) if row["margin_at_least"] > 0 else "none",
            digits_up(row["largest_margin_at_most"], 3),
            f"{100 * row['test_accuracy']:.1f} %",
            row["status"],
        )
        for row in rows
    )
    return _table("Perceptrons and their mistake bounds", columns, cells)


def _table(title: str, columns: Sequence[str], rows: Iterator[tuple[str, ...]]) -> Table:
    """A table whose first two columns and last one are text; a data set is named in its first row only."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for number, name in enumerate(columns):
        is_text = number < 2 or number == len(columns) - 1
        table.add_column(name, justify="left" if is_text else "right", no_wrap=True)
    shown = None
    for data, *cells in rows:
        table.add_row(data if data != shown else "", *cells)
        shown = data
    return table


def _short(count: float) -> str:
    return f"{count:,.0f}" if count < 1e6 else f"{count:.1e}"
