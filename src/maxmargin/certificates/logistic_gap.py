"""The duality gap of logistic regression; with C = inf, among hyperplanes up to a norm, or a proof of no minimum."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from maxmargin.certificates.base import Certificate
from maxmargin.certificates.bounds import (
    distances_at_least,
    longest_row_at_most,
    score_error_at_most,
    score_errors_at_most,
)
from maxmargin.certificates.duality_gap import DualityGap
from maxmargin.certificates.passes import ask_scores, combination, scores, set_zero, total_at_most
from maxmargin.certificates.rounding import (
    SMALLEST,
    SMALLEST_NORMAL,
    UNIT,
    down,
    gamma,
    length_at_least,
    length_at_most,
    lower_bound,
    sum_at_least,
    sum_at_most,
    up,
    upper_bound,
)
from maxmargin.certificates.svm_dual_bounds import Sides, balancing_share, merged_sides, sides_of, sides_of_block
from maxmargin.data.printed_bounds import digits_down, digits_up
from maxmargin.data.rows import as_dense
from maxmargin.engine import Block, Engine, MemoryEngine, Threads
from maxmargin.engine.dask import DaskEngine, Handle
from maxmargin.problems.logistic import LogisticProblem, certified_radius, entropy, falling_root, sigmoid
from maxmargin.problems.partitioned import PartitionedProblem

# Relative error of exponentials, logarithms and the few operations around them: about 128 units in the last place.
OF_FUNCTIONS = 2.0**-46
# Share of the gap above which rounding errors are bounded more finely, which takes another pass.
MUCH_ROUNDING = 0.5
# Sizes of columns below this are roots of squares that may have underflowed.
SMALLEST_SIZE = 1e-140
# Probabilities below this are set to zero, so that their products do not underflow.
SMALLEST_PROBABILITY = 1e-190
# The largest number of scores that are computed in rational arithmetic: about a second.
MOST_EXACT = 20_000


@dataclass(frozen=True)
class LogisticGap(DualityGap):
    r"""The duality gap of logistic regression; for C = inf, among all hyperplanes up to a norm.

    With a finite C the probabilities of the other class, at the intercept that balances them, are dual feasible. With
    C = inf weak duality bounds the objective of hyperplanes up to a norm, in columns of unit standard deviation: for
    every p with sum c_i p_i y_i = 0 and all s_j > 0

    .. math:: \sum_i c_i \log(1 + e^{-y_i f(x_i)}) \ge \sum_i c_i H(p_i)
              - \Big(\sum_j s_j^2 w_j^2\Big)^{1/2} \Big(\sum_j v_j^2 / s_j^2\Big)^{1/2},
              \quad v = \sum_i c_i p_i y_i x_i.

    Attributes
    ----------
    primal, dual : float
    reach : float
        The bound holds for all w with sum (s_j w_j)² up to the square of this, where s_j is the standard deviation of
        column j as ``LogisticProblem.columns`` computes it. Nothing is claimed beyond. Infinity where C is finite.
    margin : float
        With C = inf, a positive lower bound on the margin y f/||w|| of all points (complete separation): the loss tends
        to zero along w and has no minimum. Else zero.
    freed : int
        With C = inf and quasi-complete separation, the number of points that are strictly on the correct side of a
        hyperplane that misclassifies none: along it the loss decreases for ever. Zero where there is none.

    See Also
    --------
    MultinomialGap : The same for more than two classes.
    SparseGap : With a 1-norm in the penalty.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> proof = LogisticRegression(tol=1e-10).fit(X, y == 1).certificate_
    >>> print(f"{proof.dual:.4f} <= optimum <= {proof.primal:.4f}")
    77.6360 <= optimum <= 77.6360
    """

    reach: float
    margin: float
    freed: int

    def __str__(self) -> str:
        if self.margin > 0.0:
            return (
                f"the hyperplane separates the classes with a margin of at least {digits_down(self.margin, 6)}: along "
                f"it the loss, at most {digits_up(self.primal, 6)} here, tends to zero and has no minimum"
            )
        return super().__str__()

    def _details(self) -> str:
        if math.isinf(self.reach):
            return ""
        among = f" among hyperplanes of norm up to {digits_down(self.reach, 3)} in columns of unit standard deviation"
        quasi = (
            f"; a hyperplane has {self.freed} points strictly on its correct side and misclassifies none: no minimum"
        )
        return among + quasi if self.freed else among

    def check(self, proven: Certificate) -> None:
        """Raise CertificateError where a value is better than what the data prove."""
        super().check(proven)
        assert isinstance(proven, LogisticGap)
        self._check_region(proven, "reach")
        self._check_lower_bounds(proven, "margin", scale=abs(proven.margin))
        self._check_lower_bounds(proven, "freed", scale=0.0)


class _Bound(NamedTuple):
    """A bound, and the part of it that allows for rounding errors."""

    value: float
    rounding: float


class _DualPoint(NamedTuple):
    """Signed duals beta_i = C c_i p_i y_i, the heavier side of which is scaled down until they sum to zero.

    ``total`` is an upper bound on sum |beta_i|, ``share`` the share by which the side shrinks, and ``entropies`` a
    lower bound on the sum of the entropies after that.
    """

    n_rows: int
    total: float
    share: float
    entropies: float


def measure_logistic_gap(
    problem: LogisticProblem,
    w: np.ndarray,
    b: float,
    separating: tuple[np.ndarray, float] | None = None,
    n_threads: int = 1,
    dual_point: np.ndarray | None = None,
) -> LogisticGap:
    """Measure the duality gap of a hyperplane.

    Parameters
    ----------
    problem : LogisticProblem
    w : ndarray of shape (d,)
    b : float
    separating : (ndarray, float), optional
        With C = inf, a hyperplane that may misclassify no point: a proof that there is no minimum.
    n_threads : int, default=1
        The number of threads that share the passes over the rows.
    dual_point : ndarray of shape (n,), optional
        Filled with the probabilities p_i, before one side is scaled down, whose value is ``dual``.

    Returns
    -------
    LogisticGap
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"), Threads(n_threads) as threads:
        engine = MemoryEngine(problem, threads)
        linear = scores(engine, "linear", w)
        reach = math.inf if problem.is_penalised else _reach(problem, w)
        primal = _primal_at_most(engine, w, b, score_error_at_most(problem.points, w, b))
        point = _dual_point(engine)
        beta = engine["beta"]
        if problem.is_penalised:
            dual = _dual_by_rows(problem, point, combination(engine, "beta"))
        else:
            dual = _dual_by_columns(problem, point, beta, reach)
        # The finer bounds take a pass over all entries: only where rounding makes up much of the gap.
        much = MUCH_ROUNDING * (primal.value - dual.value)
        if not primal.rounding <= much:
            primal = _primal_at_most(engine, w, b, score_errors_at_most(problem.points, w, b))
        if problem.is_penalised and not dual.rounding <= much:
            dual = max(dual, _dual_by_columns(problem, point, beta, reach))
        margin = 0.0 if problem.is_penalised else _margin_at_least(problem, w, b, linear + b)
        freed = 0 if problem.is_penalised or separating is None else _points_freed(problem, *separating)
    # A hyperplane with an intercept is not feasible where the problem has none.
    feasible = b == 0.0 or problem.fit_intercept
    value = upper_bound(primal.value) if feasible else math.inf
    # Zero is a lower bound on every loss, and the value of the dual point zero.
    bound = max(0.0, lower_bound(dual.value))
    if dual_point is not None:
        dual_point[:] = engine["others"] if bound > 0.0 else 0.0
    return LogisticGap(value, bound, reach, margin, freed)


