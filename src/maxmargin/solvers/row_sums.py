"""Sums of rows, each times a factor, in threads."""

import numpy as np

from maxmargin.data import Points
from maxmargin.loops.logistic import combine
from maxmargin.solvers.row_blocks import RowBlocks

# So many blocks of rows have a vector of their own when rows are added up.
BLOCKS_OF_SUMS = 8


def sum_of_rows(points: Points, blocks: RowBlocks, factors: np.ndarray) -> np.ndarray:
    """X^T factors"""
    rows = points.rows

    def of_block(first: int, last: int) -> np.ndarray:
        part = np.zeros(points.n_columns)
        combine(rows, first, last, factors, part)
        return part

    return np.add.reduce(blocks.each(points.n_rows, of_block, BLOCKS_OF_SUMS))
