"""Where a pass over the blocks of rows runs."""