def measure_partitioned_logistic_gap(
    problem: PartitionedProblem, w: np.ndarray, b: float
) -> tuple[LogisticGap, Handle]:
    """Measure the same for a finite C where the rows lie in partitions; also return where the p_i are."""
    logistic = problem.problem
    assert isinstance(logistic, LogisticProblem)
    engine = DaskEngine(logistic, problem.task.local)
    b = problem.points.centring.intercept_here(w, b)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        ask_scores(engine, "linear", w)
        losses = engine.ask_all(_losses, b, score_error_at_most(logistic.points, w, b))
        engine.allocate("centred", "others", "beta")
        intercept = falling_root(lambda at: _derivatives(engine, at), b) if logistic.fit_intercept else 0.0
        engine.do(_centre, intercept, writes=("centred",))
        terms, sides = engine.ask_all(_dual_terms, writes=("others", "beta")), engine.ask_all(sides_of_block)
        combined = combination(engine, "beta")
        primal = _primal_of_sums(logistic, w, losses.value)
        dual = _dual_by_rows(logistic, _point_of(logistic, terms.value, sides.value), combined)
    feasible = b == 0.0 or logistic.fit_intercept
    value = upper_bound(primal.value) if feasible else math.inf
    bound = max(0.0, lower_bound(dual.value))
    if bound == 0.0:
        engine.do(set_zero, "others", writes=("others",))
    return LogisticGap(value, bound, math.inf, 0.0, 0), engine["others"]


