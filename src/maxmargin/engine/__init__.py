"""Where a pass over the rows runs.

A pass is a task on every block of rows. A block holds its rows, targets and weights, and its slice of every vector over
the rows. A solver uses two methods: ``map`` returns one result a block, in block order, and ``sum`` adds the results
over a fixed binary tree on the block index. The same blocks give the same bits, whatever runs them.
"""

from maxmargin.engine.base import Answer, Block, Engine, row_task
from maxmargin.engine.memory import MemoryEngine
from maxmargin.engine.threads import RangeThreads, Threads

__all__ = ["Answer", "Block", "Engine", "MemoryEngine", "RangeThreads", "Threads", "row_task"]
