"""The engine of rows in blocks on disk.

A round is one pass: every thread runs all tasks in the queue on a block, while the next blocks are read ahead.
The vectors over the rows stay in memory or, where even that is too much, in files that are mapped. Blocks are kept in
memory as far as there is room: always the same ones, because a pass that reads more than fits would push out every
block before it is used again. So are the rows of a working set that are used often. What is kept does not change the
results.
"""

import errno
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path
from typing import IO, NamedTuple, TypeVar, Unpack

import numpy as np

from maxmargin.data.array_types import UserArray
from maxmargin.data.block_source import BlockSource
from maxmargin.data.centring import shifted
from maxmargin.data.memory import MemoryWarning, available_memory, gigabytes
from maxmargin.data.partition_summaries import (
    Partition,
    PartitionSummary,
    centre_of,
    centre_partition,
    check_partition,
    without_inexact,
)
from maxmargin.data.partitions import CheckedPartition, KnownOfRows, PartitionedData, PartitionedPoints, merge_summaries
from maxmargin.data.points import Points
from maxmargin.data.rows import Matrix, is_sparse
from maxmargin.data.user_warnings import warn_user
from maxmargin.engine.base import Addable
from maxmargin.engine.executors import Executor
from maxmargin.engine.rounds import Drop, Message, State, Storage, add_vector, changes_vectors, has_answers, run_round
from maxmargin.engine.threads import Threads

