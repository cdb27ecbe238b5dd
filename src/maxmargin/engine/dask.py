"""The engine of rows in the partitions of a Dask collection.

A partition and the vectors over its rows stay where they are: on the workers of a cluster as futures, or in this
process where there is no cluster. A round sends one message to all partitions, a few tasks with small arguments, and
adds up their answers over a fixed binary tree. On a cluster it is a set of plain tasks

    (partition, vectors, message) -> (new vectors, answers)

without communication inside. Vectors are never written in place: new ones replace those that a task declares to write.
So a lost worker is an ordinary recompute by the scheduler, which repeats the rounds that have changed vectors (about
two a Newton step) on the partitions that were lost, and gives the same bits.
"""

import contextlib
import itertools
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maxmargin.data.blas import one_blas_thread
from maxmargin.data.partitions import (
    LocalTargets,
    PartitionedData,
    PartitionedPoints,
    check_partition,
    is_collection,
    merge_summaries,
)
from maxmargin.data.rows import aligned
from maxmargin.engine.base import Answer, Block, Engine, ProblemT
from maxmargin.engine.memory import CALLING_THREAD, middle_of, tree_sum
from maxmargin.engine.threads import Threads

# Bytes: a longer message is sent to the scheduler once, not once a partition.
SHORT_MESSAGE = 1 << 12
# Results that a task of a worker adds up: fewer tasks, more memory.
ADDED_AT_ONCE = 8
# Rows of a partition on which tasks without entries of rows work at a time: their vectors stay in the cache, and are
# short enough (128 kB) that the memory is not given back to the system and asked for again, which costs workers of
# Dask more than the work.
ROWS_AT_A_TIME = 1 << 14
# The setting of Dask that lets fits collect some rows in the client: a subsample to start from, and few free rows.
COLLECT_ROWS = "maxmargin.collect-rows"
# Seconds between checks of the cluster while a round runs, and those after which one without workers counts as lost.
PATIENCE, PATIENCE_WITHOUT_WORKERS = 1.0, 30.0


class ClusterError(RuntimeError):
    """The cluster, or its partitions, went away in the middle of a computation."""


# What a round does, in the order of the queue. ``part`` is the path of masks that leads to a subset, "" for all rows.


class Call(NamedTuple):
    """Call a task on a subset of the rows; ``answers`` is "", "sum" or "list"."""

    part: str
    task: Callable[..., Any]
    arguments: tuple[Any, ...]
    writes: tuple[str, ...]
    answers: str


class Allocate(NamedTuple):
    """Add vectors of zeros."""

    part: str
    names: tuple[str, ...]
    dtype: str


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


class Keep(NamedTuple):
    """Drop all subsets, and all vectors but some, targets and weights."""

    part: str
    names: tuple[str, ...]


Operation = Call | Allocate | Choose | WriteBack | Keep


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

    problem: Any
    operations: tuple[Operation, ...]
    in_place: bool = False
    gather: Callable[[Any, np.ndarray], Any] | None = None
    storage: Any = None
    zeros: Callable[[int, str, str], np.ndarray] | None = None


@dataclass(frozen=True)
class Part:
    """Rows of a partition, and their vectors; ``problem`` holds rows that were gathered, else None."""

    index: np.ndarray
    vectors: dict[str, np.ndarray]
    problem: Any = None


class State(NamedTuple):
    """The vectors of a partition after a round, by subset, and the round's answers."""

    parts: dict[str, Part]
    answers: list[Any]


# Tasks of a cluster. A partition comes with its summary.


def begin(checked: Any, local: LocalTargets, compact: bool) -> State:
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


def add_vector(state: State, name: str, values: Any) -> State:
    """Add a vector over all rows."""
    rows = state.parts[""]
    # A copy: vectors may be written to.
    values = np.array(values, dtype=np.float64)
    if values.shape != rows.index.shape:
        raise ValueError(f"{name} has {values.size} entries in a partition of {rows.index.size} rows.")
    return State({"": Part(rows.index, {**rows.vectors, name: values})}, [])


