"""Where a pass over the blocks of rows runs.

A pass is a task on every block of rows. A solver sees two methods: ``map`` gives one result a block, in block order,
and ``sum`` adds the results over a fixed binary tree on the block index. The same blocks give the same
bits, whatever runs them.
"""

from maxmargin.engine.threads import ThreadEngine, tree_sum

__all__ = ["ThreadEngine", "tree_sum"]
