"""Intercepts of several classes, from the rows at which classes tie."""

import numpy as np

from maxmargin.problems.crammer_singer import CrammerSingerProblem


def tied_intercepts(problem: CrammerSingerProblem, scores: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the intercepts that fit feasible duals, given the scores without intercepts.

    At the optimum, all classes to which a row gives are equally far ahead, and if the row could give more, its own
    class is just 1 ahead of them. The intercepts for which this is true up to the smallest squares, in the shares that
    the classes have in the row's limit, are the best ones where the duals are, and near to them where the duals are.
    """
    counted = np.flatnonzero(problem.weights)
    own = np.arange(counted.size), problem.codes[counted]
    shares = -B[counted] / problem.box_bounds()[counted, None]
    shares[own] += 1.0
    ahead = scores[counted] + 1.0
    ahead[own] -= 1.0
    differences = shares * (ahead - (shares * ahead).sum(axis=1, keepdims=True))
    equations = np.diag(shares.sum(axis=0)) - shares.T @ shares
    return -np.linalg.lstsq(equations, differences.sum(axis=0))[0]
