"""What perceptrons share: the online protocol, update rules, the record of every pass."""

import math
import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np

from maxmargin.certificates import BlockwiseBound, UpdateRule
from maxmargin.data import LabelledPoints, validate_classes, validate_training_data
from maxmargin.data.blas import one_blas_thread
from maxmargin.data.block_source import is_block_source
from maxmargin.data.interruption import InterruptedPassError, ending_when
from maxmargin.estimators._base import one_or_all, proof_or_per_class
from maxmargin.estimators._predictors import CertifiedClassifier
from maxmargin.estimators._progress import FitLimits
from maxmargin.problems import PerceptronProblem
from maxmargin.reconciliation import reconcile, worst
from maxmargin.solvers.core import Status, interrupt_handler
from maxmargin.solvers.core.checkpoint import active_record
from maxmargin.solvers.perceptron.result import PerceptronResult

# A perceptron stalls by its parameters alone; on separable data more passes would end without mistakes.
STALLED_ADVICE = (
    "n_iter_no_change passes made no progress of tol, and mistakes are left: set tol=None to run until a pass makes no "
    "mistake or max_iter is reached, lower tol, or raise n_iter_no_change"
)


class OnlineClassifier(CertifiedClassifier):
    """Perceptrons that learn from a stream of rows."""

    _advice_for_collections: ClassVar[str] = "learn from one partition after the other by partial_fit, or use LinearSVC"

    max_time: float | None

    # Parameters that a model keeps when it is continued by ``partial_fit``, and those that one stream keeps.
    _rule_of_model: ClassVar[tuple[str, ...]] = ("fit_intercept",)
    _rule_of_stream: ClassVar[tuple[str, ...]] = ("eta0",)
    # Attributes that belong to one data set.
    _not_of_stream: ClassVar[tuple[str, ...]] = ("certificate_", "status_")

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any = None) -> Self:
        """Make one pass in the order given, on a copy: a call that fails leaves the model as it was."""
        first = not hasattr(self, "classes_")
        self._refuse_other_rule(first)
        model = copy(self)
        model._freeze_parameters()
        model.__dict__.update(max_iter=1, tol=None, shuffle=False)
        classes = validate_classes(classes, None if first else self.classes_)
        class_weight = getattr(self, "class_weight", None)
        labelled = validate_training_data(
            model, X, y, sample_weight=sample_weight, class_weight=class_weight, classes=classes, reset=first
        )
        with interrupt_handler() as stop_requested:
            attempt = model._continue_stream(labelled, first), model._options(labelled)
            problems = model._problems(labelled)
            results = self._solve_tasks_of(model, labelled, problems, attempt, self.max_time, stop_requested)
            model._add_results(labelled, results)
            for name in self._not_of_stream:
                model.__dict__.pop(name, None)
            rounded = model._round_to_rows(labelled.points)
            model._refuse_not_finite()
            model._set_precision(np.float32 if rounded else np.float64)
            self._take_over(model)
        return self

    def _refuse_other_rule(self, first: bool) -> None:
        """Refuse parameters that were changed in the middle of a stream: no bound holds for two rules."""
        in_stream = not hasattr(self, "status_")
        for name in () if first else (*self._rule_of_model, *(self._rule_of_stream if in_stream else ())):
            before, now = self._fit_params[name], getattr(self, name)
            if before != now:
                raise ValueError(
                    f"{name} was changed from {before!r} to {now!r}, but partial_fit continues with the update rule "
                    "that the model has: set it back, or call fit."
                )

    @abstractmethod
    def _continue_stream(self, labelled: LabelledPoints, first: bool) -> Sequence[Any]:
        """Prepare the model for more rows; return the starts of all tasks."""

    @abstractmethod
    def _add_results(self, labelled: LabelledPoints, results: Sequence[PerceptronResult]) -> None:
        """Add the results of a pass over more rows to the attributes."""


