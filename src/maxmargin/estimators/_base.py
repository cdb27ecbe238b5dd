"""The one fit skeleton: validate, cut into two-class tasks, solve them, certify, keep."""

import threading
import time
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackContext, CallbackSupportMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from maxmargin.certificates import Certificate, PerClass
from maxmargin.data import (
    ClassPairs,
    Dataset,
    JointClasses,
    LabelledPoints,
    TargetPoints,
    validate_points,
    validate_training_data,
)
from maxmargin.solvers.core import LimitWarning, Monitor, Status, StepReport, step_listener
from maxmargin.solvers.perceptron.result import PerceptronResult

# solve(number of the task, its data, the seed, its monitor)
SolveTask = Callable[[int, Any, int, Monitor], Any]
# What a model is trained on: it yields the data of each task.
TrainingData = LabelledPoints | JointClasses | ClassPairs | TargetPoints


class CertifiedModel(CallbackSupportMixin, BaseEstimator):
    """What all models of the package share: tasks in threads, progress, limits, certificates."""

    certificate_: Certificate | PerClass
    status_: Status
    max_time: float | None
    random_state: Any

    # To stall is what the tolerance of a perceptron asks for; where it is a failure, this says what to do.
    _advice_when_stalled: str | None = None
    _advice_when_separable: str | None = None
    _advice_when_not_separable = "no plane has the margin asked for: lower it, or use a soft margin"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @abstractmethod
    def _certify(self, data: Any) -> Certificate | PerClass:
        """Compute the certificate from data and fitted attributes alone."""

    @abstractmethod
    def _data_to_certify(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Check data that the fitted model is to be judged on."""

    def _n_threads(self) -> int:
        return effective_n_jobs(getattr(self, "n_jobs", None))

    def _solve_tasks(
        self,
        labelled: TrainingData,
        solve: SolveTask,
        stop_requested: threading.Event,
        *,
        steps: int | None,
        at_once: int | None = None,
        seconds: float | None = None,
    ) -> list[Any]:
        """Solve every task in ``n_jobs`` threads, or as many ``at_once``: the bits do not depend on them.

        ``seconds`` are what is left of ``max_time``, where some of it has been used already.

        All tasks see the rows in the same order, which makes the scores of different classes comparable.
        """
        tasks = list(labelled.tasks())
        seed = seed_of(self.random_state)
        progress = FitProgress(self, labelled, steps)
        n_threads = min(len(tasks), at_once or self._n_threads())
        budget = TimeBudget(self.max_time if seconds is None else seconds, len(tasks), n_threads)

        def run(task: int) -> Any:
            on_step, done = progress.of_task(task)
            monitor = Monitor(budget.share(), on_step, stop_requested)
            result = solve(task, tasks[task], seed, monitor)
            done()
            return result

        progress.begin()
        results = in_threads(n_threads, run, len(tasks))
        progress.end()
        return results

    def _report(self, results: Sequence[Any]) -> None:
        """Keep the status, say it if ``verbose``, and warn of a limit that was hit, stating what is proven."""
        statuses = [result.status for result in results]
        self.status_ = worst(statuses)
        if getattr(self, "verbose", 0):
            for line in str(self.certificate_).splitlines():
                print(f"[{type(self).__name__}] {self.status_}: {line}", flush=True)
        advice = {
            Status.ITERATION_LIMIT: "max_iter was reached: raise it to go on",
            Status.TIME_LIMIT: "max_time was reached: raise it to go on",
            Status.NOT_SEPARABLE: self._advice_when_not_separable,
            Status.STALLED: self._advice_when_stalled,
            Status.SEPARABLE: self._advice_when_separable,
        }.get(self.status_)
        if advice is not None:
            warnings.warn(
                f"{type(self).__name__}: {advice}. The model is usable as it is. Proven: {self.certificate_}",
                LimitWarning,
                stacklevel=4,
            )

    @abstractmethod
    def _attributes_so_far(self, labelled: Any, results: Sequence[Any]) -> dict[str, Any]:
        """What makes the model usable in the middle of a fit, given w, b and alpha of every task so far."""


class CertifiedClassifier(ClassifierMixin, CertifiedModel):
    """What all classifiers share: a certificate for each class, and how scores become labels."""

    classes_: np.ndarray

    def _data_to_certify(self, X: Any, y: Any, sample_weight: Any) -> LabelledPoints:
        return validate_training_data(
            self,
            X,
            y,
            sample_weight=sample_weight,
            class_weight=getattr(self, "class_weight", None),
            classes=self.classes_,
            reset=False,
        )

    def _certificates(
        self, certify_task: Callable[[int, Dataset], Certificate], labelled: LabelledPoints
    ) -> Certificate | PerClass:
        """One certificate for two classes, or one for each class against the rest."""
        tasks = list(labelled.tasks())
        proofs = in_threads(self._n_threads(), lambda task: certify_task(task, tasks[task]), len(tasks))
        if len(proofs) == 1:
            return proofs[0]
        return PerClass({plain(label): proof for label, proof in zip(labelled.classes, proofs, strict=True)})

    @abstractmethod
    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the scores of all rows."""

    def predict(self, X: Any) -> np.ndarray:
        """Predict the class of each row: for two classes the greater label where f(x) >= 0.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
        """
        scores = self.decision_function(X)
        chosen = (scores >= 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[chosen]


class LinearClassifier(CertifiedClassifier):
    """Classifiers whose model is a plane for each task."""

    coef_: np.ndarray
    intercept_: np.ndarray
    dual_coef_: np.ndarray
    n_iter_: int

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute f(x) = w·x + b.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n,), or (n, n_classes) for more than two classes
        """
        check_is_fitted(self)
        scores = validate_points(self, X).scores(self.coef_.T) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def _attributes_so_far(self, labelled: LabelledPoints, results: Sequence[Any]) -> dict[str, Any]:
        zero = np.zeros(labelled.points.n_columns), 0.0, None
        planes = [zero if result is None else result for result in results]
        return {
            "coef_": np.array([w for w, _, _ in planes]),
            "intercept_": np.array([intercept for _, intercept, _ in planes]),
            "classes_": labelled.classes,
        }

    def _set_coefficients(self, labelled: LabelledPoints, results: Sequence[PerceptronResult]) -> None:
        self.classes_ = labelled.classes
        self.coef_ = np.array([result.w for result in results])
        self.intercept_ = np.array([result.intercept for result in results])
        self.n_iter_ = max(1, *(result.n_iter for result in results))
        self.n_updates_ = one_or_all([result.n_updates for result in results])
        self.mistakes_per_pass_ = one_or_all([result.mistakes_per_pass for result in results])
        self.criterion_per_pass_ = one_or_all([result.criterion_per_pass for result in results])
        self.rows_evaluated_per_pass_ = one_or_all([result.rows_evaluated_per_pass for result in results])

    def _set_dual_coef(self, labelled: LabelledPoints, results: Sequence[PerceptronResult]) -> None:
        signs = [dataset.signs for dataset in labelled.tasks()]
        self.dual_coef_ = np.array([sign * run.alpha for sign, run in zip(signs, results, strict=True)])


class FitProgress:
    """Tells scikit-learn's callbacks, a listener and, with ``verbose``, the terminal how a fit goes on."""

    def __init__(self, estimator: Any, labelled: TrainingData, steps: int | None) -> None:
        self._estimator = estimator
        self._labelled = labelled
        self._steps = steps
        self._n_tasks = labelled.n_tasks
        self._results: dict[int, Callable[[], Any]] = {}
        self._listener = step_listener.get()
        self._shares = [0.0] * self._n_tasks
        self._heard = bool(getattr(estimator, "_skl_callbacks", None)) or hasattr(estimator, "_parent_callback_ctx")
        self._root: CallbackContext | None = None
        self._started = time.perf_counter()

    def begin(self) -> None:
        """Open the fit's context."""
        if self._heard:
            several = self._n_tasks > 1
            self._root = self._estimator._init_callback_context(
                max_subtasks=self._n_tasks if several else self._steps, sequential_subtasks=not several
            )
            self._root.call_on_fit_task_begin(estimator=self._estimator, **self._data())

    def end(self) -> None:
        """Close it."""
        if self._root is not None:
            self._root.call_on_fit_task_end(estimator=self._estimator, **self._data())

    def of_task(self, task: int) -> tuple[Callable[[StepReport], bool] | None, Callable[[], None]]:
        """Return what to call after every step of a task, and what to call at its end."""
        context = self._root
        if context is not None and self._n_tasks > 1:
            context = context.subcontext(task_name=self._labelled.names()[task], task_id=task, max_subtasks=self._steps)
            context.call_on_fit_task_begin(estimator=self._estimator, **self._data())
        if context is None and self._listener is None and not self._estimator.verbose:
            return None, lambda: None

        def on_step(report: StepReport) -> bool:
            self._results[task] = report.result
            self._tell_listener(task, report.share, f"{report.step} {report.number}: {report.summary}")
            if self._estimator.verbose:
                which = f"{self._labelled.names()[task]}, " if self._n_tasks > 1 else ""
                seconds = time.perf_counter() - self._started
                print(
                    f"[{type(self._estimator).__name__}] {which}{report.step} {report.number}: {report.summary}, "
                    f"{seconds:.3f} s"
                )
            if context is None:
                return False
            one_step = context.subcontext(task_name=report.step)
            one_step.call_on_fit_task_begin(estimator=self._estimator, **self._data())
            return one_step.call_on_fit_task_end(
                estimator=self._estimator, reconstruction_attributes=self._fitted_so_far, **self._data()
            )

        def done() -> None:
            self._tell_listener(task, 1.0, "")
            if context is not None and self._n_tasks > 1:
                context.call_on_fit_task_end(estimator=self._estimator, **self._data())

        return on_step, done

    def _tell_listener(self, task: int, share: float, found: str) -> None:
        self._shares[task] = share
        if self._listener is not None:
            self._listener(sum(self._shares) / self._n_tasks, found)

    def _data(self) -> dict[str, Any]:
        labelled = self._labelled
        return {"X": labelled.points.matrix, "y": labelled.labels}

    def _fitted_so_far(self) -> dict[str, Any]:
        results = [self._results[task]() if task in self._results else None for task in range(self._n_tasks)]
        return self._estimator._attributes_so_far(self._labelled, results)


class TimeBudget:
    """Gives every task its share of the time that is left when it begins, so that none is starved by the first."""

    def __init__(self, max_time: float | None, n_tasks: int, n_threads: int) -> None:
        self._ends = None if max_time is None else time.perf_counter() + max_time
        self._n_waiting = n_tasks
        self._n_threads = n_threads
        self._lock = threading.Lock()

    def share(self) -> float | None:
        """Seconds for the task that begins now."""
        if self._ends is None:
            return None
        with self._lock:
            left = max(0.0, self._ends - time.perf_counter())
            share = left * min(1.0, self._n_threads / self._n_waiting)
            self._n_waiting -= 1
        return share


@contextmanager
def kept_on_error(model: Any) -> Iterator[None]:
    """Leave a model as it was where a fit raises an error; a Ctrl-C keeps what the fit has found."""
    before = dict(vars(model))
    try:
        yield
    except Exception:
        vars(model).clear()
        vars(model).update(before)
        raise


def in_threads(n_threads: int, run: Callable[[int], Any], n_tasks: int) -> list[Any]:
    """Call ``run`` for every task, in threads where there are several."""
    if min(n_threads, n_tasks) <= 1:
        return [run(task) for task in range(n_tasks)]
    with ThreadPoolExecutor(min(n_threads, n_tasks)) as pool:
        return list(pool.map(run, range(n_tasks)))


def worst(statuses: Sequence[Status]) -> Status:
    """The status of a fit of several tasks: the one that promises least."""
    order = [
        Status.SOLVED,
        Status.STALLED,
        Status.SEPARABLE,
        Status.NOT_SEPARABLE,
        Status.ITERATION_LIMIT,
        Status.TIME_LIMIT,
        Status.INTERRUPTED,
    ]
    return max(statuses, key=order.index)


def seed_of(random_state: Any) -> int:
    """The seed that a user gave, or one drawn from the generator that was given instead."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def generator_of(random_state: Any) -> np.random.Generator | np.random.RandomState:
    """The generator that a user gave, or one with the seed that a user gave."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    try:
        return check_random_state(random_state)
    except ValueError as error:
        raise ValueError(
            "random_state must be a whole number from 0 to 2**32 - 1, a RandomState, a Generator or None; it is "
            f"{random_state!r}."
        ) from error


def one_or_all(values: list[Any]) -> Any:
    """The value itself for two classes, the list over the classes for more."""
    return values[0] if len(values) == 1 else values


def refuse_other_rows(n_rows: int, n_fitted: int) -> None:
    """A certificate speaks of the rows that the model was fitted to."""
    if n_rows != n_fitted:
        raise ValueError(f"X has {n_rows} rows; the model was fitted to {n_fitted}.")


def as_list(value: Any, n_tasks: int) -> list[Any]:
    """The inverse of ``one_or_all``."""
    return [value] if n_tasks == 1 else value


def plain(label: Any) -> Any:
    """A label as a plain Python value."""
    return label.item() if isinstance(label, np.generic) else label
