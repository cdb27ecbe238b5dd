"""Rounds on partitions: messages, and what the process that holds a partition does with one."""

import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Protocol, Self, TypeVar

import numpy as np

from maxmargin.data.blas import one_blas_thread
from maxmargin.data.partition_summaries import Partition, PartitionSummary
from maxmargin.data.partitions import CheckedPartition, LocalTargets
from maxmargin.data.points import HasPoints, Points
from maxmargin.data.rows import aligned, is_sparse
from maxmargin.engine.base import Addable, Block, ProblemT
from maxmargin.engine.buffers import chosen_of, copied, empty, zeros
from maxmargin.engine.memory import middle_of, tree_sum
from maxmargin.engine.threads import CALLING_THREAD

# Rows of a partition on which tasks without entries of rows work at a time: their vectors stay in the cache, and are
# short enough (128 kB) that the memory is not given back to the system and asked for again, which costs workers of
# Dask more than the work.
ROWS_AT_A_TIME = 1 << 14

ValueT = TypeVar("ValueT")

# What a round does, in the order of the queue. ``part`` is the path of masks that leads to a subset, "" for all rows.


class Call(NamedTuple):
    """Call a task on a subset of the rows; ``answers`` is "", "sum" or "list"."""

    part: str
    task: Callable[..., object]
    arguments: tuple[object, ...]
    writes: tuple[str, ...]
    answers: str


class Allocate(NamedTuple):
    """Add vectors of zeros."""

    part: str
    names: tuple[str, ...]
    dtype: str


class Drop(NamedTuple):
    """Drop vectors, or without names all of a subset."""

    part: str
    names: tuple[str, ...]


class Choose(NamedTuple):
    """Make the subset of the rows where a mask is true, with copies of some vectors; its rows may be ``gathered``."""

    part: str
    mask: str
    names: tuple[str, ...]
    gathered: bool = False


class WriteBack(NamedTuple):
    """Copy a vector of a subset to its rows."""

    part: str
    mask: str
    name: str


Operation = Call | Allocate | Drop | Choose | WriteBack


class BlockProblem(HasPoints, Protocol):
    """A problem that is made anew of the rows of each partition."""

    def of_block(self, points: Points, targets: np.ndarray, weights: np.ndarray) -> Self: ...

    def without_rows(self) -> Self: ...


class Storage(Protocol):
    """Where the vectors over all rows lie."""

    def zeros(self, first: int, n_rows: int, dtype: str, name: str) -> np.ndarray: ...

    def drop(self, names: tuple[str, ...]) -> None: ...


class Message(NamedTuple):
    """What all partitions get in a round.

    Attributes
    ----------
    problem : the problem without rows
    operations : tuple of Operation
    in_place : bool, default=False
        Whether vectors may be overwritten: they belong to no task that may be repeated.
    gather : callable, optional
        ``gather(points, rows)`` returns some rows as Points of their own, or None where they are not to be kept.
    storage : object, optional
        Where the vectors over all rows lie, if not each in an array of its own.
    zeros : callable, optional
        ``zeros(n_rows, dtype, name)`` makes a vector over all rows of the partition.
    """

    problem: BlockProblem
    operations: tuple[Operation, ...]
    in_place: bool = False
    gather: Callable[[Points, np.ndarray], Points | None] | None = None
    storage: Storage | None = None
    zeros: Callable[[int, str, str], np.ndarray] | None = None


@dataclass(frozen=True)
class Part:
    """Rows of a partition, and their vectors; ``problem`` holds rows that were gathered, else None."""

    index: np.ndarray
    vectors: dict[str, np.ndarray]
    problem: HasPoints | None = None

    def __sizeof__(self) -> int:
        # A scheduler asks. Weights that are all one have no memory of their own.
        return object.__sizeof__(self) + sum(
            values.nbytes for values in (self.index, *self.vectors.values()) if values.strides != (0,)
        )


@dataclass(frozen=True, slots=True)
class State:
    """The vectors of a partition after a round, by subset, and the round's answers."""

    parts: dict[str, Part]
    answers: list[Addable]

    def __sizeof__(self) -> int:
        # Asked of every task's result: Dask's own walk through tuples, lists and dicts costs more than most tasks.
        return object.__sizeof__(self) + sum(map(sys.getsizeof, self.parts.values())) + size_of(self.answers)


