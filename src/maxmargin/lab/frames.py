"""Steps of the lectures as frames: what the page draws and says of one step, as JSON."""

import math
from typing import Any

import numpy as np

from maxmargin import lectures
from maxmargin.lab.algorithms import ALGORITHMS
from maxmargin.lab.facts import arrays
from maxmargin.lab.listings import line_of
from maxmargin.lab.state import State

# How far a functional margin may miss the KKT conditions before the point counts as a violation.
KKT_TOL = 1e-3


def jsonable(value: Any) -> Any:
    """The value with arrays as lists and numbers that are not finite as texts that JavaScript's Number() reads."""
    if isinstance(value, dict):
        return {key: jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [jsonable(item) for item in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if math.isnan(number):
            return "NaN"
        return number if math.isfinite(number) else "Infinity" if number > 0 else "-Infinity"
    return value


def first_frame(state: State, step: lectures.Step | None) -> dict[str, Any]:
    """The frame before the first step, from what the step says of the state before it."""
    X, y = arrays(state)
    alpha = np.zeros(len(y))
    if state.algorithm == "hulls":
        groups = [y > 0, y < 0] if state["intercept"] else [np.full(len(y), True)]
        alpha[[int(np.argmax(group)) for group in groups if group.any()]] = 1.0
    w, b = (np.zeros(2), 0.0) if step is None else (step.w_before, step.b_before)
    frame: dict[str, Any] = {
        "number": 0, "updates": 0, "reason": "start", "rows": [], "w": w, "b": b, "wBefore": w, "bBefore": b,
        "alpha": alpha, "margins": y * (b if w is None else X @ w + b), "values": {}, "claims": [], "conditions": [],
        "classes": "0" * len(y), "line": line_of(state.algorithm, "start"),
    }  # fmt: skip
    if isinstance(step, lectures.HullStep):
        frame["hull"] = _hull_points(X, y, alpha, state["intercept"])
    frame["text"] = "Start: no step yet. Play, or take one step."
    return jsonable(frame)


def frame_of(state: State, step: lectures.Step) -> dict[str, Any]:
    """The frame of a step."""
    frame: dict[str, Any] = {
        "number": step.number,
        "updates": step.updates,
        "reason": step.reason,
        "rows": step.rows,
        "w": step.w,
        "b": step.b,
        "wBefore": step.w_before,
        "bBefore": step.b_before,
        "alpha": step.alpha,
        "margins": step.margins,
        "values": values_of(step),
        "claims": [claim_row(claim) for claim in step.claims],
        "conditions": [claim_row(claim) for claim in step.conditions],
        "classes": kkt_classes(state, step.alpha, step.margins),
        "line": line_of(state.algorithm, step.reason),
        "text": text_of(step),
    }
    if isinstance(step, lectures.GuessStep):
        frame |= {"guess": step.guess, "round": step.round}
    if isinstance(step, lectures.PairStep):
        frame["pair"] = {
            "before": step.pair_before, "segment": step.segment, "unclipped": step.unclipped, "clipped": step.clipped
        }  # fmt: skip
    if isinstance(step, lectures.HullStep):
        frame["hull"] = {"positive": step.positive, "negative": step.negative}
    return jsonable(frame)


def _hull_points(X: np.ndarray, y: np.ndarray, c: np.ndarray, intercept: bool) -> dict[str, Any]:
    if not intercept:
        return {"positive": (c * y) @ X, "negative": np.zeros(2)}
    return {"positive": c[y > 0] @ X[y > 0], "negative": c[y < 0] @ X[y < 0]}


def claim_row(claim: lectures.Claim) -> list[Any]:
    """Name, formula, left side, relation, right side, tolerance, and whether it holds."""
    sides = float(claim.left), claim.relation, float(claim.right)
    return [claim.name, claim.formula, *sides, float(claim.tolerance), claim.holds]


def values_of(step: lectures.Step) -> dict[str, float]:
    """The values of a step, with the lengths and bounds that its claims are about."""
    values = dict(step.values) | {"updates": float(step.updates)}
    for claim in step.claims:
        if claim.name == "length of w":
            values["length"], values["length bound"] = math.sqrt(max(0.0, claim.left)), math.sqrt(claim.right)
        elif claim.relation == "<=" and claim.formula.startswith("t <="):
            values["bound"] = float(claim.right)
    if "length" not in values and step.w is not None:
        values["length"] = float(np.hypot(np.linalg.norm(step.w), step.b))
    if isinstance(step, lectures.GuessStep):
        values["half guess"] = step.guess / 2
    return values


def kkt_classes(state: State, alpha: np.ndarray, margins: np.ndarray) -> str:
    """A digit a point: 0 for alpha = 0, 1 between the ends, 2 for alpha = C; 3 to 5 the same, where KKT is violated."""
    if not ALGORITHMS[state.algorithm].is_svm:
        return "".join("1" if value > 0 else "0" for value in alpha)
    at_C = alpha >= state["C"] if math.isfinite(state["C"]) else np.full(len(alpha), False)
    group = np.where(at_C, 2, np.where(alpha > 0, 1, 0))
    violated = np.select(
        [group == 0, group == 1],
        [margins < 1 - KKT_TOL, np.abs(margins - 1) > KKT_TOL],
        margins > 1 + KKT_TOL,
    )
    return "".join(str(int(digit)) for digit in group + 3 * violated)


_DONE = {
    "no mistake": "No mistake is left: the run ends.",
    "no violation": "No violation is left: every point is at least half the guess away.",
    "optimal": "Optimal: the conditions hold.",
    "hulls meet": "The hulls meet: no hyperplane separates the points.",
    "unbounded": "The dual is unbounded: no hyperplane separates the points.",
}


def _all_hold(count: int) -> str:
    return "The claim holds." if count == 1 else f"All {count} claims hold."


def text_of(step: lectures.Step) -> str:
    """One step in words, for everybody and for screen readers; points are counted from 1."""
    rows = [row + 1 for row in step.rows]
    parts = [f"Step {step.number}."]
    if step.reason in _DONE:
        parts.append(_DONE[step.reason])
    elif step.reason == "mistake":
        parts.append(f"Point {rows[0]} was a mistake: w and b move towards it.")
    elif step.reason == "too close":
        parts.append(f"Point {rows[0]} was nearer than half the guess: w and b move towards it.")
    elif step.reason == "mistakes":
        parts.append(f"{len(rows)} mistake{'s' if len(rows) > 1 else ''} corrected at once.")
    elif step.reason == "correct":
        parts.append("The point is correct: nothing changes.")
    elif step.reason == "forced stop":
        parts.append(f"Forced stop after {step.updates} updates: the guess was too large, it is halved.")
    elif step.reason == "coordinate":
        parts.append(f"Dual of point {rows[0]}: {step.alpha[step.rows[0]]:.4g}.")
    elif step.reason == "pair" and isinstance(step, lectures.PairStep):
        before, after = step.pair_before, step.clipped
        parts.append(
            f"Duals of points {rows[0]} and {rows[1]}: from {before[0]:.4g} and {before[1]:.4g} "
            f"to {after[0]:.4g} and {after[1]:.4g}."
        )
    elif step.reason == "pair":
        parts.append(f"Weight moves from point {rows[1]} to point {rows[0]}.")
    else:
        parts.append(f"A {step.reason} step.")
    if step.w is not None:
        parts.append(f"w = ({', '.join(f'{value:.4g}' for value in step.w)}), b = {step.b:.4g}.")
    names = ("mistakes", "violations", "J", "margin", "primal", "dual", "gap", "lower", "upper", "loss")
    known = [f"{name} {step.values[name]:.5g}" for name in names if name in step.values]
    if known:
        parts.append(f"{known[0][0].upper()}{', '.join(known)[1:]}.")
    if step.claims:
        false = [claim.name for claim in step.claims if not claim.holds]
        parts.append(f"Does not hold: {', '.join(false)}." if false else _all_hold(len(step.claims)))
    return " ".join(parts)
