"""The lasso given the Gram matrix of a few columns: coordinate descent, and linear systems once signs are known.

minimise 1/2 beta·G beta - c·beta + lam ||beta||_1
"""

import math
from collections.abc import Callable

import numpy as np
import scipy.linalg as sl

from maxmargin.loops.lasso import descend_with_gram
from maxmargin.solvers.core import StallTest

# With the Gram matrix: epochs between two attempts to solve for the signs at hand, and the most attempts.
EPOCHS_PER_ATTEMPT = 30
MAX_ATTEMPTS = 200
# Attempts in a row that do not reduce the KKT violation to this share, after which rounding errors may be all of it.
ATTEMPTS_WITHOUT_PROGRESS, PROGRESS = 10, 0.9
# For so few coefficients the linear system is solved even while their signs still change.
CHEAP_SYSTEM = 200
MAX_CROSSINGS = 20
# Singular systems in a round after which they are due to rounding, and no more are solved: an eigendecomposition each.
MAX_SINGULAR = 40
# A direction whose squared length is below this share of its number of entries is a rounding error.
NO_DIRECTION = 1e-14


def solve_given_gram(
    gram: np.ndarray,
    gradient: np.ndarray,
    beta: np.ndarray,
    lam: float,
    goal: float,
    stopped: Callable[[], bool],
    *,
    positive: bool = False,
) -> None:
    """Minimise 1/2 beta·G beta - c·beta + lam ||beta||_1, in place, until no KKT condition is violated by ``goal``.

    Parameters
    ----------
    gram : ndarray of shape (k, k)
        G.
    gradient : ndarray of shape (k,)
        c - G beta, which is updated.
    beta : ndarray of shape (k,)
    lam, goal : float
    stopped : callable
        Whether to end where it is.
    positive : bool, default=False
        Whether no coefficient may be negative.
    """
    stall, least, n_singular = StallTest(ATTEMPTS_WITHOUT_PROGRESS), math.inf, 0
    for attempt in range(1, MAX_ATTEMPTS + 1):
        signs = np.sign(beta)
        descend_with_gram(gram, gradient, beta, lam, positive, EPOCHS_PER_ATTEMPT)
        cheap = np.count_nonzero(beta) <= CHEAP_SYSTEM or (signs == np.sign(beta)).all()
        if cheap and n_singular <= MAX_SINGULAR:
            n_singular += solve_for_signs(gram, gradient, beta, lam)
        at_zero = (gradient if positive else np.abs(gradient)) - lam
        violations = np.where(beta != 0.0, np.abs(gradient - lam * np.sign(beta)), at_zero)
        violation = float(violations.max())
        progress = violation < PROGRESS * least
        least = violation if progress else least
        if violation <= goal or stall.count(progress, attempt) or stopped():
            break


def solve_for_signs(gram: np.ndarray, gradient: np.ndarray, beta: np.ndarray, lam: float) -> int:
    """Solve for the nonzero coefficients with the signs that they have; return how many systems were singular.

    Where one would change its sign on the way, it is set to zero and the others go on without it (Lee, Battle, Raina,
    Ng, "Efficient sparse coding algorithms", 2007).
    """
    n_singular = 0
    for _ in range(MAX_CROSSINGS):
        used = np.flatnonzero(beta)
        if not used.size:
            break
        residual, rows = gradient[used] - lam * np.sign(beta[used]), gram[used]
        try:
            factor = sl.cho_factor(rows[:, used], lower=True, overwrite_a=True, check_finite=False)
        except sl.LinAlgError:
            n_singular += 1
            if used.size > CHEAP_SYSTEM or not drop_dependent(gram, beta, used):
                break
            continue
        step = sl.cho_solve(factor, residual, check_finite=False)
        crossing = np.flatnonzero(beta[used] * (beta[used] + step) < 0.0)
        lengths = -beta[used][crossing] / step[crossing]
        length = float(lengths.min(initial=1.0))
        change = length * (step @ rows)
        if not length * (residual @ step) - 0.5 * length * (step @ change[used]) > 0.0:
            break
        beta[used] += length * step
        gradient -= change
        if not crossing.size:
            break
        beta[used[crossing[lengths == length]]] = 0.0
    return n_singular


def drop_dependent(gram: np.ndarray, beta: np.ndarray, used: np.ndarray) -> bool:
    """Where columns in use are linearly dependent, move in the null space until a coefficient is zero.

    The direction is the one in which the 1-norm falls fastest. Returns whether there is one.
    """
    values, vectors = sl.eigh(gram[np.ix_(used, used)], check_finite=False)
    null_space = vectors[:, values <= used.size * np.finfo(np.float64).eps * values[-1]]
    signs = np.sign(beta[used])
    step = -null_space @ (null_space.T @ signs)
    falling = np.flatnonzero(step * signs < 0.0)
    if not falling.size or not float(step @ step) > NO_DIRECTION * used.size:
        return False
    lengths = -beta[used][falling] / step[falling]
    length = float(lengths.min())
    beta[used] += length * step
    beta[used[falling[lengths == length]]] = 0.0
    return True
