"""Where the partitions are, and how a round reaches them: this process, or the workers of a cluster."""

import contextlib
import itertools
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from maxmargin.data.array_types import UserArray
from maxmargin.data.partitions import CheckedPartition, Future, Held, PartitionedPoints
from maxmargin.engine.base import Addable, Engine
from maxmargin.engine.memory import middle_of
from maxmargin.engine.rounds import (
    Message,
    State,
    Storage,
    add_answers,
    add_vector,
    answers_of,
    ask_round,
    changes_vectors,
    has_answers,
    identity,
    run_round,
    size_of,
)
from maxmargin.engine.threads import Threads

# Bytes: a longer message is sent to the scheduler once, not once a partition.
SHORT_MESSAGE = 1 << 12
# Results that a task of a worker adds up: fewer tasks, more memory. Always 8, and up to 32 of at most so many bytes.
ADDED_AT_ONCE, ADDED_AT_MOST, ADDED_BYTES = 8, 32, 1 << 26
# The setting of Dask that says whether fits may collect some rows in the client, where that saves rounds.
COLLECT_ROWS = "maxmargin.collect-rows"
# Seconds between checks of the cluster while a round runs, and those after which one without workers counts as lost.
PATIENCE, PATIENCE_WITHOUT_WORKERS = 1.0, 30.0


if TYPE_CHECKING:
    from dask.typing import Key

# Objects of Dask, which has no types: its client, its delayed objects and its arrays.
DaskObject = Any
ResultT = TypeVar("ResultT")


