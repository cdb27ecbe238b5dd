"""What perceptrons share: the online protocol, update rules, the record of every pass."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np

from maxmargin.certificates import UpdateRule
from maxmargin.data import LabelledPoints, validate_classes, validate_training_data
from maxmargin.data.blas import one_blas_thread
from maxmargin.data.scikit_learn import check_random_state
from maxmargin.estimators._predictors import CertifiedClassifier
from maxmargin.estimators._shared import one_or_all
from maxmargin.problems import PerceptronProblem
from maxmargin.solvers.core import interrupt_handler
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
        self._check_parameters()
        self._refuse_other_rule(first)
        model = copy(self)
        model._freeze_parameters()
        model.__dict__.update(max_iter=1, tol=None, shuffle=False)
        classes = validate_classes(classes, None if first else self.classes_)
        class_weight = getattr(self, "class_weight", None)
        # The bits of BLAS's sums depend on the number of its threads.
        with one_blas_thread():
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
                in_float32 = model._round_to_rows(labelled.points)
                model._refuse_not_finite()
                model._set_precision(in_float32)
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


def n_to_hold_out(n_rows: int, share: float) -> int:
    """How many of the rows are held out."""
    return math.ceil(share * n_rows)


def rows_to_hold_out(labelled: Any, share: float, random_state: Any) -> np.ndarray:
    """Choose rows to measure progress by; each class keeps rows to train on, and has held-out ones where it can."""
    counted = np.arange(labelled.codes.size)
    if labelled.weights is not None:
        counted = np.flatnonzero(labelled.weights)
    codes = labelled.codes[counted]
    classes, counts = np.unique(codes, return_counts=True)
    n_held_out = n_to_hold_out(codes.size, share)
    if n_held_out >= codes.size:
        raise ValueError(f"validation_fraction={share} leaves no row to train on: lower it.")
    stratified = counts.min() > 1 and classes.size <= n_held_out <= codes.size - classes.size
    # Imported here, since it takes half a second and few fits need it.
    from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

    splitter = StratifiedShuffleSplit if stratified else ShuffleSplit
    split = splitter(test_size=share, random_state=check_random_state(random_state))
    kept, held_out = next(split.split(np.zeros((codes.size, 1)), codes))
    if np.unique(codes[kept]).size < classes.size:
        raise ValueError("validation_fraction leaves a class without a row to train on: lower it.")
    return counted[held_out]