def _derivatives(engine: Engine[LogisticProblem], b: float) -> tuple[float, float]:
    derivative, curvature = engine.sum(_intercept_terms, b)
    return float(derivative), float(curvature)


def _intercept_terms(block: Block[LogisticProblem], b: float) -> np.ndarray:
    """The negative derivative of the loss in the intercept, and its curvature."""
    problem = block.problem
    others = problem.others(block["linear"] + b)
    first = float((problem.weights * problem.signs * others).sum())
    return np.array([first, float((problem.weights * others * (1.0 - others)).sum())])


def _centre(block: Block[LogisticProblem], b: float) -> None:
    np.add(block["linear"], b, out=block["centred"])


def _reach(problem: LogisticProblem, w: np.ndarray) -> float:
    """The norm up to which the bound is stated; zero where it overflows."""
    reach = certified_radius(w, problem.columns.deviations)
    return reach if math.isfinite(reach) else 0.0


def _primal_at_most(
    engine: MemoryEngine[LogisticProblem], w: np.ndarray, b: float, errors: np.ndarray | float
) -> _Bound:
    return _primal_of_sums(engine.problem, w, engine.map(_losses, b, errors))


def _primal_of_sums(problem: LogisticProblem, w: np.ndarray, sums: Sequence[tuple[float, float]]) -> _Bound:
    """The objective, at most, given what ``_losses`` returns for all blocks."""
    length = length_at_most(w)
    loss, rounding = (total_at_most(parts) for parts in zip(*sums, strict=True))
    squared_norm = up(0.5 * up(length * length)) if problem.is_penalised else 0.0
    return _Bound(up(squared_norm + up(problem.loss_factor * up(loss + rounding))), problem.loss_factor * rounding)


def _losses(block: Block[LogisticProblem], b: float, errors: np.ndarray | float) -> tuple[float, float]:
    """The sum of the losses at the computed scores, at most, and what the errors of the scores add to it."""
    rows = block.rows
    weights, errors = block.problem.weights[rows], errors[rows] if isinstance(errors, np.ndarray) else errors
    return losses_at_most(weights, block.problem.signs[rows] * (block["linear"] + b), errors)


