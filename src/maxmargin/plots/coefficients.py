"""Coefficients with the names of their columns, and their posterior intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.estimators.bayesian_regression import BayesianRegression
from maxmargin.plots._display import BLUE, ORANGE, Display, add_legend, class_name, set_title
from maxmargin.plots._view import all_coefficients, names_of

MOST_PANELS = 6


def check_top(top: Any) -> int:
    """A number of columns to show."""
    if isinstance(top, bool) or not isinstance(top, (int, np.integer)) or top < 1:
        raise ValueError(f"top must be a whole number of at least 1; it is {top!r}.")
    return int(top)


def check_names(model: Any, feature_names: Any, n_columns: int) -> list[str]:
    """The given names of the columns, or the model's own."""
    if feature_names is None:
        return names_of(model, None, n_columns)
    names = [str(name) for name in feature_names]
    if len(names) != n_columns:
        raise ValueError(f"feature_names has {len(names)} names; the model has {n_columns} columns.")
    return names


@dataclass(repr=False)
class CoefficientDisplay(Display):
    """The largest coefficients of a linear model, with the names of their columns.

    Coefficients are comparable where the columns have the same scale.

    Parameters
    ----------
    coefficients : ndarray of shape (k, d)
        One row for every hyperplane.
    names : list of str
        Of the columns.
    panels : list of str
        The name of every hyperplane, empty for a single one.
    top : int
    name : str

    See Also
    --------
    PosteriorDisplay : With credible intervals.
    RegularisationPathDisplay : For many values of C.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import Lasso
    >>> from maxmargin.plots import CoefficientDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> display = CoefficientDisplay.from_estimator(Lasso(lam=100.0).fit(X, y))
    >>> [label.get_text() for label in display.ax_.get_yticklabels()][:2]
    ['bmi', 's5']
    >>> plt.close(display.figure_)
    """

    _size = (5.2, 4.6)

    coefficients: np.ndarray
    names: Sequence[str]
    panels: Sequence[str]
    top: int
    name: str

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, feature_names: Any = None, top: int = 15, ax: Any = None
    ) -> "CoefficientDisplay":
        """Draw the coefficients of a fitted linear model.

        Parameters
        ----------
        estimator : fitted linear classifier or regression
            Of more than two classes, every hyperplane has a panel, up to six.
        feature_names : sequence of str, optional
            By default those of the data frame of the fit, else x1, x2, ...
        top : int, default=15
            How many of the largest ones to show; coefficients of zero are left out.
        ax : Axes, or sequence of them, optional

        Returns
        -------
        CoefficientDisplay
        """
        check_is_fitted(estimator)
        found = all_coefficients(estimator)
        if found is None:
            raise ValueError(f"{type(estimator).__name__} has no coef_: its f is not linear in the columns.")
        coef = found[0]
        if len(coef) > MOST_PANELS:
            raise ValueError(f"the model has {len(coef)} hyperplanes; the picture shows {MOST_PANELS} at most.")
        panels = [""]
        if len(coef) > 1:
            classes = getattr(estimator, "classes_", np.arange(len(coef)))
            if len(classes) == len(coef):
                panels = [f"{class_name(label)} against the rest" for label in classes]
            else:
                panels = [f"{first} against {second}" for k, first in enumerate(classes) for second in classes[k + 1 :]]
        names = check_names(estimator, feature_names, coef.shape[1])
        return cls(coef, names, panels, check_top(top), type(estimator).__name__).plot(ax)

    def _shape(self) -> tuple[int, int]:
        return 1, len(self.coefficients)

    def _draw(self, axes: Sequence[Any]) -> None:
        for ax, coef, panel in zip(axes, self.coefficients, self.panels, strict=True):
            order = np.argsort(-np.abs(coef), kind="stable")[: min(self.top, int(np.count_nonzero(coef)))]
            signs = coef[order] > 0.0
            ax.barh(
                range(len(order)), coef[order], color=np.where(signs, BLUE, ORANGE), edgecolor="black", linewidth=0.6
            )
            ax.axvline(0.0, color="black", linewidth=0.8)
            ax.set_yticks(range(len(order)), [self.names[j] for j in order])
            ax.invert_yaxis()
            ax.set_xlabel("coefficient")
            left = int(np.count_nonzero(coef)) - len(order)
            zeros = int(coef.size - np.count_nonzero(coef))
            shown = f"the largest {len(order)} of {coef.size:,} coefficients" if left else f"{len(order)} coefficients"
            shown += f", {zeros:,} are zero" if zeros else ""
            set_title(ax, f"{self.name}{': ' + panel if panel else ''}", shown, width=44)


@dataclass(repr=False)
class PosteriorDisplay(Display):
    """Posterior means of the coefficients of a Bayesian regression, with credible intervals.

    Parameters
    ----------
    means : ndarray of shape (p,)
    intervals : ndarray of shape (p, 2)
    names : list of str
    level : float
        The probability of every interval.

    See Also
    --------
    PredictionDisplay : Predictive intervals.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import BayesianRegression
    >>> from maxmargin.plots import PosteriorDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> display = PosteriorDisplay.from_estimator(BayesianRegression().fit(X, y), level=0.9)
    >>> display.ax_.get_title()
    'Posterior means and 90 % credible intervals'
    >>> plt.close(display.figure_)
    """

    _size = (5.6, 4.6)

    means: np.ndarray
    intervals: np.ndarray
    names: Sequence[str]
    level: float

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, level: float = 0.95, feature_names: Any = None, top: int = 20, ax: Any = None
    ) -> "PosteriorDisplay":
        """Draw the posterior of a fitted BayesianRegression.

        Parameters
        ----------
        estimator : BayesianRegression
        level : float, default=0.95
            The probability of every interval.
        feature_names : sequence of str, optional
        top : int, default=20
            The columns whose mean is largest, compared with the length of its interval. The intercept is not shown.
        ax : Axes, optional

        Returns
        -------
        PosteriorDisplay
        """
        if not isinstance(estimator, BayesianRegression):
            raise ValueError(f"PosteriorDisplay needs a BayesianRegression; it is a {type(estimator).__name__}.")
        check_is_fitted(estimator)
        means = np.asarray(estimator.coef_)
        intervals = estimator.credible_interval(level)[: means.size]
        names = check_names(estimator, feature_names, means.size)
        order = np.argsort(-np.abs(means) / (intervals[:, 1] - intervals[:, 0]), kind="stable")[: check_top(top)]
        return cls(means[order], intervals[order], [names[j] for j in order], float(level)).plot(ax)

    def _draw(self, axes: Sequence[Any]) -> None:
        [ax] = axes
        places = np.arange(len(self.means))
        reach = np.abs(self.intervals - self.means[:, None]).T
        clear = (self.intervals[:, 0] > 0.0) | (self.intervals[:, 1] < 0.0)
        for chosen, marker, label in ((clear, "o", "interval without zero"), (~clear, "D", "interval with zero")):
            if chosen.any():
                ax.errorbar(
                    self.means[chosen], places[chosen], xerr=reach[:, chosen], fmt=marker, color="black", capsize=3,
                    markerfacecolor=BLUE if marker == "o" else "white", label=label,
                )  # fmt: skip
        ax.axvline(0.0, color="black", linewidth=0.8, linestyle=":")
        ax.set_yticks(places, self.names)
        ax.invert_yaxis()
        ax.set_xlabel("coefficient")
        set_title(ax, f"Posterior means and {100.0 * self.level:g} % credible intervals")
        add_legend(ax, "below")