class ClusterError(RuntimeError):
    """The cluster, or its partitions, went away in the middle of a computation."""


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
        Whether some rows may be sent to this process.
    """

    vectors_are_near: ClassVar[bool] = False
    largest_subset: ClassVar[float] = Engine.largest_subset
    compact: ClassVar[bool] = False

    def __init__(self, n_threads: int = 1) -> None:
        self.n_threads = n_threads
        self.may_collect_rows = False
        self.rounds = self.bytes_sent = self.bytes_received = 0

    def load(self, delayed: Sequence[DaskObject]) -> Sequence[Held[DaskObject]]:
        """Compute one object a partition."""
        import dask

        return list(dask.compute(*delayed))

    def is_persisted(self, X: DaskObject) -> bool:  # noqa: ARG002
        """Whether the chunks of a collection stay in the memory of workers after they were used."""
        return False

    def each(self, function: Callable[..., ResultT], *columns: Sequence[object]) -> Sequence[Held[ResultT]]:
        """Call a function with the entries of every partition; return the results, or where they will be."""
        with Threads(self.n_threads) as threads:
            return threads.run([partial(function, *entries) for entries in zip(*columns, strict=True)])

    def run_round(
        self, partitions: Sequence[Held[CheckedPartition]], states: Sequence[Held[State]], message: Message
    ) -> tuple[Sequence[Held[State]], Sequence[Addable]]:
        """Run the operations of a message on all partitions; return the new states, and the sums of the answers."""
        messages = [self.share(message)] * len(partitions)
        if changes_vectors(message):
            states = self.each(run_round, partitions, states, messages)
            found: Sequence[Held[list[Addable]]] = self.each(answers_of, states) if has_answers(message) else []
        else:
            found = self.each(ask_round, partitions, states, messages)
        # The answers are vectors over the columns, or matrices of up to so many bytes.
        n_columns = message.problem.points.n_columns
        return states, self.added(found, 8 * n_columns**2) if has_answers(message) else []

    def new_storage(self) -> Storage | None:
        """A place for the vectors over all rows, None for arrays of their own."""
        return None

    def with_vector(
        self,
        states: Sequence[Held[State]],
        name: str,
        chunks: Sequence[Held[np.ndarray]],
        storage: Storage | None,  # noqa: ARG002
    ) -> Sequence[Held[State]]:
        """The states with one more vector over all rows, which is given in parts."""
        return self.each(add_vector, states, [name] * len(chunks), chunks)

    def new_matrix(self, n_vectors: int, n_rows: int) -> np.ndarray:
        """A place in this process for vectors over all rows, whose values are undefined."""
        return np.empty((n_vectors, n_rows))

    def share(self, message: Message) -> Held[Message]:
        """Make a message known to all partitions."""
        return message

    def added(self, answers: Sequence[Held[list[Addable]]], size: int = ADDED_BYTES) -> list[Addable]:  # noqa: ARG002
        """Add the answers of all partitions, each of about so many bytes at most."""
        return add_answers(*answers)  # type: ignore[arg-type]

    def fetch(self, values: Sequence[Held[ResultT]]) -> list[ResultT]:
        """The results themselves."""
        return list(values)  # type: ignore[arg-type]

    def as_chunk(self, value: object) -> DaskObject:
        """A result as part of the graph of a Dask collection."""
        import dask

        return dask.delayed(value, pure=True)

    @property
    def bytes_per_round(self) -> float:
        """The bytes of all messages and answers of a round, on average."""
        return (self.bytes_sent + self.bytes_received) / max(1, self.rounds)

    def describe(self) -> str:
        """What the rounds have cost."""
        sent, received = (size / max(1, self.rounds) for size in (self.bytes_sent, self.bytes_received))
        return f"{self.rounds} rounds, {sent:.3g} bytes sent and {received:.3g} received a round"


class ClusterExecutor(Executor):
    """Runs functions on the workers of a cluster; results are futures."""

    def __init__(self, client: DaskObject) -> None:
        super().__init__()
        self._client = client
        self._name, self._numbers = uuid.uuid4().hex[:12], itertools.count()

    def _keys(self, function: Callable[..., object], n_keys: int) -> list[str]:
        number = next(self._numbers)
        return [f"maxmargin-{function.__name__}-{self._name}-{number}-{k}" for k in range(n_keys)]

    def load(self, delayed: Sequence[DaskObject]) -> Sequence[Held[DaskObject]]:
        """Compute one object a partition, which stays on its worker."""
        with self._translated():
            return list(self._client.compute(list(delayed)))

    def is_persisted(self, X: DaskObject) -> bool:
        """Whether the chunks of a collection are futures."""
        from distributed import futures_of

        return bool(futures_of(X))

    def each(self, function: Callable[..., ResultT], *columns: Sequence[object]) -> Sequence[Held[ResultT]]:
        """Call a function with the entries of every partition, where the partition is."""
        with self._translated():
            columns = tuple(list(column) for column in columns)
            return list(self._client.map(function, *columns, key=self._keys(function, len(columns[0])), pure=False))

    def share(self, message: Message) -> Held[Message]:
        """Send a long message once: tasks get it from each other, and the scheduler can send it again."""
        if size_of(message.operations) <= SHORT_MESSAGE:
            return message
        with self._translated():
            sent: Future[Message] = self._client.submit(identity, message, key=self._keys(identity, 1)[0], pure=False)
            return sent

    def added(self, answers: Sequence[Held[list[Addable]]], size: int = ADDED_BYTES) -> list[Addable]:
        """Add on the workers, over the same tree as in this process."""
        most = min(ADDED_AT_MOST, max(ADDED_AT_ONCE, ADDED_BYTES // max(1, size)))
        with self._translated():
            future = self._tree(answers, most, self._keys(add_answers, 1)[0])
        return self.fetch([future])[0]

    def _tree(self, answers: Sequence[Held[list[Addable]]], most: int, key: str) -> Held[list[Addable]]:
        if len(answers) > most:
            middle = middle_of(0, len(answers))
            answers = [self._tree(answers[:middle], most, key + "l"), self._tree(answers[middle:], most, key + "r")]
        if len(answers) == 1:
            return answers[0]
        total: Future[list[Addable]] = self._client.submit(add_answers, *answers, key=key, pure=False)
        return total

    def fetch(self, values: Sequence[Held[ResultT]]) -> list[ResultT]:
        """Wait for results; a cluster that is gone, or has no workers, is an error."""
        with self._translated():
            return [self._wait(value) for value in values]  # type: ignore[arg-type]

    def _wait(self, future: Future[ResultT]) -> ResultT:
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
    def _translated(self) -> Iterator[None]:
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

    def as_chunk(self, value: object) -> DaskObject:
        """A future as part of the graph of a Dask collection."""
        import dask

        return dask.delayed(value)


def executor_for(X: UserArray, n_threads: int) -> Executor:
    """The cluster that Dask would use for a collection, or this process."""
    import dask.base

    client = getattr(dask.base.get_scheduler(collections=[X]), "__self__", None)
    on_cluster = client is not None and hasattr(client, "scheduler_info")
    executor = ClusterExecutor(client) if on_cluster else Executor(n_threads)
    executor.may_collect_rows = bool(dask.config.get(COLLECT_ROWS, False))
    return executor


def executor_of(points: PartitionedPoints) -> Executor:
    """Where the partitions are."""
    executor = points.executor
    assert isinstance(executor, Executor)
    return executor


def array_of_chunks(
    delayed: Sequence[DaskObject], chunks: tuple[tuple[float, ...], ...], axis: int, dtype: type | np.dtype
) -> DaskObject:
    """A Dask array whose chunks along an axis are delayed objects; unlike ``concatenate`` it keeps empty ones."""
    import dask.array as da
    from dask.base import tokenize
    from dask.highlevelgraph import HighLevelGraph

    name = "maxmargin-" + tokenize([chunk.key for chunk in delayed])
    place = [0] * len(chunks)
    layer: dict[Key, tuple[object, ...]] = {}
    for k, chunk in enumerate(delayed):
        place[axis] = k
        layer[name, *place] = (identity, chunk.key)
    graph = HighLevelGraph.from_collections(name, layer, dependencies=list(delayed))
    return da.Array(graph, name, chunks, dtype=dtype)
