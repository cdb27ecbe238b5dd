"""What is proven of models: duality gaps along a run, margin brackets, mistakes against their bound."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.certificates import MarginBracket, MistakeBound
from maxmargin.data.printed_bounds import digits_up, percent_down
from maxmargin.plots._display import (
    BLUE,
    COLOURS,
    LINES,
    MARKERS,
    ORANGE,
    Display,
    add_legend,
    class_name,
    number,
    set_title,
)
from maxmargin.plots._matplotlib import MaxNLocator
from maxmargin.plots._view import named_models

# The bound is drawn on a logarithmic axis where it is more than this many times as large as the mistakes.
FAR = 10.0
# Passes above this number are drawn as a line without markers.
MOST_MARKERS = 40


def by_task(certificate: Any) -> dict[str, Any]:
    """Certificates by the name of their task; one without a name where there is one task."""
    if not isinstance(certificate, Mapping):
        return {"": certificate}
    return {
        " against ".join(map(str, key)) if isinstance(key, tuple) else class_name(key): proof
        for key, proof in certificate.items()
    }


@dataclass(repr=False)
class GapDisplay(Display):
    """The relative duality gap along a fit, against the seconds since its start.

    Parameters
    ----------
    curves : mapping from name to ndarray of shape (steps, 2)
        Seconds and relative gap, (primal - dual) / primal, for every task.
    certified : mapping from name to float
        The relative gap that the certificate proves.
    tol : float or None
        The gap that was asked for.
    name : str

    See Also
    --------
    maxmargin.certify : Compute the gap of any model from data.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.plots import GapDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> display = GapDisplay.from_estimator(LinearSVC(tol=1e-6).fit(scale(X), y))
    >>> print(f"proven at the end: at most {max(display.certified[''], 1e-6):.0e}")
    proven at the end: at most 1e-06
    >>> plt.close(display.figure_)
    """

    curves: Mapping[str, np.ndarray]
    certified: Mapping[str, float]
    tol: float | None
    name: str

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> "GapDisplay":
        """Draw the gap of a model that was fitted in this process.

        Parameters
        ----------
        estimator : fitted SVM, LogisticRegression, Ridge or Lasso
            It needs ``history_``, which model files do not contain.
        ax : Axes, optional

        Returns
        -------
        GapDisplay
        """
        check_is_fitted(estimator)
        history = getattr(estimator, "history_", None)
        if not history:
            why = "a model file stores none: fit the model again" if history is None else "its solver takes one step"
            raise ValueError(f"{type(estimator).__name__} has no history_ of gaps; {why}.")
        proofs = by_task(estimator.certificate_)
        histories = [history] if len(proofs) == 1 else history
        certified = {
            name: proof.relative
            for name, proof in proofs.items()
            if math.isfinite(getattr(proof, "relative", math.nan))
        }
        curves = {name: _relative_gaps(one) for name, one in zip(proofs, histories, strict=True)}
        return cls(curves, certified, getattr(estimator, "tol", None), type(estimator).__name__).plot(ax)

    def _draw(self, axes: Sequence[Any]) -> None:
        [ax] = axes
        for k, (name, curve) in enumerate(self.curves.items()):
            colour = COLOURS[(k + 1) % len(COLOURS)]
            # The certificate may prove less than the solver measured: it counts all rounding errors.
            ax.plot(
                *curve.T, color=colour, linestyle=LINES[k % len(LINES)], marker=".", drawstyle="steps-post",
                label=name or "measured by the solver",
            )  # fmt: skip
            if name in self.certified and len(curve):
                label = "proven by the certificate" if k == 0 else None
                ax.plot(
                    curve[-1, 0], self.certified[name], color=colour, marker="D", markeredgecolor="black",
                    linestyle="none", label=label, zorder=4.0,
                )  # fmt: skip
        if self.tol is not None:
            ax.axhline(self.tol, color="black", linestyle=":", label=f"tol = {self.tol:g}")
        ax.set_yscale("log")
        ax.set_xlabel("seconds")
        ax.set_ylabel("relative duality gap")
        worst = max(self.certified.values(), default=math.nan)
        proven = f": proven to {digits_up(worst, 2)}" if math.isfinite(worst) else ""
        set_title(ax, f"{self.name}, gap against time{proven}")
        add_legend(ax, "inside" if len(self.curves) <= 3 else "beside")


def _relative_gaps(history: Any) -> np.ndarray:
    """Seconds and relative gap of the steps at which it is known and positive."""
    steps = np.asarray(history, dtype=np.float64).reshape(-1, 3)
    seconds, primal, dual = steps.T
    with np.errstate(invalid="ignore", divide="ignore"):
        gaps = (primal - dual) / np.abs(primal)
    known = np.isfinite(gaps) & (gaps > 0.0)
    return np.column_stack([seconds, gaps])[known]


@dataclass(repr=False)
class BracketDisplay(Display):
    """Brackets around the largest margin: what each model has, and what no hyperplane exceeds.

    Parameters
    ----------
    brackets : mapping from name to MarginBracket

    See Also
    --------
    maxmargin.MarginBracket : The certificate.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import MarginPerceptron, Perceptron
    >>> from maxmargin.plots import BracketDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> models = {"online": Perceptron(shuffle=False).fit(X, y == 0), "margin": MarginPerceptron().fit(X, y == 0)}
    >>> display = BracketDisplay.from_estimators(models)
    >>> for name, bracket in display.brackets.items():
    ...     print(f"{name}: {bracket.share:.1f} of the largest margin at least")
    online: 0.0 of the largest margin at least
    margin: 0.6 of the largest margin at least
    >>> plt.close(display.figure_)
    """

    _size = (6.4, 3.4)

    brackets: Mapping[str, MarginBracket]

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> "BracketDisplay":
        """Draw the bracket of one model, for more than two classes one of each class.

        Parameters
        ----------
        estimator : Perceptron, MarginPerceptron, KernelPerceptron, or an SVM with C = inf
        ax : Axes, optional

        Returns
        -------
        BracketDisplay
        """
        return cls.from_estimators({type(estimator).__name__: estimator}, ax=ax)

    @classmethod
    def from_estimators(cls, estimators: Any, *, ax: Any = None) -> "BracketDisplay":
        """Draw the brackets of several models.

        Parameters
        ----------
        estimators : mapping from name to fitted model, or sequence of models
        ax : Axes, optional

        Returns
        -------
        BracketDisplay
        """
        proofs = {}
        for name, model in named_models(estimators).items():
            check_is_fitted(model)
            proofs[name] = getattr(model, "certificate_", None)
        return cls.from_certificates(proofs, ax=ax)

    @classmethod
    def from_certificates(cls, certificates: Mapping[str, Any], *, ax: Any = None) -> "BracketDisplay":
        """Draw the brackets of certificates.

        Parameters
        ----------
        certificates : mapping from name to MarginBracket, MistakeBound, or a collection of them by class
        ax : Axes, optional

        Returns
        -------
        BracketDisplay
        """
        brackets = {}
        for name, certificate in certificates.items():
            for task, proof in by_task(certificate).items():
                bracket = proof.bracket if isinstance(proof, MistakeBound) else proof
                if not isinstance(bracket, MarginBracket):
                    raise ValueError(
                        f"{name} has no margin bracket but a {type(proof).__name__}: give perceptrons, or support "
                        "vector machines with C=inf."
                    )
                brackets[f"{name}, {task}" if task else name] = bracket
        if not brackets:
            raise ValueError("there is no bracket to draw: give at least one model or certificate.")
        return cls(brackets).plot(ax)

    def _draw(self, axes: Sequence[Any]) -> None:
        [ax] = axes
        names = list(self.brackets)
        highest = max((one.upper for one in self.brackets.values() if math.isfinite(one.upper)), default=1.0) or 1.0
        for k, bracket in enumerate(self.brackets.values()):
            low = bracket.lower if math.isfinite(bracket.lower) else min(0.0, bracket.upper)
            high = bracket.upper if math.isfinite(bracket.upper) else highest
            ax.barh(k, high - low, left=low, height=0.5, color=BLUE, alpha=0.35, edgecolor="black", linewidth=0.8)
            if math.isfinite(bracket.lower):
                ax.plot(low, k, marker="o", color=BLUE, markeredgecolor="black", linestyle="none")
            if math.isfinite(bracket.upper):
                ax.plot(high, k, marker="D", color=ORANGE, markeredgecolor="black", linestyle="none")
            text = (
                f"at least {percent_down(bracket.share, 3)} %"
                if bracket.separates
                else ("the hulls meet" if bracket.hulls_meet else "not separating")
            )
            ax.annotate(text, (high, k), xytext=(8, 0), textcoords="offset points", va="center", fontsize="small")
        ax.plot([], [], marker="o", color=BLUE, markeredgecolor="black", linestyle="none", label="margin of the model")
        ax.plot(
            [], [], marker="D", color=ORANGE, markeredgecolor="black", linestyle="none", label="no hyperplane has more"
        )
        ax.axvline(0.0, color="black", linewidth=0.8)
        spaces = {bracket.space for bracket in self.brackets.values()}
        labels = names if len(spaces) == 1 else [f"{name}, {self.brackets[name].space}" for name in names]
        ax.set_yticks(range(len(names)), labels)
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.margins(x=0.3)
        ax.set_xlabel(f"margin of the points {spaces.pop()}" if len(spaces) == 1 else "margin")
        set_title(ax, "Bracket around the largest margin")
        add_legend(ax, "below")


@dataclass(repr=False)
class MistakeDisplay(Display):
    """The mistakes of a perceptron along its passes, against the theorem's bound.

    Parameters
    ----------
    mistakes : mapping from name to ndarray
        Mistakes so far, after every pass, for each task.
    bounds : mapping from name to MistakeBound
    name : str

    See Also
    --------
    maxmargin.mistake_bound : The bound by any hyperplane.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import Perceptron
    >>> from maxmargin.plots import MistakeDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = MistakeDisplay.from_estimator(Perceptron(shuffle=False).fit(X, y == 0))
    >>> print(f"{display.mistakes[''][-1]} mistakes, at most {display.bounds[''].bound:.0f}")
    5 mistakes, at most 254
    >>> plt.close(display.figure_)
    """

    mistakes: Mapping[str, np.ndarray]
    bounds: Mapping[str, MistakeBound]
    name: str

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> "MistakeDisplay":
        """Draw the mistakes of a fitted perceptron.

        Parameters
        ----------
        estimator : Perceptron or KernelPerceptron
        ax : Axes, optional

        Returns
        -------
        MistakeDisplay
        """
        check_is_fitted(estimator)
        bounds = by_task(getattr(estimator, "certificate_", None))
        if not all(isinstance(bound, MistakeBound) for bound in bounds.values()):
            raise ValueError(
                f"{type(estimator).__name__} has no mistake bound: give a Perceptron or KernelPerceptron after fit."
            )
        passes = estimator.mistakes_per_pass_
        each = [passes] if len(bounds) == 1 else passes
        totals = {name: np.cumsum(one) for name, one in zip(bounds, each, strict=True)}
        return cls(totals, bounds, type(estimator).__name__).plot(ax)

    def _draw(self, axes: Sequence[Any]) -> None:
        [ax] = axes
        most, least = 1.0, math.inf
        for k, (name, totals) in enumerate(self.mistakes.items()):
            colour = COLOURS[(k + 1) % len(COLOURS)]
            bound = self.bounds[name]
            said = f"{name}: " if name else ""
            ax.plot(
                np.arange(1, len(totals) + 1), totals, color=colour, markersize=4,
                marker=MARKERS[(k + 1) % len(MARKERS)] if len(totals) <= MOST_MARKERS else None,
                drawstyle="steps-post", label=f"{said}{totals[-1]:,.0f} mistakes",
            )  # fmt: skip
            most = max(most, float(totals[-1]))
            if math.isfinite(bound.bound):
                # Mistakes are whole numbers: the nearest one is a bound, too.
                ax.axhline(
                    bound.bound, color=colour, linestyle="--",
                    label=f"{said}at most {bound.bound:,.0f} ({bound.theorem})",
                )  # fmt: skip
                least = min(least, bound.bound)
        if math.isfinite(least) and least > FAR * most:
            ax.set_yscale("log")
            ax.set_ylim(bottom=0.7)
        else:
            ax.set_ylim(bottom=0.0)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlabel("pass")
        ax.set_ylabel("mistakes so far")
        gammas = ", ".join(number(bound.gamma) for bound in self.bounds.values())
        set_title(ax, f"{self.name}: mistakes against the bound", f"gamma = {gammas}" if len(self.bounds) == 1 else "")
        add_legend(ax, "below", ncols=1)
