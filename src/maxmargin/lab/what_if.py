"""The value of a hyperplane or a dual variable that was dragged by hand, beside the bound that none exceeds."""

import math
from typing import Any

import numpy as np

from maxmargin import lectures
from maxmargin.lab.facts import Facts, arrays
from maxmargin.lab.runs import kernel_options
from maxmargin.lab.state import State
from maxmargin.lectures import Claim


def measured_hyperplane(state: State, facts: Facts, w: list[float], b: float) -> tuple[dict[str, float], list[Claim]]:
    """The margin of a hyperplane, against the bracket of the largest one."""
    X, y = arrays(state)
    distances = y * lectures.signed_distance(X, w, b)
    margin = float(distances.min())
    wrong = int(np.count_nonzero(distances <= 0))
    # Both numbers carry a few rounding errors of the size of the points.
    error = 16 * 2.0**-52 * float(np.abs(X).max() + abs(b) / np.linalg.norm(w))
    claims = [Claim("margin bracket", "your margin <= upper bound of gamma_opt", margin, "<=", facts.upper, error)]
    return {"margin": margin, "lower": facts.lower, "upper": facts.upper, "mistakes": float(wrong)}, claims


def balanced(alpha: np.ndarray, y: np.ndarray, row: int) -> np.ndarray:
    """Duals with sum alpha_i y_i = 0: the heavier class is scaled down, if possible without the row."""
    alpha = alpha.copy()
    same, other = (y == y[row]) & (np.arange(len(y)) != row), y != y[row]
    mine, rest, against = alpha[row], alpha[same].sum(), alpha[other].sum()
    if mine + rest <= against:
        alpha[other] *= (mine + rest) / against if against else 0.0
    elif mine <= against:
        alpha[same] *= (against - mine) / rest
    else:
        alpha[same], alpha[row] = 0.0, against
    return alpha


def measured_duals(
    state: State, alpha: np.ndarray, row: int, value: float, primal: float
) -> tuple[np.ndarray, dict[str, float], list[Claim]]:
    """The dual objective with another alpha of one row, made feasible, against the smallest primal value known."""
    X, y = arrays(state)
    intercept = state.algorithm == "smo"
    moved = alpha.copy()
    moved[row] = min(max(0.0, value), state["C"])
    moved = balanced(moved, y, row) if intercept else moved
    value = lectures.dual(X, y, moved, state["C"], intercept=intercept, **kernel_options(state))
    size = float(moved.sum()) + (abs(primal) if math.isfinite(primal) else 0.0)
    claims = [
        Claim("weak duality", "dual of your alpha <= primal", value, "<=", primal, 8 * len(y) * 2.0**-52 * size),
        Claim("KKT (5)", "0 <= alpha_i <= C", float(moved.max(initial=0.0)), "<=", state["C"]),
    ]
    if intercept:
        balance = abs(float(moved @ y))
        claims.append(Claim("KKT (2)", "sum alpha_i y_i = 0", balance, "<=", 0.0, len(y) * 2.0**-52 * size))
    values: dict[str, Any] = {"dual": value, "primal": primal, "gap": primal - value}
    return moved, values, claims
