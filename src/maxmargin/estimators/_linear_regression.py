"""What linear regressions with squared errors share."""

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np

from maxmargin.certificates.base import PerTarget
from maxmargin.certificates.duality_gap import ROUNDING_SHARE, DualityGap
from maxmargin.certificates.lasso_gap import measure_lasso_gap
from maxmargin.certificates.ridge_gap import measure_partitioned_ridge_gap, measure_ridge_gap
from maxmargin.certificates.rounding import gamma
from maxmargin.data import TargetColumns
from maxmargin.data.partitions import PartitionedTask
from maxmargin.data.scikit_learn import Interval, _fit_context
from maxmargin.estimators._parameters import estimator
from maxmargin.estimators._predictors import LinearRegressor, distributed_vectors
from maxmargin.estimators._regularized import all_cores_unless
from maxmargin.estimators._shared import one_or_all
from maxmargin.estimators._solvers import CertificateTable
from maxmargin.problems.partitioned import PartitionedProblem
from maxmargin.problems.squared_errors import LassoProblem, RidgeProblem, SquaredErrors
from maxmargin.reconciliation import Goal
from maxmargin.solvers.core import Result

# An objective of at most this share of the squared targets, around their mean, is a rounding error; so is one of this
# share of the squared targets themselves, where they are far from zero (more in long rows), or one that underflows.
ROUNDING_AROUND_MEAN, ROUNDING_OF_TARGETS, UNDERFLOW_OF_SQUARES = 1e-20, 1e-27, 1e-300
# Without the targets, a gap of at most this counts as a rounding error where the optimum may be zero.
NEGLIGIBLE_GAP = 1e-9
# Outside of this range of lambda products with squared entries underflow or overflow.
SMALLEST_PENALTY, LARGEST_PENALTY = 1e-100, 1e200


@estimator
class LinearRegression(LinearRegressor):
    """Validation, prediction, attributes and reconciliation of linear regressions with squared errors."""

    fit_intercept: bool = True
    copy_X: bool = True  # noqa: N815
    max_iter: int | None = None
    max_time: float | None = None
    verbose: int = 0
    tol: float

    certificate_: DualityGap = field(init=False)
    coef_: np.ndarray = field(init=False)
    intercept_: Any = field(init=False)

    # Where it is no parameter, nothing is random.
    random_state = 0

    _in_precision_of_rows: ClassVar[tuple[str, ...]] = ("coef_", "intercept_")
    _may_move_intercept: ClassVar[bool] = True

    _certificates: ClassVar[CertificateTable] = {RidgeProblem: measure_ridge_gap, LassoProblem: measure_lasso_gap}

    # The dual point, of which the certificate states the value.
    _private_attributes: ClassVar[tuple[str, ...]] = ("_dual_point",)

    _parameter_constraints: ClassVar[dict] = {
        "fit_intercept": ["boolean"],
        "copy_X": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "max_time": [Interval(Real, 0.0, None, closed="neither"), None],
        "verbose": ["verbose"],
    }

    _advice_when_stalled = "the gap stopped shrinking above tol: rescale the columns of X, or raise the penalty or tol"

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Solve to a relative duality gap of ``tol``, and certify it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Ridge and BayesianRegression also take a Dask array or data frame, with y and sample_weight in its
            partitions.
        y : array of numbers of shape (n,)
            Ridge, Lasso and ElasticNet also take several targets, (n, n_targets): each is a regression of its own.
        sample_weight : array of shape (n,), optional
            Factors on the squared errors: a weight of 2 is the same as the row given twice.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _set_attributes(self, tasks: Any, results: Sequence[Result[float]]) -> None:
        coef = np.array([result.w for result in results])
        intercept = np.array([result.intercept for result in results])
        one = len(results) == 1
        self.coef_ = coef[0] if one else coef
        self.intercept_ = intercept if isinstance(tasks, TargetColumns) else intercept[0]
        # A warm start may have nothing to do.
        least = 0 if getattr(self, "warm_start", False) else 1
        n_iter = [max(least, result.n_iter) for result in results]
        self.n_iter_ = n_iter[0] if one else np.array(n_iter)
        self.history_ = one_or_all([result.history for result in results])

    def _n_threads(self) -> int:
        # There is no n_jobs, as in scikit-learn, which leaves the threads to BLAS.
        return all_cores_unless(None)

    def _coefficients(self, k: int) -> tuple[np.ndarray, float]:
        """Coefficients and intercept of target k."""
        coef = np.atleast_2d(np.asarray(self.coef_, dtype=np.float64))[k]
        return coef, float(np.ravel(self.intercept_)[k])

    def _certify(self, tasks: Any, problems: Sequence[Any]) -> Any:
        if isinstance(problems[0], PartitionedProblem):
            proof, handle = measure_partitioned_ridge_gap(self._penalised(problems[0]), self.coef_, self.intercept_)
            self._dual_point = distributed_vectors(tasks.points, [handle.alone()])[0]
            return proof
        counted = slice(None) if tasks.weights is None else np.flatnonzero(tasks.weights)
        self._dual_point = np.zeros((len(problems), tasks.points.n_rows))
        proofs = []
        for k, problem in enumerate(problems):
            # The problem leaves out the rows of weight zero.
            point = np.zeros(self._dual_point[k, counted].size)
            proofs.append(self._certify_target(k, problem, point))
            self._dual_point[k, counted] = point
        if len(problems) == 1:
            self._dual_point = self._dual_point[0]
            return proofs[0]
        return PerTarget(dict(enumerate(proofs)))

    def _certify_task(self, k: int, problem: Any) -> DualityGap:
        return self._certify_target(k, problem, np.zeros(self._errors_of(problem).points.n_rows))

    def _certify_target(self, k: int, problem: Any, dual_point: np.ndarray) -> DualityGap:
        """The certificate of target k; ``dual_point`` is filled with its dual point."""
        measure = self._certificates[type(problem)]
        if measure is measure_lasso_gap:
            # Products that are nearly exact take several passes over the rows: only where they may matter to tol.
            measure = partial(measure, wanted=ROUNDING_SHARE * self.tol)
        return measure(problem, *self._coefficients(k), dual_point=dual_point)

    @staticmethod
    def _errors_of(problem: Any) -> SquaredErrors:
        return problem if isinstance(problem, SquaredErrors) else problem.errors

    def _problems(self, tasks: Any) -> Sequence[Any]:
        problems: list[Any] = []
        for k, data in enumerate(tasks.tasks()):
            if k == 0:
                problems.append(self._problem(data))
                continue
            targets = data.targets if data.weights is None else data.targets[np.flatnonzero(data.weights)]
            problems.append(self._problem_of_errors(self._errors_of(problems[0]).with_targets(targets), k))
        return problems

    def _problem_of_errors(self, errors: Any, k: int) -> Any:
        """The problem of target k, given its squared errors."""
        raise NotImplementedError

    def _penalised(self, problem: PartitionedProblem) -> PartitionedProblem:
        """The problem that a gap is measured for, where the rows are in partitions."""
        return problem

    def _errors(self, data: Any) -> Any:
        """The squared errors on checked data."""
        if isinstance(data, PartitionedTask):
            points: Any = data.points
            return SquaredErrors(points, np.empty(0), np.empty(0), self.fit_intercept)
        return SquaredErrors.of(data, self.fit_intercept)

    def _set_certified_attributes(self, proofs: Sequence[Any]) -> None:
        self.objective_ = one_or_all([proof.primal for proof in proofs])

    def _attributes_so_far(self, labelled: Any, results: Sequence[Any]) -> dict[str, Any]:
        so_far = self._without_fit()
        found = [(np.zeros(labelled.points.n_columns), 0.0, None) if one is None else one for one in results]
        # Without what an estimator adds from a whole result.
        LinearRegression._set_attributes(so_far, labelled, [Result(w, float(b), np.empty(0)) for w, b, _ in found])
        return {name: getattr(so_far, name) for name in ("coef_", "intercept_")}

    def _goal(self, k: int, problem: Any | None = None) -> Goal:
        """The relative gap means nothing where the objective is a rounding error: then the problem is solved."""
        if problem is None or isinstance(problem, PartitionedProblem):
            return Goal(self.tol, lambda proof: proof.dual <= 0.0 and proof.gap <= NEGLIGIBLE_GAP)
        return Goal(self.tol, lambda proof: self._is_rounding_error(k, problem, proof.primal))

    def _is_rounding_error(
        self, k: int, problem: SquaredErrors | RidgeProblem | LassoProblem, objective: float
    ) -> bool:
        """Whether the objective, and the square of every single residual, is a rounding error."""
        errors, (w, b) = self._errors_of(problem), self._coefficients(k)
        squares = np.square(errors.centred.residuals(w, errors.centring.intercept_here(w, b)))
        around, whole = np.square(errors.targets - errors.target_mean), np.square(errors.targets)
        share = max(ROUNDING_OF_TARGETS, 8.0 * gamma(errors.points.longest_row + 16) ** 2)
        return all(
            value <= max(ROUNDING_AROUND_MEAN * of_deviations, share * of_targets, UNDERFLOW_OF_SQUARES)
            for value, of_deviations, of_targets in (
                (objective, errors.weighted(around).sum(), errors.weighted(whole).sum()),
                (squares.max(), around.max(), whole.max()),
            )
        )


