"""Gradient descent on the logistic loss.

A. Zhang, "Perceptron and Support Vector Machine (SVM)", lecture 17, "Warm up: Logistic Regression".
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.lectures.perceptrons import Hyperplane
from maxmargin.lectures.points import Points, check_count, check_positive, first_step
from maxmargin.lectures.steps import Claim, Step, rounding


def gradient_descent(
    X: Any,
    y: Any,
    *,
    intercept: bool = True,
    eta: float | None = None,
    start: Hyperplane | Step | None = None,
    tol: float = 1e-6,
    max_steps: int = 10_000,
) -> Iterator[Step]:
    r"""Gradient descent on the logistic loss, the batch perceptron made smooth.

    1. w = 0, b = 0.
    2. :math:`p_i = 1/(1 + e^{y_i f(x_i)})`, the probability that the model gives to the wrong class;
       :math:`w \leftarrow w + \eta \sum_i p_i y_i x_i`, :math:`b \leftarrow b + \eta \sum_i p_i y_i`.
    3. Stop where the gradient is zero, up to ``tol`` times its size at w = 0.

    The loss is :math:`\ell = \sum_i \log(1 + e^{-y_i f(x_i)})`. Its curvature is at most
    :math:`L = \frac14 \|X\|_2^2` (with a column of ones for the intercept), so that a step changes it to at most
    :math:`\ell - \eta (1 - \eta L/2) \|\nabla \ell\|^2`: every step with :math:`\eta < 2/L` lowers it. On separable
    data it tends to zero and has no minimum.

    Parameters
    ----------
    X, y, intercept, start
        As for `online_perceptron`.
    eta : float, optional
        The step size; None is 1/L.
    tol : float, default=1e-6
    max_steps : int, default=10000

    Yields
    ------
    Step
        One a "gradient" step, with all rows, and "optimal" at the end, where the run got there. Values: "loss",
        "gradient" (its length) and "mistakes". ``alpha`` are eta times the sums of the p_i over the steps.

    See Also
    --------
    batch_perceptron : The same step with zeros and ones as probabilities.
    maxmargin.LogisticRegression : The estimator.

    References
    ----------
    A. Zhang, "Perceptron and Support Vector Machine (SVM)", lecture 17, "Warm up: Logistic Regression".

    Examples
    --------
    >>> from itertools import islice
    >>> from maxmargin.lectures import gradient_descent
    >>> X, y = [[1.0], [2.0], [-1.0], [0.5]], [1, 1, -1, -1]
    >>> for step in islice(gradient_descent(X, y), 3):
    ...     print(step.number, step.w.round(3), round(step.b, 3), round(step.values["loss"], 3), step.holds)
    1 [0.89] 0.0 1.784 True
    2 [1.178] -0.236 1.545 True
    3 [1.38] -0.437 1.401 True
    """
    points, tol, last_step = (
        Points.of(X, y, intercept=intercept, unit_length=False),
        check_positive("tol", tol),
        check_count("max_steps", max_steps),
    )
    Z = points.y[:, None] * np.column_stack([points.X, points.one])
    L = float(np.linalg.norm(Z, 2)) ** 2 / 4
    eta = check_positive("eta", eta) if eta is not None else 1.0 / L if L else 1.0
    first, smallest = first_step(start, points), tol * float(np.linalg.norm(Z.sum(axis=0))) / 2

    def run() -> Iterator[Step]:
        step, w, b, alpha = first, first.w, first.b, first.alpha
        p, loss = wrong_probabilities(step.margins), logistic_loss(step.margins)
        gradient = -p @ Z
        while np.linalg.norm(gradient) > smallest and step.number < last_step:
            loss_before, gradient_before = loss, gradient
            w, b, alpha = w - eta * gradient[:-1], b - eta * float(gradient[-1]), alpha + eta * p
            margins = points.margins(w, b)
            p, loss = wrong_probabilities(margins), logistic_loss(margins)
            gradient = -p @ Z
            step = _next(step, "gradient", w, b, alpha, margins, gradient)
            yield replace(step, claims=descent_claims(step, loss_before, gradient_before, eta, L))
        if np.linalg.norm(gradient) <= smallest:
            yield _next(step, "optimal", w, b, alpha, points.margins(w, b), gradient)

    return run()


def logistic_loss(margins: np.ndarray) -> float:
    """sum log(1 + exp(-m)) over the functional margins m, without overflow."""
    return float(np.logaddexp(0.0, -margins).sum())


def wrong_probabilities(margins: np.ndarray) -> np.ndarray:
    """1/(1 + exp(m)) of the functional margins m, without overflow."""
    return np.exp(-np.logaddexp(0.0, margins))


def _next(
    last: Step, reason: str, w: np.ndarray, b: float, alpha: np.ndarray, margins: np.ndarray, gradient: np.ndarray
) -> Step:
    rows = tuple(range(len(margins))) if reason == "gradient" else ()
    values = {
        "loss": logistic_loss(margins),
        "gradient": float(np.linalg.norm(gradient)),
        "mistakes": float(np.count_nonzero(margins <= 0)),
    }
    return replace(
        last, number=last.number + 1, updates=last.updates + bool(rows), rows=rows, reason=reason, w_before=last.w,
        b_before=last.b, w=w, b=b, alpha=alpha, margins=margins, values=values, claims=(), position=last.position + 1,
    )  # fmt: skip


def descent_claims(step: Step, loss_before: float, gradient: np.ndarray, eta: float, L: float) -> tuple[Claim, ...]:
    """The descent lemma for a step from a loss and a gradient."""
    squared = float(gradient @ gradient)
    right = loss_before - eta * (1.0 - eta * L / 2.0) * squared
    size = loss_before + eta * (1.0 + eta * L) * squared + float(np.abs(step.margins).sum())
    error = rounding(4 * (len(step.margins) + len(gradient)), size)
    formula = "loss <= loss before - eta (1 - eta L/2) ||gradient||²"
    return (Claim("descent", formula, step.values["loss"], "<=", right, error),)
