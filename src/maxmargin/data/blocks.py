"""Blocks of rows: every sum over the data is a sum over blocks in a fixed order."""

from collections.abc import Iterator

from maxmargin.data.interruption import check_interruption

# Entries of a block: 8 MB in float64, which fits the caches of most processors.
BLOCK_ENTRIES = 1 << 20


def row_blocks(n_rows: int, entries_per_row: float) -> Iterator[slice]:
    """Yield slices of rows with about ``BLOCK_ENTRIES`` entries each; they depend only on the shape."""
    size = max(1, int(BLOCK_ENTRIES / max(1.0, entries_per_row)))
    for start in range(0, n_rows, size):
        check_interruption()
        yield slice(start, min(start + size, n_rows))
