"""The duality gap of a kernel support vector machine; for C = inf, the bracket around the hard margin.

Not in passes of an engine: nearly all time goes into the scores, whose kernel values have blocks of their own.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np

from maxmargin.certificates.accurate_expansion import accurate_expansion
from maxmargin.certificates.base import Certificate
from maxmargin.certificates.bounds import (
    FeatureVector,
    distances_at_least,
    feature_vector,
    feature_vector_of_scores,
    feature_vectors,
)
from maxmargin.certificates.duality_gap import ROUNDING_SHARE, rounding_matters
from maxmargin.certificates.kkt_conditions import classes_of_tasks
from maxmargin.certificates.margin_bracket import MarginBracket
from maxmargin.certificates.rounding import SMALLEST, UNIT, down, lower_bound, sum_at_least, sum_at_most, up
from maxmargin.certificates.svm_dual_bounds import (
    cost_of_imbalance,
    cost_of_sides,
    dual_bounds_of_tasks,
    dual_terms_at_least,
)
from maxmargin.certificates.svm_gap import (
    MOST_ROWS_AT_ONCE,
    SVMGap,
    feasible_duals,
    gap_of_task,
    gap_with_classes,
    joint_problem,
    losses_at_most,
    losses_of_tasks,
)
from maxmargin.certificates.task_sums import sums_at_most
from maxmargin.data.interruption import check_interruption
from maxmargin.problems.kernel_svm import KernelProblem, KernelSVMProblem
from maxmargin.problems.one_vs_one import PairProblems

CertificateT = TypeVar("CertificateT", bound=Certificate)


def measure_kernel_gap(problem: KernelSVMProblem, beta: np.ndarray, b: float, wanted: float = 0.0) -> Certificate:
    """Measure the duality gap of signed duals and an intercept; w = sum_j beta_j phi(x_j).

    The gap holds for the kernel's exact values, where the kernel is positive semidefinite; a precomputed matrix and the
    values of a user's function are taken as exact (of a matrix that rounding has made asymmetric, the mean with its
    transpose). Whether these are semidefinite can only be tested, and the certificate states the assumption. Where
    the kernel is seen to be indefinite, or is not positive semidefinite in general, weak duality does not hold and the
    dual value is minus infinity.

    Parameters
    ----------
    problem : KernelSVMProblem
    beta : ndarray of shape (n,)
        Signed duals. They need not be feasible: they are projected.
    b : float
    wanted : float
        A relative gap of at most so much need not be bounded more finely, which takes time.

    Returns
    -------
    SVMGap, or MarginBracket where C = inf
    """
    given, beta = beta, problem.losses.feasible(beta)
    support = np.flatnonzero(beta)
    with np.errstate(over="ignore", invalid="ignore"):
        scores = problem.scores_of(slice(None), support, beta[support])
        return _from_scores(problem, beta, b, scores, change_of_duals(given, beta), wanted)


def measure_pair_gaps(
    problems: PairProblems, betas: Sequence[np.ndarray], intercepts: np.ndarray, wanted: float = 0.0
) -> list[Certificate]:
    """Measure the gap of every pair of classes; kernel values within a class serve all its pairs.

    A relative gap of at most ``wanted`` need not be bounded more finely.
    """
    each = list(problems)
    with np.errstate(over="ignore", invalid="ignore"):
        if len(each) > 1 and not each[0].hard and sum(map(len, betas)) <= MOST_ROWS_AT_ONCE:
            return _gaps_at_once(problems, betas, intercepts, wanted)
        feasible = [problem.losses.feasible(beta) for problem, beta in zip(each, betas, strict=True)]
        return [
            _from_scores(problem, beta, float(b), scores, change_of_duals(given, beta), wanted)
            for problem, given, beta, b, scores in zip(
                each, betas, feasible, intercepts, problems.scores(feasible), strict=True
            )
        ]


def _gaps_at_once(
    problems: PairProblems, betas: Sequence[np.ndarray], intercepts: np.ndarray, wanted: float
) -> list[Certificate]:
    """The gaps of small pairs, by passes over the rows of all pairs together."""
    whole, found = problems.of_all_points, []
    indefinite, assumption = whole.may_be_indefinite, whole.kernel_facts.assumption
    joint, tasks = joint_problem([problem.losses for problem in problems])
    given = np.concatenate(betas)
    beta = feasible_duals(joint, given, tasks)
    parts = tasks.parts(beta)
    each_score = problems.scores(parts)
    scores = np.concatenate(each_score)
    full = scores + tasks.spread(intercepts.tolist())
    vectors = feature_vectors(problems.extremes_of(whole.diagonal), problems.entry_errors(), beta, scores, tasks)
    moved = sums_at_most(np.abs(given - beta) * (1.0 + 2.0 * UNIT), tasks)
    # A sum of zeros is exact; its bound is the smallest number above.
    moved = [0.0 if bound <= SMALLEST else bound for bound in moved]
    owns = [w if off == 0.0 else moved_by(w, off) for w, off in zip(vectors, moved, strict=True)]
    errors = [
        up(float(own.score_error) + _error_of_intercept(b, largest, 1.0))
        for own, b, largest in zip(owns, intercepts.tolist(), tasks.largest(np.abs(scores)), strict=True)
    ]
    losses, bounds = losses_of_tasks(joint, full, errors, tasks), dual_bounds_of_tasks(joint, beta, tasks)
    classes, weights = classes_of_tasks(joint, full, beta, tasks), tasks.sums(joint.loss.weights)
    for k, (w, own) in enumerate(zip(vectors, owns, strict=True)):
        cost = cost_of_sides(joint, bounds[k].sides, w.longest, bounds[k].sizes, w.radius)
        primal, dual = _values(own, losses[k], w, bounds[k].terms, cost)
        if rounding_matters(joint.C * weights[k] * errors[k] + _error_of_norm(w), primal, dual, wanted):
            found.append(_from_scores(problems[k], parts[k], float(intercepts[k]), each_score[k], moved[k], wanted))
            continue
        proven = w.semidefinite and not indefinite
        gap = gap_of_task(joint, primal, dual if proven else -math.inf, classes[k])
        found.append(replace(gap, assumption=assumption) if proven and assumption else gap)
    return found


def _values(own: FeatureVector, losses: float, w: FeatureVector, terms: float, cost: float) -> tuple[float, float]:
    """The primal value of the model's own duals, at most, and the dual value of the feasible ones, at least."""
    primal = up(up(0.5 * own.squared_norm) + losses)
    return primal, down(terms - cost - up(0.5 * w.squared_norm))


