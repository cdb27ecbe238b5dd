"""``separate`` and ``hull_distance``: the hard margin with a proof, and small open cases in exact arithmetic."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.certificates import MarginBracket, bracket_hard_margin, has_no_margin
from maxmargin.data import Points, as_dense, centred_and_scaled, exact_numbers, validate_two_classes
from maxmargin.data.blas import one_blas_thread
from maxmargin.data.exact_numbers import float64_rounds
from maxmargin.data.user_warnings import warn_user
from maxmargin.data.validation import is_collection, n_threads_of
from maxmargin.problems.hard_margin import HardMarginProblem
from maxmargin.reconciliation import Goal, reconcile
from maxmargin.separability.results import DistanceBracket, HullDistance, Separation
from maxmargin.solvers.core import Monitor, Options, Result, Status, interrupt_handler
from maxmargin.solvers.linear import hard_margin
from maxmargin.solvers.linear.options import gap_of_width
from maxmargin.solvers.separability import decision, exact_simplex, linear_program

DECISION_METHODS = ("newton", "linear_program")
# The default relative width of the bracket of the largest margin.
DEFAULT_WIDTH = 1e-6
# By how much a bracket with fewer weights may be wider, relative to its upper end and to R: a few rounding errors.
WIDENING = 1e-12
# The largest number of entries of a system that is reduced: non-negative least squares is dense and takes a pass over
# them for every weight.
LARGEST_REDUCED = 1 << 20


def separate(
    X: Any,
    y: Any,
    fit_intercept: bool = True,
    tol: float | None = None,
    max_time: float | None = None,
    *,
    method: str = "newton",
    exact: bool = False,
    n_jobs: int | None = None,
) -> Separation:
    r"""Decide whether a hyperplane separates two classes, and prove it.

    .. math:: \exists\, w, b: \; y_i (w \cdot x_i + b) > 0 \;\forall i \qquad\text{or}\qquad
              \exists\, c \ge 0: \sum_{y_i = 1} c_i x_i = \sum_{y_i = -1} c_i x_i, \;
              \sum_{y_i = 1} c_i = \sum_{y_i = -1} c_i = 1

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d), or Dask array or data frame
    y : array of two labels, of shape (n,); for a Dask collection X, one with the partitions of X
        The greater label counts as +1.
    fit_intercept : bool, default=True
        False asks for hyperplanes through the origin.
    tol : float, default=1e-6
        The relative width of the bracket of the largest margin at which to stop. 1 stops with the first separating
        hyperplane: the decision alone, and the only choice with ``method="linear_program"``.
    max_time : float or None, default=None
        Seconds. When they are over, what is known so far is returned.
    method : {"newton", "linear_program"}, default="newton"
        The second runs SciPy's HiGHS, which decides but does not maximise the margin.
    exact : bool, default=False
        Decide in rational arithmetic, about the numbers of X as they are (integers of any size, fractions, decimals),
        for data of up to 20,000 entries. Only the decision: the bracket stays rounded outwards. Small data that are
        undecided at float64's precision, or that float64 rounds, are decided so without being asked for.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it. None is one a core, unlike scikit-learn's one: a single decision is
        not run beside others, and its passes over large data are faster in threads.

    Returns
    -------
    Separation

    See Also
    --------
    hull_distance : The nearest points of the two hulls.
    LinearSVC : With ``C=inf``, the hyperplane with the largest margin as a classifier.

    References
    ----------
    A. Zhang, "Perceptron and Support Vector Machine (SVM)", lecture 17: the hyperplane between the nearest points of
    two hulls. "Separability as a linear program" in :doc:`/theory`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import separate
    >>> X, y = load_iris(return_X_y=True)
    >>> print(separate(X, y == 0))
    A hyperplane separates the two classes with margin 0.817555; no hyperplane has a margin above 0.817556.
    >>> separate(X, y == 1).separable
    False
    """
    if method not in DECISION_METHODS:
        raise ValueError(f"method must be one of {DECISION_METHODS}; it is {method!r}.")
    if tol is None:
        tol = 1.0 if method == "linear_program" else DEFAULT_WIDTH
    _check_limits(tol, max_time)
    if method == "linear_program":
        if tol != 1.0:
            raise ValueError("method='linear_program' decides, and finds no largest margin: leave tol out, or at 1.")
        if n_jobs is not None:
            raise ValueError("method='linear_program' runs in one thread: leave n_jobs out.")
    if is_collection(X):
        if method != "newton" or exact:
            raise ValueError("Dask collections are decided by Newton steps: leave out method and exact.")
        return _separate_partitions(X, y, bool(fit_intercept), tol, max_time, n_jobs)
    problem = _problem(X, y, fit_intercept, "separate")
    points = problem.dataset.points
    if exact and points.n_rows * points.n_columns > exact_simplex.LARGEST_EXACT:
        raise ValueError(
            f"exact=True is for at most {exact_simplex.LARGEST_EXACT} entries; X has "
            f"{points.n_rows * points.n_columns}. Leave it out: the bracket is proven with all rounding errors counted."
        )
    with one_blas_thread(), interrupt_handler() as stop_requested:
        monitor = Monitor(max_time, None, stop_requested)
        options = _options(tol, n_jobs)
        found = (hard_margin if method == "newton" else linear_program).solve(problem, options, monitor)
        result = _separation(problem, decision.decide(problem, found, options, monitor), tol)
        open_and_small = result.separable is None and result.status is Status.STALLED and _is_small(problem)
        return _decide_exactly(problem, result, monitor) if exact or open_and_small else result


def _separate_partitions(
    X: Any, y: Any, fit_intercept: bool, tol: float, max_time: float | None, n_jobs: int | None
) -> Separation:
    """Decide by a working set of rows that grows until it decides for all partitions."""
    from maxmargin.separability.partitioned import PartitionedClasses

    with one_blas_thread(), interrupt_handler() as stop_requested:
        # Half of the width is for the rows that are not in the working set.
        options = _options(tol if tol == 1.0 else 0.5 * tol, n_jobs)
        monitor = Monitor(max_time, None, stop_requested)
        classes, n_iter = PartitionedClasses(X, y, fit_intercept, options.n_threads), 0
        while True:
            problem = classes.working_set()
            found = decision.solve(problem, options, monitor.quiet())
            result, n_iter = _separation(problem, found, tol), n_iter + found.n_iter
            w, b = result.coef, result.intercept
            # The nearest rows of the working set are at y f = 1.
            lower, b, n_new = classes.evaluate(w, b, 1.0 - 0.25 * min(tol, 0.5))
            certificate = classes.bracket(result.certificate, lower)
            status = monitor.check_limits() or result.status
            undecided = result.separable is None or n_new == 0 or classes.is_full
            if result.separable is False or status is not Status.SOLVED or certificate.relative <= tol or undecided:
                return replace(
                    result,
                    separable=True if certificate.separates else False if certificate.hulls_meet else None,
                    intercept=b,
                    margin=max(0.0, certificate.lower),
                    hull_weights=classes.spread_out(result.hull_weights),
                    certificate=certificate,
                    status=reconcile(status, certificate, Goal(tol)),
                    n_iter=n_iter,
                    rounds=classes.rounds,
                )


def hull_distance(
    X: Any, y: Any, fit_intercept: bool = True, tol: float = 1e-6, max_time: float | None = None
) -> HullDistance:
    r"""Find the nearest points of the convex hulls of two classes.

    .. math:: \min \lVert x_+ - x_- \rVert, \quad x_\pm = \sum_{y_i = \pm 1} c_i x_i, \quad c \ge 0, \quad
              \sum_{y_i = 1} c_i = \sum_{y_i = -1} c_i = 1

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of two labels, of shape (n,)
        The greater label counts as +1.
    fit_intercept : bool, default=True
        False asks for the shortest point of the hull of the y_i x_i instead.
    tol : float, default=1e-6
        The relative accuracy of the distance.
    max_time : float or None, default=None
        Seconds. When they are over, the nearest points so far are returned.

    Returns
    -------
    HullDistance

    See Also
    --------
    separate : The decision alone, for classes that may overlap.
    maxmargin.lectures.nearest_hull_points : The algorithm step by step.

    References
    ----------
    A. Zhang, "Perceptron and Support Vector Machine (SVM)", lecture 17.

    Examples
    --------
    >>> from maxmargin import hull_distance
    >>> result = hull_distance([[0.0, 0.0], [0.0, 2.0], [3.0, 1.0]], [0, 0, 1])
    >>> print(result)
    The hulls are between 2.99999 and 3.00001 apart, at points of 3 rows.
    >>> result.points.round(6)
    array([[3., 1.],
           [0., 1.]])
    """
    problem = _problem(X, y, fit_intercept, "hull_distance")
    _check_limits(tol, max_time)
    with one_blas_thread(), interrupt_handler() as stop_requested:
        found = hard_margin.solve(problem, _options(tol, None), Monitor(max_time, None, stop_requested))
        certificate = bracket_hard_margin(problem, found.w, found.intercept, found.beta)
        weights = problem.hull_weights(found.beta)
        weights, certificate = _reduce_weights(problem, found, weights, certificate)
        status = reconcile(found.status, certificate, Goal(tol))
        points, signs = problem.dataset.points, problem.dataset.signs
        # Differences are those of the centred points, which are rounded less.
        placed = centred_and_scaled(points, may_move=problem.fit_intercept)
        if fit_intercept:
            sides = [placed.points.combination(np.where(signs == side, weights, 0.0)) for side in (1.0, -1.0)]
            ends = np.array(sides) / placed.scale + placed.centre
        else:
            sides = [placed.points.combination(weights * signs), np.zeros(points.n_columns)]
            ends = np.array(sides) / placed.scale
        difference = (sides[0] - sides[1]) / placed.scale
        halfway = -0.5 * float(difference @ ((sides[0] + sides[1]) / placed.scale))
        times = 2.0 if fit_intercept else 1.0
        return HullDistance(
            # Twice a float is exact.
            distance=DistanceBracket(times * max(0.0, certificate.lower), times * certificate.upper),
            points=ends,
            weights=weights,
            coef=difference,
            intercept=placed.intercept_there(difference, halfway) if fit_intercept else 0.0,
            certificate=certificate,
            status=status,
        )


def _reduce_weights(
    problem: HardMarginProblem, found: Result[float], weights: np.ndarray, certificate: MarginBracket
) -> tuple[np.ndarray, MarginBracket]:
    """Fewer weights for the same points, and their bracket; the given ones where that bracket would be wider."""
    points, signs = problem.dataset.points, problem.dataset.signs
    few = np.zeros_like(weights)
    if problem.fit_intercept:
        for side in (1.0, -1.0):
            few += _caratheodory_reduction(points, np.where(signs == side, weights, 0.0))
    else:
        signed = sp.diags_array(signs) @ points.matrix if sp.issparse(points.matrix) else points.matrix * signs[:, None]
        few = _caratheodory_reduction(Points(signed), weights)
    bracket = bracket_hard_margin(problem, found.w, found.intercept, few * signs)
    allowed = max(certificate.upper * (1.0 + WIDENING), certificate.upper + WIDENING * certificate.radius)
    return (few, bracket) if bracket.upper <= allowed else (weights, certificate)


def _problem(X: Any, y: Any, fit_intercept: bool, caller: str) -> HardMarginProblem:
    if not isinstance(fit_intercept, (bool, np.bool_)):
        raise ValueError(f"fit_intercept must be True or False; it is {fit_intercept!r}.")
    dataset = validate_two_classes(X, y, caller=caller, may_round=True)
    points, numbers = dataset.points, None
    if points.n_rows * points.n_columns <= exact_simplex.LARGEST_EXACT:
        numbers = exact_numbers(X, points)
    elif float64_rounds(X):
        warn_user(
            f"X has numbers that float64 rounds: {caller} speaks of the rounded ones. Data of at most "
            f"{exact_simplex.LARGEST_EXACT} entries are decided as they are.",
            UserWarning,
        )
    return HardMarginProblem(dataset, bool(fit_intercept), numbers)


def _is_small(problem: HardMarginProblem) -> bool:
    points = problem.dataset.points
    return problem.numbers is not None or points.n_rows * (points.n_columns + 1) <= decision.SMALL_ENOUGH


def _check_limits(tol: Any, max_time: Any) -> None:
    if not (_is_number(tol) and 0.0 < tol <= 1.0):
        raise ValueError(f"tol must be above 0 and at most 1; it is {tol!r}.")
    if max_time is not None and not (_is_number(max_time) and max_time > 0.0):
        raise ValueError(f"max_time must be a positive number of seconds, or None; it is {max_time!r}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _options(tol: float, n_jobs: int | None) -> Options:
    return Options(tol=gap_of_width(tol), n_threads=n_threads_of(n_jobs))


def _separation(problem: HardMarginProblem, found: Result[float], tol: float) -> Separation:
    certificate = bracket_hard_margin(problem, found.w, found.intercept, found.beta)
    separable = True if certificate.separates else False if has_no_margin(certificate) else None
    return Separation(
        separable=separable,
        coef=found.w,
        intercept=found.intercept,
        margin=max(0.0, certificate.lower),
        hull_weights=problem.hull_weights(found.beta),
        certificate=certificate,
        status=reconcile(found.status, certificate, Goal(tol)),
        n_iter=found.n_iter,
    )


def _decide_exactly(problem: HardMarginProblem, result: Separation, monitor: Monitor) -> Separation:
    """Replace the decision by one in exact arithmetic, with its hyperplane or its weights."""
    if result.separable:
        hyperplane = (*(Fraction(float(entry)) for entry in result.coef), Fraction(result.intercept))
        return replace(result, exact=True, witness=hyperplane)
    found = exact_simplex.solve(problem, Options(), monitor)
    if not found.witness:
        return replace(result, status=found.status)
    separable, w, b, beta = found.status is Status.SOLVED, result.coef, result.intercept, problem.dataset.signs
    if separable:
        w, b, beta = found.w, found.intercept, beta * result.hull_weights
    else:
        beta = found.beta
    certificate = bracket_hard_margin(problem, w, b, beta)
    if not separable:
        # The weights in fractions prove it, also where those of float64 do not.
        certificate = replace(certificate, hulls_meet=True)
    return replace(
        result,
        separable=separable,
        coef=w,
        intercept=b,
        margin=max(0.0, certificate.lower),
        hull_weights=problem.hull_weights(beta),
        certificate=certificate,
        status=found.status,
        exact=True,
        witness=found.witness,
    )


def _caratheodory_reduction(points: Points, weights: np.ndarray) -> np.ndarray:
    """Carathéodory reduction: weights of the same sum for the same point, most of them zero.

    Non-negative least squares ends at a basic solution: the rows of non-zero weight, each with a one appended, are
    linearly independent, so that there is at most one more of them than there are columns. (SciPy's ``nnls``, after
    Lawson and Hanson, "Solving least squares problems".) Where it fails, the given weights are returned.
    """
    used = np.flatnonzero(weights)
    if used.size <= points.n_columns + 1 or used.size * (points.n_columns + 1) > LARGEST_REDUCED:
        return weights
    rows = points.matrix[used]
    dense = as_dense(rows).astype(np.float64)
    scale = float(np.abs(dense).max()) or 1.0
    system = np.vstack([dense.T / scale, np.ones(used.size)])
    # Imported here: scipy.optimize takes a quarter of a second, and few runs need it.
    from scipy.optimize import nnls

    try:
        found = nnls(system, system @ weights[used])[0]
    except RuntimeError:  # too many iterations
        return weights
    result = np.zeros_like(weights)
    result[used] = found
    return result
