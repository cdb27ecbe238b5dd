"""The fit template of all estimators."""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs

from maxmargin.certificates import Certificate, MarginBracket, NotSeparableError, PerClass
from maxmargin.data import JointClasses, Points, Tasks
from maxmargin.data.blas import one_blas_thread
from maxmargin.data.interruption import InterruptedPassError, ending_when
from maxmargin.data.partitions import PartitionedData
from maxmargin.data.scikit_learn import (
    BaseEstimator,
    CallbackSupportMixin,
)
from maxmargin.data.user_warnings import warn_user
from maxmargin.data.validation import is_collection
from maxmargin.engine import Threads
from maxmargin.engine.threads import ENTRIES_PER_BLOCK
from maxmargin.estimators._finite import refuse_bad_starts
from maxmargin.estimators._parameters import NamedArguments
from maxmargin.estimators._precision import PrecisionOfRows
from maxmargin.estimators._progress import FitLimits, FitProgress, solve_in_time
from maxmargin.estimators._rows_elsewhere import RowsElsewhere
from maxmargin.estimators._shared import certificates_of, proof_or_per_class, seed_of
from maxmargin.estimators._solvers import CertificateTable, Solve, SolverTable, solver_at
from maxmargin.problems.partitioned import PartitionedProblem
from maxmargin.reconciliation import Goal, reconcile, worst
from maxmargin.solvers.core import LimitWarning, Monitor, Options, Status, StopRequest, interrupt_handler
from maxmargin.solvers.core.checkpoint import TaskRecord, active_record

# Entries of a pass whose time is measured: about a quarter of a millisecond, which a fit of 20 ms does not notice.
ENTRIES_TO_MEASURE = 1 << 16
# What a certificate takes apart from passes over the rows, and one in the feature space of a kernel.
SECONDS_PER_TASK, SECONDS_PER_KERNEL_TASK = 2e-4, 1e-3
# Said in place of a certificate.
NO_TIME_TO_CERTIFY = "nothing, for there was no time for a certificate: maxmargin.certify(model, X, y) computes it"


# What the solvers of a fit are called with: the starts of all tasks, and the options.
Attempt = tuple[Sequence[Any], Any]


