"""The prediction of a regression along one column, with intervals where the model has them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from maxmargin.certificates import KKTClass
from maxmargin.estimators._base import CertifiedModel
from maxmargin.estimators.bayesian_regression import BayesianRegression
from maxmargin.estimators.certification import kkt_classes_of
from maxmargin.plots._display import (
    BLUE,
    MOST_VECTOR_POINTS,
    ORANGE,
    Display,
    add_legend,
    point_area,
    set_title,
)
from maxmargin.plots._view import column_position, dense, fixed_row, fixed_words, matrix_of, names_of, without_names

PLACES = 200


@dataclass(repr=False)
class PredictionDisplay(Display):
    """f(x) along one column, the others fixed, among the points.

    Of a :class:`~maxmargin.BayesianRegression` with the predictive interval and the interval of the mean; of a support
    vector regression with the epsilon-insensitive band and the support vectors.

    Parameters
    ----------
    places : ndarray of shape (m,)
        Values of the column.
    values : ndarray of shape (m,)
        The prediction there.
    bands : mapping from name to ndarray of shape (m, 2)
        Lower and upper ends.
    points : ndarray of shape (n, 2)
        The column and y.
    marked : mapping from name to ndarray of int
    column : str
    title : str
    note : str

    See Also
    --------
    PosteriorDisplay : Intervals of the coefficients.
    sklearn.metrics.PredictionErrorDisplay : Predictions against targets.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import BayesianRegression
    >>> from maxmargin.plots import PredictionDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> display = PredictionDisplay.from_estimator(BayesianRegression().fit(X, y), X, y, column="bmi")
    >>> sorted(display.bands)
    ['95 % interval of the mean', '95 % predictive interval']
    >>> plt.close(display.figure_)
    """

    places: np.ndarray
    values: np.ndarray
    bands: Mapping[str, np.ndarray]
    points: np.ndarray
    marked: Mapping[str, np.ndarray]
    column: str
    title: str
    note: str

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        column: Any = None,
        fixed: Any = "mean",
        level: float = 0.95,
        sample_weight: Any = None,
        ax: Any = None,
    ) -> "PredictionDisplay":
        """Draw the prediction of a fitted regression.

        Parameters
        ----------
        estimator : fitted regression
        X : array, sparse matrix or data frame of shape (n, d)
        y : array of numbers of shape (n,)
        column : name or position, optional
            By default the column that correlates most with y.
        fixed : {"mean", "median"} or array of shape (d,), default="mean"
            Values of the other columns.
        level : float, default=0.95
            The probability of the intervals.
        sample_weight : array of shape (n,), optional
            That of the fit, for the support vectors.
        ax : Axes, optional

        Returns
        -------
        PredictionDisplay
        """
        if not is_regressor(estimator):
            raise ValueError(f"PredictionDisplay shows regressions; {type(estimator).__name__} is none.")
        matrix = matrix_of(estimator, X)
        targets = np.asarray(y, dtype=np.float64)
        n_rows, n_columns = matrix.shape
        if targets.shape != (n_rows,):
            raise ValueError(
                f"y must have one number for each of the {n_rows} rows of X; its shape is {targets.shape}."
            )
        names = names_of(estimator, X, n_columns)
        j = _most_correlated(matrix, targets) if column is None else column_position(column, names, "column")
        shown = dense(matrix[:, [j]])[:, 0]
        places = np.linspace(shown.min(), shown.max(), PLACES)
        rows = np.tile(fixed_row(matrix, fixed), (PLACES, 1))
        rows[:, j] = places
        with without_names():
            values = np.asarray(estimator.predict(rows))
            bands = _bands_of(estimator, rows, values, level)
        note = "" if n_columns == 1 else f"slice: the other {n_columns - 1:,} columns {fixed_words(fixed)}"
        marked = _support_of(estimator, X, y, sample_weight)
        points = np.column_stack([shown, targets])
        title = f"{type(estimator).__name__}: prediction along {names[j]}"
        return cls(places, values, bands, points, marked, names[j], title, note).plot(ax)

    def _draw(self, axes: Sequence[Any]) -> None:
        [ax] = axes
        styles: tuple[dict[str, Any], ...] = (
            {"color": "0.85", "edgecolor": "0.5"},
            {"color": BLUE, "alpha": 0.35, "edgecolor": BLUE},
        )
        for (name, band), style in zip(self.bands.items(), styles, strict=False):
            ax.fill_between(self.places, *band.T, label=name, zorder=1.0, **style)
        many = len(self.points) > MOST_VECTOR_POINTS
        area = 0.6 * point_area(len(self.points))
        ax.scatter(
            *self.points.T, s=area, facecolor=ORANGE, edgecolor="black", linewidth=0.4, label="points", zorder=2.0,
            rasterized=many,
        )  # fmt: skip
        for (name, rows), marker in zip(self.marked.items(), ("o", "s"), strict=False):
            if len(rows):
                ax.scatter(
                    *self.points[rows].T, s=4.2 * area, marker=marker, facecolor="none", edgecolor="black",
                    linewidth=0.9, label=f"{name} ({len(rows):,})", zorder=2.5,
                )  # fmt: skip
        ax.plot(self.places, self.values, color="black", linewidth=1.8, label="f(x)", zorder=3.0)
        ax.set_xlabel(self.column)
        ax.set_ylabel("y")
        set_title(ax, self.title, self.note)
        add_legend(ax)


def _most_correlated(matrix: Any, y: np.ndarray) -> int:
    """The column whose correlation with y is largest in size."""
    centred = y - y.mean()
    products = np.asarray(matrix.T @ centred, dtype=np.float64).ravel()
    means = np.asarray(matrix.mean(axis=0), dtype=np.float64).ravel()
    squares = np.asarray((matrix * matrix).mean(axis=0), dtype=np.float64).ravel()
    spreads = np.sqrt(np.maximum(0.0, squares - means**2))
    return int(np.argmax(np.divide(np.abs(products), spreads, out=np.zeros_like(spreads), where=spreads > 0.0)))


def _bands_of(model: Any, rows: np.ndarray, values: np.ndarray, level: float) -> dict[str, np.ndarray]:
    if isinstance(model, BayesianRegression):
        from scipy.stats import t

        predictive = model.predictive_interval(rows, level)
        # The predictive scale s sqrt(1 + h) without the noise s of a new target is that of the mean, s sqrt(h).
        quantile = float(t.ppf(0.5 * (1.0 + level), model.degrees_of_freedom_))
        scales = (predictive[:, 1] - values) / quantile
        reach = quantile * np.sqrt(np.maximum(0.0, scales**2 - model.s2_))
        percent = f"{100.0 * level:g} %"
        return {
            f"{percent} predictive interval": predictive,
            f"{percent} interval of the mean": np.column_stack([values - reach, values + reach]),
        }
    epsilon = getattr(model, "epsilon", None)
    if epsilon and hasattr(model, "dual_coef_"):
        return {f"f(x) ± epsilon = {epsilon:g}": np.column_stack([values - epsilon, values + epsilon])}
    return {}


def _support_of(model: Any, X: Any, y: Any, sample_weight: Any) -> dict[str, np.ndarray]:
    """The support vectors of a support vector regression of this package, by their KKT class."""
    if not (isinstance(model, CertifiedModel) and hasattr(model, "support_") and hasattr(model, "epsilon")):
        return {}
    kinds = kkt_classes_of(model, X, y, sample_weight)
    return {
        "residual of epsilon": np.flatnonzero(kinds == KKTClass.ON_MARGIN),
        "larger residual": np.flatnonzero(kinds > KKTClass.ON_MARGIN),
    }
