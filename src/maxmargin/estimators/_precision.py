"""The precision of fitted vectors: float32 where X is, as scikit-learn's, with certificates of the rounded vectors."""

from typing import Any, ClassVar

import numpy as np

from maxmargin.data import Points, as_dense


class PrecisionOfRows:
    """Attributes that are float32 where X is."""

    _in_precision_of_rows: ClassVar[tuple[str, ...]] = ()

    def _round_to_rows(self, points: Any) -> bool:
        """Round attributes to float32 where X is in float32, and return whether it is; all stay arrays of float64.

        The dtype of results depends on that of X alone. Certificates are computed in float64 from the rounded vectors,
        and so speak of those that the model holds.
        """
        if getattr(getattr(points, "matrix", None), "dtype", None) != np.float32:
            return False
        for name in self._in_precision_of_rows:
            values = np.asarray(getattr(self, name, 0.0))
            if float(np.abs(values).max(initial=0.0)) > np.finfo(np.float32).max and np.isfinite(values).all():
                raise ValueError(
                    f"{name} is beyond the range of float32, the dtype of X: rescale X or y, or pass "
                    "X.astype(numpy.float64)."
                )
            if hasattr(self, name):
                setattr(self, name, values.astype(np.float32).astype(np.float64)[()])
        return bool(self._in_precision_of_rows)

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
    """X w + b, computed in float64; rounded to float32 where both the coefficients and X are."""
    coef = as_dense(model.coef_)
    scores = points.scores(coef.T.astype(np.float64, copy=False)) + model.intercept_
    return scores.astype(np.result_type(coef, points.matrix), copy=False)
