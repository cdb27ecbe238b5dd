"""What the classifier and the regression of the linear support vector machine share."""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from maxmargin.estimators._base import TrainingData, one_or_all
from maxmargin.estimators._regularized import RegularizedModel
from maxmargin.problems.linear_svm import LinearSVMProblem
from maxmargin.solvers.core import Monitor, Result, interrupt_handler, warm_start
from maxmargin.solvers.linear.auto import solve
from maxmargin.solvers.linear.options import SELECTIONS, SOLVERS, LinearOptions


class LinearSVM(RegularizedModel):
    """The one fit of linear support vector machines, from problems to attributes."""

    loss: str
    fit_intercept: bool
    penalize_intercept: bool
    intercept_scaling: float
    solver: str
    selection: str
    max_iter: int
    warm_start: bool

    # Whether C = inf, no point in the street, has a meaning.
    _takes_hard_margin = False

    coef_: np.ndarray
    intercept_: np.ndarray
    dual_coef_: np.ndarray

    _parameter_constraints: dict = {
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "penalize_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0.0, None, closed="neither")],
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
        hard = self._takes_hard_margin and math.isinf(self.C)
        self._refuse_extreme(*([] if hard else ["C"]), "intercept_scaling")
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

    @property
    def _intercept_penalty(self) -> float:
        if not self.fit_intercept:
            return math.inf
        return self.intercept_scaling**-2.0 if self.penalize_intercept else 0.0

    def _fit_all(self, data: TrainingData, solve_task: Callable[[Any, LinearOptions, Monitor, Any], Any]) -> None:
        """Solve all tasks, keep what they found, and let the model draw its conclusions."""
        self._refuse_extreme_prices(data)
        starts = self._starts(data)
        n_threads = self._n_threads()
        per_task = max(1, n_threads // min(n_threads, data.n_tasks))

        def run(task: int, dataset: Any, seed: int, monitor: Monitor) -> Any:
            options = LinearOptions(self.tol, self.max_iter or math.inf, seed, per_task, self.solver, self.selection)
            return solve_task(dataset, options, monitor, starts[task])

        with interrupt_handler() as stop_requested:
            results = self._solve_tasks(data, run, stop_requested, steps=self.max_iter)
            self._refuse_outcomes(data, results)
            self.coef_ = np.array([result.w for result in results])
            self.intercept_ = np.array([result.intercept for result in results])
            self.dual_coef_ = np.array([result.beta for result in results])
            self.n_iter_ = max(1, *(result.n_iter for result in results))
            self.history_ = one_or_all([result.history for result in results])
            self._set_attributes(data, results)
            self._reconcile(results)
            self.support_ = np.flatnonzero(self.dual_coef_.any(axis=0))
            self._report(results)

    def _solve_plane(
        self, problem: LinearSVMProblem, options: LinearOptions, monitor: Monitor, start: Any
    ) -> Result[float]:
        return solve(problem, options, monitor, start)

    def _refuse_outcomes(self, data: Any, results: Sequence[Any]) -> None:
        """Raise where a task has no solution, before anything of the last fit is lost."""

    @abstractmethod
    def _set_attributes(self, data: Any, results: Sequence[Any]) -> None:
        """Keep what is special to the model, and certify it."""

    def _starts(self, data: TrainingData) -> list[Result[Any] | None]:
        if not (self.warm_start and hasattr(self, "dual_coef_")):
            return [None] * data.n_tasks
        if self.dual_coef_.shape != (data.n_tasks, data.points.n_rows):
            raise ValueError("warm_start=True needs the classes and as many rows as the last fit; X or y has others.")
        return [warm_start(beta) for beta in self.dual_coef_]
