"""Sequential minimal optimisation with two sums of duals: both duals of a pair are of the same kind.

Every row has a dual alpha that pulls its score up and one, alpha*, that pulls it down; either may be bounded by zero.
beta = alpha - alpha* rises where alpha rises or alpha* falls. A pair is a row that rises and one that falls, of the
same kind, so that both sums stay (C.-C. Chang, C.-J. Lin, "Training nu-support vector classifiers: theory and
algorithms", 2001). The pair is chosen by second-order information, in the kind of the larger KKT violation.
"""

from typing import NamedTuple

import numpy as np

from maxmargin.loops.jit import inlined, jit
from maxmargin.loops.smo import SMALLEST_CURVATURE, extremes, fill_gains, largest_place, unit_of


class TwoDuals(NamedTuple):
    """Duals with their bounds, and the residuals t_i - f(x_i) without intercept.

    Attributes
    ----------
    duals : ndarray of shape (2, n), changed in place
        alpha and alpha*.
    bounds : ndarray of shape (2, n)
    residuals : ndarray of shape (n,), changed in place
    """

    duals: np.ndarray
    bounds: np.ndarray
    residuals: np.ndarray


@inlined
def set_terms(duals, bounds, kind, k, rise_terms, fall_terms):
    """Terms that are infinite where the score of a row cannot be moved by this kind of dual."""
    may_grow, may_shrink = duals[kind, k] < bounds[kind, k], duals[kind, k] > 0.0
    may_rise, may_fall = (may_grow, may_shrink) if kind == 0 else (may_shrink, may_grow)
    rise_terms[kind, k] = 0.0 if may_rise else -np.inf
    fall_terms[kind, k] = 0.0 if may_fall else np.inf


@inlined
def largest_change(dual, bound, grows):
    """How far a dual can move."""
    return bound - dual if grows else dual


@inlined
def changed(dual, bound, grows, step):
    """The dual after a step; a bound is reached exactly, so that the dual counts as bounded."""
    if grows:
        return bound if step == bound - dual else dual + step
    return 0.0 if step == dual else dual - step


@jit
def ascend_pairs_of_kind(gram, state, tol, max_steps):
    """Optimise pairs of a working set until its KKT violation is at most ``tol``; return the number of steps.

    ``gram`` is the kernel matrix of the working set.
    """
    duals, bounds, residuals = state
    size = residuals.size
    diagonal, gains = np.empty(size), np.empty(size)
    rise_terms, fall_terms = np.empty((2, size)), np.empty((2, size))
    for k in range(size):
        diagonal[k] = gram[k, k]
        for kind in range(2):
            set_terms(duals, bounds, kind, k, rise_terms, fall_terms)
    n_kinds = 2 if bounds[1].max() > 0.0 else 1
    n_steps, unit = 0, unit_of(diagonal)
    while n_steps < max_steps:
        most, i, kind, violation = -np.inf, 0, 0, -np.inf
        for candidate in range(n_kinds):
            top, place, least = extremes(residuals, rise_terms[candidate], fall_terms[candidate])
            if top - least > violation:
                most, i, kind, violation = top, place, candidate, top - least
        if not violation > tol:
            break
        while residuals[i] + rise_terms[kind, i] != most:
            i += 1
        row, falls = gram[i], fall_terms[kind]
        fill_gains(gains, most, residuals, falls, row, diagonal, diagonal[i], 1.0 / unit)
        j = largest_place(gains)
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * row[j], SMALLEST_CURVATURE * unit)
        grows = kind == 0
        step = min(
            (most - residuals[j] - falls[j]) / curvature,
            min(
                largest_change(duals[kind, i], bounds[kind, i], grows),
                largest_change(duals[kind, j], bounds[kind, j], not grows),
            ),
        )
        if not step > 0.0:
            break
        duals[kind, i] = changed(duals[kind, i], bounds[kind, i], grows, step)
        duals[kind, j] = changed(duals[kind, j], bounds[kind, j], not grows, step)
        other = gram[j]
        for k in range(size):
            residuals[k] -= step * (np.float64(row[k]) - np.float64(other[k]))
        set_terms(duals, bounds, kind, i, rise_terms, fall_terms)
        set_terms(duals, bounds, kind, j, rise_terms, fall_terms)
        n_steps += 1
    return n_steps