def _error_of_intercept(b: float, largest_score: float, largest_target: float) -> float:
    """What adding the intercept, and subtracting the target, add to the error of a score."""
    return 3.0 * UNIT * (abs(b) + largest_score + largest_target)


def _error_of_norm(w: FeatureVector) -> float:
    """The width of the bounds on ||w||²/2."""
    return 0.5 * (w.squared_norm - w.shortest * w.shortest)


def change_of_duals(given: np.ndarray, feasible: np.ndarray) -> float:
    """sum |beta_j| by which the projection has moved the duals, at most."""
    return sum_at_most(np.abs(given - feasible) * (1.0 + 2.0 * UNIT)) if (given != feasible).any() else 0.0


def _from_scores(
    problem: KernelSVMProblem, beta: np.ndarray, b: float, scores: np.ndarray, moved: float, wanted: float
) -> Certificate:
    """The certificate of feasible duals and their scores; the model's own duals differ from them by ``moved``."""
    check_interruption()
    return certificate_of_scores(problem, beta, scores, partial(_judge, problem, beta, b, moved), wanted)


def certificate_of_scores(
    problem: KernelProblem,
    beta: np.ndarray,
    scores: np.ndarray,
    judge: Callable[[np.ndarray, FeatureVector], tuple[CertificateT, bool]],
    wanted: float = -math.inf,
) -> CertificateT:
    """The certificate of feasible duals and their scores, or of accurate scores where these make it narrower.

    Parameters
    ----------
    problem : KernelProblem
    beta, scores : ndarray of shape (n,)
    judge : callable
        Returns the certificate of scores and w, and whether rounding errors make up much of its gap.
    wanted : float
        A relative gap of at most so much need not be bounded more finely.
    """
    support = np.flatnonzero(beta)
    w = feature_vector(problem.diagonal, problem.entry_error, beta[support], scores[support])
    w = w._replace(semidefinite=w.semidefinite and not problem.may_be_indefinite)
    found, matters = judge(scores, w)
    is_narrow = isinstance(found, SVMGap) and found.relative <= wanted
    if not matters or is_narrow or not w.semidefinite:
        return found
    fine = accurate_expansion(problem, support, beta[support])
    if fine is None:
        return found
    off = sum_at_most(np.abs(beta) * fine.errors)
    w = feature_vector_of_scores(w._replace(score_error=fine.errors), beta[support], fine.values[support], off)
    finer, _ = judge(fine.values, w)
    return found if _width(found) <= _width(finer) else finer


