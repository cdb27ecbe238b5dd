"""What linear support vector classification and regression share."""

import math
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np

from maxmargin.certificates import (
    Certificate,
    PerClass,
    SVMGap,
    groups_of_tasks,
    measure_gaps,
    measure_partitioned_gap,
)
from maxmargin.data import TargetPoints, Tasks
from maxmargin.data.block_source import is_block_source
from maxmargin.data.partitions import PartitionedData, PartitionedTask
from maxmargin.data.scikit_learn import Interval, StrOptions
from maxmargin.engine import Threads
from maxmargin.estimators._parameters import estimator
from maxmargin.estimators._predictors import distributed_vectors
from maxmargin.estimators._regularized import RegularizedModel
from maxmargin.estimators._rows_elsewhere import kind_of_rows
from maxmargin.estimators._shared import one_or_all, proof_or_per_class, refuse_other_rows
from maxmargin.estimators._solvers import SolverTable
from maxmargin.problems.crammer_singer import CrammerSingerProblem
from maxmargin.problems.hard_margin import HardMarginProblem
from maxmargin.problems.linear_svm import LinearSVMProblem, SVMLoss, weights_of
from maxmargin.problems.partitioned import PartitionedProblem
from maxmargin.problems.sparse_linear import SparseLinearProblem
from maxmargin.solvers.core import Result, warm_start
from maxmargin.solvers.linear.options import SELECTIONS, SOLVERS, LinearOptions, gap_of_width

# A part of the docstrings of linear machines.
LINEAR_PARAMETERS = """
intercept_scaling : float, default=1.0
    Inverse penalty of the intercept. Refused where the intercept is not penalised.
solver : {"auto", "coordinate", "newton"}, default="auto"
    Dual coordinate ascent, for wide sparse data; or a dual proximal-point method with Newton steps, for many rows
    of few columns, large C and small gaps. "auto" chooses by the data, and may switch from the first to the second.
selection : {"random", "cyclic", "greedy"}, default="random"
    The order of coordinate ascent: shuffled rows, rows in turn, or always the row of the greatest gain, for which
    every step evaluates all rows (for small data and lectures). Others than "random" choose coordinate ascent.
max_iter : int or None, default=None
    The largest number of epochs (coordinate ascent) and Newton steps.
max_time : float or None, default=None
    The largest number of seconds to train.
n_jobs : int or None, default=None
    Threads. None takes all cores, not one as in scikit-learn: the threads share the data without a copy, and one
    thread would make the default fit slower by the number of cores. The result does not depend on it.
random_state : int, RandomState or None, default=None
    The seed of coordinate ascent's random order.
verbose : int, default=0
    Print a line whenever the gap was measured.
"""


