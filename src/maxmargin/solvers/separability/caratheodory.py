"""Carathéodory reduction: a point of a convex hull needs at most one more weight than there are columns.

Non-negative least squares ends at a basic solution: the rows of non-zero weight, each with a one appended, are linearly
independent. (SciPy's ``nnls``, after Lawson and Hanson, "Solving least squares problems".)
"""

import numpy as np
import scipy.sparse as sp

from maxmargin.data import Points

# The largest number of entries of a system that is reduced: non-negative least squares is dense and takes a pass over
# them for every weight.
LARGEST_REDUCED = 1 << 20


def caratheodory_reduction(points: Points, weights: np.ndarray) -> np.ndarray:
    """Weights of the same sum for the same point, most of them zero; the given ones where the reduction fails."""
    used = np.flatnonzero(weights)
    if used.size <= points.n_columns + 1 or used.size * (points.n_columns + 1) > LARGEST_REDUCED:
        return weights
    rows = points.matrix[used]
    dense = (rows.toarray() if sp.issparse(rows) else rows).astype(np.float64)
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
