"""The in-memory engine: blocks of the rows of one problem, in threads."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from maxmargin.data.points import HasPoints
from maxmargin.engine.base import Answer, Block, Engine, ProblemT, Rest, ResultT, SumT
from maxmargin.engine.threads import CALLING_THREAD, ENTRIES_PER_BLOCK, MOST_BLOCKS, Threads

# Tasks return vectors over the columns: with at least so many entries a column in a block, adding them costs little.
ENTRIES_PER_COLUMN = 8
# Vectors on which a few operations take less time than waking a thread.
ROWS_WITHOUT_THREADS = 1 << 18


class MemoryEngine(Engine[ProblemT]):
    """Runs tasks on blocks of the rows of a problem, in threads.

    The blocks depend on the data alone, and sums are formed over a fixed binary tree: so results do not depend on
    the number of threads.

    Parameters
    ----------
    problem : object with points
    threads : Threads
    index : ndarray of uint32, optional
        The rows to work on; by default all.
    """

    is_local = True

    def __init__(self, problem: ProblemT, threads: Threads, index: np.ndarray | None = None) -> None:
        self.problem, self.threads = problem, threads
        self.index = np.arange(problem.points.n_rows, dtype=np.uint32) if index is None else index
        points, n_rows = problem.points, self.index.size
        least = max(ENTRIES_PER_BLOCK, ENTRIES_PER_COLUMN * points.n_columns)
        self._most_blocks = 1 if n_rows == 0 else max(1, int(n_rows * points.entries_per_row // least))
        self._vectors: dict[str, np.ndarray] = {}
        self._blocks: dict[int, list[Block[ProblemT]]] = {}

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.index.size)

    def __getitem__(self, name: str) -> np.ndarray:
        return self._vectors[name]

    def __setitem__(self, name: str, values: np.ndarray) -> None:
        self._vectors[name] = values
        self._blocks.clear()

    def vector(self, name: str) -> np.ndarray:
        """The vector over the rows."""
        return self[name]

    def set_vector(self, name: str, values: np.ndarray) -> None:
        """Replace a vector over the rows."""
        self[name] = values

    def allocate(self, *names: str, dtype: type = np.float64) -> None:
        """Add vectors over the rows, whose values are undefined."""
        for name in names:
            self[name] = np.empty(self.n_rows, dtype=dtype)

    def subset(self, mask: str, *names: str, often: bool = False) -> "MemoryEngine[ProblemT]":  # noqa: ARG002
        """Return an engine for the rows where the vector ``mask`` is true, with copies of the vectors named."""
        chosen = np.flatnonzero(self[mask])
        engine = MemoryEngine(self.problem, self.threads, self.index[chosen])
        for name in names:
            engine[name] = self[name][chosen]
        return engine

    def write_back(self, part: "MemoryEngine[HasPoints]", mask: str, name: str) -> None:  # type: ignore[override]
        """Copy a vector of the subset ``part``, which ``mask`` has chosen, back to its rows here."""
        self[name][self[mask]] = part[name]

    def map(
        self,
        task: Callable[[Block[ProblemT], *Rest], ResultT],
        *arguments: *Rest,
        writes: tuple[str, ...] = (),  # noqa: ARG002
    ) -> list[ResultT]:
        """Call ``task(block, *arguments)`` for every block; return the results in the blocks' order."""
        blocks = self._cut(MOST_BLOCKS)
        if len(blocks) == 1:
            return [task(blocks[0], *arguments)]
        return self._threads_for(task).run([partial(task, block, *arguments) for block in blocks])

    def sum(
        self,
        task: Callable[[Block[ProblemT], *Rest], SumT],
        *arguments: *Rest,
        most: int | None = None,
        writes: tuple[str, ...] = (),  # noqa: ARG002
    ) -> SumT:
        """Add the results of all blocks, floats or arrays that may be overwritten, over a fixed binary tree.

        ``most`` bounds the number of blocks, and with it the memory, where results are large.
        """
        blocks = self._cut(MOST_BLOCKS if most is None else most)
        if len(blocks) == 1:
            return task(blocks[0], *arguments)
        return tree_sum([partial(task, block, *arguments) for block in blocks], self._threads_for(task))

    def do(
        self,
        task: Callable[[Block[ProblemT], *Rest], None],
        *arguments: *Rest,
        writes: tuple[str, ...] = (),  # noqa: ARG002
    ) -> None:
        """Call a task without a result, now."""
        self.map(task, *arguments)

    def ask(
        self,
        task: Callable[[Block[ProblemT], *Rest], SumT],
        *arguments: *Rest,
        writes: tuple[str, ...] = (),  # noqa: ARG002
    ) -> Answer[SumT]:
        """Add the results of all blocks, now."""
        return Answer(self.sum(task, *arguments))

    def ask_all(
        self,
        task: Callable[[Block[ProblemT], *Rest], ResultT],
        *arguments: *Rest,
        writes: tuple[str, ...] = (),  # noqa: ARG002
    ) -> Answer[list[ResultT]]:
        """The results of all blocks, now."""
        return Answer(self.map(task, *arguments))

    def _threads_for(self, task: Callable[..., object]) -> Threads:
        """The calling thread alone for a task on short vectors; the blocks, and so the bits, are the same."""
        is_short = self.n_rows <= ROWS_WITHOUT_THREADS and getattr(task, "is_row_task", False)
        return CALLING_THREAD if is_short else self.threads

    def _cut(self, most: int) -> list[Block[ProblemT]]:
        """Cut the rows into a power of two of blocks, which two, four or eight threads share evenly."""
        n_blocks = 1 << min(most, self._most_blocks).bit_length() - 1
        blocks = self._blocks.get(n_blocks)
        if blocks is None and n_blocks == 1:
            blocks = self._blocks[1] = [Block(self.problem, self.index, dict(self._vectors))]
        elif blocks is None:
            cuts = [self.n_rows * k // n_blocks for k in range(n_blocks + 1)]
            parts = [slice(first, last) for first, last in pairwise(cuts)]
            blocks = [
                Block(
                    self.problem, self.index[part], {name: all_rows[part] for name, all_rows in self._vectors.items()}
                )
                for part in parts
            ]
            self._blocks[n_blocks] = blocks
        return blocks


def tree_sum(jobs: Sequence[Callable[[], SumT]], threads: Threads) -> SumT:
    """Run jobs and add their results over a binary tree that depends on their number alone.

    Every thread adds up whole subtrees as it goes, so that few results are in memory at a time. The left subtree of n
    jobs has the largest power of two below n.
    """
    depth = (threads.n_threads - 1).bit_length()
    subtrees = _subtrees(0, len(jobs), depth)
    values = dict(zip(subtrees, threads.run([partial(_add_up, jobs, *part, {}) for part in subtrees]), strict=True))
    return _add_up(jobs, 0, len(jobs), values)


def _subtrees(first: int, last: int, depth: int) -> list[tuple[int, int]]:
    """The subtrees at a depth, or the leaves above it."""
    if depth == 0 or last - first == 1:
        return [(first, last)]
    middle = middle_of(first, last)
    return _subtrees(first, middle, depth - 1) + _subtrees(middle, last, depth - 1)


def _add_up(jobs: Sequence[Callable[[], SumT]], first: int, last: int, known: dict[tuple[int, int], SumT]) -> SumT:
    """The sum of a subtree, given those of some subtrees; arrays are added in place."""
    if (first, last) in known:
        return known[first, last]
    if last - first == 1:
        return jobs[first]()
    middle = middle_of(first, last)
    left, right = _add_up(jobs, first, middle, known), _add_up(jobs, middle, last, known)
    return np.add(left, right, out=left) if isinstance(left, np.ndarray) else left + right  # type: ignore[call-overload]


def middle_of(first: int, last: int) -> int:
    """Where the left subtree ends."""
    return first + (1 << (last - first - 1).bit_length() - 1)