# Numbers a row that a fit keeps in memory: vectors over the rows of the solver, and those of the result.
NUMBERS_IN_MEMORY = 8
# Blocks that every thread has in memory: the one that it works on, and copies of parts of it.
BLOCKS_PER_THREAD = 2
# Blocks that are read ahead, each by a thread that waits for the disk.
READ_AHEAD = 3
# Up to so many columns the answer of a block is a matrix; with more it is so many vectors, the images of a subspace.
LARGEST_MATRIX, VECTORS_OF_ANSWER = 2048, 28
# Answers, or as much as one, that the solver keeps: the matrix, its change and its factor, or the subspace.
KEPT_ANSWERS = 4
# Errors of file systems that cannot reserve room; bytes that are then written at a time.
CANNOT_RESERVE = (errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
PIECE_OF_ZEROS = 1 << 22
# The share of what is left that is used; of it, the share for blocks if not all of them fit.
SHARE_OF_MEMORY, SHARE_FOR_BLOCKS = 0.6, 0.5


ResultT = TypeVar("ResultT")


class MemoryOfFit(NamedTuple):
    """Bytes that a fit on blocks takes.

    Attributes
    ----------
    least : int
        The blocks in work, and the answers of blocks: vectors over the columns, or matrices.
    vectors : int
        The vectors over the rows, which may also lie on the disk.
    """

    least: int
    vectors: int


def memory_of_fit(source: BlockSource, n_threads: int, n_tasks: int = 1) -> MemoryOfFit:
    """Estimate the memory that a fit takes."""
    n_rows, n_blocks = sum(source.block_rows), len(source.block_rows)
    largest = source.n_bytes // max(1, n_rows) * max(source.block_rows, default=0)
    size = source.n_columns + 1
    answer = size * (size if size <= LARGEST_MATRIX else VECTORS_OF_ANSWER)
    # One in work in every thread, the sums of subtrees, and those that the solver keeps.
    n_answers = n_threads + n_blocks.bit_length() + KEPT_ANSWERS
    blocks = (n_threads * BLOCKS_PER_THREAD + READ_AHEAD) * largest
    return MemoryOfFit(blocks + 8 * answer * n_answers, 8 * (NUMBERS_IN_MEMORY + n_tasks - 1) * n_rows)


def lack_of_memory(source: BlockSource, n_threads: int) -> str:
    """What a fit needs and what there is, with advice, where even blocks and vectors on the disk are too much."""
    available = available_memory()
    needed, with_one = (memory_of_fit(source, number).least for number in (n_threads, 1))
    if needed <= available:
        return ""
    advice = "give it more memory, or use fewer columns: hash them, or leave out the rare ones"
    if with_one <= available:
        advice = f"with n_jobs=1 it needs {gigabytes(with_one)}"
    return (
        f"The fit needs about {gigabytes(needed)} of memory for the blocks that {n_threads} threads read, and "
        f"{gigabytes(available)} are available: {advice}."
    )


class LazyPoints(Points):
    """Rows that are read when they are first used."""

    def __init__(self, read: Callable[[], Matrix], n_rows: int, n_columns: int) -> None:
        self._read = read
        self.n_rows, self.n_columns = n_rows, n_columns

    @cached_property
    def matrix(self) -> Matrix:  # type: ignore[override]
        """The rows."""
        return self._read()


class StoredPartition(NamedTuple):
    """A block on disk, as :class:`Partition` describes one in memory."""

    executor: "DiskExecutor"
    number: int
    weights: np.ndarray | None

    @property
    def points(self) -> LazyPoints:
        """The rows, which are read when they are used."""
        source = self.executor.source
        read = partial(self.executor.read, self.number)
        return LazyPoints(read, source.block_rows[self.number], source.n_columns)

    @property
    def labels(self) -> np.ndarray:
        """The labels or targets."""
        return self.executor.source.read_targets(self.number)


class DiskExecutor(Executor):
    """Runs functions on the blocks of a source in threads, and keeps blocks and rows in memory where there is room.

    Parameters
    ----------
    source : BlockSource
    n_threads : int
    memory : int or None
        Bytes for what is kept; by default a share of what is left beside the vectors.
    """

    vectors_are_near = True
    # A subset takes two passes more, and saves some only if it can be kept in memory. Whether it can is not checked
    # here: the results would depend on it.
    largest_subset = 0.25
    compact = True

    def __init__(self, source: BlockSource, n_threads: int, memory: int | None = None) -> None:
        super().__init__(n_threads)
        self.may_collect_rows = True
        self.source = source
        self._cuts = np.append(0, np.cumsum(source.block_rows))
        self._kept: dict[int, Matrix] = {}
        self._used_by_rows: dict[int, int] = {}
        self._available, self._memory = available_memory(), memory
        # Otherwise pages that the system keeps of the files are pushed out before they are used again.
        self._fits_in_cache = source.n_bytes <= self._available
        self.plan(1)
        self._centre: np.ndarray | None = None
        self._lock = threading.Lock()
        self.blocks_read = 0
        # Blocks that are being read, and the last one of them in this pass.
        self._ahead: dict[int, Future[Matrix]] = {}
        self._readers: ThreadPoolExecutor | None = None
        self._last_ahead = -1

    def plan(self, n_tasks: int) -> None:
        """Divide the memory among vectors and rows, given the number of tasks, whose duals are all kept."""
        source, n_blocks, available = self.source, len(self.source.block_rows), self._available
        needed = memory_of_fit(source, self.n_threads, n_tasks)
        self._maps_vectors = needed.vectors + needed.least > available
        memory = self._memory
        if memory is None:
            used = needed.least + (0 if self._maps_vectors else needed.vectors)
            memory = int(SHARE_OF_MEMORY * max(0, available - used))
        fits = source.n_bytes <= memory
        for_blocks = memory if fits else int(SHARE_FOR_BLOCKS * memory)
        self._n_kept = n_blocks if fits else int(n_blocks * for_blocks / max(1, source.n_bytes))
        self._room_for_rows = memory - (source.n_bytes if fits else for_blocks)
        self._kept = {number: rows for number, rows in self._kept.items() if self._keeps(number)}

    def _keeps(self, number: int) -> bool:
        """Whether a block is kept in memory: some are, spread over the whole, so that reading and work alternate."""
        return number * self._n_kept % len(self.source.block_rows) < self._n_kept

    def read(self, number: int) -> Matrix:
        """The rows of a block, from memory or from the disk; the next blocks are then read ahead."""
        rows = self._kept.get(number)
        if rows is not None:
            return rows
        with self._lock:
            own = self._ahead.pop(number, None)
            self._last_ahead = max(self._last_ahead, number)
            if self._readers is not None:
                for other in range(number + 1, min(number + 1 + READ_AHEAD, len(self.source.block_rows))):
                    if other > self._last_ahead and other not in self._kept and other not in self._used_by_rows:
                        self._last_ahead = other
                        self._ahead[other] = self._readers.submit(self._read_from_disk, other)
            self.blocks_read += 1
        rows = self._read_from_disk(number) if own is None else own.result()
        if self._keeps(number):
            self._kept[number] = rows
        return rows

    def _read_from_disk(self, number: int) -> Matrix:
        rows = self.source.read_rows(number, cached=self._fits_in_cache)
        return rows if self._centre is None else shifted(Points(rows), self._centre)[0].matrix

    def centre(self, centre: np.ndarray) -> None:
        """Subtract this from the rows of all blocks, as they are read, from now on."""
        self._kept.clear()
        self._centre = centre

    def _pass(self, jobs: Sequence[Callable[[], ResultT]]) -> list[ResultT]:
        """Run a job a block in threads, the blocks in their order."""
        self._last_ahead = -1
        with Threads(self.n_threads) as threads, ThreadPoolExecutor(READ_AHEAD) as self._readers:
            try:
                return threads.run(jobs, alike=False)
            finally:
                for waiting in self._ahead.values():
                    waiting.cancel()
                self._ahead, self._readers = {}, None

    def _gather(self, number: int, points: Points, rows: np.ndarray) -> Points | None:
        """Some rows of a block in memory, if there is room for them."""
        if number in self._kept:
            return None
        size = self.source.n_bytes // max(1, sum(self.source.block_rows)) * rows.size
        with self._lock:
            self._used_by_rows.pop(number, None)
            if size + sum(self._used_by_rows.values()) > self._room_for_rows:
                return None
            self._used_by_rows[number] = size
        return Points(points.matrix[rows])

    def new_storage(self) -> "VectorStorage":
        """A place for the vectors over all rows."""
        return VectorStorage(int(self._cuts[-1]), self._folder)

    def with_vector(  # type: ignore[override]
        self, states: list[State], name: str, chunks: Sequence[np.ndarray], storage: Storage | None
    ) -> list[State]:
        """The states with one more vector over all rows, which is given in parts."""
        assert storage is not None
        found = []
        for state, first, chunk in zip(states, self._cuts[:-1], chunks, strict=True):
            place = storage.zeros(int(first), len(chunk), "<f8", name)
            found.append(add_vector(state, name, chunk, place))
        return found

    def new_matrix(self, n_vectors: int, n_rows: int) -> np.ndarray:
        """A place for vectors over all rows, in memory or, where they do not fit, in a file."""
        return VectorStorage(n_vectors * n_rows, self._folder).whole("", np.dtype(float)).reshape(n_vectors, n_rows)

    @property
    def _folder(self) -> Path | None:
        return self.source.scratch_folder if self._maps_vectors else None

    def each(self, function: Callable[..., ResultT], *columns: Sequence[object]) -> list[ResultT]:
        """Call a function with the entries of every block, the blocks in their order."""
        return self._pass([partial(function, *entries) for entries in zip(*columns, strict=True)])

    def run_round(  # type: ignore[override]
        self, partitions: Sequence[CheckedPartition], states: list[State], message: Message
    ) -> tuple[list[State], Sequence[Addable]]:
        """Run the operations on all blocks; vectors are written in place, and answers are added as they come."""
        totals, changes, storage = _OrderedSum(len(partitions)), changes_vectors(message), message.storage
        assert storage is not None

        def run(number: int) -> None:
            zeros = partial(storage.zeros, int(self._cuts[number]))
            own = message._replace(in_place=True, gather=partial(self._gather, number), zeros=zeros)
            state = run_round(partitions[number], states[number], own)
            totals.add(number, state.answers)
            if changes:
                states[number] = State(state.parts, [])

        self._pass([partial(run, number) for number in range(len(partitions))])
        for operation in message.operations:
            if isinstance(operation, Drop):
                if operation.names:
                    storage.drop(operation.names)
                else:
                    self._used_by_rows.clear()
        return states, totals.total if has_answers(message) else []

    def describe(self) -> str:
        """What the rounds have cost."""
        n_blocks = len(self.source.block_rows)
        return (
            f"{self.rounds} rounds; {len(self._kept):,} of {n_blocks:,} blocks kept in memory, "
            f"{self.blocks_read / n_blocks:.3g} passes over the disk"
        )


class VectorStorage:
    """Vectors over all rows, each in one piece of memory: it goes back to the system when the vector is dropped.

    Parameters
    ----------
    n_rows : int
    folder : Path or None
        Where the vectors lie in files, mapped into memory; None for memory alone.
    """

    def __init__(self, n_rows: int, folder: Path | None) -> None:
        self._n_rows, self._folder = n_rows, folder
        self._vectors: dict[str, np.ndarray] = {}
        self._lock = threading.Lock()

    def zeros(self, first: int, n_rows: int, dtype: str, name: str) -> np.ndarray:
        """The part of a vector from the row ``first`` on."""
        part = self.whole(name, np.dtype(dtype))[first : first + n_rows]
        part[:] = 0
        return part

    def whole(self, name: str, dtype: np.dtype) -> np.ndarray:
        """A vector over all rows, which is made where there is none of that name."""
        with self._lock:
            found = self._vectors.get(name)
            if found is None:
                found = self._vectors[name] = self._new(dtype)
        return found

    def drop(self, names: Sequence[str]) -> None:
        """Forget vectors, which go when nobody uses them."""
        for name in names:
            del self._vectors[name]

    def _new(self, dtype: np.dtype) -> np.ndarray:
        if self._folder is None:
            return np.zeros(self._n_rows, dtype=dtype)
        # The file has no name: it goes with the vector, also where the process is killed.
        size = max(1, self._n_rows) * dtype.itemsize
        with tempfile.TemporaryFile(dir=self._folder) as file:
            _take_room(file, size, self._folder)
            return np.asarray(np.memmap(file, dtype=dtype, mode="r+", shape=(self._n_rows,)))


def _take_room(file: IO[bytes], size: int, folder: Path) -> None:
    """Make a file as long as it will be used: a mapped page that a full disk does not take ends the process."""
    try:
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except (AttributeError, OSError) as error:
            if getattr(error, "errno", errno.ENOSYS) not in CANNOT_RESERVE:
                raise
            for start in range(0, size, PIECE_OF_ZEROS):
                file.write(bytes(min(PIECE_OF_ZEROS, size - start)))
            file.flush()
    except OSError as error:
        free = gigabytes(shutil.disk_usage(folder).free)
        about = f"neither memory nor disk has room for a vector of {gigabytes(size)} ({free} are free)"
        raise OSError(error.errno, f"{error.strerror}: {about}", str(folder)) from error


class _OrderedSum:
    """The sum of lists of answers over the tree of ``tree_sum``, each added as soon as all before it are there.

    The sums of whole subtrees of a power of two of terms lie on a stack, as the digits of a binary counter.
    """

    def __init__(self, n_terms: int) -> None:
        self._n_terms = n_terms
        self._waiting: dict[int, list[Addable]] = {}
        self._stack: list[tuple[int, list[Addable]]] = []
        self._n_added = 0
        self._lock = threading.Lock()

    def add(self, number: int, answers: list[Addable]) -> None:
        """Add the term of a number."""
        with self._lock:
            self._waiting[number] = answers
            while self._n_added in self._waiting:
                size, term = 1, self._waiting.pop(self._n_added)
                while self._stack and self._stack[-1][0] == size:
                    size, term = 2 * size, _added(self._stack.pop()[1], term)
                self._stack.append((size, term))
                self._n_added += 1

    @property
    def total(self) -> list[Addable]:
        """The sum of all terms."""
        _, total = self._stack.pop()
        while self._stack:
            total = _added(self._stack.pop()[1], total)
        return total


def _added(left: list[Addable], right: list[Addable]) -> list[Addable]:
    return [one + other for one, other in zip(left, right, strict=True)]


def load_blocks(
    source: BlockSource,
    sample_weight: UserArray = None,
    *,
    of_classes: bool,
    class_weight: object = None,
    classes: np.ndarray | None = None,
    n_threads: int = 1,
    may_centre: bool = False,
) -> PartitionedData:
    """Check all blocks of a source, in one pass.

    Where an intercept makes up for it, columns very far from zero ``may_centre``, which takes another pass.
    """
    lacking = lack_of_memory(source, n_threads)
    if lacking:
        warn_user(lacking, MemoryWarning)
    executor = DiskExecutor(source, n_threads)
    ends = np.cumsum(source.block_rows)
    n_rows = int(ends[-1]) if len(ends) else 0
    weights: Sequence[np.ndarray | None] = [None] * len(ends)
    if sample_weight is not None:
        sample_weight = np.asarray(sample_weight)
        if sample_weight.shape != (n_rows,):
            raise ValueError(f"sample_weight has the shape {sample_weight.shape}; the data have {n_rows} rows.")
        weights = np.split(sample_weight, ends[:-1])
    stored = [StoredPartition(executor, number, weights[number]) for number in range(len(ends))]
    summaries = executor.each(partial(_check, of_classes, may_centre), stored)
    executor.rounds += 1
    for number, summary in enumerate(summaries):
        if summary.error:
            raise ValueError(f"{source.name_of_row(number, 0)} or one after it: {summary.error}")
    centre = centre_of(summaries)
    while centre is not None:
        summaries = executor.each(partial(_centred_summary, centre), stored, summaries)
        executor.rounds += 1
        tried, centre = centre, without_inexact(centre, summaries)
        if centre is tried:
            executor.centre(centre)
            break

    def points(**known: Unpack[KnownOfRows]) -> PartitionedPoints:
        return PartitionedPoints(source.arrays, [(one,) for one in stored], executor, **known, centre=centre)

    data = merge_summaries(points, summaries, of_classes=of_classes, class_weight=class_weight, classes=classes)
    executor.plan(data.n_tasks)
    return data


def _centred_summary(centre: np.ndarray, stored: StoredPartition, summary: PartitionSummary) -> PartitionSummary:
    return centre_partition((Partition(stored.points, np.empty(0), None), summary), centre)[1]


def _check(of_classes: bool, may_centre: bool, stored: StoredPartition) -> PartitionSummary:
    """Check a block; an error names the row, where one row is to blame."""
    matrix, labels = stored.points.matrix, stored.labels
    _, summary = check_partition(matrix, labels, stored.weights, of_classes, may_centre)
    if summary.error:
        values = matrix.data if is_sparse(matrix) else matrix
        for name, array in (("X", values), ("y", labels)):
            bad = np.argwhere(~np.isfinite(array)) if array.dtype.kind == "f" else np.empty(0)
            if bad.size:
                row = int(bad[0, 0])
                if name == "X" and is_sparse(matrix):
                    row = int(np.searchsorted(matrix.indptr, row, side="right")) - 1
                where = stored.executor.source.name_of_row(stored.number, row)
                raise ValueError(f"{where}: {name} has a value that is NaN or infinite: fill it in, or leave it out.")
    return summary
