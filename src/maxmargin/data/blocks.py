"""Cutting rows into blocks: every sum over the data is a sum over blocks, added in a fixed order."""

from collections.abc import Iterator

BLOCK_ENTRIES = 1 << 20


def row_blocks(n_rows: int, entries_per_row: float) -> Iterator[slice]:
    """Yield slices of rows of about ``BLOCK_ENTRIES`` entries each; they depend on the shape alone."""
    size = max(1, int(BLOCK_ENTRIES / max(1.0, entries_per_row)))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))