def begin(checked: CheckedPartition, local: LocalTargets, compact: bool) -> State:
    """The first vectors: targets and weights, the targets in the smallest type or as they are used."""
    partition = checked[0]
    targets, weights = local(partition)
    if not compact:
        targets = targets.astype(np.float64, copy=False)
    return State({"": Part(all_rows(partition.points.n_rows), {"targets": targets, "row_weights": weights})}, [])


def all_rows(n_rows: int) -> np.ndarray:
    """The numbers of all rows; the partitions of a process share one array."""
    global _numbers
    if n_rows > _numbers.size:
        _numbers = np.arange(2 * n_rows, dtype=np.uint32)
    return _numbers[:n_rows]


_numbers = np.empty(0, dtype=np.uint32)


def as_weights(weights: np.ndarray) -> np.ndarray:
    """Weights as tasks read them; the partitions of a process share one array of ones."""
    global _ones
    if weights.strides != (0,) or (weights[:1] != 1.0).any():
        return np.ascontiguousarray(weights, dtype=np.float64)
    if weights.size > _ones.size:
        _ones = np.ones(2 * weights.size)
        _ones.flags.writeable = False
    return _ones[: weights.size]


_ones = np.empty(0)


def add_vector(state: State, name: str, values: np.ndarray, place: np.ndarray | None = None) -> State:
    """Add a copy of a vector over all rows, in an array of its own or at a place."""
    rows = state.parts[""]
    if values.shape != rows.index.shape:
        raise ValueError(f"{name} has {values.size} entries in a partition of {rows.index.size} rows.")
    place = empty(values.size, np.float64) if place is None else place
    place[:] = values
    values = place
    return State({"": Part(rows.index, {**rows.vectors, name: values})}, [])


def run_round(checked: CheckedPartition, state: State, message: Message) -> State:
    """Run the operations on a partition; the vectors of the state before stay as they are, unless ``in_place``."""
    parts = {
        key: replace(
            part, index=aligned(part.index), vectors={name: aligned(values) for name, values in part.vectors.items()}
        )
        for key, part in state.parts.items()
    }
    whole = parts[""].vectors
    points = checked[0].points
    targets = np.ascontiguousarray(whole["targets"], dtype=np.float64)
    weights = as_weights(whole["row_weights"])
    problem = message.problem.of_block(points, targets, weights)
    # Vectors of this round, which may be written to.
    new = {(key, name) for key, part in parts.items() for name in part.vectors} if message.in_place else set()
    answers: list[Addable] = []
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        for operation in message.operations:
            if isinstance(operation, Drop) and not operation.names:
                drop_subset(parts, operation.part)
                continue
            index, vectors = parts[operation.part].index, parts[operation.part].vectors
            if isinstance(operation, Allocate):
                for name in operation.names:
                    elsewhere = message.zeros if operation.part == "" else None
                    vectors[name] = (
                        zeros(index.size, operation.dtype)
                        if elsewhere is None
                        else elsewhere(index.size, operation.dtype, name)
                    )
                    new.add((operation.part, name))
            elif isinstance(operation, Drop):
                for name in operation.names:
                    del vectors[name]
                    new.discard((operation.part, name))
            elif isinstance(operation, Choose):
                chosen = np.flatnonzero(vectors[operation.mask])
                copies = {name: chosen_of(vectors[name], chosen) for name in operation.names}
                child = subset_path(operation.part, operation.mask)
                drop_subset(parts, child)
                new = {(key, name) for key, name in new if key in parts} | {(child, name) for name in copies}
                parts[child] = Part(index[chosen], copies, parts[operation.part].problem)
                if operation.gathered and message.gather is not None and parts[child].problem is None:
                    rows = message.gather(points, index[chosen])
                    if rows is not None:
                        own: HasPoints | None = message.problem.of_block(
                            rows, targets[index[chosen]], weights[index[chosen]]
                        )
                        parts[child] = Part(np.arange(chosen.size, dtype=np.uint32), copies, own)
            elif isinstance(operation, WriteBack):
                merged = vectors[operation.name]
                merged = merged if (operation.part, operation.name) in new else copied(merged)
                merged[vectors[operation.mask]] = parts[subset_path(operation.part, operation.mask)].vectors[
                    operation.name
                ]
                vectors[operation.name] = merged
                new.add((operation.part, operation.name))
            else:
                for name in operation.writes:
                    if (operation.part, name) not in new:
                        vectors[name] = copied(vectors[name])
                        new.add((operation.part, name))
                own = parts[operation.part].problem
                block = Block(problem if own is None else own, index, vectors)
                found = call_on_block(block, operation)
                if operation.answers:
                    answers.append(found)
    return State(parts, answers)