class CertifiedModel(NamedArguments, PrecisionOfRows, RowsElsewhere, CallbackSupportMixin, BaseEstimator, ABC):
    """The fit template.

    ::

        fit ─ validate ─ tasks ─ problems (built once) ─ solve(problem, options, monitor, start) -> Result
            ─ attributes ─ certify(problem) ─ reconcile(status, certificate) ─ report

    An estimator is its parameters (the fields of a dataclass; ``init=False`` marks attributes of a fit), its
    documentation, its table of solvers, and the methods that the template calls: ``_validate``, ``_tasks``,
    ``_problem``, ``_starts``, ``_options``, ``_set_attributes``, ``_certify_task``, ``_goal``.
    The fit works on a copy without the attributes of the last fit, and the model takes over the copy's attributes in
    one assignment at the end (:class:`FittedModel`): a fit that fails leaves the last model whole.
    """

    certificate_: Certificate | PerClass
    status_: Status
    max_time: float | None
    max_iter: Any
    random_state: Any
    tol: Any

    # Attributes of a fit that its certificate sets, and those that it may have begun to set.
    _attributes_of_certificates: ClassVar[tuple[str, ...]] = ("certificate_", "_dual_point")
    # The time of a certificate, in passes over the rows (scores, and a combination), as measured.
    _certificate_passes = 12.0

    # Entries from which on tasks run in threads.
    _entries_worth_a_thread: ClassVar[int] = ENTRIES_PER_BLOCK

    # What to do where a status is a failure; None where it is not.
    _advice_at_max_iter: str = "max_iter was reached: raise it to continue"
    _advice_when_stalled: str | None = None
    _advice_when_separable: str | None = None
    _advice_when_not_separable: str | None = "no hyperplane separates the classes: use a soft margin"
    _advice_without_such_margin: str | None = None
    # Where the squares of rows overflow or underflow: scikit-learn's sentence about that, with a space before it.
    _if_not_measurable: ClassVar[str] = ""
    # What to do where there is no model at all, because the classes are not separable; None where there is one.
    _advice_without_solution: str | None = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        return tags

    @property
    def _takes_sparse(self) -> bool:
        """Whether X may be a sparse matrix."""
        return True

    # The template.

    def _fit(self, X: Any, y: Any, sample_weight: Any = None, **start: Any) -> Self:
        """Fit a copy, and take over its attributes; ``start`` are further arguments of ``_starts``."""
        self._check_parameters()
        self._warn_of_parameters()
        # The checkpoint file of an enclosing ``with maxmargin.checkpoints(...)``, or None.
        record = active_record.get()
        X, y = self._blocks_or_arrays(X, y)
        if is_collection(X) or is_collection(y):
            self._check_collections(X)
            if record is not None:
                raise ValueError(
                    "Fits on Dask collections write no checkpoints: their vectors stay on the workers. Fit a store."
                )
        model = self._without_fit()
        model._freeze_parameters()
        deadline = None if self.max_time is None else time.perf_counter() + self.max_time
        # The bits of BLAS's sums depend on the number of its threads.
        with one_blas_thread(), ExitStack() as stack:
            data = model._validate(X, y, sample_weight)
            model._prepare(data)
            tasks = model._tasks(data)
            problems = model._problems(tasks)
            self._refuse_other_features(model)
            starts: Sequence[Any] = self._starts(tasks, **start)
            refuse_bad_starts(starts)
            options = model._options(tasks)
            if record is not None:
                options = record.begin(model, data, starts, options)
                stack.enter_context(record.resuming())
            attempt: Attempt | None = (starts, options)
            n_attempts = 0
            # Up to here there is nothing to keep: Ctrl-C is raised at once, and leaves the last model.
            stop_requested = stack.enter_context(interrupt_handler())
            limits = FitLimits(None if deadline is None else deadline - time.perf_counter(), stop_requested)
            # One attempt, but for kernels: where a certificate does not confirm what single precision reached, the
            # tasks are solved once more from there in double precision.
            while attempt is not None:
                seconds = None if deadline is None else max(0.0, deadline - time.perf_counter())
                of_task = None if record is None else partial(record.task, n_attempts)
                results = self._solve_tasks_of(model, tasks, problems, attempt, seconds, stop_requested, of_task)
                n_attempts += 1
                model._set_attributes(tasks, results)
                unrounded = model._round_to_rows(tasks.points)
                checked = model._refuse_not_finite()
                in_float32 = model._choose_precision(tasks, problems, results, limits, unrounded)
                attempt = model._finer_attempt(problems, results, attempt) if limits.seconds_left else None
            model.status_ = worst([result.status for result in results])
            model._finish(tasks, results, limits)
            if hasattr(model, "certificate_"):
                model._set_certified_attributes(certificates_of(model.certificate_, len(results)))
            if isinstance(data, PartitionedData):
                model._count_rounds(data)
            model._refuse_not_finite(checked)
            model._set_precision(in_float32)
            if record is not None:
                record.check(model, data)
            self._take_over(model)
            if record is not None:
                record.end(model.status_)
            model._report()
        return self

    def _solve_tasks_of(
        self,
        model: Self,
        tasks: Tasks,
        problems: Sequence[Any],
        attempt: Attempt,
        seconds: float | None,
        stop_requested: StopRequest,
        record_of: Callable[[int], TaskRecord] | None = None,
    ) -> list[Any]:
        """Solve every task, several at once where there are several; the bits do not depend on how many.

        ``self`` is the user's estimator, which callbacks get; ``model`` is the copy that is fitted.
        """
        starts, options = attempt
        progress = FitProgress(self, tasks, self._most_steps(), model)
        per_entry, reserves = 0.0, [0.0] * tasks.n_tasks
        if seconds is not None:
            before = time.perf_counter()
            certificates, per_entry = model._certificate_seconds(tasks)
            # However long a certificate takes, half of the time is for the model.
            seconds = max(0.0, seconds - min(certificates, 0.5 * seconds) - (time.perf_counter() - before))
        preparing = time.perf_counter()
        with model._solving(problems, options) as (solve, at_once):
            if seconds is not None:
                seconds = max(0.0, seconds - (time.perf_counter() - preparing))
            at_once = self._at_once(tasks) if at_once is None else min(tasks.n_tasks, at_once)
            began = time.perf_counter()

            def run(k: int, start: Any, share: float | None) -> Any:
                interrupted, no_time = stop_requested.is_set(), share == 0.0 and tasks.n_tasks > 1
                if start is None and (interrupted or no_time):
                    # The end came before the task began: with many classes, preparing each would take too long.
                    untouched = model._untouched_result(problems[k])
                    if untouched is not None:
                        untouched.status = Status.INTERRUPTED if interrupted else Status.TIME_LIMIT
                        return untouched
                limit = None if share is None else time.perf_counter() - began + share
                monitor = Monitor(limit, progress.of_task(k), stop_requested, began, per_entry)
                if record_of is not None and start is starts[k]:
                    # The first run of the task, not one in the time that others left.
                    monitor.record_of_task = record_of(k)
                reserves[k] = 0.0
                result = solve(problems[k], options, monitor, start)
                reserves[k] = monitor.reserve
                return result

            progress.begin()
            results = solve_in_time(run, starts, seconds, at_once, lambda: sum(reserves))
            progress.end(results)
        return results

    def _certify_in_time(
        self, tasks: Tasks, problems: Sequence[Any], results: Sequence[Any], limits: FitLimits
    ) -> None:
        """Compute the certificate; where there is no time for it, the model has none, and its status claims nothing."""
        if not self._in_time(limits, partial(self._certify_results, tasks, problems, results)):
            for result in results:
                result.status = limits.status

    def _in_time(self, limits: FitLimits, certify: Callable[[], None]) -> bool:
        """Compute a certificate; return whether there was time for it. Without, none of its attributes are left."""
        limits.begin_certificate()
        try:
            with ending_when(limits.must_end_certificate):
                certify()
        except InterruptedPassError:
            for name in self._attributes_of_certificates:
                self.__dict__.pop(name, None)
            return False
        return True

    def _certify_results(self, tasks: Tasks, problems: Sequence[Any], results: Sequence[Any]) -> None:
        """Compute the certificate, and reconcile the status of every task with it."""
        goals = self._goals(problems)
        self.certificate_ = self._certify(tasks, problems)
        for k, certificate in enumerate(certificates_of(self.certificate_, len(results))):
            status = results[k].status = reconcile(results[k].status, certificate, goals[k])
            if status is Status.NOT_SEPARABLE and self._advice_without_solution is not None:
                which = "" if len(results) == 1 else f"{tasks.names()[k]}: "
                assert isinstance(certificate, MarginBracket)
                raise NotSeparableError(f"{which}{certificate}. {self._advice_without_solution}", certificate)

    def _refuse_other_features(self, model: Self) -> None:
        """A warm start needs the columns of the last fit."""
        before, now = getattr(self, "feature_names_in_", None), getattr(model, "feature_names_in_", None)
        if before is None or now is None or not getattr(self, "warm_start", False):
            return
        if not np.array_equal(before, now):
            raise ValueError("warm_start=True needs the columns of the last fit; X has other feature names.")

    # What an estimator fills in.

    def _check_parameters(self) -> None:
        """Refuse parameters that do not go together."""

    def _warn_of_parameters(self) -> None:
        """Warn of parameters that are deprecated, or have no effect: at the fit, not when a model is read."""

    @abstractmethod
    def _validate(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Check the arguments of ``fit``."""

    @abstractmethod
    def _data_to_certify(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Check data that the fitted model is to be certified on."""

    def _prepare(self, data: Any) -> None:
        """Set what the problems need beside the parameters, for example the kernel."""

    def _tasks(self, data: Any) -> Tasks:
        """Cut the data into tasks."""
        return data

    def _problem(self, data: Any) -> Any:
        """The optimisation problem of a task, given its data, where ``_problems`` builds one after the other."""
        raise NotImplementedError

    def _problems(self, tasks: Tasks) -> Sequence[Any]:
        """The problems of all tasks."""
        return [self._problem(data) for data in tasks.tasks()]

    def _starts(self, tasks: Tasks) -> Sequence[Any]:
        """The starts of all tasks; called on the model of the last fit."""
        return [None] * tasks.n_tasks

    def _options(self, tasks: Tasks) -> Options:
        """The options of the solver."""
        return Options(self.tol, self.max_iter or math.inf, **self._seed_and_threads(tasks))

    def _seed_and_threads(self, tasks: Tasks) -> dict[str, Any]:
        """The seed and the number of threads of every task.

        All tasks have the same seed: the rows are then in the same order, and scores of different classes comparable.
        """
        # Asking joblib takes as long as a small fit's validation.
        may_ask = getattr(self, "n_jobs", None) is not None or not self._is_small(tasks)
        n_threads = self._n_threads() if may_ask else 1
        return {"seed": seed_of(self.random_state), "n_threads": max(1, n_threads // min(n_threads, tasks.n_tasks))}

    # The solvers of the estimator's problems, and their certificates where there are several.
    _solvers: ClassVar[SolverTable] = {}
    _certificates: ClassVar[CertificateTable] = {}

    def _name_of_solver(self, problem: Any) -> str:
        """Which solver to take of those that the table has for the class of the problem."""
        raise NotImplementedError

    def _solver(self, problem: Any) -> Solve:
        """The solver of a problem: a function ``solve(problem, options, monitor, start)``."""
        places = self._solvers[type(problem)]
        return solver_at(places if isinstance(places, str) else places[self._name_of_solver(problem)])

    def _untouched_result(self, problem: Any) -> Any | None:  # noqa: ARG002
        """The result of a task before its first step; None where only the solver makes it."""
        return None

    @contextmanager
    def _solving(self, problems: Sequence[Any], options: Any) -> Iterator[tuple[Solve, int | None]]:  # noqa: ARG002
        """Yield the solver of all problems, and how many it may solve at once, None for ``n_jobs``.

        A context, because pairs of classes share threads and kernel values while they are solved.
        """
        yield self._solver(problems[0]), 1 if isinstance(problems[0], PartitionedProblem) else None

    @abstractmethod
    def _set_attributes(self, tasks: Any, results: Sequence[Any]) -> None:
        """Set the attributes that the results determine."""

    def _certify(self, tasks: Any, problems: Sequence[Any]) -> Certificate | PerClass:
        """Compute the certificate from data and fitted attributes alone."""
        jobs = [partial(self._certify_task, k, problem) for k, problem in enumerate(problems)]
        with Threads(self._at_once(tasks)) as threads:
            proofs = threads.run(jobs, alike=False)
        return proof_or_per_class(getattr(tasks, "classes", ()), proofs)

    def _certificate_seconds(self, tasks: Tasks) -> tuple[float, float]:
        """Estimate what the certificates of all tasks take, and besides for every entry of a kernel matrix.

        A certificate reads the rows a known number of times: the time of one pass is measured.
        """
        points = tasks.points
        if isinstance(tasks, PartitionedData):
            from maxmargin.engine.dask import seconds_per_pass

            return self._certificate_passes * seconds_per_pass(points) * tasks.n_tasks, 0.0
        n_rows = min(points.n_rows, 1 + int(ENTRIES_TO_MEASURE / max(1.0, points.entries_per_row)))
        some, began = Points(points.matrix[:n_rows]), time.perf_counter()
        some.combination(some.scores(np.ones(points.n_columns)))
        of_pass = (time.perf_counter() - began) * points.n_rows / n_rows
        # A problem of all classes at once has the scores of all of them.
        n_passes = self._certificate_passes * (len(tasks.classes) if isinstance(tasks, JointClasses) else 1)
        return (SECONDS_PER_TASK + n_passes * of_pass) * tasks.n_tasks / self._at_once(tasks), 0.0

    def _certify_task(self, k: int, problem: Any) -> Certificate:
        """The certificate of task k, where ``_certify`` computes one after the other."""
        raise NotImplementedError

    def _goal(self, k: int, problem: Any | None = None) -> Goal:  # noqa: ARG002
        """The goal of task k; without its problem, as far as the certificate alone can decide."""
        return Goal(self.tol)

    def _goals(self, problems: Sequence[Any]) -> list[Goal]:
        """The goals of all tasks, before their certificates are computed."""
        return [self._goal(k, problem) for k, problem in enumerate(problems)]

    def _finer_attempt(self, problems: Sequence[Any], results: Sequence[Any], attempt: Attempt) -> Attempt | None:
        """Starts and options of another attempt of higher precision; None where there is none, or no need for it."""

    def _finish(self, tasks: Any, results: Sequence[Any], limits: FitLimits) -> None:
        """Set the attributes that depend on the status, or need further fits in the time that is left."""

    def _set_certified_attributes(self, proofs: Sequence[Any]) -> None:
        """Set the attributes that the certificates of all tasks state."""

    @abstractmethod
    def _attributes_so_far(self, labelled: Any, results: Sequence[Any]) -> dict[str, Any]:
        """The attributes that callbacks get in the middle of a fit, given w, b and alpha of every task so far."""

    def _n_threads(self) -> int:
        return effective_n_jobs(getattr(self, "n_jobs", None))

    def _at_once(self, tasks: Tasks) -> int:
        """How many tasks run at a time: one of a few rows is so short that threads would wait for the interpreter."""
        return 1 if tasks.n_tasks == 1 or self._is_small(tasks) else min(tasks.n_tasks, self._n_threads())

    def _is_small(self, tasks: Tasks) -> bool:
        """Whether the rows of a task are not worth a thread."""
        return tasks.points.n_rows * tasks.points.entries_per_row < self._entries_worth_a_thread

    def _most_steps(self) -> int | None:
        """The largest number of iterations, if there is one."""
        return self.max_iter

    def _advice_for(self, status: Status) -> str | None:
        """What to do where a status is a failure."""
        match status:
            case Status.ITERATION_LIMIT:
                return self._advice_at_max_iter
            case Status.TIME_LIMIT:
                return "max_time was reached: raise it to continue"
            case Status.NOT_SEPARABLE:
                return self._advice_when_not_separable
            case Status.NO_SUCH_MARGIN:
                return self._advice_without_such_margin
            case Status.STALLED:
                return self._advice_when_stalled
            case Status.SEPARABLE:
                return self._advice_when_separable
        return None

    def _report(self) -> None:
        """Print the status with ``verbose``, and warn of a limit that was reached, with what is proven."""
        name, advice = type(self).__name__, self._advice_for(self.status_)
        is_verbose = getattr(self, "verbose", 0)
        if advice is None and not is_verbose:
            return
        proven = str(getattr(self, "certificate_", NO_TIME_TO_CERTIFY))
        if is_verbose:
            for line in proven.splitlines():
                print(f"[{name}] {self.status_}: {line}", flush=True)
        if advice is not None:
            warn_user(f"{name}: {advice}. The model is usable as it is. Proven: {proven}", LimitWarning)
