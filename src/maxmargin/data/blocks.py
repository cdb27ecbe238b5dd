"""Blocks of rows: every sum over the data is a sum over blocks in a fixed order."""

from collections.abc import Iterator

from maxmargin.data.interruption import check_interruption

# Entries of a block: 8 MB in float64, which fits the caches of most processors.
BLOCK_ENTRIES = 1 << 20
# Columns of a block that is transposed: a copy of wide rows in one piece reads another memory page at every entry.
TRANSPOSED_COLUMNS = 1 << 10


def row_blocks(n_rows: int, entries_per_row: float) -> Iterator[slice]:
    """Yield slices of rows with about ``BLOCK_ENTRIES`` entries each; they depend only on the shape."""
    size = max(1, int(BLOCK_ENTRIES / max(1.0, entries_per_row)))
    for start in range(0, n_rows, size):
        check_interruption()
        yield slice(start, min(start + size, n_rows))


def blocks_to_transpose(n_rows: int, n_columns: int) -> Iterator[tuple[slice, slice]]:
    """Yield rows and columns of the blocks of a dense matrix that is copied by columns."""
    for rows in row_blocks(n_rows, min(n_columns, TRANSPOSED_COLUMNS)):
        for first in range(0, n_columns, TRANSPOSED_COLUMNS):
            check_interruption()
            yield rows, slice(first, min(first + TRANSPOSED_COLUMNS, n_columns))
