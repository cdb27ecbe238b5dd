"""Where a pass over the rows runs.

A pass is a task on every block of rows. A block holds its rows, targets and weights, and its slice of every vector over
the rows. Two methods of an engine carry it: ``map`` returns one result a block, in block order, and ``sum`` adds the
results over a fixed binary tree on the block index. The same blocks give the same bits, whatever runs them. ``do``,
``ask`` and ``ask_all`` put them off until an answer is needed, so that several share a round of messages; ``allocate``,
``vector``, ``set_vector``, ``subset`` and ``write_back`` are about the vectors over the rows.
"""

from maxmargin.engine.base import Answer, Block, Engine, row_task
from maxmargin.engine.memory import MemoryEngine
from maxmargin.engine.threads import RangeThreads, Threads

__all__ = ["Answer", "Block", "Engine", "MemoryEngine", "RangeThreads", "Threads", "row_task"]
