"""Few weights for a point of a convex hull: at most one more than there are columns (Carathéodory's theorem).

Least squares with weights that are not negative end at a basic result: the rows that keep a weight are linearly
independent, with a one added to each. (SciPy's ``nnls``, after Lawson and Hanson, "Solving least squares problems".)
"""

import numpy as np
import scipy.sparse as sp

from maxmargin.data import Points

# Larger systems are left as they are.
MOST_ENTRIES = 1 << 20


def caratheodory_reduction(points: Points, weights: np.ndarray) -> np.ndarray:
    """Weights of the same sum for the same point, most of them zero; the given ones where that does not work out."""
    used = np.flatnonzero(weights)
    if used.size <= points.n_columns + 1 or used.size * (points.n_columns + 1) > MOST_ENTRIES:
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
