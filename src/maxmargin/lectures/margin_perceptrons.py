"""The margin perceptron, and the incremental search for its guess.

Y. Tao, "Linear Classification: Maximizing the Margin", "Margin Perceptron", "An Incremental Algorithm" and appendix;
lecture 8, "The Perceptron Algorithm", section 1.3.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.lectures.perceptrons import Hyperplane, indicator, next_step
from maxmargin.lectures.points import Order, Points, Reference, RowOrder, check_positive, first_step
from maxmargin.lectures.steps import Claim, GuessStep, Step, rounding


def margin_perceptron(
    X: Any,
    y: Any,
    gamma: float,
    *,
    intercept: bool = True,
    order: Order = "cyclic",
    seed: int = 0,
    unit_length: bool = False,
    start: Hyperplane | Step | None = None,
    reference: tuple | None = None,
    max_passes: int = 1000,
) -> Iterator[GuessStep]:
    r"""The perceptron that also corrects points too close to the hyperplane.

    1. w = 0.
    2. While a row is a violation, that is a mistake or nearer to the hyperplane than half the guess,
       :math:`y_i w \cdot x_i < \frac g2 \|w\|`: evaluate the next row; on a violation,
       :math:`w \leftarrow w + y_i x_i`.

    If a unit vector u has the margin :math:`\gamma \ge g`, then after k updates from zero (w_k)

    - claim 1: :math:`\|w_k\| \ge w_k \cdot u \ge k \gamma`,
    - claim 2: :math:`\|w_{k}\| \le \|w_{k-1}\| + R`,
    - claim 3: :math:`\|w_{k}\| \le \|w_{k-1}\| + \frac{R^2}{2\|w_{k-1}\|} + \frac{\gamma}2`,
    - claim 4: :math:`\|w_{k}\| \le \|w_{k-1}\| + \frac34 \gamma` where :math:`\|w_{k-1}\| \ge 2R^2/\gamma`,
    - claim 5: :math:`\|w_k\| \le 2R^2/\gamma + \frac34 k\gamma + R`,

    so that :math:`k \le 8R^2/\gamma^2 + 4R/\gamma` (one lecture forgets the second term). Where the guess is larger
    than the reference's margin, claim 3 has the guess in its place, and claims 4 and 5 are not made. With an
    intercept, w is (w, b) and the points are (x, 1).

    Parameters
    ----------
    X, y, intercept, order, seed, unit_length, start, reference, max_passes
        As for `online_perceptron`. The step size is 1: another one scales w and changes no violation.
    gamma : float
        The guess g of the margin.

    Yields
    ------
    GuessStep
        One an update, for a "mistake" or a row "too close", and "no violation" at the end, where the run got there:
        the margin is then at least half the guess. Its values: "J", "mistakes", "violations" and "margin".

    See Also
    --------
    incremental_search : Without a guess of the margin.
    maxmargin.MarginPerceptron : The estimator.

    References
    ----------
    Y. Tao, "Linear Classification: Maximizing the Margin", appendix; "The Perceptron Algorithm", lecture 8, section
    1.3.

    Examples
    --------
    >>> from maxmargin.lectures import margin_perceptron
    >>> X, y = [[1.0, 0.5], [0.5, 2.0], [-1.0, 0.5]], [1, 1, -1]
    >>> for step in margin_perceptron(X, y, gamma=0.5, intercept=False, reference=([1.0, 0.0], 0.0)):
    ...     print(step.reason, step.rows, step.w, step.holds)
    mistake (0,) [1.  0.5] True
    no violation () [1.  0.5] True
    """
    points = Points.of(X, y, intercept=intercept, unit_length=unit_length)
    guess, rows = check_positive("gamma", gamma), RowOrder(order, len(points.y), seed, max_passes)
    return _until_no_violation(points, guess, rows, first_step(start, points), Reference.of(reference, points))


def incremental_search(
    X: Any,
    y: Any,
    *,
    intercept: bool = True,
    order: Order = "cyclic",
    seed: int = 0,
    unit_length: bool = False,
    reference: tuple | None = None,
    max_passes: int = 1000,
) -> Iterator[GuessStep]:
    r"""The margin perceptron with guesses that are halved until one is good enough.

    1. R = the length of the longest point; guess g = R.
    2. Run the margin perceptron from zero. If it ends by itself, so does the search.
    3. If it is not done after :math:`12R^2/g^2` updates, stop it (a forced stop), halve g, and go to 2.

    A forced stop proves :math:`g > \gamma_{opt}`, so that the hyperplane found has a margin of at least
    :math:`\gamma_{opt}/4`; all rounds together make at most :math:`64R^2/\gamma_{opt}^2` updates.

    Parameters
    ----------
    X, y, intercept, seed, unit_length, reference
        As for `online_perceptron`.
    order : {"cyclic", "shuffled"} or callable, default="cyclic"
        Every round begins anew.
    max_passes : int, default=1000
        Of every round. On inseparable data the search ends by it, or never.

    Yields
    ------
    GuessStep
        Those of `margin_perceptron`, and one for each "forced stop". ``updates`` are those of the round; the value
        "updates in all" counts those of all rounds.

    See Also
    --------
    margin_perceptron : One of its rounds.
    maxmargin.MarginPerceptron : The estimator.

    References
    ----------
    Y. Tao, "Linear Classification: Maximizing the Margin", "An Incremental Algorithm".

    Examples
    --------
    >>> from maxmargin.lectures import incremental_search
    >>> X, y = [[1.0, 0.5], [0.5, 2.0], [-1.0, 0.5]], [1, 1, -1]
    >>> steps = list(incremental_search(X, y, intercept=False, reference=([1.0, 0.0], 0.0)))
    >>> [(step.reason, step.updates) for step in steps if len(step.rows) == 0]
    [('forced stop', 12), ('no violation', 1)]
    >>> for claim in steps[-1].claims:
    ...     print(claim.name, claim.holds)
    claim 1 True
    claim 1 True
    margin found True
    quarter of the margin True
    incremental search bound True
    """
    points = Points.of(X, y, intercept=intercept, unit_length=unit_length)
    if not isinstance(order, str) and not callable(order):
        raise ValueError("order must be 'cyclic', 'shuffled' or a function: every round needs rows again.")
    rows, u = RowOrder(order, len(points.y), seed, max_passes), Reference.of(reference, points)
    R = check_positive("the length of the longest row of X", points.radius)

    def run() -> Iterator[GuessStep]:
        guess, step, in_all, round_number = R, first_step(None, points), 0, 0
        while step.reason in ("start", "forced stop"):
            round_number, first = round_number + 1, replace(first_step(None, points), number=step.number)
            for step in _until_no_violation(points, guess, rows, first, u, limit=12 * (R / guess) ** 2):
                values = {**step.values, "updates in all": float(in_all + step.updates)}
                step = replace(step, round=round_number, values=values)
                yield replace(step, claims=step.claims + search_claims(step, points, u))
            guess, in_all = guess / 2, in_all + step.updates

    return run()


def _until_no_violation(
    points: Points, guess: float, rows: RowOrder, first: Step, u: Reference | None, limit: float = np.inf
) -> Iterator[GuessStep]:
    """Run the margin perceptron; after ``limit`` updates stop it by force."""
    X, y, one = points.X, points.y, points.one
    step, w, b, alpha, position = first, first.w, first.b, first.alpha, first.position
    margins, length = points.margins(w, b), np.sqrt(w @ w + b * b)
    while reason := worst_violation(margins, length, guess):
        if step.updates >= limit:
            reason = "forced stop"
            break
        if (i := rows.next_row(position, alpha, margins)) is None:
            return
        position += 1
        if reason := worst_violation(margins[[i]], length, guess):
            w, b, alpha = w + y[i] * X[i], b + y[i] * one[i], alpha + indicator([i], len(y))
            margins, length = points.margins(w, b), np.sqrt(w @ w + b * b)
            step = next_step(step, [i], reason, w, b, alpha, margins, position)
            yield _with_guess(step, points, guess, u)
    step = next_step(step, [], reason or "no violation", w, b, alpha, margins, position)
    yield _with_guess(step, points, guess, u)


def worst_violation(margins: np.ndarray, length: float, guess: float) -> str:
    """Why some of these rows is a violation: "mistake", "too close", or "" where none is."""
    smallest = margins.min()
    return "mistake" if smallest <= 0 else "too close" if smallest < guess / 2 * length else ""


def _with_guess(step: Step, points: Points, guess: float, u: Reference | None) -> GuessStep:
    length = float(np.hypot(np.linalg.norm(step.w), step.b))
    violations = np.count_nonzero((step.margins <= 0) | (step.margins < guess / 2 * length))
    margin = float(step.margins.min()) / length if length else 0.0
    values = {**step.values, "violations": float(violations), "margin": margin}
    found = GuessStep(**{**vars(step), "values": values, "guess": guess})
    return replace(found, claims=margin_claims(found, points, u))


def margin_claims(step: GuessStep, points: Points, u: Reference | None) -> tuple[Claim, ...]:
    """The claims of the margin perceptron's proof for one step; (w, b) is called w.

    Parameters
    ----------
    step : GuessStep
    points : Points
    u : Reference or None
        Its margin takes the place of the largest one. Where u does not separate the points with it, or the guess is
        larger, only the claims that do not need it are made.

    Returns
    -------
    tuple of Claim
    """
    k, R, guess, d = step.updates, points.radius, step.guess, points.X.shape[1] + 1
    w, before, origin = (np.append(*part) for part in ((step.w, step.b), (step.w_before, step.b_before), step.origin))
    now, last, first = (float(np.linalg.norm(vector)) for vector in (w, before, origin))
    gamma = u.gamma if u and not u.deficits.any() else 0.0
    error = rounding(k + 4 * d, k * R + first)
    claims = []
    if gamma and k:
        along = float((w - origin) @ np.append(u.w, u.b))  # type: ignore[union-attr]
        claims.append(Claim("claim 1", "(w_k - w_0)·u >= k gamma", along, ">=", k * gamma, error))
        if not first:
            claims.append(Claim("claim 1", "||w_k|| >= w_k·u", now, ">=", along, error))
    if step.rows:
        claims.append(Claim("claim 2", "||w_k|| <= ||w_k-1|| + R", now, "<=", last + R, error))
    if step.rows and last:
        largest, name = (gamma, "gamma") if gamma >= guess else (guess, "guess")
        formula, limit = f"||w_k|| <= ||w_k-1|| + R²/(2 ||w_k-1||) + {name}/2", last + R**2 / (2 * last) + largest / 2
        claims.append(Claim("claim 3", formula, now, "<=", limit, error))
    if step.rows and guess <= gamma and last >= 2 * R**2 / gamma:
        formula = "||w_k|| <= ||w_k-1|| + 3/4 gamma, where ||w_k-1|| >= 2 R²/gamma"
        claims.append(Claim("claim 4", formula, now, "<=", last + 0.75 * gamma, error))
    if guess <= gamma and not first and k:
        limit = 2 * R**2 / gamma + 0.75 * k * gamma + R
        claims.append(Claim("claim 5", "||w_k|| <= 2 R²/gamma + 3/4 k gamma + R", now, "<=", limit, error))
        bound = 8 * (R / gamma) ** 2 + 4 * R / gamma
        slack = rounding(k + 4 * d, bound * (1 + R / gamma))
        claims.append(Claim("margin perceptron bound", "k <= 8 R²/gamma² + 4 R/gamma", k, "<=", bound, slack))
    if step.reason == "no violation":
        slack = rounding(4 * d, R)
        claims.append(Claim("margin found", "margin >= guess/2", step.values["margin"], ">=", guess / 2, slack))
    return tuple(claims)


def search_claims(step: GuessStep, points: Points, u: Reference | None) -> tuple[Claim, ...]:
    """What the search proves where a round ends, for a reference with a positive margin gamma."""
    if step.rows or u is None or u.deficits.any():
        return ()
    R, d, gamma = points.radius, points.X.shape[1] + 1, u.gamma
    if step.reason == "forced stop":
        slack = rounding(step.updates + 4 * d, R)
        return (Claim("forced stop", "guess > gamma", step.guess, ">", gamma, slack),)
    in_all, bound = step.values["updates in all"], 64 * (R / gamma) ** 2
    return (
        Claim("quarter of the margin", "margin >= gamma/4", step.values["margin"], ">=", gamma / 4, rounding(4 * d, R)),
        Claim(
            "incremental search bound", "updates in all <= 64 R²/gamma²", in_all, "<=", bound, rounding(8 * d, bound)
        ),
    )