def penalty_given(
    model: Any, first: str, second: str, combine: Callable[[float, float], float], unit: Any = 1.0
) -> Any:
    """The penalty lambda of ``model.alpha`` times ``unit``, of ``model.lam``, or of two parameters of the prior.

    Without any of them it is that of alpha = 1; two of them together are refused.
    """
    values = {name: getattr(model, name) for name in ("alpha", "lam", first, second)}
    given = [name for name, value in values.items() if value is not None]
    prior = {name: values[name] for name in given if name not in ("alpha", "lam")}
    choice = f"set alpha, or lam, or {first} and {second}"
    if len(given) > 1 and given != [first, second]:
        raise ValueError(f"{given[0]} is given, and so is {' and '.join(given[1:])}: {choice}.")
    if len(prior) == 1:
        missing = second if first in prior else first
        raise ValueError(f"{given[0]} is given without {missing}: {choice}.")
    if prior:
        penalty: Any = combine(float(prior[first]), float(prior[second]))
    elif model.lam is not None:
        penalty = float(model.lam)
    elif model.alpha is None or type(model.alpha) in (float, int):
        penalty = (1.0 if model.alpha is None else float(model.alpha)) * unit
    else:
        penalty = np.asarray(model.alpha, dtype=np.float64) * unit
    inside = (penalty == 0.0) | ((penalty >= SMALLEST_PENALTY) & (penalty <= LARGEST_PENALTY))
    if not (inside if isinstance(inside, bool) else np.all(inside)):
        raise ValueError(
            f"lam, or what alpha, or {first} and {second} make of it, must be between {SMALLEST_PENALTY:g} and "
            f"{LARGEST_PENALTY:g}; it is {penalty!r}."
        )
    return penalty if isinstance(penalty, float) or np.ndim(penalty) else float(penalty)
