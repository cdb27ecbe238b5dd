"""The precision of fitted vectors: float32 where X is, as scikit-learn's, with certificates of the rounded vectors."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from maxmargin.data import Points, Tasks, as_dense
from maxmargin.estimators._fitted_attributes import FittedModel
from maxmargin.estimators._progress import FitLimits
from maxmargin.solvers.core import Status

# The share of the gap of rounded vectors below which that of the exact ones is clearly smaller.
MUCH_SMALLER = 0.5
# A relative gap that scores in float32 do not show.
NEGLIGIBLE_GAP = float(np.finfo(np.float32).eps)


class PrecisionOfRows(FittedModel):
    """Attributes that are float32 where X is.

    Three sets of coefficients are candidates: both rounded; the coefficients rounded and the intercept in float64,
    moved by what rounding moved the scores of the mean row; and both in float64. An intercept is large beside the
    scores where columns are far from zero.
    """

    _in_precision_of_rows: ClassVar[tuple[str, ...]] = ()
    # Whether an intercept may be moved: that of a perceptron is a sum of updates.
    _may_move_intercept: ClassVar[bool] = False

    _certify_in_time: Callable[..., None]

    def _as_fitted(self) -> Self:
        model = super()._as_fitted()
        # What is computed from float32 vectors is computed in float64.
        model._set_precision()
        return model

    def _round_to_rows(self, points: Any) -> dict[str, Any]:
        """Round attributes to float32 where X is in float32, and return the exact ones; all stay arrays of float64.

        Certificates are computed in float64 from the rounded vectors, and so speak of those that the model holds.
        """
        found = {name: getattr(self, name) for name in self._in_precision_of_rows if hasattr(self, name)}
        if not _is_float32(points):
            return {}
        limits = np.finfo(np.float32)
        for values in found.values():
            largest = float(np.abs(values).max(initial=0.0))
            if largest and not float(limits.tiny / limits.eps) <= largest <= float(limits.max):
                # They would become infinite, or lose digits beside the smallest numbers.
                return {}
        for name, values in found.items():
            setattr(self, name, _rounded(values))
        return found

    def _choose_precision(
        self,
        tasks: Tasks,
        problems: Sequence[Any],
        results: Sequence[Any],
        limits: FitLimits,
        unrounded: dict[str, Any],
    ) -> tuple[str, ...]:
        """Compute the certificate; return the names of the attributes that stay rounded.

        Where the exact attributes prove clearly more, as few as possible are rounded. That is only tried where the
        status or the gap is not what was asked for.
        """
        claimed = [result.status for result in results]

        def certify(attributes: dict[str, Any]) -> tuple[list[Status], float]:
            self.__dict__.update(attributes)
            for result, status in zip(results, claimed, strict=True):
                result.status = status
            self._certify_in_time(tasks, problems, results, limits)
            return [result.status for result in results], self._widest(len(results))

        proven, width = certify({})
        is_short = any(status in (Status.STALLED, Status.ITERATION_LIMIT) for status in proven)
        if not (unrounded and is_short) or (proven == claimed and width == 0.0):
            return tuple(unrounded)
        rounded = self.__dict__.copy()
        exact, least = certify(unrounded)

        def costs_nothing(statuses: list[Status], width: float) -> bool:
            return statuses == exact and (width <= NEGLIGIBLE_GAP or least >= MUCH_SMALLER * width)

        if costs_nothing(proven, width):
            self.__dict__ = rounded
            return tuple(unrounded)
        if self._may_move_intercept and np.any(unrounded["intercept_"]):
            moved, width = certify(self._with_moved_intercept(tasks, unrounded))
            if costs_nothing(moved, width) or (moved == exact and Status.STALLED not in moved):
                return ("coef_",)
            certify(unrounded)
        self._has_float32_rows = True
        return ()

    def _with_moved_intercept(self, tasks: Any, unrounded: dict[str, Any]) -> dict[str, Any]:
        """Rounded coefficients, and the intercepts with which the mean row has its score without rounding."""
        points, weights = tasks.points, tasks.weights
        weights = np.ones(points.n_rows) if weights is None else weights
        means = points.combination(weights) / weights.sum()
        coef = _rounded(unrounded["coef_"])
        return {"coef_": coef, "intercept_": unrounded["intercept_"] + (unrounded["coef_"] - coef) @ means}

    def _widest(self, n_tasks: int) -> float:
        """The largest relative gap of a task; zero where certificates have none."""
        proofs = getattr(self, "certificate_", None)
        each = proofs.proofs if n_tasks > 1 and proofs is not None else [proofs]
        return max(float(getattr(proof, "relative", 0.0)) for proof in each)

    def _set_precision(self, in_float32: Collection[str] = ()) -> None:
        """Convert the attributes that may have the precision of the rows: to float32 those of these names."""
        for name in self._in_precision_of_rows:
            if hasattr(self, name):
                precision = np.float32 if name in in_float32 else np.float64
                setattr(self, name, np.asarray(as_dense(getattr(self, name))).astype(precision, copy=False)[()])


def _is_float32(points: Any) -> bool:
    return getattr(getattr(points, "matrix", None), "dtype", None) == np.float32


def _rounded(values: Any) -> Any:
    return np.asarray(values).astype(np.float32).astype(np.float64)[()]


def linear_scores(model: Any, points: Points) -> np.ndarray:
    """X w + b, computed in float64; rounded to float32 where X is, at the fit and here, and all scores fit."""
    coef = as_dense(model.coef_)
    scores = points.scores(coef.T.astype(np.float64, copy=False)) + model.intercept_
    precision = np.float32 if getattr(model, "_has_float32_rows", False) else coef.dtype
    with np.errstate(over="ignore"):
        rounded = scores.astype(np.result_type(precision, points.matrix), copy=False)
    return rounded if np.isfinite(rounded).all() else scores