def run_round(checked: Any, state: State, message: Message) -> State:
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
    answers: list[Any] = []
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        for operation in message.operations:
            index, vectors = parts[operation.part].index, parts[operation.part].vectors
            if isinstance(operation, Allocate):
                for name in operation.names:
                    elsewhere = message.zeros if operation.part == "" else None
                    vectors[name] = (
                        np.zeros(index.size, dtype=operation.dtype)
                        if elsewhere is None
                        else elsewhere(index.size, operation.dtype, name)
                    )
                    new.add((operation.part, name))
            elif isinstance(operation, Choose):
                chosen = np.flatnonzero(vectors[operation.mask])
                copies = {name: vectors[name][chosen] for name in operation.names}
                child = _child(operation.part, operation.mask)
                for stale in [key for key in parts if key == child or key.startswith(child + "/")]:
                    del parts[stale]
                new = {(key, name) for key, name in new if key in parts} | {(child, name) for name in copies}
                parts[child] = Part(index[chosen], copies, parts[operation.part].problem)
                if operation.gathered and message.gather is not None and parts[child].problem is None:
                    rows = message.gather(points, index[chosen])
                    if rows is not None:
                        own = message.problem.of_block(rows, targets[index[chosen]], weights[index[chosen]])
                        parts[child] = Part(np.arange(chosen.size, dtype=np.uint32), copies, own)
            elif isinstance(operation, Keep):
                parts = {"": parts[""]}
                for name in vectors.keys() - {"targets", "row_weights", *operation.names}:
                    del vectors[name]
            elif isinstance(operation, WriteBack):
                merged = vectors[operation.name]
                merged = merged if (operation.part, operation.name) in new else merged.copy()
                merged[vectors[operation.mask]] = parts[_child(operation.part, operation.mask)].vectors[operation.name]
                vectors[operation.name] = merged
                new.add((operation.part, operation.name))
            else:
                for name in operation.writes:
                    if (operation.part, name) not in new:
                        vectors[name] = vectors[name].copy()
                        new.add((operation.part, name))
                own = parts[operation.part].problem
                block = Block(problem if own is None else own, index, vectors)
                found = call_on_block(block, operation)
                if operation.answers:
                    answers.append(found)
    return State(parts, answers)


def call_on_block(block: Block[Any], call: Call) -> Any:
    """Call a task on a partition, or on its stretches of rows; return the sum or the list of the results."""
    arguments = tuple(map(aligned, call.arguments))
    blocks = [block]
    if getattr(call.task, "is_row_task", False) and block.index.size > ROWS_AT_A_TIME:
        blocks = stretches_of(block)
    jobs = [partial(call.task, one, *arguments) for one in blocks]
    return tree_sum(jobs, CALLING_THREAD) if call.answers == "sum" else [job() for job in jobs]


def stretches_of(block: Block[Any]) -> list[Block[Any]]:
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


def ask_round(checked: Any, state: State, message: Message) -> list[Any]:
    """The answers of a round that changes no vector."""
    return run_round(checked, state, message).answers


def answers_of(state: State) -> list[Any]:
    """The answers of a round."""
    return state.answers


def vector_of(state: State, name: str) -> np.ndarray:
    """A vector over all rows of the partition."""
    return state.parts[""].vectors[name]


def stack_vectors(*vectors: np.ndarray) -> np.ndarray:
    """Vectors as the rows of a matrix."""
    return np.stack(vectors)


def summary_of(checked: Any) -> Any:
    """The summary of a partition."""
    return checked[1]


def add_answers(*answers: list[Any]) -> list[Any]:
    """Add over the binary tree that ``tree_sum`` uses, without writing to the terms."""
    if len(answers) == 1:
        return answers[0]
    middle = middle_of(0, len(answers))
    left, right = add_answers(*answers[:middle]), add_answers(*answers[middle:])
    return [one + other for one, other in zip(left, right, strict=True)]


def _child(part: str, mask: str) -> str:
    return f"{part}/{mask}"


def _same(value: Any) -> Any:
    return value


# Where the tasks run.


