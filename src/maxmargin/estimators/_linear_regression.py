"""What linear regressions with squared errors share."""

from collections.abc import Callable, Sequence
from dataclasses import field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from maxmargin.certificates.duality_gap import DualityGap
from maxmargin.certificates.ridge_gap import measure_partitioned_ridge_gap
from maxmargin.certificates.rounding import gamma
from maxmargin.data.partitions import PartitionedTask
from maxmargin.estimators._base import LinearRegressor, distributed_vectors
from maxmargin.estimators._parameters import estimator
from maxmargin.problems.partitioned import PartitionedProblem
from maxmargin.problems.squared_errors import LassoProblem, RidgeProblem, SquaredErrors
from maxmargin.reconciliation import Goal
from maxmargin.solvers.core import Result

# An objective of at most this share of the squared targets, around their mean, is a rounding error; so is one of this
# share of the squared targets themselves, where they are far from zero (more in long rows), or one that underflows.
ROUNDING_AROUND_MEAN, ROUNDING_OF_TARGETS, UNDERFLOW = 1e-20, 1e-27, 1e-300
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
    intercept_: float = field(init=False)

    # Where it is no parameter, nothing is random.
    random_state = 0

    # The dual point, of which the certificate states the value.
    _private_attributes: ClassVar[tuple[str, ...]] = ("_dual_point",)

    _parameter_constraints: ClassVar[dict] = {
        "fit_intercept": ["boolean"],
        "copy_X": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
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
        sample_weight : array of shape (n,), optional
            Factors on the squared errors: a weight of 2 is the same as the row given twice.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _set_attributes(self, tasks: Any, results: Sequence[Result[float]]) -> None:  # noqa: ARG002
        result = results[0]
        self.coef_, self.intercept_ = result.w, float(result.intercept)
        self.n_iter_ = max(1, result.n_iter)
        self.history_ = result.history

    def _certify(self, tasks: Any, problems: Sequence[Any]) -> Any:
        problem = problems[0]
        if isinstance(problem, PartitionedProblem):
            proof, handle = measure_partitioned_ridge_gap(self._penalised(problem), self.coef_, self.intercept_)
            self._dual_point = distributed_vectors(tasks.points, [handle])[0]
            return proof
        counted = (problem if isinstance(problem, SquaredErrors) else problem.errors).points.n_rows
        self._dual_point = np.zeros(counted)
        certificate = super()._certify(tasks, problems)
        if counted < tasks.points.n_rows:
            # The problem leaves out the rows of weight zero.
            point, self._dual_point = self._dual_point, np.zeros(tasks.points.n_rows)
            self._dual_point[np.flatnonzero(tasks.weights)] = point
        return certificate

    def _penalised(self, problem: PartitionedProblem) -> PartitionedProblem:
        """The problem that a gap is measured for, where the rows are in partitions."""
        return problem

    def _errors(self, data: Any) -> Any:
        """The squared errors on checked data."""
        if isinstance(data, PartitionedTask):
            points: Any = data.points
            return SquaredErrors(points, np.empty(0), np.empty(0), self.fit_intercept)
        return SquaredErrors.of(data, self.fit_intercept)

    def _finish(self, tasks: Any, problems: Sequence[Any], results: Sequence[Any]) -> None:  # noqa: ARG002
        self.objective_ = self.certificate_.primal

    def _attributes_so_far(self, labelled: Any, results: Sequence[Any]) -> dict[str, Any]:
        w, b, _ = (np.zeros(labelled.points.n_columns), 0.0, None) if results[0] is None else results[0]
        return {"coef_": w, "intercept_": float(b)}

    def _goal(self, k: int, problem: Any | None = None) -> Goal:  # noqa: ARG002
        """The relative gap means nothing where the objective is a rounding error: then the problem is solved."""
        if problem is None or isinstance(problem, PartitionedProblem):
            return Goal(self.tol, lambda proof: proof.dual <= 0.0 and proof.gap <= NEGLIGIBLE_GAP)
        return Goal(self.tol, lambda proof: self._is_rounding_error(problem, proof.primal))

    def _is_rounding_error(self, problem: SquaredErrors | RidgeProblem | LassoProblem, objective: float) -> bool:
        """Whether the objective, and the square of every single residual, is a rounding error."""
        errors = problem if isinstance(problem, SquaredErrors) else problem.errors
        intercept = errors.centring.intercept_here(self.coef_, self.intercept_)
        squares = np.square(errors.centred.residuals(self.coef_, intercept))
        around, whole = np.square(errors.targets - errors.target_mean), np.square(errors.targets)
        share = max(ROUNDING_OF_TARGETS, 8.0 * gamma(errors.points.longest_row + 16) ** 2)
        return all(
            value <= max(ROUNDING_AROUND_MEAN * of_deviations, share * of_targets, UNDERFLOW)
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
    prior = {name: getattr(model, name) for name in (first, second) if getattr(model, name) is not None}
    given = [name for name in ("alpha", "lam", *prior) if getattr(model, name) is not None]
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
    else:
        penalty = (1.0 if model.alpha is None else np.asarray(model.alpha, dtype=np.float64)) * unit
    inside = (np.asarray(penalty) == 0.0) | ((penalty >= SMALLEST_PENALTY) & (penalty <= LARGEST_PENALTY))
    if not np.all(inside):
        raise ValueError(
            f"lam, or what alpha, or {first} and {second} make of it, must be between {SMALLEST_PENALTY:g} and "
            f"{LARGEST_PENALTY:g}; it is {penalty!r}."
        )
    return penalty if np.ndim(penalty) else float(penalty)
