"""Objectives of the lectures: perceptron criterion, primal, dual and Lagrangian of the support vector machine, KKT.

Lecture 9, "Large Margin Classifiers. Linear Support Vector Machines"; A. Zhang, lecture 17, "Perceptron and Support
Vector Machine (SVM)".
"""

import math
from typing import Any

import numpy as np

from maxmargin.lectures.kernels import Kernel, kernel_matrix
from maxmargin.lectures.points import check_positive, check_rows, check_vector
from maxmargin.lectures.steps import Claim, rounding


def check_penalty(C: float | None, lambda_: float | None) -> float:
    """C, or 1/(2 lambda), or 1 where neither is given."""
    if C is not None and lambda_ is not None:
        raise ValueError("C and lambda_ are two names of one number, C = 1/(2 lambda_): give one of them.")
    if lambda_ is not None:
        return 1.0 / (2.0 * check_positive("lambda_", lambda_))
    return 1.0 if C is None else check_positive("C", C, may_be_infinite=True)


def perceptron_criterion(X: Any, y: Any, w: Any, b: float = 0.0) -> float:
    r"""The perceptron criterion :math:`J(w, b) = \sum_i \max(0, -y_i f(x_i))`.

    It is zero where there is no mistake, and at w = 0, b = 0, where every row is one (lecture 9 says "if and only if").

    See Also
    --------
    online_perceptron : Its stochastic subgradient steps.
    primal : The objective of the soft margin.

    Examples
    --------
    >>> from maxmargin.lectures import perceptron_criterion
    >>> perceptron_criterion([[2.0], [-3.0]], [1, -1], [-1.0], 0.5)
    5.0
    """
    X, y = check_rows(X, y)
    return float(np.maximum(0.0, -y * (X @ check_vector("w", w, X.shape[1]) + b)).sum())


def primal(X: Any, y: Any, w: Any, b: float = 0.0, C: float | None = None, *, lambda_: float | None = None) -> float:
    r"""The primal objective :math:`\frac12 \|w\|^2 + C \sum_i \max(0, 1 - y_i f(x_i))`.

    With C = inf, the hard margin: infinite unless all :math:`y_i f(x_i) \ge 1`. It is the largest value of the
    `lagrangian` over the multipliers.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
    w : array of shape (d,)
    b : float, default=0.0
    C, lambda_ : float, optional
        One of them; ``lambda_`` is that of :math:`\sum_i \xi_i + \lambda \|w\|^2`, C = 1/(2 lambda). C may be infinite.

    Returns
    -------
    float

    See Also
    --------
    dual : The other objective.
    lagrangian : The function that both come from.

    Examples
    --------
    >>> from maxmargin.lectures import primal
    >>> primal([[2.0], [-0.5]], [1, -1], [1.0], C=10.0), primal([[2.0], [-0.5]], [1, -1], [1.0], C=float("inf"))
    (5.5, inf)
    """
    X, y = check_rows(X, y)
    w, C = check_vector("w", w, X.shape[1]), check_penalty(C, lambda_)
    slack = float(np.maximum(0.0, 1.0 - y * (X @ w + b)).sum())
    return 0.5 * float(w @ w) + (C * slack if slack else 0.0)


def dual(
    X: Any,
    y: Any,
    alpha: Any,
    C: float | None = None,
    *,
    lambda_: float | None = None,
    intercept: bool = True,
    kernel: Kernel = "linear",
    gamma: float | None = None,
    degree: int = 3,
    coef0: float = 0.0,
) -> float:
    r"""The dual objective :math:`\sum_i \alpha_i - \frac12 \sum_{ij} \alpha_i \alpha_j y_i y_j k(x_i, x_j)`.

    Minus infinity outside of :math:`0 \le \alpha_i \le C` and, with an intercept,
    :math:`\sum_i \alpha_i y_i = 0` (up to rounding).

    Parameters
    ----------
    X, y
        As for `primal`.
    alpha : array of shape (n,)
    C, lambda_ : float, optional
        As for `primal`.
    intercept : bool, default=True
    kernel, gamma, degree, coef0
        As for `kernel_matrix`.

    Returns
    -------
    float

    See Also
    --------
    primal : The other objective.
    lagrangian : The function that both come from.

    Examples
    --------
    >>> from maxmargin.lectures import dual, primal
    >>> X, y = [[2.0], [-2.0]], [1, -1]
    >>> dual(X, y, [0.125, 0.125]), primal(X, y, [0.5])
    (0.125, 0.125)
    """
    X, y = check_rows(X, y)
    K = kernel_matrix(X, kernel, gamma=gamma, degree=degree, coef0=coef0)
    alpha, C = check_vector("alpha", alpha, len(y)), check_penalty(C, lambda_)
    balance, slack = abs(float(alpha @ y)), rounding(len(y), np.abs(alpha).sum())
    if (alpha < 0).any() or (alpha > C).any() or (intercept and balance > slack):
        return -math.inf
    return dual_value(K, y, alpha)


