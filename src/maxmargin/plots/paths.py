"""Regularisation paths: models for many values of C or lambda."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from maxmargin.data import validate_targets
from maxmargin.data.printed_bounds import digits_up
from maxmargin.estimators.lasso import Lasso
from maxmargin.estimators.regularisation_path import svm_path
from maxmargin.plots._display import BLUE, COLOURS, LINES, ORANGE, Display, add_legend, class_name, set_title
from maxmargin.plots._view import names_of

DEFAULT_CS = tuple(10.0**k for k in np.linspace(-4, 2, 13))
# Lines of a path that have a name in the legend, those with the largest coefficients.
NAMED = 8
# The smallest lambda of a path, relative to the smallest one at which all coefficients are zero.
SMALLEST_SHARE = 1e-3


@dataclass(repr=False)
class RegularisationPathDisplay(Display):
    """Coefficients, margin and validation score of linear support vector machines over C.

    Parameters
    ----------
    Cs : ndarray of shape (m,)
    coefficients : ndarray of shape (m, lines)
        The coefficients for two classes; the norm of w of every class for more.
    names : list of str
        Of the lines.
    margins : ndarray of shape (m, k)
        1/||w|| of every task.
    scores : ndarray of shape (m, folds), or None
        The validation scores.
    training : ndarray of shape (m,), or None
        The accuracies on the training rows.
    gap : float
        The largest relative gap that is proven for a model of the path.

    See Also
    --------
    maxmargin.svm_path : The models.
    sklearn.model_selection.ValidationCurveDisplay : Scores over any parameter of any estimator.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin.plots import RegularisationPathDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> display = RegularisationPathDisplay.from_data(scale(X), y, Cs=[0.01, 0.1, 1.0], cv=3)
    >>> display.margins.round(2).ravel().tolist()  # they shrink as C grows
    [1.38, 0.67, 0.33]
    >>> plt.close(display.figure_)
    """

    _size = (4.6, 4.0)

    Cs: np.ndarray
    coefficients: np.ndarray
    names: Sequence[str]
    margins: np.ndarray
    scores: np.ndarray | None
    training: np.ndarray | None
    gap: float
    classes: np.ndarray

    @classmethod
    def from_estimators(
        cls, estimators: Any, *, X_val: Any = None, y_val: Any = None, feature_names: Any = None, ax: Any = None
    ) -> "RegularisationPathDisplay":
        """Draw the path of fitted models.

        Parameters
        ----------
        estimators : list of LinearSVC
            As ``svm_path`` returns them.
        X_val, y_val : validation rows and labels, optional
            Without them there is no panel of scores.
        feature_names : sequence of str, optional
        ax : sequence of Axes, or Axes, optional

        Returns
        -------
        RegularisationPathDisplay
        """
        models = list(estimators)
        if not models or not all(is_classifier(model) and hasattr(model, "coef_") for model in models):
            raise ValueError("estimators must be fitted LinearSVCs, as svm_path returns them.")
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val belong together: give both, or none.")
        scores = None if X_val is None else np.array([[model.score(X_val, y_val)] for model in models])
        return cls._of(models, scores, None, feature_names).plot(ax)

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        *,
        Cs: Any = None,
        cv: Any = 5,
        feature_names: Any = None,
        ax: Any = None,
        **others: Any,
    ) -> "RegularisationPathDisplay":
        """Fit the path, on all rows and within the folds of a cross-validation.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        y : array of labels of shape (n,)
        Cs : sequence of float, optional
            By default 13 values from 1e-4 to 100.
        cv : int, splitter or iterable, default=5
            As scikit-learn takes it.
        feature_names : sequence of str, optional
        ax : sequence of three Axes, or Axes, optional
        **others
            The other parameters of LinearSVC.

        Returns
        -------
        RegularisationPathDisplay
        """
        from sklearn.model_selection import check_cv
        from sklearn.utils import _safe_indexing

        values = np.sort(np.asarray(DEFAULT_CS if Cs is None else Cs, dtype=np.float64))
        models = svm_path(X, y, values, **others)
        folds = []
        for train, test in check_cv(cv, y, classifier=True).split(X, y):
            path = svm_path(_safe_indexing(X, train), _safe_indexing(y, train), values, **others)
            held_out = _safe_indexing(X, test), _safe_indexing(y, test)
            folds.append([model.score(*held_out) for model in path])
        training = np.array([model.score(X, y) for model in models])
        return cls._of(models, np.array(folds).T, training, feature_names).plot(ax)

    @classmethod
    def _of(cls, models: Sequence[Any], scores: Any, training: Any, feature_names: Any) -> "RegularisationPathDisplay":
        from maxmargin.plots.coefficients import check_names

        order = np.argsort([model.C for model in models], kind="stable")
        models = [models[k] for k in order]
        coef = np.array([model.coef_ for model in models])
        classes = models[0].classes_
        lengths = np.linalg.norm(coef, axis=2)
        if coef.shape[1] == 1:
            lines, names = coef[:, 0], check_names(models[0], feature_names, coef.shape[2])
        else:
            lines, names = lengths, [class_name(label) for label in classes]
        with np.errstate(divide="ignore"):
            margins = 1.0 / lengths
        gaps = [_largest_gap(model) for model in models]
        return cls(
            np.array([model.C for model in models]), lines, names, margins, None if scores is None else scores[order],
            None if training is None else training[order], max(gaps), classes,
        )  # fmt: skip

    def _shape(self) -> tuple[int, int]:
        return 1, 2 if self.scores is None else 3

    def _draw(self, axes: Sequence[Any]) -> None:
        left, middle = axes[:2]
        draw_path(left, self.Cs, self.coefficients, self.names)
        several = self.margins.shape[1] > 1
        left.set_ylabel("||w|| of every class" if several else "coefficient")
        proven = f"gaps proven to {digits_up(self.gap, 1)}" if math.isfinite(self.gap) else ""
        set_title(left, "Coefficients over C", proven, width=40)
        for k, margins in enumerate(self.margins.T):
            label = class_name(self.classes[k]) if several else None
            middle.plot(self.Cs, margins, color=COLOURS[(k + 1) % len(COLOURS)], linestyle=LINES[k % 4], label=label)
        middle.set_yscale("log")
        middle.set_ylabel("margin 1/||w||")
        set_title(middle, "Margin over C")
        add_legend(middle, "inside")
        if self.scores is not None:
            self._draw_scores(axes[2])
        for ax in axes:
            ax.set_xscale("log")
            ax.set_xlabel("C")

    def _draw_scores(self, ax: Any) -> None:
        assert self.scores is not None
        mean = self.scores.mean(axis=1)
        ax.plot(self.Cs, mean, color=BLUE, marker="o", markersize=4, label="validation")
        if self.scores.shape[1] > 1:
            spread = self.scores.std(axis=1)
            ax.fill_between(self.Cs, mean - spread, mean + spread, color=BLUE, alpha=0.2, label="± standard deviation")
        if self.training is not None:
            ax.plot(self.Cs, self.training, color=ORANGE, linestyle="--", marker="^", markersize=4, label="training")
        best = int(mean.argmax())
        ax.axvline(self.Cs[best], color="black", linestyle=":", label=f"best: C = {self.Cs[best]:.2g}")
        ax.set_ylabel("accuracy")
        folds = f" in {self.scores.shape[1]} folds" if self.scores.shape[1] > 1 else ""
        set_title(ax, f"Validation score{folds}", f"best {mean[best]:.4g}", width=40)
        add_legend(ax, "inside")


def _largest_gap(model: Any) -> float:
    proof = getattr(model, "certificate_", None)
    return float(getattr(getattr(proof, "worst", proof), "relative", math.nan))


def draw_path(ax: Any, values: np.ndarray, lines: np.ndarray, names: Sequence[str]) -> None:
    """Draw a line for every coefficient; the largest ones are named, the others grey."""
    sizes = np.abs(lines).max(axis=0)
    named = set(np.argsort(-sizes, kind="stable")[:NAMED].tolist()) & set(np.flatnonzero(sizes).tolist())
    unnamed = [j for j in range(lines.shape[1]) if j not in named]
    for j in unnamed:
        ax.plot(values, lines[:, j], color="0.75", linewidth=0.8)
    for place, j in enumerate(sorted(named, key=lambda j: -sizes[j])):
        colour = ("black", *COLOURS)[place % (len(COLOURS) + 1)]
        ax.plot(values, lines[:, j], color=colour, linestyle=LINES[place % len(LINES)], label=names[j])
    if unnamed:
        ax.plot([], [], color="0.75", linewidth=0.8, label=f"{len(unnamed):,} others")
    ax.axhline(0.0, color="black", linewidth=0.6)
    add_legend(ax, "below")


@dataclass(repr=False)
class LassoPathDisplay(Display):
    """The lasso's coefficients over lambda: from all zero to nearly those of least squares.

    Parameters
    ----------
    lams : ndarray of shape (m,)
    coefficients : ndarray of shape (m, d)
    names : list of str
    unused : ndarray of int of shape (m,)
        Columns that are proven to have a coefficient of zero in every solution.
    gap : float
        The largest relative gap that is proven for a model of the path.

    See Also
    --------
    maxmargin.Lasso : The model.
    CoefficientDisplay : The coefficients of one model.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin.plots import LassoPathDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> display = LassoPathDisplay.from_data(X, y, n_lams=10)
    >>> (display.coefficients != 0.0).sum(axis=1).tolist()  # columns in use, as lambda grows
    [10, 9, 10, 8, 7, 7, 5, 4, 3, 0]
    >>> plt.close(display.figure_)
    """

    _size = (5.4, 4.8)

    lams: np.ndarray
    coefficients: np.ndarray
    names: Sequence[str]
    unused: np.ndarray
    gap: float

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        *,
        lams: Any = None,
        n_lams: int = 30,
        feature_names: Any = None,
        ax: Any = None,
        **parameters: Any,
    ) -> "LassoPathDisplay":
        """Fit a Lasso for every lambda, from large to small, each from where the last one ended.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        y : array of numbers of shape (n,)
        lams : sequence of float, optional
            By default ``n_lams`` values, down to a thousandth of the smallest one at which all coefficients are zero.
        n_lams : int, default=30
        feature_names : sequence of str, optional
        ax : Axes, optional
        **parameters
            The other parameters of Lasso.

        Returns
        -------
        LassoPathDisplay
        """
        from maxmargin.plots.coefficients import check_names

        if lams is None:
            if isinstance(n_lams, bool) or not isinstance(n_lams, (int, np.integer)) or n_lams < 2:
                raise ValueError(f"n_lams must be a whole number of at least 2; it is {n_lams!r}.")
            lams = _lambdas(Lasso(**parameters), X, y, int(n_lams))
        values = np.sort(np.asarray(lams, dtype=np.float64))[::-1]
        if values.size < 2:
            raise ValueError("lams has fewer than two values: a path needs at least two.")
        model: Any = Lasso(**{**parameters, "warm_start": True})
        coefficients, unused, gaps = [], [], []
        for lam in values:
            model.set_params(lam=float(lam)).fit(X, y)
            coefficients.append(model.coef_.copy())
            unused.append(model.certificate_.unused)
            gaps.append(model.certificate_.relative)
        names = check_names(model, feature_names, coefficients[0].size)
        names = names_of(model, X, len(names)) if feature_names is None else names
        return cls(values[::-1], np.array(coefficients)[::-1], names, np.array(unused)[::-1], max(gaps)).plot(ax)

    def _draw(self, axes: Sequence[Any]) -> None:
        [ax] = axes
        draw_path(ax, self.lams, self.coefficients, self.names)
        ax.set_xscale("log")
        ax.invert_xaxis()
        ax.set_xlabel("lambda (from large to small)")
        ax.set_ylabel("coefficient")
        used = np.count_nonzero(self.coefficients, axis=1)
        set_title(
            ax,
            f"Lasso path: {used[-1]} to {used[0]} of {self.coefficients.shape[1]:,} columns used",
            f"gaps proven to {digits_up(self.gap, 1)}",
        )


def _lambdas(model: Lasso, X: Any, y: Any, n_lams: int) -> np.ndarray:
    """Values down from the smallest lambda at which all coefficients are zero, max_j |x_j·(y - mean)|."""
    data = validate_targets(model, X, y)
    residuals = data.targets - (data.targets.mean() if model.fit_intercept else 0.0)
    # The residuals sum to zero where there is an intercept: centring the columns changes nothing.
    largest = float(np.abs(data.points.combination(residuals)).max(initial=0.0))
    if largest == 0.0:
        raise ValueError("no column of X has to do with y: all coefficients are zero for every lambda.")
    return largest * np.geomspace(1.0 + 1e-9, SMALLEST_SHARE, n_lams)