def _width(certificate: Certificate) -> float:
    if isinstance(certificate, MarginBracket):
        return certificate.upper - certificate.lower
    assert isinstance(certificate, SVMGap)
    return certificate.gap


def _judge(
    problem: KernelSVMProblem, beta: np.ndarray, b: float, moved: float, scores: np.ndarray, w: FeatureVector
) -> tuple[Certificate, bool]:
    """The certificate, and whether rounding errors make up much of its gap."""
    # The model's coefficients are those of its own duals.
    own = w if moved == 0.0 else moved_by(w, moved)
    if problem.hard:
        bracket = _bracket(problem, beta, scores + b, w, own)
        width = bracket.upper - bracket.lower
        return bracket, w.longest > 0.0 and float(np.max(own.score_error)) > ROUNDING_SHARE * width * w.longest
    targets = float(np.abs(problem.loss.targets).max(initial=0.0))
    of_intercept = _error_of_intercept(b, float(np.abs(scores).max(initial=0.0)), targets)
    errors = np.nextafter(own.score_error + of_intercept, np.inf) + np.zeros(scores.size)
    terms, sizes = dual_terms_at_least(problem.losses, beta)
    cost = cost_of_imbalance(problem.losses, beta, w.longest, sizes, w.radius)
    primal, dual = _values(own, losses_at_most(problem.losses, scores + b, errors), w, terms, cost)
    of_losses = problem.losses.C * float(problem.loss.weights @ errors)
    gap = gap_with_classes(problem.losses, primal, dual if w.semidefinite else -math.inf, scores + b, beta)
    matters = rounding_matters(of_losses + _error_of_norm(w), primal, dual)
    return replace(gap, assumption=problem.kernel_facts.assumption) if w.semidefinite else gap, matters


def moved_by(w: FeatureVector, moved: float) -> FeatureVector:
    """Bounds on w + sum_j d_j phi(x_j) with sum |d_j| at most ``moved``."""
    length = up(moved * w.radius)
    longest = up(w.longest + length)
    return w._replace(
        score_error=np.nextafter(w.score_error + up(length * w.radius), np.inf),
        squared_norm=up(longest * longest),
        shortest=max(0.0, down(w.shortest - length)),
        longest=longest,
    )


def _bracket(
    problem: KernelSVMProblem, beta: np.ndarray, scores: np.ndarray, w: FeatureVector, own: FeatureVector
) -> MarginBracket:
    """Bracket the hard margin in feature space: the model's own from below, the hulls' distance from above."""
    if not w.semidefinite:
        return MarginBracket(-math.inf, math.inf, math.inf, "phi(x)")
    lower, upper = -math.inf, w.radius
    if own.shortest > 0.0:
        counted = problem.loss.weights > 0.0
        errors = own.score_error + 4.0 * UNIT * np.abs(scores)
        smallest = float((problem.loss.targets * scores - errors).min(where=counted, initial=math.inf))
        lower = float(distances_at_least(down(smallest), own.shortest, own.longest))
    sides = [side[side > 0.0] for side in (beta, -beta)]
    least, most = min(map(sum_at_least, sides)), max(map(sum_at_most, sides))
    if least > 0.0:
        # Both sides have nearly the same sum: w divided by it is nearly the difference of the two hull points.
        distance = up(w.longest / least) + up(w.radius * up(most - least) / least)
        # Both numbers bound the margin from above, and so does the smaller one.
        upper = min(w.radius, up(0.5 * distance * (1.0 + 8.0 * UNIT)))
    assumption = problem.kernel_facts.assumption
    return MarginBracket(lower_bound(lower), upper, w.radius, "phi(x)", assumption=assumption)
