"""What is true of the points, whatever algorithm runs on them; the hyperplanes that proofs refer to."""

from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from maxmargin import lectures
from maxmargin.lab.state import State

# Shares of R among which the margin of a reference for inseparable points is chosen.
SHARES = (0.05, 0.1, 0.2, 0.4, 0.8)
# Steps of the search for a separating hyperplane in a feature space.
MAX_ASCENT = 2000


@dataclass(frozen=True)
class Facts:
    """Separability and margin of the points.

    Attributes
    ----------
    separable : bool or None
        None where there is only one class, or where it is not decided.
    lower, upper : float
        The bracket of the largest margin.
    w, b
        The hyperplane of the lower bound.
    hull_weights : tuple of float
        Those of the upper bound: where the hulls meet, the proof that no hyperplane separates the points.
    meeting : tuple of float, or None
        The point that both hulls have in common.
    """

    separable: bool | None
    lower: float
    upper: float
    w: tuple[float, ...]
    b: float
    hull_weights: tuple[float, ...]
    meeting: tuple[float, ...] | None


def arrays(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Points and labels as arrays."""
    return np.array(state.points, dtype=float).reshape(-1, 2), np.array(state.labels, dtype=int)


def facts(state: State) -> Facts | None:
    """Decide separability, with proof; None without points of both classes."""
    intercept = state["intercept"] if state.algorithm != "smo" else True
    intercept = intercept and state.algorithm != "ascent"
    return _facts(state.points, state.labels, intercept)


@lru_cache(maxsize=16)
def _facts(points: tuple, labels: tuple, intercept: bool) -> Facts | None:
    from maxmargin.separability import separate

    if len(set(labels)) < 2:
        return None
    X, y = np.array(points, dtype=float), np.array(labels)
    try:
        found = separate(X, y, fit_intercept=intercept)
    except ValueError:  # numbers of so different a size that their squares overflow or vanish
        return None
    weights = found.hull_weights
    meeting = tuple(map(float, weights[y > 0] @ X[y > 0])) if intercept and found.separable is False else None
    return Facts(
        found.separable, max(0.0, float(found.certificate.lower)), float(found.certificate.upper),
        tuple(map(float, found.coef)), float(found.intercept), tuple(map(float, weights)), meeting,
    )  # fmt: skip


def reference(state: State) -> tuple | None:
    """The hyperplane u that a perceptron is compared with, as its ``reference``; None where there is none."""
    return _reference(state.points, state.labels, state["intercept"], state["unit_length"])


@lru_cache(maxsize=16)
def _reference(points: tuple, labels: tuple, intercept: bool, unit_length: bool) -> tuple | None:
    """The largest margin of the points (x, 1), or else the u and gamma of the smallest bound for one pass."""
    from maxmargin.separability import separate

    if len(set(labels)) < 2:
        return None
    X, y = np.array(points, dtype=float), np.array(labels)
    Z = np.column_stack([X, np.ones(len(X))]) if intercept else X
    lengths = np.linalg.norm(Z, axis=1)
    if unit_length and not lengths.all():
        return None
    Z = Z / lengths[:, None] if unit_length else Z
    try:
        found = separate(Z, y, fit_intercept=False)
    except ValueError:
        return None
    if found.separable and found.margin > 0:
        b = float(found.coef[2]) if intercept else 0.0
        return [float(value) for value in found.coef[:2]], b
    R = float(np.linalg.norm(Z, axis=1).max())
    if not R:
        return None
    options = {"intercept": intercept, "unit_length": unit_length}
    best = min((lectures.total_deficit(X, y, share * R, **options) for share in SHARES), key=lambda found: found.bound)
    return [float(value) for value in best.w], float(best.b), float(best.gamma)


def kernel_reference(state: State, options: dict[str, Any]) -> tuple | None:
    """A hyperplane of the feature space that separates the points, found by coordinate ascent; None without one."""
    return _kernel_reference(state.points, state.labels, tuple(options.items()))


@lru_cache(maxsize=16)
def _kernel_reference(points: tuple, labels: tuple, options: tuple) -> tuple | None:
    chosen = dict(options)
    intercept = chosen.pop("intercept")
    if len(set(labels)) < 2 or chosen["kernel"] == "sigmoid":
        return None
    X, y = np.array(points, dtype=float), np.array(labels)
    K = lectures.kernel_matrix(X, **chosen) + float(intercept)
    passes = max(1, MAX_ASCENT // len(y))
    steps = lectures.coordinate_ascent(K, y, np.inf, kernel="precomputed", tol=0.1, max_passes=passes)
    last = deque(steps, maxlen=1)
    if not last or last[0].margins.min() <= 0:
        return None
    return ([float(value) for value in last[0].alpha],)


@dataclass(frozen=True)
class BoundFacts:
    """The numbers in the mistake bounds: R and the margin of u.

    Attributes
    ----------
    R, gamma : float
    space : str
        The points that they are about: "x" or "(x, 1)", or those in the feature space.
    separates : bool
        Whether u separates the points with margin gamma.
    """

    R: float
    gamma: float
    space: str
    separates: bool


def bound_facts(state: State, options: dict[str, Any] | None = None) -> BoundFacts | None:
    """R and gamma of a perceptron on these points; None for other algorithms, and without a reference."""
    X, y = arrays(state)
    if state.algorithm == "kernel" and options is not None:
        if (found := kernel_reference(state, options)) is None:
            return None
        chosen = {name: value for name, value in options.items() if name != "intercept"}
        K, signed = lectures.kernel_matrix(X, **chosen) + float(options["intercept"]), np.array(found[0]) * y
        gamma = float((y * (K @ signed)).min() / np.sqrt(signed @ K @ signed))
        return BoundFacts(float(np.sqrt(K.diagonal().max())), gamma, "the feature space", True)
    if state.algorithm not in ("online", "batch", "margin", "search") or (u := reference(state)) is None:
        return None
    Z = np.column_stack([X, np.full(len(X), float(state["intercept"]))])
    Z = Z / np.linalg.norm(Z, axis=1)[:, None] if state["unit_length"] else Z
    w = np.append(*u[:2])
    separates = len(u) == 2
    gamma = float((y * (Z @ w)).min() / np.linalg.norm(w)) if separates else float(u[2])
    space = ("(x, 1)" if state["intercept"] else "x") + (" of unit length" if state["unit_length"] else "")
    return BoundFacts(float(np.linalg.norm(Z, axis=1).max()), gamma, f"the points {space}", separates)
