"""Certificates of plain coefficients, for a problem that is named."""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin.certificates import (
    Certificate,
    bracket_hard_margin,
    measure_gap,
    measure_lasso_gap,
    measure_logistic_gap,
    measure_ridge_gap,
)
from maxmargin.certificates.recovered_duals import recovered_duals, recovered_hull_weights
from maxmargin.data import Points, TargetPoints, validate_labels, validate_targets, validate_training_data
from maxmargin.problems.hard_margin import HardMarginProblem
from maxmargin.problems.linear_svm import LOSSES, REGRESSION_LOSSES, LinearSVMProblem, SVMLoss, weights_of
from maxmargin.problems.logistic import LogisticProblem
from maxmargin.problems.margins import validate_coefficients
from maxmargin.problems.squared_errors import LassoProblem, RidgeProblem, SquaredErrors
from maxmargin.solvers.core import Monitor
from maxmargin.solvers.linear import auto
from maxmargin.solvers.linear.options import LinearOptions

# Entries of the rows, zeros included, up to which duals are fitted by least squares; of more rows they are solved for,
# to this relative gap.
MOST_ENTRIES_TO_RECOVER, TOL_OF_DUALS = 1 << 22, 1e-6


@dataclass(frozen=True)
class CoefficientsProblem:
    """The problem that plain coefficients solve.

    Attributes
    ----------
    loss : str or None
        "hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive", "logistic" or "squared_error".
        None for the largest margin.
    C : float
        Factor of the losses of a support vector machine or a logistic regression.
    epsilon : float
    intercept_penalty : float
        The factor rho of b²/2 in the objective of a support vector machine.
    lam : float
        Factor of the penalty beside the sum of squared errors (l2), or half of it (l1).
    penalty : {"l2", "l1"}
    """

    loss: str | None = None
    C: float = 1.0
    epsilon: float = 0.0
    intercept_penalty: float = 0.0
    lam: float = 0.0
    penalty: str = "l2"

    def __post_init__(self) -> None:
        known = [*LOSSES, *REGRESSION_LOSSES, "logistic", "squared_error"]
        if self.loss is not None and self.loss not in known:
            raise ValueError(f"loss must be one of {', '.join(map(repr, known))}; it is {self.loss!r}.")
        if self.penalty not in ("l2", "l1") or (self.penalty == "l1" and self.loss != "squared_error"):
            raise ValueError(f"penalty must be 'l2', or 'l1' with loss='squared_error'; it is {self.penalty!r}.")
        for name in ("C", "epsilon", "intercept_penalty", "lam"):
            value: Any = getattr(self, name)
            if not (isinstance(value, Real) and float(value) >= 0.0):
                raise ValueError(f"{name} must be a number that is not negative; it is {value!r}.")
        if self.C == 0.0 or (math.isinf(self.C) and self.loss != "logistic"):
            raise ValueError(
                "C must be positive, and finite but for loss='logistic'; leave loss out for the hard margin."
            )

    @property
    def is_regression(self) -> bool:
        """Whether y are values, not labels."""
        return self.loss in REGRESSION_LOSSES or self.loss == "squared_error"


def certify_coefficients(
    vectors: tuple[Any, ...], X: Any, y: Any, sample_weight: Any = None, problem: CoefficientsProblem | None = None
) -> Certificate:
    """Certify ``(coef, intercept)`` or ``(coef, intercept, dual)`` as a solution of ``problem``."""
    if not 2 <= len(vectors) <= 3:
        raise ValueError(
            f"estimator must be (coef, intercept) or (coef, intercept, dual); it has {len(vectors)} entries."
        )
    problem = CoefficientsProblem() if problem is None else problem
    if problem.is_regression:
        data = validate_targets(_Coefficients(), X, y, sample_weight=sample_weight)
        points, targets, weights = data.points, data.targets, data.weights
    else:
        labelled = validate_labels(validate_training_data(_Coefficients(), X, y, sample_weight=sample_weight))
        if len(labelled.classes) > 2:
            raise ValueError(f"y has {len(labelled.classes)} classes; (coef, intercept, dual) is about two.")
        dataset = next(labelled.tasks())
        points, targets, weights = dataset.points, dataset.signs, dataset.weights
    has_intercept = vectors[1] is not None
    w, b = validate_coefficients(vectors[0], vectors[1] if has_intercept else 0.0, points.n_columns)
    beta = None if len(vectors) == 2 or vectors[2] is None else _checked_dual(vectors[2], points.n_rows)
    if problem.loss is None:
        return bracket_of_hyperplane(HardMarginProblem(dataset, has_intercept), w, b, beta)
    if problem.loss == "squared_error":
        errors = SquaredErrors.of(TargetPoints(points, targets, weights), has_intercept)
        if problem.penalty == "l1":
            return measure_lasso_gap(LassoProblem(errors, problem.lam), w, b)
        return measure_ridge_gap(RidgeProblem(errors, problem.lam), w, b)
    if problem.loss == "logistic":
        logistic = LogisticProblem(points, targets, weights_of(points, weights), problem.C, has_intercept)
        return measure_logistic_gap(logistic, w, b)
    arguments = (problem.C, problem.epsilon) if problem.is_regression else (problem.C,)
    loss = {**LOSSES, **REGRESSION_LOSSES}[problem.loss](targets, weights_of(points, weights), *arguments)
    return measure_svm(points, loss, problem.intercept_penalty if has_intercept else math.inf, w, b, beta)


class _Coefficients(BaseEstimator):
    """A model without parameters, for the validation of data."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _checked_dual(dual: Any, n_rows: int) -> np.ndarray:
    beta = np.asarray(dual, dtype=np.float64)
    if beta.size != n_rows or not np.isfinite(beta).all():
        raise ValueError(f"dual has shape {np.shape(dual)}; give one finite y_i alpha_i for each of the {n_rows} rows.")
    return beta.ravel()


def measure_svm(
    points: Points, loss: SVMLoss, penalty: float, w: np.ndarray, b: float, beta: np.ndarray | None = None
) -> Certificate:
    problem = LinearSVMProblem(points, loss, penalty)
    return measure_gap(problem, w, b, _duals_near(problem, w, b) if beta is None else beta)


def _duals_near(problem: LinearSVMProblem, w: np.ndarray, b: float) -> np.ndarray:
    """Dual feasible beta for a hyperplane: recovered from it; of large data with piecewise linear losses, solved for.

    There the duals on the margin would be fitted by a least squares problem that takes far longer than a fit.
    """
    points = problem.points
    if problem.loss.curvature > 0.0 or points.n_rows * points.n_columns <= MOST_ENTRIES_TO_RECOVER:
        return recovered_duals(problem, w, b)
    return auto.solve(problem, LinearOptions(tol=TOL_OF_DUALS), Monitor()).beta


def bracket_of_hyperplane(
    problem: HardMarginProblem, w: np.ndarray, b: float, beta: np.ndarray | None = None
) -> Certificate:
    return bracket_hard_margin(problem, w, b, recovered_hull_weights(problem, w, b) if beta is None else beta)