def call_on_block(block: Block[HasPoints], call: Call) -> Addable:
    """Call a task on a partition, or on its stretches of rows; return the sum or the list of the results."""
    arguments = tuple(map(aligned, call.arguments))
    blocks = [block]
    if getattr(call.task, "is_row_task", False) and block.index.size > ROWS_AT_A_TIME:
        blocks = stretches_of(block)
    jobs = [partial(call.task, one, *arguments) for one in blocks]
    if call.answers == "sum":
        # A task whose results are summed returns what can be added.
        return tree_sum(jobs, CALLING_THREAD)  # type: ignore[type-var, return-value]
    results: list[object] = [job() for job in jobs]
    return results


def stretches_of(block: Block[ProblemT]) -> list[Block[ProblemT]]:
    """The rows of a block in stretches of equal length."""
    n_rows = block.index.size
    n_blocks = -(-n_rows // ROWS_AT_A_TIME)
    cuts = [n_rows * k // n_blocks for k in range(n_blocks + 1)]
    return [
        Block(block.problem, block.index[rows], {name: values[rows] for name, values in block.vectors.items()})
        for rows in itertools.starmap(slice, itertools.pairwise(cuts))
    ]


def changes_vectors(message: Message) -> bool:
    """Whether a round leaves other vectors behind."""
    return any(not isinstance(operation, Call) or operation.writes for operation in message.operations)


def has_answers(message: Message) -> bool:
    """Whether something is added up in a round."""
    return any(isinstance(operation, Call) and operation.answers for operation in message.operations)


def ask_round(checked: CheckedPartition, state: State, message: Message) -> list[Addable]:
    """The answers of a round that changes no vector."""
    return run_round(checked, state, message).answers


def answers_of(state: State) -> list[Addable]:
    """The answers of a round."""
    return state.answers


def vector_of(state: State, name: str) -> np.ndarray:
    """A vector over all rows of the partition."""
    return state.parts[""].vectors[name]


def stack_vectors(*vectors: np.ndarray) -> np.ndarray:
    """Vectors as the rows of a matrix."""
    return np.stack(vectors)


def summary_of(checked: tuple[Partition, PartitionSummary]) -> PartitionSummary:
    """The summary of a partition."""
    return checked[1]


def add_answers(*answers: list[Addable]) -> list[Addable]:
    """Add over the binary tree that ``tree_sum`` uses, without writing to the terms."""
    if len(answers) == 1:
        return answers[0]
    middle = middle_of(0, len(answers))
    left, right = add_answers(*answers[:middle]), add_answers(*answers[middle:])
    return [one + other for one, other in zip(left, right, strict=True)]


def drop_subset(parts: dict[str, Part], path: str) -> None:
    """Drop a subset, if it is there, and those that were made of it."""
    for key in [key for key in parts if key == path or key.startswith(path + "/")]:
        del parts[key]


def subset_path(part: str, mask: str) -> str:
    return f"{part}/{mask}"


def identity(value: ValueT) -> ValueT:
    return value


def size_of(value: object) -> int:
    """About the bytes of numbers in a message."""
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    if is_sparse(value):
        return size_of([value.data, value.indices, value.indptr])
    if isinstance(value, (list, tuple)):
        return sum(map(size_of, value))
    return 0 if isinstance(value, str) or callable(value) else 8
