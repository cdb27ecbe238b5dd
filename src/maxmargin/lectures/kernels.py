"""Kernels, and the perceptron in the feature space of one.

Lecture 8, "The Perceptron Algorithm", section 1.4; lecture 9, "Large Margin Classifiers", "Weight as a combination of
input vectors".
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.lectures.perceptrons import RunSoFar, indicator, next_step
from maxmargin.lectures.points import Order, RowOrder, check_matrix, check_positive, check_rows, check_vector
from maxmargin.lectures.steps import Claim, Step, rounding

Kernel = str | Callable[[np.ndarray, np.ndarray], Any]
KERNEL_NAMES = ("linear", "poly", "rbf", "sigmoid", "precomputed")


def kernel_matrix(
    X: Any, kernel: Kernel = "rbf", *, gamma: float | None = None, degree: int = 3, coef0: float = 0.0
) -> np.ndarray:
    r"""The Gram matrix: k(x_i, x_j) for all pairs of rows.

    Parameters
    ----------
    X : array of shape (n, d)
        For ``"precomputed"`` the Gram matrix itself.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        :math:`x \cdot z`, :math:`(\gamma x \cdot z + c)^p`, :math:`\exp(-\gamma \|x - z\|^2)`,
        :math:`\tanh(\gamma x \cdot z + c)`. A function takes two matrices and returns the kernel values of their rows.
    gamma : float, optional
        None is 1/(d Var(X)), as scikit-learn's "scale".
    degree : int, default=3
    coef0 : float, default=0.0

    Returns
    -------
    ndarray of shape (n, n)

    See Also
    --------
    kernel_perceptron, smo : Take its kernels.

    Examples
    --------
    >>> from maxmargin.lectures import kernel_matrix
    >>> kernel_matrix([[1.0, 2.0], [0.0, 1.0]], "poly", gamma=1.0, degree=2, coef0=1.0)
    array([[36.,  9.],
           [ 9.,  4.]])
    """
    if not callable(kernel) and kernel not in KERNEL_NAMES:
        raise ValueError(f"kernel must be one of {KERNEL_NAMES} or a function, got {kernel!r}.")
    X = check_matrix(X)
    if gamma is None:
        gamma = 1.0 / (X.shape[1] * X.var()) if X.var() > 0 else 1.0
    gamma = check_positive("gamma", gamma)
    if callable(kernel):
        K = np.array(kernel(X, X), dtype=np.float64)
    elif kernel == "precomputed":
        K = X
    elif kernel == "rbf":
        squares = np.einsum("ij,ij->i", X, X)
        K = np.exp(-gamma * np.maximum(0.0, squares[:, None] + squares - 2 * X @ X.T))
    else:
        inner = X @ X.T
        K = {
            "linear": lambda: inner,
            "poly": lambda: (gamma * inner + coef0) ** degree,
            "sigmoid": lambda: np.tanh(gamma * inner + coef0),
        }[kernel]()
    if K.shape != (len(X), len(X)):
        raise ValueError(f"kernel must give a matrix of shape {(len(X), len(X))}, got {K.shape}.")
    if not np.isfinite(K).all() or not np.allclose(K, K.T, rtol=1e-10, atol=1e-10 * np.abs(K).max()):
        raise ValueError("kernel must give a finite and symmetric matrix.")
    return (K + K.T) / 2


def kernel_perceptron(
    X: Any,
    y: Any,
    *,
    kernel: Kernel = "rbf",
    gamma: float | None = None,
    degree: int = 3,
    coef0: float = 0.0,
    intercept: bool = True,
    eta: float = 1.0,
    order: Order = "cyclic",
    seed: int = 0,
    start: Step | None = None,
    reference: tuple | None = None,
    max_passes: int = 1000,
) -> Iterator[Step]:
    r"""The online perceptron in the dual, where it needs inner products only.

    1. :math:`\alpha = 0`; :math:`f(x) = \sum_j \alpha_j y_j k(x_j, x) + b`, :math:`b = \sum_j \alpha_j y_j`.
    2. While a row is a mistake, :math:`y_i f(x_i) \le 0`: evaluate the next row; if it is a mistake,
       :math:`\alpha_i \leftarrow \alpha_i + \eta`.

    The theorems of `online_perceptron` hold in the feature space: :math:`w = \sum_i \alpha_i y_i \phi(x_i)` (lecture 9
    drops the :math:`y_i`), :math:`\|w\|^2 = \sum_{ij} \alpha_i \alpha_j y_i y_j k(x_i, x_j)` and
    :math:`R^2 = \max_i k(x_i, x_i)`; an intercept adds 1 to all kernel values.

    Parameters
    ----------
    X, y, eta, order, seed, max_passes
        As for `online_perceptron`.
    kernel, gamma, degree, coef0
        As for `kernel_matrix`.
    intercept : bool, default=True
    start : Step, optional
        A step of an earlier run to continue from.
    reference : (beta,) or (beta, gamma), optional
        The hyperplane :math:`u = \sum_i \beta_i y_i \phi(x_i)` of the theorems, which is divided by its length; the
        kernel must be positive semidefinite. Without gamma its margin is measured.

    Yields
    ------
    Step
        As for `online_perceptron`; ``w`` is None unless the kernel is linear.

    See Also
    --------
    online_perceptron : The same without a kernel.
    maxmargin.KernelPerceptron : The estimator.

    References
    ----------
    "The Perceptron Algorithm", lecture 8, section 1.4; "Large Margin Classifiers. Linear Support Vector Machines",
    lecture 9.

    Examples
    --------
    >>> from maxmargin.lectures import kernel_perceptron
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [1, 1, -1, -1]  # exclusive or
    >>> *_, last = kernel_perceptron(X, y, kernel="poly", gamma=1.0, degree=2, coef0=1.0)
    >>> last.reason, last.alpha
    ('no mistake', array([7., 4., 5., 5.]))
    """
    X, y = check_rows(X, y)
    K = kernel_matrix(X, kernel, gamma=gamma, degree=degree, coef0=coef0) + float(intercept)
    n, eta, rows = len(y), check_positive("eta", eta), RowOrder(order, len(y), seed, max_passes)
    if start is not None and (not isinstance(start, Step) or np.shape(start.alpha) != (n,)):
        raise ValueError(f"start must be a step of a run on these {n} rows.")
    u = _unit_expansion(reference, K, y)

    def coefficients(alpha: np.ndarray) -> tuple[Any, float]:
        return (alpha * y) @ X if kernel == "linear" else None, float(intercept) * float(alpha @ y)

    def run() -> Iterator[Step]:
        alpha = np.zeros(n) if start is None else start.alpha
        margins, (w, b) = y * (K @ (alpha * y)), coefficients(alpha)
        step = start or Step(
            number=0, updates=0, rows=(), reason="start", w_before=w, b_before=b, w=w, b=b, alpha=alpha, margins=margins
        )
        position = step.position
        while margins.min() <= 0 and (i := rows.next_row(position, alpha, margins)) is not None:
            position += 1
            if margins[i] <= 0:
                alpha = alpha + eta * indicator([i], n)
                margins, (w, b) = y * (K @ (alpha * y)), coefficients(alpha)
                step = next_step(step, [i], "mistake", w, b, alpha, margins, position)
                yield replace(step, claims=kernel_claims(step, K, y, u, eta))
        if margins.min() > 0:
            step = next_step(step, [], "no mistake", w, b, alpha, margins, position)
            yield replace(step, claims=kernel_claims(step, K, y, u, eta))

    return run()


def _unit_expansion(given: Any, K: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float, np.ndarray] | None:
    """Signed coefficients of the reference, divided by its length; gamma; and max(0, gamma - y_i u·x_i)."""
    if given is None:
        return None
    if not isinstance(given, (tuple, list)) or len(given) not in (1, 2):
        raise ValueError("reference must be (beta,) or (beta, gamma), with one beta for each row.")
    eigenvalues = np.linalg.eigvalsh(K)
    if eigenvalues[0] < -1e-10 * max(1.0, eigenvalues[-1]):
        raise ValueError("reference needs a positive semidefinite kernel: the theorems do not hold for this one.")
    signed = check_vector("beta of the reference", given[0], len(y)) * y
    squared = float(signed @ K @ signed)
    if squared <= 0.0:
        raise ValueError("reference must be a hyperplane, and its coefficients are zero in the feature space.")
    signed = signed / np.sqrt(squared)
    margins = y * (K @ signed)
    gamma = float(margins.min()) if len(given) == 1 else check_positive("gamma of the reference", given[1])
    if gamma <= 0.0:
        raise ValueError("the reference separates the points with no positive margin: give (beta, gamma).")
    return signed, gamma, np.maximum(0.0, gamma - margins)


def kernel_claims(
    step: Step, K: np.ndarray, y: np.ndarray, u: tuple[np.ndarray, float, np.ndarray] | None, eta: float = 1.0
) -> tuple[Claim, ...]:
    """What the proof of Novikoff's bound says of a step in the feature space; K includes the intercept's 1."""
    signed, R = step.alpha * y, float(np.sqrt(K.diagonal().max()))
    operations = step.updates + 4 * len(y)
    claims = []
    for i in step.rows:
        before = float(y[i] * (K[i] @ (signed - eta * y[i] * indicator([i], len(y)))))
        error = rounding(operations, eta * step.updates * R**2)
        formula = "y f'(x) = y f(x) + eta k(x, x)"
        claims.append(
            Claim("effect of one update", formula, float(step.margins[i]), "=", before + eta * K[i, i], error)
        )
    run = RunSoFar(
        t=step.updates, R=R, eta=eta, at_once=1, squared_length=float(signed @ K @ signed), origin_squared=0.0,
        operations=operations,
    )  # fmt: skip
    if u is None:
        return (*claims, *run.claims())
    return (*claims, *run.claims(float(u[0] @ K @ signed), 1.0, u[1], float(step.alpha @ u[2]) / eta))
