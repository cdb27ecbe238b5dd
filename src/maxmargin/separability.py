"""Separability and convex hulls: a plane, or a proof that there is none (theory C1 to C4, B8)."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import cpu_count, effective_n_jobs

from maxmargin.certificates import MarginBracket, bracket_hard_margin, has_no_margin
from maxmargin.certificates.hard_margin import NOTHING
from maxmargin.data import Points, validate_two_classes
from maxmargin.problems.hard_margin import HardMarginProblem
from maxmargin.solvers.core import Monitor, Options, Result, Status, interrupt_handler
from maxmargin.solvers.linear import hard_margin
from maxmargin.solvers.separability import exact_simplex as exact_simplex
from maxmargin.solvers.separability import linear_program
from maxmargin.solvers.separability.caratheodory import caratheodory_reduction

METHODS = ("newton", "linear_program")
# The relative width of the bracket where none is asked for.
USUAL_WIDTH = 1e-6
# What a bracket may lose, relative to R, where fewer weights prove it.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Separation:
    """Whether two classes can be separated by a plane, and the proof.

    Attributes
    ----------
    separable : bool or None
        True with a plane; False with hull weights for which the hulls' points meet up to rounding: no plane has a
        margin above ``certificate.upper``, which is then at most 1e-11 R; None where neither is proven yet.
    coef : ndarray of shape (d,)
    intercept : float
        The best plane found, scaled so that its nearest points have y f(x) = 1 where it separates the classes.
    margin : float
        The plane's proven margin: certificate.lower, or 0 where it is not proven to separate.
    hull_weights : ndarray of shape (n,)
        Non-negative weights of the rows, that sum to one for each class (or to one in all, through the origin). They
        give the hulls' points that prove certificate.upper.
    certificate : MarginBracket
        lower <= gamma_opt <= upper.
    status : Status
    n_iter : int
        Newton steps, or the iterations of the linear program.
    exact : bool
        Whether ``separable`` was decided in exact arithmetic.
    """

    separable: bool | None
    coef: np.ndarray
    intercept: float
    margin: float
    hull_weights: np.ndarray
    certificate: MarginBracket
    status: Status
    n_iter: int
    exact: bool = False

    def __str__(self) -> str:
        bracket = self.certificate
        share = bracket.upper / bracket.radius if bracket.radius else 0.0
        how = " (decided in exact arithmetic)" if self.exact else ""
        if self.separable:
            return (
                f"A plane separates the two classes{how}: its nearest points are {self.margin:.6g} away, and no plane "
                f"has a margin above {bracket.upper:.6g}."
            )
        if self.separable is False:
            used = int(np.count_nonzero(self.hull_weights))
            if self.exact or bracket.upper <= NOTHING:
                rest = "."
            else:
                rest = f", up to rounding: no plane has a margin above {bracket.upper:.2g} ({share:.1g} R)."
            return (
                f"No plane separates the two classes{how}: their convex hulls meet, as the weights of {used} points "
                f"show{rest}"
            )
        return f"Not decided yet ({self.status}): no plane has a margin above {bracket.upper:.6g} ({share:.2g} R)."


@dataclass(frozen=True)
class HullDistance:
    """The nearest points of the two classes' convex hulls, and the plane between them (theory B8).

    Attributes
    ----------
    distance : float
        Between the two points; through the origin, the length of ``points[0]``. No points of the hulls are nearer than
        ``at_least``.
    at_least : float
    points : ndarray of shape (2, d)
        The nearest points, first that of the greater label; through the origin, of the hull of the y_i x_i and zero.
    weights : ndarray of shape (n,)
        The weights of the rows in these points: non-negative, a sum of one for each class, and few that are not zero
        (where the data are not too large for that, at most d + 1 a class).
    coef : ndarray of shape (d,)
    intercept : float
        The plane between the points: w is the way from one to the other, b makes it pass through the middle.
    certificate : MarginBracket
        Of the margin, which is half the distance.
    status : Status
        SOLVED where the distance is known to ``tol``, NOT_SEPARABLE where the hulls meet, or the limit that was hit.
    """

    distance: float
    at_least: float
    points: np.ndarray
    weights: np.ndarray
    coef: np.ndarray
    intercept: float
    certificate: MarginBracket
    status: Status

    def __str__(self) -> str:
        used = int(np.count_nonzero(self.weights))
        if self.at_least > 0.0:
            return f"The hulls are {self.distance:.6g} apart (at least {self.at_least:.6g}), between {used} points."
        if self.status is Status.NOT_SEPARABLE:
            return f"The hulls meet, up to {self.distance:.2g}: so far apart are the two points that {used} rows make."
        return f"The hulls are at most {self.distance:.6g} apart; whether they meet is not known yet ({self.status})."


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
    r"""Decide whether a plane separates two classes, and prove it.

    .. math:: \exists\, w, b: \; y_i (w \cdot x_i + b) > 0 \;\forall i \qquad\text{or}\qquad
              \exists\, c \ge 0: \sum_{y_i = 1} c_i x_i = \sum_{y_i = -1} c_i x_i, \;
              \sum_{y_i = 1} c_i = \sum_{y_i = -1} c_i = 1

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of two labels, of shape (n,)
        The greater label counts as +1.
    fit_intercept : bool, default=True
        False asks for planes through the origin.
    tol : float, default=1e-6
        The relative width of the bracket around the largest margin at which to stop. 1 stops with the first plane that
        separates the classes: the decision alone, and the only choice with ``method="linear_program"``.
    max_time : float or None, default=None
        Seconds. When they are over, what is known so far is returned.
    method : {"newton", "linear_program"}, default="newton"
        The second asks SciPy's HiGHS, which decides but does not look for the largest margin.
    exact : bool, default=False
        Decide in rational arithmetic, for data of up to 20,000 entries. Only the decision: the bracket stays rounded
        outwards.
    n_jobs : int or None, default=None
        Threads; None is one a core. The result does not depend on it.

    Returns
    -------
    Separation

    References
    ----------
    "Linear classification and support vector machines" (lecture 001): the plane between the nearest points of two
    hulls. The linear program: "Support vector machines" (lecture 002).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import separate
    >>> X, y = load_iris(return_X_y=True)
    >>> print(separate(X, y == 0))
    A plane separates the two classes: its nearest points are 0.817556 away, and no plane has a margin above 0.817556.
    >>> separate(X, y == 1).separable
    False
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}; it is {method!r}.")
    if tol is None:
        tol = 1.0 if method == "linear_program" else USUAL_WIDTH
    _check_limits(tol, max_time)
    if method == "linear_program":
        if tol != 1.0:
            raise ValueError("method='linear_program' decides, and finds no largest margin: leave tol out, or at 1.")
        if n_jobs is not None:
            raise ValueError("method='linear_program' runs in one thread: leave n_jobs out.")
    problem = _problem(X, y, fit_intercept, "separate")
    points = problem.dataset.points
    if exact and points.n_rows * points.n_columns > exact_simplex.MOST_ENTRIES:
        raise ValueError(
            f"exact=True is for at most {exact_simplex.MOST_ENTRIES} entries; X has "
            f"{points.n_rows * points.n_columns}. Leave it out: the bracket is proven with all rounding errors counted."
        )
    with interrupt_handler() as stop_requested:
        monitor = Monitor(max_time, None, stop_requested)
        if method == "newton":
            found = hard_margin.solve(problem, _options(tol, n_jobs), monitor)
        else:
            found = linear_program.solve(problem, monitor)
        result = _separation(problem, found, tol)
        return _decided_exactly(problem, result, monitor) if exact else result


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

    References
    ----------
    "Linear classification and support vector machines" (lecture 001).

    Examples
    --------
    >>> from maxmargin import hull_distance
    >>> result = hull_distance([[0.0, 0.0], [0.0, 2.0], [3.0, 1.0]], [0, 0, 1])
    >>> print(result)
    The hulls are 3 apart (at least 3), between 3 points.
    >>> result.points.round(6)
    array([[3., 1.],
           [0., 1.]])
    """
    problem = _problem(X, y, fit_intercept, "hull_distance")
    _check_limits(tol, max_time)
    with interrupt_handler() as stop_requested:
        found = hard_margin.solve(problem, _options(tol, None), Monitor(max_time, None, stop_requested))
        certificate = bracket_hard_margin(problem, found.w, found.intercept, found.beta)
        weights = problem.hull_weights(found.beta)
        weights, certificate = _with_few_weights(problem, found, weights, certificate)
        status = reconciled_status(certificate, found.status, tol)
        points, signs = problem.dataset.points, problem.dataset.signs
        if fit_intercept:
            ends = np.array([points.combination(np.where(signs == side, weights, 0.0)) for side in (1.0, -1.0)])
        else:
            ends = np.array([points.combination(weights * signs), np.zeros(points.n_columns)])
        way = ends[0] - ends[1]
        times = 2.0 if fit_intercept else 1.0
        return HullDistance(
            distance=float(np.linalg.norm(way)),
            at_least=times * max(0.0, certificate.lower),
            points=ends,
            weights=weights,
            coef=way,
            intercept=-0.5 * float(way @ (ends[0] + ends[1])) if fit_intercept else 0.0,
            certificate=certificate,
            status=status,
        )


def reconciled_status(bracket: MarginBracket, status: Status, tol: float) -> Status:
    """The status that the bracket proves, whatever the solver reported.

    SOLVED for a hyperplane whose margin is within ``tol`` of the largest, NOT_SEPARABLE where the hulls intersect.
    """
    if bracket.separates and bracket.relative <= tol:
        return Status.SOLVED
    if has_no_margin(bracket):
        return Status.NOT_SEPARABLE
    return Status.STALLED if status in (Status.SOLVED, Status.NOT_SEPARABLE) else status


def _with_few_weights(
    problem: HardMarginProblem, found: Result[float], weights: np.ndarray, certificate: MarginBracket
) -> tuple[np.ndarray, MarginBracket]:
    """Weights for the same points with few that are not zero, and their bracket; unless that were wider."""
    points, signs = problem.dataset.points, problem.dataset.signs
    few = np.zeros_like(weights)
    if problem.fit_intercept:
        for side in (1.0, -1.0):
            few += caratheodory_reduction(points, np.where(signs == side, weights, 0.0))
    else:
        signed = sp.diags_array(signs) @ points.matrix if sp.issparse(points.matrix) else points.matrix * signs[:, None]
        few = caratheodory_reduction(Points(signed), weights)
    bracket = bracket_hard_margin(problem, found.w, found.intercept, few * signs)
    allowed = max(certificate.upper * (1.0 + ROUNDING), certificate.upper + ROUNDING * certificate.radius)
    return (few, bracket) if bracket.upper <= allowed else (weights, certificate)


def _problem(X: Any, y: Any, fit_intercept: bool, caller: str) -> HardMarginProblem:
    if not isinstance(fit_intercept, (bool, np.bool_)):
        raise ValueError(f"fit_intercept must be True or False; it is {fit_intercept!r}.")
    return HardMarginProblem(validate_two_classes(X, y, caller=caller), bool(fit_intercept))


def _check_limits(tol: Any, max_time: Any) -> None:
    if not (_is_number(tol) and 0.0 < tol <= 1.0):
        raise ValueError(f"tol must be above 0 and at most 1; it is {tol!r}.")
    if max_time is not None and not (_is_number(max_time) and max_time > 0.0):
        raise ValueError(f"max_time must be a positive number of seconds, or None; it is {max_time!r}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _options(tol: float, n_jobs: int | None) -> Options:
    if n_jobs is not None and (not isinstance(n_jobs, (int, np.integer)) or isinstance(n_jobs, bool) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or an integer other than 0; it is {n_jobs!r}.")
    n_threads = cpu_count() if n_jobs is None else effective_n_jobs(n_jobs)
    return Options(tol=hard_margin.gap_of_width(tol), n_threads=n_threads)


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
        status=reconciled_status(certificate, found.status, tol),
        n_iter=found.n_iter,
    )


def _decided_exactly(problem: HardMarginProblem, result: Separation, monitor: Monitor) -> Separation:
    """Replace the decision by one in exact arithmetic, with its plane or its weights, rounded to floats."""
    if result.separable:
        return replace(result, exact=True)
    decision = exact_simplex.decide(problem, monitor)
    if decision is None:
        return replace(result, status=monitor.check_limits() or Status.TIME_LIMIT)
    plane, weights = decision
    n_columns = problem.dataset.points.n_columns
    if weights is None:
        largest = max(abs(entry) for entry in plane)
        floats = np.array([float(entry / largest) for entry in plane])
        w, b = floats[:n_columns], float(floats[-1]) if problem.fit_intercept else 0.0
        signs = problem.dataset.signs
        certificate = bracket_hard_margin(problem, w, b, result.hull_weights * signs)
        return replace(
            result,
            separable=True,
            coef=w,
            intercept=b,
            margin=max(0.0, certificate.lower),
            certificate=certificate,
            exact=True,
            status=Status.SOLVED,
        )
    c = np.zeros(problem.dataset.points.n_rows)
    # With an intercept each class has half of them.
    times = Fraction(2 if problem.fit_intercept else 1)
    c[np.flatnonzero(problem.counted)] = [float(times * weight) for weight in weights]
    return replace(
        result,
        separable=False,
        hull_weights=c,
        margin=0.0,
        certificate=bracket_hard_margin(problem, result.coef, result.intercept, c * problem.dataset.signs),
        exact=True,
        status=Status.NOT_SEPARABLE,
    )
