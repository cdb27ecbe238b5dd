"""Sums of rows, each times a factor, in threads."""

import numpy as np

from maxmargin.data import Points
from maxmargin.engine.threads import ThreadEngine
from maxmargin.loops.logistic import combine

# So many blocks of rows have a vector of their own when rows are added up.
BLOCKS_OF_SUMS = 8


def transposed_product(points: Points, blocks: ThreadEngine, factors: np.ndarray) -> np.ndarray:
    """X^T factors"""
    rows = points.rows

    def of_block(first: int, last: int) -> np.ndarray:
        part = np.zeros(points.n_columns)
        combine(rows, first, last, factors, part)
        return part

    return np.add.reduce(blocks.each(points.n_rows, of_block, BLOCKS_OF_SUMS))
