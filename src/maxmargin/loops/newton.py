"""The derivative along a Newton step."""

from maxmargin.loops.jit import jit


@jit
def taken_by_duals(t, points, changes, ends, factors):
    """The sum of factors_i clip(points_i - t changes_i, 0, ends_i) changes_i: it falls as t grows."""
    total = 0.0
    for i in range(points.size):
        dual = points[i] - t * changes[i]
        if dual > 0.0:
            total += factors[i] * min(dual, ends[i]) * changes[i]
    return total
