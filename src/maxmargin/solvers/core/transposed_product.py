"""The transposed product X^T c, in threads."""

import numpy as np

from maxmargin.data import Points
from maxmargin.engine.threads import ThreadEngine
from maxmargin.loops.logistic import add_rows

# Blocks of rows that have a sum vector of their own.
SUM_BLOCKS = 8


def transposed_product(points: Points, engine: ThreadEngine, coefficients: np.ndarray) -> np.ndarray:
    """Compute X^T c."""
    rows = points.rows

    def of_block(first: int, last: int) -> np.ndarray:
        part = np.zeros(points.n_columns)
        add_rows(rows, first, last, coefficients, part)
        return part

    return engine.sum(of_block, points.n_rows, SUM_BLOCKS)