def dual_value(K: np.ndarray, y: np.ndarray, alpha: np.ndarray) -> float:
    """The dual objective of checked arrays, feasible or not."""
    return float(alpha.sum() - 0.5 * (alpha * y) @ (K @ (alpha * y)))


def lagrangian(
    X: Any,
    y: Any,
    w: Any,
    b: float,
    alpha: Any,
    C: float | None = None,
    *,
    lambda_: float | None = None,
    xi: Any = None,
    mu: Any = None,
) -> float:
    r"""The Lagrangian of the support vector machine.

    .. math:: L(w, b, \xi, \alpha, \mu) = \tfrac12 \|w\|^2 + C \sum_i \xi_i
              + \sum_i \alpha_i (1 - \xi_i - y_i f(x_i)) - \sum_i \mu_i \xi_i

    (lecture 9 has a plus before the last sum). For C = inf, the hard margin, there are neither slacks nor their
    multipliers: :math:`\frac12\|w\|^2 + \sum_i \alpha_i (1 - y_i f(x_i))`. The largest value over the multipliers is
    the primal objective; the smallest one over w, b and the slacks is the dual one.

    Parameters
    ----------
    X, y, w, b, C, lambda_
        As for `primal`.
    alpha : array of shape (n,)
        Multipliers of the margin constraints.
    xi : array of shape (n,), optional
        Slacks; by default the best ones, :math:`\max(0, 1 - y_i f(x_i))`.
    mu : array of shape (n,), optional
        Multipliers of the slacks; by default :math:`C - \alpha_i`, where the slacks cancel.

    Returns
    -------
    float

    See Also
    --------
    primal, dual : Its maximum over the multipliers, and its minimum over w and b.
    kkt_conditions : What holds at its saddle point.

    Examples
    --------
    >>> from maxmargin.lectures import lagrangian
    >>> X, y = [[2.0], [-2.0]], [1, -1]
    >>> lagrangian(X, y, [0.5], 0.0, [0.125, 0.125]), lagrangian(X, y, [0.25], 0.0, [0.125, 0.125])
    (0.125, 0.15625)
    """
    X, y = check_rows(X, y)
    w, alpha, C = check_vector("w", w, X.shape[1]), check_vector("alpha", alpha, len(y)), check_penalty(C, lambda_)
    margins = y * (X @ w + b)
    value = 0.5 * float(w @ w) + float(alpha @ (1.0 - margins))
    if math.isinf(C):
        if xi is not None or mu is not None:
            raise ValueError("the hard margin, C=inf, has no xi and no mu: leave them out.")
        return value
    xi = np.maximum(0.0, 1.0 - margins) if xi is None else check_vector("xi", xi, len(y))
    mu = C - alpha if mu is None else check_vector("mu", mu, len(y))
    return value + float((C - alpha - mu) @ xi)