class Executor:
    """Runs functions on every partition in this process, in threads.

    Attributes
    ----------
    rounds, bytes_sent, bytes_received : int
        Counted over the whole fit: messages to the partitions, and answers of the partitions.
    vectors_are_near : bool
        Whether the vectors over the rows lie in this process, so that rounds without entries of rows cost little.
    largest_subset : float
        The largest share of the rows of which a subset saves more than it costs.
    compact : bool
        Whether targets lie in the smallest type, and are converted in every round.
    may_collect_rows : bool
        Whether some rows, a subsample or a few free ones, may be sent to this process.
    """

    vectors_are_near: ClassVar[bool] = False
    largest_subset: ClassVar[float] = Engine.largest_subset
    compact: ClassVar[bool] = False

    def __init__(self, n_threads: int = 1) -> None:
        self.n_threads = n_threads
        self.may_collect_rows = False
        self.rounds = self.bytes_sent = self.bytes_received = 0

    def load(self, delayed: Sequence[Any]) -> list[Any]:
        """Compute one object a partition."""
        import dask

        return list(dask.compute(*delayed))

    def each(self, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
        """Call a function with the entries of every partition; return the results, or where they will be."""
        with Threads(self.n_threads) as threads:
            return threads.run([partial(function, *entries) for entries in zip(*columns, strict=True)])

    def run_round(
        self, partitions: Sequence[Any], states: list[Any], message: Message
    ) -> tuple[list[Any], Sequence[Any]]:
        """Run the operations of a message on all partitions; return the new states, and the sums of the answers."""
        messages = [self.share(message)] * len(partitions)
        if changes_vectors(message):
            states = self.each(run_round, partitions, states, messages)
            found = self.each(answers_of, states) if has_answers(message) else []
        else:
            found = self.each(ask_round, partitions, states, messages)
        return states, self.added(found) if has_answers(message) else []

    def new_storage(self) -> Any:
        """A place for the vectors over all rows, None for arrays of their own."""
        return None

    def share(self, message: Message) -> Any:
        """Make a message known to all partitions."""
        return message

    def added(self, answers: Sequence[Any]) -> list[Any]:
        """Add the answers of all partitions."""
        return add_answers(*answers)

    def fetch(self, values: Sequence[Any]) -> list[Any]:
        """The results themselves."""
        return list(values)

    def as_chunk(self, value: Any) -> Any:
        """A result as part of the graph of a Dask collection."""
        import dask

        return dask.delayed(value, pure=True)

    def describe(self) -> str:
        """What the rounds have cost."""
        sent, received = (size / max(1, self.rounds) for size in (self.bytes_sent, self.bytes_received))
        return f"{self.rounds} rounds, {sent:.3g} bytes sent and {received:.3g} received a round"


class ClusterExecutor(Executor):
    """Runs functions on the workers of a cluster; results are futures."""

    def __init__(self, client: Any) -> None:
        super().__init__()
        self._client = client
        self._name, self._numbers = uuid.uuid4().hex[:12], itertools.count()

    def _keys(self, function: Callable[..., Any], n_keys: int) -> list[str]:
        number = next(self._numbers)
        return [f"maxmargin-{function.__name__}-{self._name}-{number}-{k}" for k in range(n_keys)]

    def load(self, delayed: Sequence[Any]) -> list[Any]:
        """Compute one object a partition, which stays on its worker."""
        with self._translated():
            return list(self._client.compute(list(delayed)))

    def each(self, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
        """Call a function with the entries of every partition, where the partition is."""
        with self._translated():
            columns = tuple(list(column) for column in columns)
            return list(self._client.map(function, *columns, key=self._keys(function, len(columns[0])), pure=False))

    def share(self, message: Message) -> Any:
        """Send a long message once: tasks get it from each other, and the scheduler can send it again."""
        if size_of(message.operations) <= SHORT_MESSAGE:
            return message
        with self._translated():
            return self._client.submit(_same, message, key=self._keys(_same, 1)[0], pure=False)

    def added(self, answers: Sequence[Any]) -> list[Any]:
        """Add on the workers, over the same tree as in this process."""
        with self._translated():
            future = self._tree(answers, self._keys(add_answers, 1)[0])
        total: list[Any] = self.fetch([future])[0]
        return total

    def _tree(self, answers: Sequence[Any], key: str) -> Any:
        if len(answers) > ADDED_AT_ONCE:
            middle = middle_of(0, len(answers))
            answers = [self._tree(answers[:middle], key + "l"), self._tree(answers[middle:], key + "r")]
        return answers[0] if len(answers) == 1 else self._client.submit(add_answers, *answers, key=key, pure=False)

    def fetch(self, values: Sequence[Any]) -> list[Any]:
        """Wait for results; a cluster that is gone, or has no workers, is an error."""
        with self._translated():
            return [self._wait(value) for value in values]

    def _wait(self, future: Any) -> Any:
        seen, done = time.monotonic(), threading.Event()
        # Not future.result(timeout=...): under load it may fail in the moment in which the time is over.
        future.add_done_callback(lambda _: done.set())
        while not done.wait(PATIENCE):
            if self._client.status not in ("running", "connecting"):
                raise ClusterError(f"The client of the cluster is {self._client.status}.")
            if self._client.status == "running" and self._client.nthreads():
                seen = time.monotonic()
            elif time.monotonic() > seen + PATIENCE_WITHOUT_WORKERS:
                raise ClusterError(
                    "The cluster has had no workers, or no scheduler, for "
                    f"{PATIENCE_WITHOUT_WORKERS:.0f} seconds: start it again, and fit again."
                )
        return future.result()

    @contextlib.contextmanager
    def _translated(self) -> Any:
        """Errors of the cluster in one form; errors of the tasks as they are."""
        from concurrent.futures import CancelledError

        from distributed import client
        from distributed.comm import CommClosedError
        from distributed.scheduler import KilledWorker

        try:
            yield
        except CancelledError as error:
            raise ClusterError(
                "The computation was cancelled: the scheduler went away, or somebody cancelled its futures."
            ) from error
        except KilledWorker as error:
            raise ClusterError(f"Workers died one after the other, perhaps for lack of memory: {error}") from error
        except (CommClosedError, OSError, getattr(client, "ClosedClientError", CommClosedError)) as error:
            raise ClusterError(f"The scheduler does not answer: {error}") from error

    def as_chunk(self, value: Any) -> Any:
        """A future as part of the graph of a Dask collection."""
        import dask

        return dask.delayed(value)


def executor_for(X: Any, n_threads: int) -> Executor:
    """The cluster that Dask would use for a collection, or this process."""
    import dask.base

    client = getattr(dask.base.get_scheduler(collections=[X]), "__self__", None)
    on_cluster = client is not None and hasattr(client, "scheduler_info")
    executor = ClusterExecutor(client) if on_cluster else Executor(n_threads)
    executor.may_collect_rows = bool(dask.config.get(COLLECT_ROWS, False))
    return executor


def load_partitions(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    of_classes: bool,
    class_weight: Any = None,
    classes: np.ndarray | None = None,
    n_threads: int = 1,
) -> PartitionedData:
    """Check the partitions of collections where they are, and keep them there."""
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
    check = dask.delayed(check_partition, pure=False)
    partitions = executor.load([check(*parts, of_classes) for parts in zip(*columns, strict=True)])
    summaries = executor.fetch(executor.each(summary_of, partitions))
    executor.rounds += 1

    def points(**known: Any) -> PartitionedPoints:
        return PartitionedPoints(X, partitions, executor, **known)

    return merge_summaries(points, summaries, of_classes=of_classes, class_weight=class_weight, classes=classes)


def partitions_of(name: str, collection: Any, *, optimized: bool = True) -> list[Any]:
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

    engine: Any
    name: str

    def chunks(self) -> list[Any]:
        """The parts of the vector, where they are."""
        chunks: list[Any] = self.engine.chunks(self.name)
        return chunks


class _Rows:
    """The vectors of all partitions, and what is to be done with them in the next round."""

    def __init__(self, problem: Any, local: LocalTargets) -> None:
        self.points: PartitionedPoints = problem.points
        # Sent in every round: without the rows.
        self.problem = problem.without_rows()
        self.executor = self.points.executor
        partitions = self.points.partitions
        self.states = list(
            self.executor.each(
                begin, partitions, *([value] * len(partitions) for value in (local, self.executor.compact))
            )
        )
        self.queue: list[Operation] = []
        self.answers: list[Answer] = []
        self.storage = self.executor.new_storage()

    def call(self, part: str, task: Callable[..., Any], arguments: Any, writes: tuple[str, ...], kind: str) -> Answer:
        self.queue.append(Call(part, task, arguments, writes, kind))
        answer = Answer(compute=self.run)
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

    def set_chunks(self, name: str, chunks: Sequence[Any]) -> None:
        """Add a vector that is given in parts, one a partition."""
        self._rows.run()
        rows = self._rows
        rows.states = rows.executor.each(add_vector, rows.states, [name] * len(chunks), chunks)

    def chunks(self, name: str) -> list[Any]:
        """The parts of a vector over all rows, where they are."""
        self._rows.run()
        states = self._rows.states
        return list(self._rows.executor.each(vector_of, states, [name] * len(states)))

    def vector(self, name: str) -> np.ndarray:
        """Gather a vector over all rows."""
        return np.concatenate(self._rows.executor.fetch(self.chunks(name)))

    def set_vector(self, name: str, values: np.ndarray) -> None:
        """Replace the values of a vector, where the vectors lie in this process and may be overwritten."""
        chunks = self.chunks(name)
        for chunk, part in zip(chunks, np.split(values, np.cumsum([len(one) for one in chunks])[:-1]), strict=True):
            chunk[:] = part

    def allocate(self, *names: str, dtype: Any = np.float64) -> None:
        """Add vectors of zeros."""
        self._rows.queue.append(Allocate(self._part, names, np.dtype(dtype).str))

    def keep(self, *names: str) -> None:
        """Drop all vectors but these, and all subsets."""
        self._rows.queue.append(Keep(self._part, names))

    @property
    def largest_subset(self) -> float:  # type: ignore[override]
        """The largest share of the rows of which a subset saves more than it costs."""
        return float(self._rows.executor.largest_subset)

    def subset(self, mask: str, *names: str, often: bool = False) -> "DaskEngine[ProblemT]":
        """Return an engine for the rows where the vector ``mask`` is true, with copies of the vectors named."""
        self._rows.queue.append(Choose(self._part, mask, names, often))
        engine: DaskEngine[ProblemT] = DaskEngine.__new__(DaskEngine)
        engine.problem, engine._rows, engine._part = self.problem, self._rows, _child(self._part, mask)
        return engine

    def write_back(self, part: Any, mask: str, name: str) -> None:  # noqa: ARG002
        """Copy a vector of the subset by ``mask`` back to its rows here."""
        self._rows.queue.append(WriteBack(self._part, mask, name))

    def map(self, task: Callable[..., Any], *arguments: Any, writes: tuple[str, ...] = ()) -> list[Any]:
        """Call a task on every partition, in a round; return the results in the partitions' order."""
        results: list[Any] = self.ask_all(task, *arguments, writes=writes).value
        return results

    def sum(
        self,
        task: Callable[..., Any],
        *arguments: Any,
        most: int | None = None,  # noqa: ARG002
        writes: tuple[str, ...] = (),
    ) -> Any:
        """Add the results of all partitions, in a round."""
        return self.ask(task, *arguments, writes=writes).value

    def do(self, task: Callable[..., None], *arguments: Any, writes: tuple[str, ...] = ()) -> None:
        """Call a task in the next round."""
        self._rows.call(self._part, task, arguments, writes, "")

    def ask(self, task: Callable[..., Any], *arguments: Any, writes: tuple[str, ...] = ()) -> Answer:
        """Add the results of all partitions in the next round."""
        return self._rows.call(self._part, task, arguments, writes, "sum")

    def ask_all(self, task: Callable[..., Any], *arguments: Any, writes: tuple[str, ...] = ()) -> Answer:
        """Ask for the results of all partitions in the next round."""
        return self._rows.call(self._part, task, arguments, writes, "list")


def seconds_per_pass(points: PartitionedPoints) -> float:
    """Measure the time in which all partitions compute scores and a combination of their rows."""
    executor, began = points.executor, time.perf_counter()
    executor.fetch(executor.each(_read_rows, points.partitions))
    executor.rounds += 1
    return time.perf_counter() - began


def _read_rows(checked: Any) -> None:
    points = checked[0].points
    points.combination(points.scores(np.ones(points.n_columns)))


def dask_array(executor: Executor, rows: Sequence[Sequence[Any]], counts: Sequence[int]) -> Any:
    """A Dask array whose rows are vectors over the partitions, which stay where they are."""
    chunks = [executor.as_chunk(chunk) for chunk in executor.each(stack_vectors, *rows)]
    return array_of_chunks(chunks, ((len(rows),), tuple(counts)), 1, np.float64)


def array_of_chunks(delayed: Sequence[Any], chunks: tuple[tuple[float, ...], ...], axis: int, dtype: Any) -> Any:
    """A Dask array whose chunks along an axis are delayed objects; unlike ``concatenate`` it keeps empty ones."""
    import dask.array as da
    from dask.base import tokenize
    from dask.highlevelgraph import HighLevelGraph

    name = "maxmargin-" + tokenize([chunk.key for chunk in delayed])
    place = [0] * len(chunks)
    layer: dict[Any, Any] = {}
    for k, chunk in enumerate(delayed):
        place[axis] = k
        layer[name, *place] = (_same, chunk.key)
    graph = HighLevelGraph.from_collections(name, layer, dependencies=list(delayed))
    return da.Array(graph, name, chunks, dtype=dtype)


def chunks_of(vector: Any, executor: Executor, counts: Sequence[int]) -> list[Any]:
    """The parts of a vector, one a partition, that lies in a Dask array or in memory."""
    if not is_collection(vector):
        return list(np.split(np.asarray(vector), np.cumsum(counts)[:-1]))
    return executor.load(partitions_of("dual_coef_", vector))


def size_of(value: Any) -> int:
    """About the bytes of numbers in a message."""
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    if hasattr(value, "indptr"):
        return size_of([value.data, value.indices, value.indptr])
    if isinstance(value, (list, tuple)):
        return sum(map(size_of, value))
    return 0 if isinstance(value, str) or callable(value) else 8
