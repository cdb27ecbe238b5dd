"""Fits of perceptrons in passes over blocks of rows, of which one is in memory at a time."""

import time
from collections import Counter
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np

from maxmargin.certificates import BlockwiseBound
from maxmargin.data.blas import one_blas_thread
from maxmargin.data.block_source import is_block_source
from maxmargin.estimators._progress import FitLimits
from maxmargin.estimators._shared import one_or_all, proof_or_per_class
from maxmargin.reconciliation import reconcile, worst
from maxmargin.solvers.core import Monitor, Options, Status, interrupt_handler
from maxmargin.solvers.core.checkpoint import active_record


def fit_blocks(model: Any, blocks: Any, passes: int) -> Any:
    """Fit a copy of a model in passes over blocks of rows, and take over its attributes."""
    if not (isinstance(passes, Integral) and passes >= 1):
        raise ValueError(f"passes must be a whole number of at least 1, got {passes!r}.")
    if model.class_weight == "balanced":
        raise ValueError("class_weight='balanced' needs all rows at once: give a dict instead.")
    if active_record.get() is not None:
        raise ValueError("Fits on blocks write no checkpoints: a pass over them is short beside what fit does.")
    model._check_parameters()
    started = time.perf_counter()
    counts = label_counts(blocks)
    if len(counts) < 2:
        which = f"only one class, {next(iter(counts))!r}" if counts else "no rows"
        raise ValueError(f"y has {which}; give rows of at least two classes.")
    weights, classes = model.class_weight or {}, np.array(sorted(counts))
    fitted, status, options = model._without_fit(), None, Options(max_iter=passes)
    with one_blas_thread(), interrupt_handler() as stop_requested:
        limits = FitLimits(model.max_time, stop_requested)
        monitor = Monitor(model.max_time, None, stop_requested, started)
        record: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        while status is None:
            before, loss, evaluated = _updates_of(fitted), np.zeros(1), np.zeros(1, dtype=np.int64)
            for X, y in pairs_of(blocks):
                fitted._partial_fit(X, y, classes)
                # Where Ctrl-C ends the pass over a block, it is not in the record.
                loss = loss + np.atleast_2d(fitted.online_loss_per_pass_).sum(axis=1)
                evaluated = evaluated + np.atleast_2d(fitted.rows_evaluated_per_pass_).sum(axis=1)
                status = monitor.check_limits()
                if status is not None:
                    break
            record.append((_updates_of(fitted) - before, loss, evaluated))
            if status is None:
                status = Status.SOLVED if not record[-1][0].any() else monitor.check_work(len(record), options)
            if fitted.verbose:
                print(f"[{type(model).__name__}] pass {len(record)}: {record[-1][0].sum()} mistakes", flush=True)
        mistakes, losses, rows = (one_or_all(list(np.transpose(column))) for column in zip(*record, strict=True))
        fitted.mistakes_per_pass_, fitted.online_loss_per_pass_, fitted.rows_evaluated_per_pass_ = (
            mistakes,
            losses,
            rows,
        )
        fitted.n_iter_, fitted._rows_of_stream = len(record), sum(counts.values())
        n_counted = sum(number for label, number in counts.items() if weights.get(label, 1.0) > 0.0)

        def certify() -> None:
            proofs = _bounds_in_blocks(fitted, blocks, len(record), n_counted)
            fitted.certificate_ = proof_or_per_class(classes, proofs)
            fitted.status_ = worst([reconcile(status, proof, fitted._goal(k)) for k, proof in enumerate(proofs)])

        if not fitted._in_time(limits, certify):
            fitted.status_ = limits.status
        model._take_over(fitted)
        if model.status_ is not Status.ITERATION_LIMIT:
            # As many passes as were asked for are no failure.
            model._report()
    return model


def pairs_of(blocks: Any) -> Iterator[tuple[Any, Any]]:
    """Rows and targets of every block that has rows."""
    if is_block_source(blocks):
        pairs: Any = ((blocks.read_rows(k), blocks.read_targets(k)) for k in range(len(blocks.block_rows)))
    else:
        pairs = ((block.X, block.y) if hasattr(block, "X") else block for block in blocks)
    return ((X, y) for X, y in pairs if X.shape[0])


def label_counts(blocks: Any) -> dict[Any, int]:
    """The labels of all blocks, and how many rows have each."""
    if not is_block_source(blocks) and iter(blocks) is blocks:
        raise TypeError("blocks can be read only once: give a store, read_blocks(...) or a list of pairs (X, y).")
    known = getattr(blocks, "label_counts", None)
    if known is not None:
        return dict(known())
    targets = map(blocks.read_targets, range(len(blocks.block_rows))) if is_block_source(blocks) else None
    counts: Counter[Any] = Counter()
    for y in targets or (y for _, y in pairs_of(blocks)):
        labels, numbers = np.unique(np.asarray(y), return_counts=True)
        counts.update(dict(zip(labels.tolist(), numbers.tolist(), strict=True)))
    return dict(counts)


def _updates_of(model: Any) -> np.ndarray:
    return np.atleast_1d(getattr(model, "n_updates_", 0))


def _bounds_in_blocks(model: Any, blocks: Any, passes: int, n_counted: int) -> list[Any]:
    """The mistake bounds of all tasks, in two passes."""
    bounds = [
        BlockwiseBound(w, float(b), (start, float(of_b)), n_counted)
        for w, b, start, of_b in zip(
            model.coef_.astype(np.float64), model.intercept_, model.coef_init_, model.intercept_init_, strict=True
        )
    ]
    for step in ("measure", "add"):
        for X, y in pairs_of(blocks):
            labelled = model._data_to_certify(X, y, None)
            for bound, problem in zip(bounds, model._problems(labelled), strict=True):
                getattr(bound, step)(problem)
        if step == "measure":
            for bound in bounds:
                bound.choose(passes)
    return [bound.bound(passes, int(made)) for bound, made in zip(bounds, _updates_of(model), strict=True)]
