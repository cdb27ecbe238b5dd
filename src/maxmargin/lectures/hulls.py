"""The nearest points of the convex hulls of two classes, by steps on pairs of weights.

A. Zhang, "Perceptron and Support Vector Machine (SVM)", lecture 17, "Dual Form - Convex Hull", which leaves the problem
to sequential minimal optimisation. With the pair that violates optimality most, these steps are those of B. Mitchell,
V. Demyanov, V. Malozemov, "Finding the point of a polyhedron closest to the origin", 1974.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.lectures.points import check_count, check_positive, check_rows, check_vector
from maxmargin.lectures.steps import Claim, HullStep, rounding


def nearest_hull_points(
    X: Any,
    y: Any,
    *,
    intercept: bool = True,
    start: Any = None,
    tol: float = 1e-4,
    max_steps: int = 100_000,
) -> Iterator[HullStep]:
    r"""The nearest points of the convex hulls of the two classes, and the hyperplane halfway between them.

    1. Weights c, non-negative and with the sum 1 in each class: 1 for the first row of each class.
    2. :math:`x_+ = \sum_{y_i = 1} c_i x_i`, :math:`x_- = \sum_{y_i = -1} c_i x_i`, :math:`w = x_+ - x_-`; b puts the
       hyperplane through the middle between them.
    3. In one class, let j be the row with weight that lies farthest out, seen from the other hull, and i the row that
       lies farthest in: move weight from j to i, as much as brings the points nearest, but not more than :math:`c_j`.
       The class is the one where i and j are farther apart along w. Go to 2.

    For all weights and every hyperplane, margin :math:`\le \gamma_{opt} \le \frac12 \|x_+ - x_-\|`; at the end both
    are equal (lecture 17 calls the squared distance the margin). Without an intercept there is one hull, of all
    :math:`y_i x_i`, and the origin in place of :math:`x_-`; then :math:`\gamma_{opt} \le \|x_+\|`.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        Both of two labels; without an intercept one is enough.
    intercept : bool, default=True
    start : array of shape (n,) or HullStep, optional
        Weights to start from, or a step of an earlier run to continue from.
    tol : float, default=1e-4
        Stop where the margin is at least 1 - tol times its upper bound, or where the points are nearer than tol R.
    max_steps : int, default=100000

    Yields
    ------
    HullStep
        One a change, "pair"; at the end "optimal", or "hulls meet" where the points are nearer than tol R: no
        hyperplane has a larger margin than half their distance. Values: "distance", "upper" and "lower", the bracket
        of the largest margin. ``alpha`` are the weights.

    See Also
    --------
    maxmargin.hull_distance : To a proven precision, for large data.

    References
    ----------
    A. Zhang, "Perceptron and Support Vector Machine (SVM)", lecture 17, "Dual Form - Convex Hull".

    Examples
    --------
    >>> from maxmargin.lectures import nearest_hull_points
    >>> X, y = [[2.0, 1.0], [2.0, -1.0], [0.0, 0.5], [-1.0, 3.0]], [1, 1, -1, -1]
    >>> for step in nearest_hull_points(X, y):
    ...     print(step.reason, step.positive, step.negative, step.values["lower"], step.values["upper"])
    pair [2.  0.5] [0.  0.5] 1.0 1.0
    optimal [2.  0.5] [0.  0.5] 1.0 1.0
    """
    X, y = check_rows(X, y)
    tol, last_position = check_positive("tol", tol), check_count("max_steps", max_steps)
    groups = [np.flatnonzero(y > 0), np.flatnonzero(y < 0)] if intercept else [np.arange(len(y))]
    if not all(group.size for group in groups):
        raise ValueError("y must hold both classes: the hull of a class without rows has no points.")
    first, Z = _first_step(start, X, y, groups, tol), y[:, None] * X
    nearest = tol * float(np.sqrt(np.einsum("ij,ij->i", X, X)).max())

    def run() -> Iterator[HullStep]:
        step, position = first, first.position
        while step.values["distance"] > nearest and not step.conditions[0].holds and position < last_position:
            position, c, scores = position + 1, step.alpha.copy(), Z @ step.w
            inner = [int(group[scores[group].argmin()]) for group in groups]
            outer = [int(group[np.where(c[group] > 0, scores[group], -np.inf).argmax()]) for group in groups]
            i, j = max(zip(inner, outer, strict=True), key=lambda pair: scores[pair[1]] - scores[pair[0]])
            if scores[i] >= scores[j]:
                return
            best = (scores[j] - scores[i]) / np.square(Z[i] - Z[j]).sum()
            moved = min(best, c[j])
            c[i], c[j] = c[i] + moved, c[j] - moved
            step = _hull_step(step, (i, j), "pair", c, X, y, groups, tol, position)
            yield step
        met = step.values["distance"] <= nearest
        if met or step.conditions[0].holds:
            yield _hull_step(step, (), "hulls meet" if met else "optimal", step.alpha, X, y, groups, tol, position)

    return run()


def _first_step(given: Any, X: np.ndarray, y: np.ndarray, groups: list[np.ndarray], tol: float) -> HullStep:
    """The state that a run begins with: the first row of each class, weights, or a step of an earlier run."""
    c = np.zeros(len(y))
    c[[group[0] for group in groups]] = 1.0
    if given is not None:
        c = check_vector("start", given.alpha if isinstance(given, HullStep) else given, len(y))
        if (c < 0).any() or any(abs(c[group].sum() - 1.0) > rounding(2 * len(y), 1.0) for group in groups):
            raise ValueError("start must hold weights that are not negative, with the sum 1 in each hull.")
    step = _hull_step(None, (), "start", c, X, y, groups, tol, 0)
    if isinstance(given, HullStep):
        return replace(step, number=given.number, updates=given.updates, position=given.position)
    return step


def _hull_step(
    last: HullStep | None, rows: tuple[int, ...], reason: str, c: np.ndarray, X: np.ndarray, y: np.ndarray,
    groups: list[np.ndarray], tol: float, position: int,
) -> HullStep:  # fmt: skip
    """The step after ``last``, with the hull points and the bracket of these weights."""
    through_origin = len(groups) == 1
    positive = (c * y) @ X if through_origin else c[groups[0]] @ X[groups[0]]
    negative = np.zeros(X.shape[1]) if through_origin else c[groups[1]] @ X[groups[1]]
    w = positive - negative
    b = 0.0 if through_origin else -float(w @ (positive + negative)) / 2
    margins, distance = y * (X @ w + b), float(np.linalg.norm(w))
    upper = distance if through_origin else distance / 2
    lower = float(margins.min()) / distance if distance else 0.0
    size = float(np.linalg.norm(X, axis=1).max())
    error = rounding(4 * sum(X.shape), size * (1.0 + size / distance if distance else 1.0))
    claims = [Claim("margin bracket", "margin <= half the distance", lower, "<=", upper, error)]
    if last is not None:
        before = last.values["distance"]
        claims.append(
            Claim("descent", "distance <= distance before", distance, "<=", before, rounding(4 * len(y), size))
        )
    if through_origin:
        claims[0] = replace(claims[0], formula="margin <= distance from the origin")
    optimum = Claim("optimal margin", "margin = its upper bound", lower, "=", upper, tol * upper)
    return HullStep(
        number=last.number + 1 if last else 0, updates=last.updates + bool(rows) if last else 0, rows=rows,
        reason=reason, w_before=last.w if last else w, b_before=last.b if last else b, w=w, b=b, alpha=c,
        margins=margins, values={"distance": distance, "lower": lower, "upper": upper}, claims=tuple(claims),
        conditions=(optimum,), position=position, positive=positive, negative=negative,
    )  # fmt: skip
