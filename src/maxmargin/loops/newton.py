"""The derivative along a Newton step."""

from typing import NamedTuple

import numpy as np

from maxmargin.loops.jit import jit


class Line(NamedTuple):
    """Duals along a step: factors clip(points - t moves, 0, ends), and the changes of the margins along it."""

    points: np.ndarray
    moves: np.ndarray
    changes: np.ndarray
    ends: np.ndarray
    factors: np.ndarray


@jit
def taken_by_duals(t, line):
    """The sum of the duals at ``t``, times the changes of the margins: it falls as t grows."""
    total = 0.0
    for i in range(line.points.size):
        dual = line.points[i] - t * line.moves[i]
        if dual > 0.0:
            total += line.factors[i] * min(dual, line.ends[i]) * line.changes[i]
    return total
