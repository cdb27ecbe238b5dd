"""``maxmargin train -m perceptron --passes K``: rows are read block by block, in the memory of a block."""

from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from maxmargin.cli.console import Entry, Stopwatch, printable, working
from maxmargin.cli.models import model_entry, score_of, weights_by_labels

if TYPE_CHECKING:
    from maxmargin.files.columns import TableOptions


def passes_of(machine: Any, paths: list[str], passes: int | None, *, takes_store: bool) -> int | None:
    """The passes of a perceptron that learns from a stream; None where all rows are read, or another model learns."""
    from maxmargin.data.memory import available_memory
    from maxmargin.files.compression import STANDARD_INPUT
    from maxmargin.files.file_blocks import matching_files, memory_to_train
    from maxmargin.files.store import is_store

    streams = hasattr(machine, "fit_blocks")
    if passes is not None:
        if not streams:
            raise ValueError(
                f"--passes is for -m perceptron, and {type(machine).__name__} does not learn from a stream."
            )
        if STANDARD_INPUT in paths:
            raise ValueError("--passes: standard input cannot be read twice; write it to a file first.")
        return passes
    if not streams or takes_store or STANDARD_INPUT in paths:
        return None
    files = matching_files(paths)
    needed = memory_to_train(files)
    for path in files:
        if is_store(path):
            needed += sum(part.stat().st_size for part in Path(path).glob("*.bin"))
    if needed <= available_memory():
        return None
    typer.echo(
        f"{paths[0]} takes about {needed / 1e9:.1f} GB in memory, more than there is: it is read block by block, in "
        "one pass in the order of its rows; --passes K makes more.",
        err=True,
    )
    return 1


def fit_on_stream(
    machine: Any,
    paths: list[str],
    passes: int,
    *,
    target: str | None,
    zero_based: bool,
    table: "TableOptions",
    scored: bool,
) -> tuple[dict[str, Any], bool]:
    """Learn in passes over the files; return the entries of the report, and whether Ctrl-C ended the fit."""
    from maxmargin.files import read_blocks
    from maxmargin.files.data_file import DataFile

    watch, name = Stopwatch(), printable(", ".join(paths[:3]))
    blocks = read_blocks(paths, target=target, zero_based=zero_based, table=table)
    with working(f"reading {name}"):
        counts = blocks.label_counts()
        described = DataFile(None, None, blocks.names, blocks.preparation)
    machine.set_params(**weights_by_labels(machine, list(counts)))
    answer: dict[str, Any] = {"reading": watch.entry("reading")}
    watch, interrupted = Stopwatch(), False
    with working("training"):
        try:
            machine.fit_blocks(blocks, passes)
        except KeyboardInterrupt:
            if not hasattr(machine, "status_"):
                raise
            interrupted = True
    n_rows, n_columns = sum(counts.values()), machine.n_features_in_
    answer = {
        "data": Entry(
            f"{name}: {n_rows:,} rows of {n_columns:,} columns, read block by block",
            {"data": paths[0], "rows": n_rows, "columns": n_columns},
        ),
        **answer,
        "training": watch.entry("training"),
        "mistakes": mistakes_entry(machine, n_rows),
        "model": model_entry(machine),
    }
    if scored and not interrupted:
        with working("scoring"):
            right = sum(score_of(machine, machine.predict(block.X), block.y) * len(block.y) for block in blocks)
        value = right / n_rows
        answer["accuracy"] = Entry(f"{value:.6g} on the {n_rows:,} training rows", {"accuracy_train": value})
    described.name_features(machine)
    return answer, interrupted


def mistakes_entry(machine: Any, n_rows: int) -> Entry:
    """The mistakes of every pass, of all classes, beside their bound, where there was time for one."""
    import numpy as np

    from maxmargin.certificates import PerClass
    from maxmargin.certificates.rounding import up
    from maxmargin.data.printed_bounds import digits_up

    of_tasks = np.atleast_2d(machine.mistakes_per_pass_)
    per_pass, proof = of_tasks.sum(axis=0).tolist(), getattr(machine, "certificate_", None)
    shown = ", ".join(f"{number:,}" for number in per_pass[:8]) + (", ..." if len(per_pass) > 8 else "")
    in_passes = "in one pass" if len(per_pass) == 1 else f"in {len(per_pass)} passes ({shown})"
    seen = int(np.atleast_2d(machine.rows_evaluated_per_pass_)[:, -1].max())
    rows = f"{n_rows:,} rows" if seen >= n_rows else f"{n_rows:,} rows, {seen:,} of them in the last pass"
    text = f"{sum(per_pass):,} {in_passes} over {rows}, each predicted before its label was used"
    counts = {"mistakes": sum(per_pass), "mistakes_per_pass": of_tasks.tolist()}
    if proof is None:
        return Entry(text, counts)
    proofs: list[Any] = list(proof.values()) if isinstance(proof, PerClass) else [proof]
    most = reduce(lambda total, one: up(total + one.bound), proofs[1:], proofs[0].bound)
    tasks = "" if len(proofs) == 1 else f" of all {len(proofs)} classes against the rest"
    return Entry(
        f"{text}; at most {digits_up(most, 6)} by the mistake bound{tasks}",
        {**counts, "mistake_bound": most},
    )
