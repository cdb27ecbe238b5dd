"""The precision of fitted vectors: float32 where X is, as scikit-learn's, with certificates of the rounded vectors."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from maxmargin.data import Points, Tasks, as_dense
from maxmargin.estimators._progress import FitLimits
from maxmargin.solvers.core import Status

# The share of the gap of rounded vectors below which that of the exact ones is clearly smaller.
MUCH_SMALLER = 0.5


class PrecisionOfRows:
    """Attributes that are float32 where X is."""

    _in_precision_of_rows: ClassVar[tuple[str, ...]] = ()

    _certify_in_time: Callable[..., None]

    def _round_to_rows(self, points: Any) -> dict[str, Any]:
        """Round attributes to float32 where X is in float32, and return the exact ones; all stay arrays of float64.

        Certificates are computed in float64 from the rounded vectors, and so speak of those that the model holds.
        """
        found = {name: getattr(self, name) for name in self._in_precision_of_rows if hasattr(self, name)}
        if getattr(getattr(points, "matrix", None), "dtype", None) != np.float32:
            return {}
        limits = np.finfo(np.float32)
        for values in found.values():
            largest = float(np.abs(values).max(initial=0.0))
            if largest and not float(limits.tiny / limits.eps) <= largest <= float(limits.max):
                # They would become infinite, or lose digits beside the smallest numbers.
                return {}
        for name, values in found.items():
            setattr(self, name, np.asarray(values).astype(np.float32).astype(np.float64)[()])
        return found

    def _certify_rounded(
        self,
        tasks: Tasks,
        problems: Sequence[Any],
        results: Sequence[Any],
        limits: FitLimits,
        unrounded: dict[str, Any],
    ) -> dict[str, Any]:
        """Compute the certificate; where the exact attributes prove clearly more, take them, and return none.

        That is only tried where the status or the gap is not what was asked for.
        """
        claimed = [result.status for result in results]
        self._certify_in_time(tasks, problems, results, limits)
        proven = [result.status for result in results]
        width = self._widest(len(results))
        is_short = any(status in (Status.STALLED, Status.ITERATION_LIMIT) for status in proven)
        if not (unrounded and is_short) or (proven == claimed and width == 0.0):
            return unrounded
        rounded = self.__dict__.copy()
        self.__dict__.update(unrounded)
        for result, status in zip(results, claimed, strict=True):
            result.status = status
        self._certify_in_time(tasks, problems, results, limits)
        if [result.status for result in results] != proven or self._widest(len(results)) < MUCH_SMALLER * width:
            return {}
        self.__dict__ = rounded
        return unrounded

    def _widest(self, n_tasks: int) -> float:
        """The largest relative gap of a task; zero where certificates have none."""
        proofs = getattr(self, "certificate_", None)
        each = proofs.proofs if n_tasks > 1 and proofs is not None else [proofs]
        return max(float(getattr(proof, "relative", 0.0)) for proof in each)

    def _set_precision(self, precision: Any) -> None:
        """Convert the attributes that have the precision of the rows."""
        for name in self._in_precision_of_rows:
            if hasattr(self, name):
                setattr(self, name, np.asarray(as_dense(getattr(self, name))).astype(precision, copy=False)[()])

    @property
    def _precision(self) -> np.dtype:
        """The precision of the coefficients."""
        return np.dtype(getattr(getattr(self, "coef_", None), "dtype", np.float64))


def linear_scores(model: Any, points: Points) -> np.ndarray:
    """X w + b, computed in float64; rounded to float32 where both the coefficients and X are, and all scores fit."""
    coef = as_dense(model.coef_)
    scores = points.scores(coef.T.astype(np.float64, copy=False)) + model.intercept_
    with np.errstate(over="ignore"):
        rounded = scores.astype(np.result_type(coef, points.matrix), copy=False)
    return rounded if np.isfinite(rounded).all() else scores