def losses_at_most(weights: np.ndarray, margins: np.ndarray, errors: np.ndarray | float) -> tuple[float, float]:
    """The same, given weights and computed margins."""
    losses = (np.log1p(np.exp(-np.abs(margins))) + np.maximum(-margins, 0.0)) * (1.0 + OF_FUNCTIONS)
    loss = sum_at_most(weights * (losses + 2.0 * SMALLEST_NORMAL) * (1.0 + 4.0 * UNIT) + SMALLEST)
    # The loss is convex: its change is at most the error of the score times the derivative at the steeper end, which is
    # evaluated a little further out, since it is rounded itself.
    derivatives = sigmoid(2.0 * errors - margins) * (1.0 + OF_FUNCTIONS) + 2.0 * SMALLEST_NORMAL
    return loss, sum_at_most(weights * errors * derivatives * (1.0 + 8.0 * UNIT) + 2.0 * SMALLEST)


def _dual_point(engine: MemoryEngine[LogisticProblem]) -> _DualPoint:
    problem, linear = engine.problem, engine["linear"]
    if problem.fit_intercept:
        # Scores far from zero would cost the intercept its last digits: they are centred first.
        linear = linear - float((problem.weights * linear).sum()) / (float(problem.weights.sum()) or 1.0)
        linear = linear + problem.best_intercept(linear)
    engine["centred"] = linear
    engine.allocate("others", "beta")
    sums = engine.map(_dual_terms)
    return _point_of(problem, sums, [sides_of(engine["beta"])])


def _point_of(
    problem: LogisticProblem, sums: Sequence[tuple[float, float, float]], sides: Sequence[Sides]
) -> _DualPoint:
    """The dual point, given what ``_dual_terms`` returns for all blocks, and the sums of their duals by side."""
    at_least, at_most, total = zip(*sums, strict=True)
    merged = merged_sides(sides)
    entropies = -total_at_most(-part for part in at_least)
    underflow = 2.0 * merged.n_rows * SMALLEST
    # A product that underflows may be rounded up, too.
    entropies, total_size = down(entropies - underflow), total_at_most(total)
    if not problem.fit_intercept:
        return _DualPoint(merged.n_rows, total_size, 0.0, entropies)
    # The entropy is concave and zero at zero: scaling a side by 1 - share costs at most that share of it.
    share = balancing_share(merged, rounded=up(4.0 * UNIT * total_size) + underflow)
    cost = up(share * total_at_most(at_most) * (1.0 + OF_FUNCTIONS))
    return _DualPoint(merged.n_rows, total_size, share, down(entropies - cost))


def _dual_terms(block: Block[LogisticProblem]) -> tuple[float, float, float]:
    """Write p and beta; return bounds on the sum of the entropies, below and above, and above on sum |beta|."""
    problem, rows = block.problem, block.rows
    others = sigmoid(-problem.signs[rows] * block["centred"])
    # All probabilities are feasible, also zero in place of those whose products could underflow.
    others[others < SMALLEST_PROBABILITY] = 0.0
    block["others"][:] = others
    counts = problem.loss_factor * problem.weights[rows]
    beta = np.multiply(counts * problem.signs[rows], others, out=block["beta"])
    return *entropies_between(counts, others), sum_at_most(np.abs(beta) * (1.0 + 4.0 * UNIT))


def entropies_between(counts: np.ndarray, others: np.ndarray) -> tuple[float, float]:
    """Bounds on the sum of the entropies of probabilities, of which none is so small that products underflow."""
    terms = counts * entropy(others)
    return sum_at_least(terms * (1.0 - OF_FUNCTIONS)), sum_at_most(terms)


def _dual_by_rows(problem: LogisticProblem, point: _DualPoint, combined: np.ndarray) -> _Bound:
    """The dual value for a finite C, given X^T beta; rounding is bounded by the largest norm of a row."""
    points, n_rows = problem.points, point.n_rows
    length, radius = length_at_most(combined), longest_row_at_most(points)
    off = up(up(gamma(n_rows + 4) + point.share) * up(radius * point.total))
    # Products that underflow: beta_i x_ij, and beta_i = C c_i p_i.
    underflow = up(n_rows * points.n_columns * SMALLEST + up(4.0 * n_rows * SMALLEST * radius))
    most = up(length + up(off + underflow))
    return _Bound(down(point.entropies - up(0.5 * up(most * most))), off * most)


