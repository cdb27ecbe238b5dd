"""The engine of rows in the partitions of a Dask collection.

A partition and the vectors over its rows stay where they are: on the workers of a cluster as futures, or in this
process where there is no cluster. A round sends one message to all partitions, a few tasks with small arguments, and
adds up their answers over a fixed binary tree. On a cluster it is a set of plain tasks

    (partition, vectors, message) -> (new vectors, answers)

without communication inside. Vectors are never written in place: new ones replace those that a task declares to write.
So a lost worker is an ordinary recompute by the scheduler, which repeats the rounds that have changed vectors (about
two a Newton step) on the partitions that were lost, and gives the same bits.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar, Unpack

import numpy as np

from maxmargin.data.array_types import UserArray
from maxmargin.data.partition_summaries import centre_of, centre_partition, check_partition, without_inexact
from maxmargin.data.partitions import (
    CheckedPartition,
    Held,
    KnownOfRows,
    LocalTargets,
    PartitionedData,
    PartitionedPoints,
    merge_summaries,
)
from maxmargin.data.points import HasPoints
from maxmargin.data.validation import is_collection
from maxmargin.engine.base import Answer, Block, Engine, Rest, ResultT, SumT
from maxmargin.engine.executors import DaskObject, Executor, array_of_chunks, executor_for, executor_of
from maxmargin.engine.rounds import (
    Allocate,
    BlockProblem,
    Call,
    Choose,
    Drop,
    Message,
    Operation,
    State,
    WriteBack,
    begin,
    size_of,
    stack_vectors,
    subset_path,
    summary_of,
    vector_of,
)

ProblemT = TypeVar("ProblemT", bound=BlockProblem, covariant=True)

# From so many rows a partition on, 25 lengths of a line search take as long as a round.
MANY_ROWS = 1 << 17


def load_partitions(
    X: UserArray,
    y: UserArray,
    sample_weight: UserArray = None,
    *,
    of_classes: bool,
    class_weight: object = None,
    classes: np.ndarray | None = None,
    n_threads: int = 1,
    may_centre: bool = False,
) -> PartitionedData:
    """Check the partitions of collections where they are, and keep them there.

    Where an intercept makes up for it, columns very far from zero ``may_centre``: on a copy of the rows.
    """
    import dask

    columns = [partitions_of("X", X)]
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        if values is None:
            columns.append([None] * len(columns[0]))
            continue
        if not is_collection(values):
            raise TypeError(
                f"X is a Dask collection, and {name} is not: give {name} with the partitions of X, for example by "
                "dask.array.from_array(values, chunks=X.chunks[0])."
            )
        columns.append(partitions_of(name, values))
        if len(columns[-1]) != len(columns[0]):
            raise ValueError(
                f"X has {len(columns[0])} partitions and {name} has {len(columns[-1])}: give both the same."
            )
    executor = executor_for(X, n_threads)
    is_persisted = executor.is_persisted(X)
    check = dask.delayed(check_partition, pure=False)
    given = partitions = executor.load(
        [check(*parts, of_classes, may_centre, is_persisted) for parts in zip(*columns, strict=True)]
    )
    summaries = executor.fetch(executor.each(summary_of, partitions))
    executor.rounds += 1
    centre = centre_of(summaries)
    while centre is not None:
        partitions = executor.each(centre_partition, given, [centre] * len(given))
        summaries = executor.fetch(executor.each(summary_of, partitions))
        executor.rounds += 1
        tried, centre = centre, without_inexact(centre, summaries)
        if centre is tried:
            break

    def points(**known: Unpack[KnownOfRows]) -> PartitionedPoints:
        return PartitionedPoints(X, partitions, executor, **known, centre=centre)

    return merge_summaries(points, summaries, of_classes=of_classes, class_weight=class_weight, classes=classes)


def partitions_of(name: str, collection: UserArray, *, optimized: bool = True) -> list[DaskObject]:
    """The partitions as delayed objects; the columns of X have to lie in one of them.

    Where they become part of another Dask array, which is optimised as a whole, they are not to be optimised before:
    that would give one key two meanings.
    """
    chunks = getattr(collection, "chunks", None)
    if chunks is not None and len(chunks) == 2 and len(chunks[1]) > 1:
        raise ValueError(f"{name} has its columns in {len(chunks[1])} chunks: use {name}.rechunk({{1: -1}}).")
    delayed = collection.to_delayed(optimize_graph=optimized)
    return list(np.ravel(delayed) if isinstance(delayed, np.ndarray) else delayed)


class Handle(NamedTuple):
    """A vector over the rows of all partitions, which stays there."""

    engine: "DaskEngine[BlockProblem]"
    name: str

    def chunks(self) -> list[Held[np.ndarray]]:
        """The parts of the vector, where they are."""
        return self.engine.chunks(self.name)

    def alone(self) -> "Parts":
        """The vector without its engine, whose other vectors then go with it."""
        return Parts(self.chunks())


class Parts:
    """A vector over the rows of all partitions, in parts that stay where they are.

    Parameters
    ----------
    chunks : list
    """

    def __init__(self, chunks: list[Held[np.ndarray]]) -> None:
        self._chunks = chunks

    def chunks(self) -> list[Held[np.ndarray]]:
        """The parts."""
        return self._chunks

    def move_to(self, place: np.ndarray) -> None:
        """Copy a vector of this process to a place, and leave none of it elsewhere."""
        sizes = [len(chunk) for chunk in self._chunks]  # type: ignore[arg-type]
        np.concatenate(self._chunks, out=place)  # type: ignore[arg-type]
        self._chunks = list(np.split(place, np.cumsum(sizes)[:-1]))


class _Rows:
    """The vectors of all partitions, and what is to be done with them in the next round."""

    def __init__(self, problem: BlockProblem, local: LocalTargets) -> None:
        points: object = problem.points
        assert isinstance(points, PartitionedPoints)
        self.points = points
        # Sent in every round: without the rows.
        self.problem = problem.without_rows()
        self.executor = executor_of(self.points)
        partitions = self.points.partitions
        self.states: Sequence[Held[State]] = list(
            self.executor.each(
                begin, partitions, *([value] * len(partitions) for value in (local, self.executor.compact))
            )
        )
        self.queue: list[Operation] = []
        self.answers: list[Answer[object]] = []
        self.storage = self.executor.new_storage()

    def call(
        self,
        part: str,
        task: Callable[..., object],
        arguments: tuple[object, ...],
        writes: tuple[str, ...],
        kind: str,
    ) -> Answer[ResultT]:
        self.queue.append(Call(part, task, arguments, writes, kind))
        answer: Answer[ResultT] = Answer(compute=self.run)
        if kind:
            self.answers.append(answer)
        return answer

    def run(self) -> None:
        """Run a round: all that is in the queue."""
        operations, answers = tuple(self.queue), self.answers
        self.queue, self.answers = [], []
        if not operations:
            return
        executor, partitions = self.executor, self.points.partitions
        self.states, totals = executor.run_round(
            partitions, self.states, Message(self.problem, operations, storage=self.storage)
        )
        executor.rounds += 1
        executor.bytes_sent += len(partitions) * size_of(operations)
        if answers:
            asked = [operation for operation in operations if isinstance(operation, Call) and operation.answers]
            for operation, total in zip(asked, totals, strict=True):
                # A list has one entry for every partition, a sum came from each of them.
                executor.bytes_received += size_of(total) * (len(partitions) if operation.answers == "sum" else 1)
            for answer, total in zip(answers, totals, strict=True):
                answer.fill(total)


class DaskEngine(Engine[ProblemT]):
    """Runs tasks on the partitions of a problem whose points are ``PartitionedPoints``.

    Nothing runs before an answer is needed: then all tasks in the queue run in one round.

    Parameters
    ----------
    problem : object with points, and with ``of_block(points, targets, weights)`` and ``without_rows()``
    local : LocalTargets
        Makes targets and weights of the labels of a partition.
    """

    has_rounds = True

    @property
    def vectors_are_near(self) -> bool:  # type: ignore[override]
        """Whether the vectors lie in this process."""
        return bool(self._rows.executor.vectors_are_near)

    @property
    def may_collect_rows(self) -> bool:  # type: ignore[override]
        """Whether some rows may be sent to this process."""
        return bool(self._rows.executor.may_collect_rows)

    def __init__(self, problem: ProblemT, local: LocalTargets) -> None:
        self.problem = problem
        self._rows, self._part = _Rows(problem, local), ""

    @property
    def n_rows(self) -> int:
        """The number of all rows, also of a subset."""
        return int(self.problem.points.n_rows)

    def __getitem__(self, name: str) -> Handle:
        return Handle(self, name)

    def set_chunks(self, name: str, chunks: Sequence[Held[np.ndarray]]) -> None:
        """Add a vector that is given in parts, one a partition."""
        self._rows.run()
        rows = self._rows
        rows.states = rows.executor.with_vector(rows.states, name, chunks, rows.storage)

    def chunks(self, name: str) -> list[Held[np.ndarray]]:
        """The parts of a vector over all rows, where they are."""
        self._rows.run()
        states = self._rows.states
        return list(self._rows.executor.each(vector_of, states, [name] * len(states)))

    def vector(self, name: str) -> np.ndarray:
        """Gather a vector over all rows."""
        return np.concatenate(self._rows.executor.fetch(self.chunks(name)))

    def set_vector(self, name: str, values: np.ndarray) -> None:
        """Replace the values of a vector, where the vectors lie in this process and may be overwritten."""
        chunks = self._rows.executor.fetch(self.chunks(name))
        for chunk, part in zip(chunks, np.split(values, np.cumsum([len(one) for one in chunks])[:-1]), strict=True):
            chunk[:] = part

    def allocate(self, *names: str, dtype: type = np.float64) -> None:
        """Add vectors of zeros."""
        self._rows.queue.append(Allocate(self._part, names, np.dtype(dtype).str))

    def drop(self, *names: str) -> None:
        """Drop vectors."""
        self._rows.queue.append(Drop(self._part, names))

    def drop_subset(self, mask: str) -> None:
        """Drop the last subset by a mask, if there is one."""
        self._rows.queue.append(Drop(subset_path(self._part, mask), ()))

    @property
    def asks_ahead(self) -> bool:  # type: ignore[override]
        """Whether a round costs more than a few operations for every row of a partition."""
        counts = self.problem.points.row_counts  # type: ignore[attr-defined]
        return self.vectors_are_near or sum(counts) < MANY_ROWS * len(counts)

    @property
    def largest_subset(self) -> float:  # type: ignore[override]
        """The largest share of the rows of which a subset saves more than it costs."""
        return float(self._rows.executor.largest_subset)

    def subset(self, mask: str, *names: str, often: bool = False) -> "DaskEngine[ProblemT]":
        """Return an engine for the rows where the vector ``mask`` is true, with copies of the vectors named."""
        self._rows.queue.append(Choose(self._part, mask, names, often))
        engine: DaskEngine[ProblemT] = DaskEngine.__new__(DaskEngine)
        engine.problem, engine._rows, engine._part = self.problem, self._rows, subset_path(self._part, mask)
        return engine

    def write_back(self, part: Engine[HasPoints], mask: str, name: str) -> None:  # noqa: ARG002
        """Copy a vector of the subset by ``mask`` back to its rows here."""
        self._rows.queue.append(WriteBack(self._part, mask, name))

    def map(
        self, task: Callable[[Block[ProblemT], *Rest], ResultT], *arguments: *Rest, writes: tuple[str, ...] = ()
    ) -> list[ResultT]:
        """Call a task on every partition, in a round; return the results in the partitions' order."""
        return self.ask_all(task, *arguments, writes=writes).value

    def sum(
        self,
        task: Callable[[Block[ProblemT], *Rest], SumT],
        *arguments: *Rest,
        most: int | None = None,  # noqa: ARG002
        writes: tuple[str, ...] = (),
    ) -> SumT:
        """Add the results of all partitions, in a round."""
        return self.ask(task, *arguments, writes=writes).value

    def do(
        self, task: Callable[[Block[ProblemT], *Rest], None], *arguments: *Rest, writes: tuple[str, ...] = ()
    ) -> None:
        """Call a task in the next round."""
        self._rows.call(self._part, task, arguments, writes, "")

    def ask(
        self, task: Callable[[Block[ProblemT], *Rest], SumT], *arguments: *Rest, writes: tuple[str, ...] = ()
    ) -> Answer[SumT]:
        """Add the results of all partitions in the next round."""
        return self._rows.call(self._part, task, arguments, writes, "sum")

    def ask_all(
        self, task: Callable[[Block[ProblemT], *Rest], ResultT], *arguments: *Rest, writes: tuple[str, ...] = ()
    ) -> Answer[list[ResultT]]:
        """Ask for the results of all partitions in the next round."""
        return self._rows.call(self._part, task, arguments, writes, "list")


def seconds_per_pass(points: PartitionedPoints) -> float:
    """Measure the time in which all partitions compute scores and a combination of their rows."""
    executor, began = executor_of(points), time.perf_counter()
    executor.fetch(executor.each(_read_rows, points.partitions))
    executor.rounds += 1
    return time.perf_counter() - began


def _read_rows(checked: CheckedPartition) -> None:
    points = checked[0].points
    points.combination(points.scores(np.ones(points.n_columns)))


def dask_array(executor: Executor, rows: Sequence[Sequence[Held[np.ndarray]]], counts: Sequence[int]) -> DaskObject:
    """A Dask array whose rows are vectors over the partitions, which stay where they are."""
    chunks = [executor.as_chunk(chunk) for chunk in executor.each(stack_vectors, *rows)]
    return array_of_chunks(chunks, ((len(rows),), tuple(counts)), 1, np.float64)


def chunks_of(vector: UserArray, executor: Executor, counts: Sequence[int]) -> Sequence[Held[np.ndarray]]:
    """The parts of a vector, one a partition, that lies in a Dask array or in memory."""
    if not is_collection(vector):
        return list(np.split(np.asarray(vector), np.cumsum(counts)[:-1]))
    return executor.load(partitions_of("dual_coef_", vector))