@estimator
class LinearSVM(RegularizedModel):
    """Parameters, solvers and attributes that linear support vector classification and regression share."""

    _takes_collections: ClassVar[bool] = True
    _solvers: ClassVar[SolverTable] = {
        LinearSVMProblem: "linear.auto",
        CrammerSingerProblem: "linear.crammer_singer",
        HardMarginProblem: "separability.decision",
        SparseLinearProblem: "linear.sparse",
        PartitionedProblem: "linear.partitioned",
    }

    fit_intercept: bool = True
    penalize_intercept: bool = False
    intercept_scaling: float = 1.0
    dual: Any = "auto"
    tol: float = 1e-4
    solver: str = "auto"
    selection: str = "random"
    max_iter: int | None = None
    max_time: float | None = None
    n_jobs: int | None = None
    random_state: Any = None
    warm_start: bool = False
    verbose: int = 0
    loss: str

    coef_: np.ndarray = field(init=False)
    intercept_: np.ndarray = field(init=False)
    dual_coef_: np.ndarray = field(init=False)
    support_: np.ndarray = field(init=False)

    _parameter_constraints: ClassVar[dict] = {
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "penalize_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0.0, None, closed="neither")],
        "dual": ["boolean", StrOptions({"auto"})],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "solver": [StrOptions(set(SOLVERS))],
        "selection": [StrOptions(set(SELECTIONS))],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "max_time": [Interval(Real, 0.0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def _check_parameters(self) -> None:
        """A parameter that would have no effect is refused."""
        super()._check_parameters()
        self._refuse_extreme("intercept_scaling")
        if self.penalize_intercept and not self.fit_intercept:
            raise ValueError("penalize_intercept=True needs fit_intercept=True.")
        if self.intercept_scaling != 1.0 and not self.penalize_intercept:
            raise ValueError(
                "intercept_scaling has no effect on an intercept that is not penalised: set penalize_intercept=True, "
                "or leave it at 1."
            )
        if self.selection != "random" and self.solver == "newton":
            raise ValueError(
                f"selection={self.selection!r} is an order of coordinate ascent: set solver to 'coordinate' or 'auto'."
            )

    def _check_collections(self, X: Any) -> None:
        super()._check_collections(X)
        rows = kind_of_rows(X)
        if math.isinf(self.C):
            advice = ", or fit its arrays, fit(store.X, store.y)" if is_block_source(X) else ""
            raise ValueError(f"C=inf, the hard margin, is not solved on {rows}: use a large C{advice}.")
        for name, only in (("solver", ("auto", "newton")), ("selection", ("random",)), ("multi_class", ("ovr",))):
            if getattr(self, name, only[0]) not in only:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is not available for {rows}, which are solved by Newton steps, "
                    "one class against the rest."
                )

    @property
    def _intercept_penalty(self) -> float:
        if not self.fit_intercept:
            return math.inf
        return self.intercept_scaling**-2.0 if self.penalize_intercept else 0.0

    @property
    def _may_centre(self) -> bool:
        return self._intercept_penalty == 0.0

    def _options(self, tasks: Tasks) -> LinearOptions:
        return LinearOptions(
            tol=gap_of_width(self.tol) if math.isinf(self.C) else self.tol,
            max_iter=self.max_iter or math.inf,
            solver=self.solver,
            selection=self.selection,
            **self._seed_and_threads(tasks),
        )

    def _starts(self, tasks: Tasks) -> Sequence[Result[Any] | None]:
        if not (self.warm_start and hasattr(self, "dual_coef_")):
            return [None] * tasks.n_tasks
        if self.dual_coef_.shape != (tasks.n_tasks, tasks.points.n_rows):
            raise ValueError("warm_start=True needs the classes and as many rows as the last fit; X or y has others.")
        return [warm_start(beta) for beta in self.dual_coef_]

    def _set_attributes(self, tasks: Any, results: Sequence[Result[Any]]) -> None:
        self.coef_ = np.array([result.w for result in results])
        self.intercept_ = np.array([result.intercept for result in results])
        self.n_iter_ = max(1, *(result.n_iter for result in results))
        self.history_ = one_or_all([result.history for result in results])
        if isinstance(tasks, PartitionedData):
            self.dual_coef_ = distributed_vectors(tasks.points, [result.beta for result in results])
        else:
            self.dual_coef_ = np.array([result.beta for result in results])
        if isinstance(self.dual_coef_, np.ndarray):
            self.support_ = self._support_of(self.dual_coef_)

    @staticmethod
    def _support_of(duals: np.ndarray) -> np.ndarray:
        """The rows with a dual that is not zero in any task."""
        used: np.ndarray = duals[0] if len(duals) == 1 else np.any(duals, axis=0)
        return used.nonzero()[0]

    def _in_memory(self) -> Self:
        model = super()._in_memory()
        if model is not self:
            model.support_ = self._support_of(model.dual_coef_)
        return model

    def _certify(self, tasks: Any, problems: Sequence[Any]) -> Certificate | PerClass:
        groups = groups_of_tasks(tasks.points, tasks.n_tasks) if isinstance(problems[0], LinearSVMProblem) else []
        if not groups:
            return super()._certify(tasks, problems)
        refuse_other_rows(tasks.points.n_rows, self.dual_coef_.shape[1])
        coef, duals = self.coef_.reshape(tasks.n_tasks, -1), np.asarray(self.dual_coef_)
        jobs = [
            partial(measure_gaps, problems[group], coef[group], self.intercept_[group], duals[group])
            for group in groups
        ]
        with Threads(self._at_once(tasks)) as threads:
            proofs = [proof for of_group in threads.run(jobs, alike=False) for proof in of_group]
        return proof_or_per_class(getattr(tasks, "classes", ()), proofs)

    def _at_once(self, tasks: Tasks) -> int:
        # A pass over the blocks of a store takes all threads, and two at once would keep the vectors of both.
        at_store = isinstance(tasks, PartitionedData) and tasks.points.executor.vectors_are_near
        return 1 if at_store else super()._at_once(tasks)

    def _certify_on_blocks(self, k: int, problem: PartitionedProblem, w: np.ndarray, b: float) -> SVMGap:
        """The certificate of a task whose rows are in partitions."""
        from maxmargin.engine.dask import chunks_of
        from maxmargin.engine.executors import executor_of

        points = problem.points
        chunks = chunks_of(self.dual_coef_[k], executor_of(points), points.row_counts)
        return measure_partitioned_gap(problem, w, b, chunks)

    def _problem_of_losses(self, data: Any, loss: Callable[..., SVMLoss]) -> LinearSVMProblem | PartitionedProblem:
        """The problem, given its losses as a function of targets and weights."""
        if isinstance(data, PartitionedTask):
            empty = np.empty(0)
            points: Any = data.points
            return PartitionedProblem(LinearSVMProblem(points, loss(empty, empty), self._intercept_penalty), data)
        targets = data.targets if isinstance(data, TargetPoints) else data.signs
        weights = weights_of(data.points, data.weights)
        return LinearSVMProblem(data.points, loss(targets, weights), self._intercept_penalty)
