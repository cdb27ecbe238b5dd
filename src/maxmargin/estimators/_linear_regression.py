"""What the linear regressions with squared errors share."""

from abc import abstractmethod
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from maxmargin.certificates.duality_gap import DualityGap
from maxmargin.certificates.rounding import gamma
from maxmargin.data import TargetPoints, validate_points, validate_targets
from maxmargin.estimators._base import CertifiedModel, kept_on_error
from maxmargin.problems.squared_errors import SquaredErrors
from maxmargin.solvers.core import Monitor, Result, Status, interrupt_handler

# An objective that is no more than this share of the squares of the targets is nothing but rounding.
NOTHING = 1e-20
# The same for the squares of what targets far from zero are rounded by, at least; in long rows it is more.
ROUNDED = 1e-27
UNDERFLOW = 1e-300


class LinearRegression(RegressorMixin, CertifiedModel):
    """The one fit of linear regressions, from data to attributes."""

    fit_intercept: bool
    tol: float
    max_iter: int | None
    certificate_: DualityGap

    # Nothing here is left to chance.
    random_state = 0

    _parameter_constraints: dict = {
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "max_time": [Interval(Real, 0.0, None, closed="neither"), None],
        "verbose": ["verbose"],
    }

    _advice_when_stalled = "the gap stopped shrinking above tol: rescale the columns of X, raise lam, or raise tol"

    def predict(self, X: Any) -> np.ndarray:
        """Compute f(x) = w·x + b.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        return validate_points(self, X).scores(self.coef_) + self.intercept_

    @abstractmethod
    def _solve(self, errors: SquaredErrors, monitor: Monitor, start: np.ndarray | None) -> Result[float]:
        """Run the solver."""

    @abstractmethod
    def _measure(self, errors: SquaredErrors) -> DualityGap:
        """Compute the certificate."""

    def _check_parameters(self) -> None:
        """Refuse parameters that do not go together."""

    def _fit_all(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._check_parameters()
        with kept_on_error(self):
            data = validate_targets(self, X, y, sample_weight=sample_weight)
            start = self._start(data)
            errors = SquaredErrors.of(data, self.fit_intercept)
            with interrupt_handler() as stop_requested:
                results = self._solve_tasks(
                    data,
                    lambda _task, _data, _seed, monitor: self._solve(errors, monitor, start),
                    stop_requested,
                    steps=self.max_iter,
                )
                self._set_attributes(errors, results[0])
                self._report(results)

    def _start(self, data: TargetPoints) -> np.ndarray | None:  # noqa: ARG002
        """Coefficients to begin with."""
        return None

    def _set_attributes(self, errors: SquaredErrors, result: Result[float]) -> None:
        """Keep the coefficients, and believe only what the certificate, with all rounding counted in, confirms."""
        self.coef_, self.intercept_ = result.w, float(result.intercept)
        self.n_iter_ = max(1, result.n_iter)
        self.history_ = result.history
        proof = getattr(result, "proof", None)
        self.certificate_ = proof = self._measure(errors) if proof is None else proof
        self.objective_ = proof.primal
        unproven = result.status is Status.SOLVED and proof.relative > self.tol
        if unproven or result.status is Status.STALLED:
            result.status = Status.SOLVED if self._nothing_lost(errors, proof.primal) else Status.STALLED

    def _nothing_lost(self, errors: SquaredErrors, objective: float) -> bool:
        """Whether the objective, and the square of every single residual, is nothing but rounding."""
        intercept = errors.centring.intercept_here(self.coef_, self.intercept_)
        squares = np.square(errors.centred.residuals(self.coef_, intercept))
        around, whole = np.square(errors.targets - errors.target_mean), np.square(errors.targets)
        share = max(ROUNDED, 8.0 * gamma(errors.points.longest_row + 16) ** 2)
        return all(
            lost <= max(NOTHING * of_scatter, share * of_targets, UNDERFLOW)
            for lost, of_scatter, of_targets in (
                (objective, errors.weighted(around).sum(), errors.weighted(whole).sum()),
                (squares.max(), around.max(), whole.max()),
            )
        )

    def _attributes_so_far(self, labelled: Any, results: Sequence[Any]) -> dict[str, Any]:
        w, b, _ = (np.zeros(labelled.points.n_columns), 0.0, None) if results[0] is None else results[0]
        return {"coef_": w, "intercept_": float(b)}

    def _certify(self, data: TargetPoints) -> DualityGap:
        return self._measure(SquaredErrors.of(data, self.fit_intercept))

    def _data_to_certify(self, X: Any, y: Any, sample_weight: Any) -> TargetPoints:
        return validate_targets(self, X, y, sample_weight=sample_weight, reset=False)