def fit_blocks(model: Any, blocks: Any, passes: int) -> Any:
    """Fit a copy of a model in passes over blocks of rows, and take over its attributes."""
    if not (isinstance(passes, Integral) and passes >= 1):
        raise ValueError(f"passes must be a whole number of at least 1, got {passes!r}.")
    if model.class_weight == "balanced":
        raise ValueError("class_weight='balanced' needs all rows at once: give a dict instead.")
    if active_record.get() is not None:
        raise ValueError("Fits on blocks write no checkpoints: a pass over them is short beside what fit does.")
    model._check_parameters()
    deadline = math.inf if model.max_time is None else time.perf_counter() + model.max_time
    counts = label_counts(blocks)
    if len(counts) < 2:
        which = f"only one class, {next(iter(counts))!r}" if counts else "no rows"
        raise ValueError(f"y has {which}; give rows of at least two classes.")
    weights, classes = model.class_weight or {}, np.array(sorted(counts))
    fitted, status = model._without_fit(), None
    with one_blas_thread(), interrupt_handler() as stop_requested:
        limits = FitLimits(model.max_time, stop_requested)
        record: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        while status is None:
            before, loss, evaluated = _updates_of(fitted), np.zeros(1), np.zeros(1, dtype=np.int64)
            for X, y in pairs_of(blocks):
                fitted._partial_fit(X, y, classes)
                # Where Ctrl-C ends the pass over a block, it is not in the record.
                loss = loss + np.atleast_2d(fitted.online_loss_per_pass_).sum(axis=1)
                evaluated = evaluated + np.atleast_2d(fitted.rows_evaluated_per_pass_).sum(axis=1)
                status = Status.INTERRUPTED if stop_requested.is_set() else None
                if status is None and time.perf_counter() > deadline:
                    status = Status.TIME_LIMIT
                if status is not None:
                    break
            record.append((_updates_of(fitted) - before, loss, evaluated))
            if status is None and not record[-1][0].any():
                status = Status.SOLVED
            elif status is None and len(record) == passes:
                status = Status.ITERATION_LIMIT
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
        limits.begin_certificate()
        try:
            with ending_when(limits.must_end_certificate):
                proofs = _bounds_in_blocks(fitted, blocks, len(record), n_counted)
            fitted.certificate_ = proof_or_per_class(classes, proofs)
            fitted.status_ = worst([reconcile(status, proof, fitted._goal(k)) for k, proof in enumerate(proofs)])
        except InterruptedPassError:
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


def set_linear_model(model: Any, tasks: LabelledPoints, results: Sequence[PerceptronResult]) -> None:
    """Set the coefficients and the record of every pass."""
    model.classes_ = tasks.classes
    model.coef_ = np.array([result.w for result in results])
    model.intercept_ = np.array([result.intercept for result in results])
    model.n_updates_ = one_or_all([result.n_updates for result in results])
    model.rows_evaluated_per_pass_ = one_or_all([result.rows_evaluated_per_pass for result in results])
    set_passes(model, results)


def set_passes(model: Any, results: Sequence[PerceptronResult]) -> None:
    """Set the number of passes, and the mistakes and losses of every pass."""
    model.n_iter_ = max(1, *(result.n_iter for result in results))
    model.mistakes_per_pass_ = one_or_all([result.mistakes_per_pass for result in results])
    model.online_loss_per_pass_ = one_or_all([result.online_loss_per_pass for result in results])
    criteria = [result.criterion_per_pass for result in results]
    model.criterion_per_pass_ = None if any(one is None for one in criteria) else one_or_all(criteria)


def update_rule(problem: PerceptronProblem, passes: int, *, batch: bool, held_out: int) -> UpdateRule:
    """The update rule of a run, as the mistake bounds need it: its passes, and its steps on the points."""
    steps = (problem.steps * problem.lengths)[problem.dataset.counted]
    return UpdateRule(
        n_rows=steps.size - held_out,
        passes=passes,
        smallest_step=float(steps.min()),
        largest_step=float(steps.max()),
        rows_at_once=steps.size if batch else 1,
    )


def start_array(name: str, given: Any, shape: tuple[int, ...], default: np.ndarray | None) -> np.ndarray | None:
    """Return the given starting values as an array of the right shape, or the default where none are given."""
    if given is None:
        return default
    array = np.asarray(given, dtype=np.float64)
    if array.size != math.prod(shape):
        raise ValueError(f"{name} has shape {array.shape}; the model's is {shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has entries that are not finite.")
    return array.reshape(shape)