def kkt_conditions(
    X: Any,
    y: Any,
    w: Any,
    b: float,
    alpha: Any,
    C: float | None = None,
    *,
    lambda_: float | None = None,
    intercept: bool = True,
    tol: float = 1e-6,
) -> tuple[Claim, ...]:
    r"""The conditions of Karush, Kuhn and Tucker, (2) to (5) of lecture 9, one by one, and strong duality.

    With the slacks :math:`\xi_i = \max(0, 1 - y_i f(x_i))` and their multipliers :math:`\mu_i = C - \alpha_i`:

    - (2) the Lagrangian is stationary: :math:`w = \sum_i \alpha_i y_i x_i`, and :math:`\sum_i \alpha_i y_i = 0` with an
      intercept;
    - (3) :math:`\alpha_i (1 - \xi_i - y_i f(x_i)) = 0` and :math:`\mu_i \xi_i = 0`;
    - (4) :math:`y_i f(x_i) \ge 1 - \xi_i`, :math:`\xi_i \ge 0`; here :math:`\xi = 0` for the hard margin;
    - (5) :math:`\alpha_i \ge 0`, :math:`\mu_i \ge 0`.

    Parameters
    ----------
    X, y, w, b, C, lambda_
        As for `primal`.
    alpha : array of shape (n,)
    intercept : bool, default=True
    tol : float, default=1e-6
        The tolerance of (3) and of strong duality, as a share of the primal objective, and that of (4) and of (2), as
        a share of ``||w||`` and of the sum of alpha.

    Returns
    -------
    tuple of Claim

    See Also
    --------
    lagrangian : The function whose conditions these are.
    primal, dual : Its two objectives.

    Examples
    --------
    >>> from maxmargin.lectures import kkt_conditions
    >>> for condition in kkt_conditions([[2.0], [-2.0]], [1, -1], [0.5], 0.0, [0.125, 0.125]):
    ...     print(condition.name, condition.holds)
    KKT (2) True
    KKT (2) True
    KKT (3) True
    KKT (4) True
    KKT (5) True
    strong duality True
    """
    X, y = check_rows(X, y)
    w, alpha, C = check_vector("w", w, X.shape[1]), check_vector("alpha", alpha, len(y)), check_penalty(C, lambda_)
    expansion = (alpha * y) @ X
    value = float(alpha.sum() - 0.5 * expansion @ expansion)
    distance = Claim("KKT (2)", "w = sum alpha_i y_i x_i", float(np.linalg.norm(w - expansion)), "<=", 0.0,
                     tol * float(np.linalg.norm(w)))  # fmt: skip
    margins, tol = y * (X @ w + b), check_positive("tol", tol)
    objective = primal(X, y, w, b, C)
    return (distance, *conditions_of(alpha, y, margins, C, objective, value, intercept=intercept, tol=tol))


def conditions_of(
    alpha: np.ndarray, y: np.ndarray, margins: np.ndarray, C: float, primal: float, dual: float, *, intercept: bool,
    tol: float,
) -> tuple[Claim, ...]:  # fmt: skip
    """The KKT conditions of duals and functional margins, without that on w, and strong duality."""
    hard = math.isinf(C)
    slack = np.zeros(len(y)) if hard else np.maximum(0.0, 1.0 - margins)
    left_over = np.abs(alpha * (1.0 - slack - margins)).max()
    if not hard:
        left_over = max(left_over, np.abs((C - alpha) * slack).max())
    below = max(0.0, float((1.0 - slack - margins).max()))
    outside = max(0.0, float(-alpha.min()), float(alpha.max()) - C)
    share = tol * primal if math.isfinite(primal) else 0.0
    claims = []
    if intercept:
        balance, error = abs(float(alpha @ y)), tol * float(alpha.sum())
        claims.append(Claim("KKT (2)", "sum alpha_i y_i = 0", balance, "<=", 0.0, error))
    formula = "alpha_i (1 - y_i f(x_i)) = 0" if hard else "alpha_i (1 - xi_i - y_i f(x_i)) = 0, mu_i xi_i = 0"
    claims.append(Claim("KKT (3)", formula, float(left_over), "<=", 0.0, share))
    claims.append(Claim("KKT (4)", f"y_i f(x_i) >= 1{'' if hard else ' - xi_i'}", below, "<=", 0.0, tol))
    formula = "alpha_i >= 0" if hard else "alpha_i >= 0, mu_i = C - alpha_i >= 0"
    claims.append(Claim("KKT (5)", formula, outside, "<=", 0.0))
    claims.append(Claim("strong duality", "primal = dual", primal, "=", dual, share))
    return tuple(claims)