def _dual_by_columns(problem: LogisticProblem, point: _DualPoint, beta: np.ndarray, reach: float) -> _Bound:
    """The same; rounding is bounded by the size of every column, centred where the layout allows.

    The duals sum to zero, so that centring changes nothing in exact arithmetic.
    """
    columns, n_rows = problem.columns, point.n_rows
    products = np.abs(columns.combination(beta))
    # |beta_i| <= C c_i, and a mean of sizes is at most their root mean square.
    most = up(problem.loss_factor * sum_at_most(problem.weights)) * (1.0 + 4.0 * gamma(n_rows + 16))
    off = up(gamma(n_rows + 8) + point.share) * most * columns.sizes * (1.0 + 8.0 * UNIT)
    # Products that underflow: beta_i (x_ij - offset_j), and beta_i = C c_i p_i.
    off += up(n_rows * SMALLEST * up(8.0 * longest_row_at_most(problem.points) + 4.0))
    # The squares of smaller columns may have underflowed.
    off = np.where(columns.sizes >= SMALLEST_SIZE, off, math.inf)
    entries = np.where(columns.constant, 0.0, (products + off) * (1.0 + 4.0 * UNIT))
    if problem.is_penalised:
        length = length_at_most(entries)
        return _Bound(down(point.entropies - up(0.5 * up(length * length))), 0.0)
    entries = np.where(columns.constant, 0.0, entries / columns.deviations * (1.0 + 2.0 * UNIT) + SMALLEST)
    return _Bound(down(point.entropies - up(reach * length_at_most(entries))), 0.0)


def _margin_at_least(problem: LogisticProblem, w: np.ndarray, b: float, scores: np.ndarray) -> float:
    """A lower bound on the margin of a hyperplane that separates the classes; zero where that is not proven."""
    counted = problem.weights > 0.0
    margins = (problem.signs * scores)[counted]
    shortest, longest = length_at_least(w), length_at_most(w)
    if shortest == 0.0 or not margins.min(initial=math.inf) > 0.0:
        return 0.0
    smallest = float((margins - score_errors_at_most(problem.points, w, b)[counted]).min(initial=math.inf))
    return float(distances_at_least(smallest, shortest, longest)) if 0.0 < smallest < math.inf else 0.0


def _points_freed(problem: LogisticProblem, w: np.ndarray, b: float) -> int:
    """The number of points strictly on the correct side of a hyperplane that misclassifies none; else zero."""
    if not (np.isfinite(w).all() and math.isfinite(b)):
        return 0
    counted = np.flatnonzero(problem.weights > 0.0)
    margins = (problem.signs * (problem.points.scores(w) + b))[counted]
    errors = score_errors_at_most(problem.points, w, b)[counted]
    if (margins < -errors).any():
        return 0
    near = counted[np.abs(margins) <= errors]
    # A row that shares no nonzero entry with w is on the hyperplane exactly.
    if b == 0.0:
        near = near[problem.points.shared_entries(w)[near] > 0.0]
    if near.size > MOST_EXACT:
        return 0
    exact = [problem.signs[row] * _exact_score(problem, row, w, b) for row in near]
    if any(margin < 0 for margin in exact):
        return 0
    number: int = int(np.count_nonzero(margins > errors)) + sum(margin > 0 for margin in exact)
    return number


def _exact_score(problem: LogisticProblem, row: int, w: np.ndarray, b: float) -> int:
    """The sign of a score in rational arithmetic."""
    values = as_dense(problem.points.matrix[[row]]).ravel()
    used = np.flatnonzero((values != 0.0) & (w != 0.0))
    total = Fraction(b) + sum(Fraction(float(values[j])) * Fraction(float(w[j])) for j in used)
    return (total > 0) - (total < 0)
