"""What models with a regularisation parameter C share: its range, the penalised intercept, the status."""

import math
import os
from collections.abc import Sequence
from functools import cache
from typing import Any, Self

import numpy as np
from joblib import cpu_count, effective_n_jobs
from joblib.parallel import get_active_backend

from maxmargin.certificates import MarginBracket, has_no_margin
from maxmargin.data import LabelledPoints, Points, validate_targets
from maxmargin.data.scikit_learn import _fit_context
from maxmargin.data.validation import LARGEST_FACTOR, SMALLEST_FACTOR, validate_factors
from maxmargin.estimators._base import CertifiedModel
from maxmargin.estimators._predictors import CertifiedRegressor
from maxmargin.estimators._shared import one_or_all, plain
from maxmargin.problems.hard_margin import HardMarginProblem
from maxmargin.problems.linear_svm import LinearSVMProblem
from maxmargin.problems.logistic import LogisticProblem
from maxmargin.problems.sparse_linear import SparseLinearProblem
from maxmargin.reconciliation import Goal
from maxmargin.solvers.core import Result

# A gap of at most C times this slack counts as none where the optimum may be zero.
NEGLIGIBLE_LOSS = 1e-9


@cache
def n_cores(limit: str | None) -> int:  # noqa: ARG001
    """The cores that joblib may use; reading the system's limits takes as long as a small fit's validation."""
    return cpu_count()


def all_cores_unless(n_jobs: int | None) -> int:
    """The threads of a model whose ``n_jobs=None`` takes all cores.

    That is not scikit-learn's meaning, one thread: these models run in threads without a copy of the data, and the
    default would be slower by the number of cores.
    """
    if n_jobs is not None:
        return effective_n_jobs(n_jobs)
    backend, configured = get_active_backend()
    if configured is not None:
        # A configuration of joblib, for example parallel_config(n_jobs=1).
        return effective_n_jobs(None)
    if backend.nesting_level:
        # Inside of a worker: the other workers have the other cores.
        return 1
    return n_cores(os.environ.get("LOKY_MAX_CPU_COUNT"))


class RegularizedModel(CertifiedModel):
    """A model with a regularisation parameter C that is solved to a relative gap ``tol``."""

    C: float
    tol: float
    n_jobs: int | None

    _advice_when_stalled = "the gap stopped shrinking above tol: rescale the columns of X, lower C, or raise tol"

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn until the relative duality gap is at most ``tol``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d); with ``kernel="precomputed"`` the Gram matrix of shape (n, n)
            LinearSVC, LinearSVR and LogisticRegression also take a Dask array or data frame, with y and sample_weight
            in its partitions; and an open store (:func:`maxmargin.files.open_store`), which holds y, block by block.
        y : array of shape (n,): labels for a classifier, numbers for a regression
        sample_weight : array of shape (n,), optional
            Factors on the losses: a weight of 2 is the same as the row given twice.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _n_threads(self) -> int:
        return all_cores_unless(self.n_jobs)

    @property
    def _inverse_strength(self) -> float:
        """The factor on the losses that the parameters say."""
        return float(self.C)

    def _check_parameters(self) -> None:
        # An infinite C, where it is not defined, is refused elsewhere.
        if not math.isinf(self.C):
            self._refuse_extreme("C")

    def _prepare(self, data: Any) -> None:
        if not math.isinf(self._inverse_strength):
            validate_factors("C", self.C, data.weights)
        elif self._advice_without_solution is not None:
            self._refuse_classes_without_weight(data, "C=inf, the hard margin,")

    def _goal(self, k: int, problem: Any | None = None) -> Goal:  # noqa: ARG002
        C = self._inverse_strength
        negligible = NEGLIGIBLE_LOSS * C if math.isfinite(C) else 0.0
        return Goal(self.tol, lambda proof: proof.dual <= 0.0 and proof.gap <= negligible, self._proves_inseparable)

    @staticmethod
    def _proves_inseparable(bracket: MarginBracket) -> bool:
        """Whether a bracket around the hard margin proves that no hyperplane separates the classes."""
        return has_no_margin(bracket)

    def _untouched_result(self, problem: Any) -> Result[float] | None:
        if not isinstance(problem, (LinearSVMProblem, HardMarginProblem, LogisticProblem, SparseLinearProblem)):
            return None
        points = problem.points
        return Result(np.zeros(points.n_columns), 0.0, np.zeros(points.n_rows))

    def _set_certified_attributes(self, proofs: Sequence[Any]) -> None:
        self.objective_ = one_or_all([proof.objective for proof in proofs])

    def _refuse_extreme(self, *names: str) -> None:
        """Refuse parameters whose squares would overflow."""
        for name in names:
            if not SMALLEST_FACTOR <= getattr(self, name) <= LARGEST_FACTOR:
                raise ValueError(
                    f"{name} must be between {SMALLEST_FACTOR:g} and {LARGEST_FACTOR:g}, or squares overflow; it is "
                    f"{getattr(self, name)!r}."
                )

    def _refuse_classes_without_weight(self, data: LabelledPoints, problem: str) -> None:
        """Refuse a class whose rows all have weight zero, where the problem has no solution without it."""
        if data.weights is None:
            return
        totals = np.bincount(data.codes, data.weights, minlength=len(data.classes))
        if not totals.all():
            name = plain(data.classes[int(np.argmin(totals))])
            raise ValueError(
                f"sample_weight is zero for all rows of class {name!r}, or class_weight is, and {problem} needs "
                "rows of every class: leave the class out, or give it a positive weight."
            )


class InterceptColumn:
    """Models whose penalised intercept is the coefficient of a column of constants, as LIBLINEAR's."""

    fit_intercept: bool
    intercept_scaling: float

    @property
    def _has_intercept_column(self) -> bool:
        """Whether there is such a column; else the intercept, if there is one, is free."""
        raise NotImplementedError

    def _points_with_intercept(self, points: Points) -> tuple[Points, bool]:
        """The points, with a column of constants where the intercept is penalised; and whether it is free."""
        if not self._has_intercept_column:
            return points, self.fit_intercept
        return points.with_column(float(self.intercept_scaling)), False

    def _vectors_of_problem(self, w: np.ndarray, b: float) -> tuple[np.ndarray, float]:
        """Coefficients and free intercept of the problem: a penalised intercept is one of the coefficients."""
        return (np.append(w, b / self.intercept_scaling), 0.0) if self._has_intercept_column else (w, float(b))

    def _vectors_of_model(self, coef: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The inverse, for the coefficients of all tasks."""
        if not self._has_intercept_column:
            return coef, intercept
        return np.ascontiguousarray(coef[:, :-1]), coef[:, -1] * self.intercept_scaling


class EpsilonInsensitiveRegressor(CertifiedRegressor):
    """Regressions without loss for residuals up to epsilon."""

    def slack(self, X: Any, y: Any) -> np.ndarray:
        """Compute ``xi_i = max(0, |y_i - f(x_i)| - epsilon)``: how far each residual is outside the epsilon interval.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or the Gram matrix with the training rows, of shape (n, n_train)
        y : array of numbers of shape (n,)

        Returns
        -------
        ndarray of shape (n,)
        """
        model: Any = self._as_fitted()
        targets = validate_targets(model, X, y, reset=False).targets
        return np.maximum(0.0, np.abs(targets - model.predict(X)) - model.epsilon)
