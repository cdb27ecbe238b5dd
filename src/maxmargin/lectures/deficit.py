"""The total deficit: the least total length by which points would have to be moved to have a given margin.

Lecture 8, "The Perceptron Algorithm", section 1.2, where it is written TD and called hinge loss.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.lectures.points import Points, check_positive
from maxmargin.lectures.steps import rounding

# Complementarity is aimed at this share of what it is, and steps end at this share of the way to the boundary.
CENTRING, TO_BOUNDARY = 0.1, 0.99
# Steps of the interior-point method; real data take 10 to 40.
MAX_STEPS = 200


@dataclass(frozen=True, eq=False)
class TotalDeficit:
    """The smallest total deficit for a margin, and its certificate.

    Attributes
    ----------
    value : float
        The total deficit of the hyperplane found: the least one is at most this.
    lower : float
        No hyperplane has a smaller one.
    gap : float
        value - lower.
    gamma : float
    w : ndarray of shape (d,)
    b : float
        The hyperplane u = (w, b), with ``||u|| <= 1``. ``(w, b, gamma)`` is a reference for the perceptrons.
    a : ndarray of shape (n,)
        The dual point, from 0 to 1, that proves ``lower``.
    bound : float
        (R/gamma)² + 2 value/gamma: the mistakes that an online perceptron can make in one pass over the rows.

    See Also
    --------
    total_deficit : Returns this.

    Examples
    --------
    >>> from maxmargin.lectures import total_deficit
    >>> found = total_deficit([[1.0, 0.0], [-1.0, 0.0], [0.5, 0.0]], [1, -1, -1], 0.5, intercept=False)
    >>> print(f"{found.lower:.3f} <= T <= {found.value:.3f}")
    0.750 <= T <= 0.750
    """

    value: float
    lower: float
    gap: float
    gamma: float
    w: np.ndarray
    b: float
    a: np.ndarray
    bound: float


def total_deficit(
    X: Any, y: Any, gamma: float, *, intercept: bool = True, unit_length: bool = False, tol: float = 1e-6
) -> TotalDeficit:
    r"""The least total deficit of any hyperplane, with a proof that there is no smaller one.

    .. math:: T_\gamma = \min_{\|u\| \le 1} \sum_i \max(0, \gamma - y_i u \cdot x_i)

    is a convex problem. For every :math:`0 \le a_i \le 1`, exchanging minimum and maximum gives the lower bound

    .. math:: T_\gamma \ge \min_{\|u\| \le 1} \sum_i a_i (\gamma - y_i u \cdot x_i)
              = \gamma \sum_i a_i - \Bigl\| \sum_i a_i y_i x_i \Bigr\| ,

    and the best a reaches it. A primal-dual interior-point method finds both: Newton steps on the optimality
    conditions, in which every product of a constraint and its multiplier is a small number instead of zero. The
    certificate is computed from u and a alone.

    Parameters
    ----------
    X, y, intercept, unit_length
        As for `online_perceptron`; with an intercept, u and the points are those with the additional feature 1.
    gamma : float
        The margin asked for.
    tol : float, default=1e-6
        The gap to reach, as a share of n gamma, the total deficit of u = 0.

    Returns
    -------
    TotalDeficit

    See Also
    --------
    TotalDeficit : What comes back.
    maxmargin.mistake_bound : The bound from any hyperplane.

    References
    ----------
    "The Perceptron Algorithm", lecture 8, section 1.2. S. Boyd, L. Vandenberghe, "Convex Optimization", section 11.7.

    Examples
    --------
    >>> from maxmargin.lectures import total_deficit
    >>> found = total_deficit([[1.0, 0.0], [2.0, 1.0], [-1.0, 0.0], [0.5, 0.0]], [1, 1, -1, -1], 0.5, intercept=False)
    >>> print(f"{found.lower:.4f} <= T <= {found.value:.4f}")
    0.7500 <= T <= 0.7500
    """
    points = Points.of(X, y, intercept=intercept, unit_length=unit_length)
    gamma, tol = check_positive("gamma", gamma), check_positive("tol", tol)
    Z = points.y[:, None] * np.column_stack([points.X, points.one])
    n, d = Z.shape
    n, d = Z.shape
    u, value, a, lower = np.zeros(d), n * gamma, np.zeros(n), 0.0
    # Only the span of the points matters. In orthonormal directions of it the Newton systems are regular.
    left, sizes, right = np.linalg.svd(Z, full_matrices=False)
    rank = max(1, int(np.count_nonzero(sizes > rounding(max(n, d), sizes[0]))))
    for here, multipliers in _interior_points(left[:, :rank] * sizes[:rank], gamma):
        here = here @ right[:rank]
        here = here / max(1.0, float(np.linalg.norm(here)))
        deficit = float(np.maximum(0.0, gamma - Z @ here).sum())
        proven = gamma * float(multipliers.sum()) - float(np.linalg.norm(multipliers @ Z))
        u, value = (here, deficit) if deficit < value else (u, value)
        a, lower = (multipliers, proven) if proven > lower else (a, lower)
        if value - lower <= tol * n * gamma:
            break
    bound = (points.radius / gamma) ** 2 + 2 * value / gamma
    return TotalDeficit(value, lower, value - lower, gamma, u[:-1], float(u[-1]), a, bound)


def _interior_points(Z: np.ndarray, gamma: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield u and a, ever nearer to the optimum.

    Minimise sum s_i over u, s, t >= 0 and tau >= 0 where t = s - gamma + Zu and tau = (1 - ||u||²)/2. The multipliers
    are a of t, 1 - a of s, and nu of tau; a Newton step solves for u first.
    """
    n, d = Z.shape
    u, a, s, t, tau = np.zeros(d), np.full(n, 0.5), np.full(n, 2.0 * gamma), np.full(n, gamma), 0.5
    nu = n * gamma + float(np.linalg.norm(a @ Z))
    for _ in range(MAX_STEPS):
        mu = CENTRING * (float(a @ t + (1.0 - a) @ s) + nu * tau) / (2 * n + 1)
        miss_u, miss_t, miss_tau = a @ Z - nu * u, s - gamma + Z @ u - t, 0.5 - 0.5 * float(u @ u) - tau
        weights = 1.0 / (t / a + s / (1.0 - a))
        pull = weights * (mu / a - t - mu / (1.0 - a) + s - miss_t)
        hessian = (Z.T * weights) @ Z + nu * np.eye(d) + nu / tau * np.outer(u, u)
        du = _solve(hessian, miss_u + pull @ Z - (mu - nu * tau - nu * miss_tau) / tau * u)
        da, dtau = pull - weights * (Z @ du), miss_tau - float(u @ du)
        dt, ds = mu / a - t - t / a * da, mu / (1.0 - a) - s + s / (1.0 - a) * da
        dnu = (mu - nu * tau - nu * dtau) / tau
        pairs = ((a, da), (1.0 - a, -da), (s, ds), (t, dt), (np.array([nu, tau]), np.array([dnu, dtau])))
        length = min(1.0, TO_BOUNDARY / max(1e-300, *(float((-change / value).max()) for value, change in pairs)))
        u, a, s, t = u + length * du, a + length * da, s + length * ds, t + length * dt
        nu, tau = nu + length * dnu, tau + length * dtau
        yield u, a


def _solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve a positive definite system whose entries may be of very different sizes."""
    scale = 1.0 / np.sqrt(matrix.diagonal())
    return scale * np.linalg.solve(matrix * np.outer(scale, scale), scale * right)
