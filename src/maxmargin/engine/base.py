"""The interface of an engine, as solvers use it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Generic, Protocol, Self, TypeVar, TypeVarTuple

import numpy as np

from maxmargin.data import Points
from maxmargin.data.points import HasPoints
from maxmargin.engine.threads import CALLING_THREAD, Threads


class Addable(Protocol):
    """What a sum over blocks needs of a task's results: floats, arrays, tuples, objects that add up."""

    def __add__(self, other: Self, /) -> Self: ...


# Covariant: what works with any problem takes a Block[HasPoints] or an Engine[HasPoints].
ProblemT = TypeVar("ProblemT", bound=HasPoints, covariant=True)
TaskT = TypeVar("TaskT", bound=Callable[..., object])
SumT = TypeVar("SumT", bound=Addable)
ResultT = TypeVar("ResultT")
ResultT_co = TypeVar("ResultT_co", covariant=True)
# The arguments of a task after its block.
Rest = TypeVarTuple("Rest")


def row_task(task: TaskT) -> TaskT:
    """Declare a task that does a few operations a row and reads no entries: short vectors are not worth a thread."""
    task.is_row_task = True  # type: ignore[attr-defined]
    return task


class Block(Generic[ProblemT]):
    """Some rows of a problem, with their slice of every vector over the rows.

    A task may write to these slices, and to nothing else.

    Attributes
    ----------
    problem : object with points, targets and weights
        In memory the whole problem; elsewhere the part of it that lies beside the block.
    index : ndarray of uint32
        The rows, as numbers of rows of ``problem.points``.
    vectors : dict of str to ndarray
        ``vectors[name][k]`` belongs to the row ``index[k]``; ``block[name]`` is short for it.
    """

    __slots__ = ("_points", "index", "problem", "vectors")

    def __init__(self, problem: ProblemT, index: np.ndarray, vectors: dict[str, np.ndarray]) -> None:
        self.problem, self.index, self.vectors = problem, index, vectors
        self._points: Points | None = None

    def __getitem__(self, name: str) -> np.ndarray:
        return self.vectors[name]

    @property
    def rows(self) -> slice:
        """The rows, where they are neighbours."""
        return slice(int(self.index[0]), int(self.index[-1]) + 1) if self.index.size else slice(0, 0)

    @property
    def points(self) -> Points:
        """The rows themselves, without a copy, where they are neighbours."""
        if self._points is None:
            self._points = self.problem.points.neighbours(self.rows)
        return self._points


class Answer(Generic[ResultT_co]):
    """The sum of a task's results, which may be computed later, with the next answer that is needed."""

    __slots__ = ("_compute", "_value")

    def __init__(self, value: object = None, compute: Callable[[], None] | None = None) -> None:
        self._value, self._compute = value, compute

    @property
    def value(self) -> ResultT_co:
        """The sum."""
        if self._compute is not None:
            self._compute()
        return self._value  # type: ignore[return-value]

    def fill(self, value: object) -> None:
        """Set the value."""
        self._value, self._compute = value, None


class Engine(ABC, Generic[ProblemT]):
    """Runs tasks on the blocks of a problem's rows.

    A task is a function ``task(block, *arguments)``. It may write to the block's vectors that ``writes`` names, and to
    nothing else. Tasks run in the order of the calls.

    Attributes
    ----------
    problem : object with points
    threads : Threads
        Of this process.
    is_local : bool
        Whether all rows are those of ``problem.points``, in this process.
    has_rounds : bool
        Whether every answer costs a round of messages, or of reading: several requests are then better sent at once.
    vectors_are_near : bool
        Whether answers from the vectors alone, without entries of rows, cost little all the same.
    may_collect_rows : bool
        Whether solvers may collect some rows in their own process.
    largest_subset : float
        The largest share of the rows of which a subset saves more than gathering it costs.
    asks_ahead : bool
        Whether a question that may turn out to be needless is asked in a round that takes place anyway: that costs less
        than a round of its own.
    """

    problem: ProblemT
    threads: Threads = CALLING_THREAD
    is_local: ClassVar[bool] = False
    has_rounds: ClassVar[bool] = False
    vectors_are_near: ClassVar[bool] = True
    may_collect_rows: ClassVar[bool] = True
    largest_subset: ClassVar[float] = 0.8
    asks_ahead: ClassVar[bool] = True

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """The number of rows; of a subset elsewhere, an upper bound."""

    @abstractmethod
    def __getitem__(self, name: str) -> object:
        """The vector over all rows; elsewhere a handle of it."""

    @abstractmethod
    def vector(self, name: str) -> np.ndarray:
        """The vector over all rows in this process."""

    @abstractmethod
    def set_vector(self, name: str, values: np.ndarray) -> None:
        """Replace the values of a vector over all rows."""

    @abstractmethod
    def allocate(self, *names: str, dtype: type = np.float64) -> None:
        """Add vectors over the rows, whose values are undefined."""

    @abstractmethod
    def subset(self, mask: str, *names: str, often: bool = False) -> "Engine[ProblemT]":
        """Return an engine for the rows where the vector ``mask`` is true, with copies of the vectors named.

        It replaces the last subset by the same mask. Rows that are read ``often`` may be copied to a faster place.
        """

    @abstractmethod
    def write_back(self, part: "Engine[HasPoints]", mask: str, name: str) -> None:
        """Copy a vector of the subset ``part``, which ``mask`` has chosen, back to its rows here."""

    @abstractmethod
    def map(
        self, task: Callable[[Block[ProblemT], *Rest], ResultT], *arguments: *Rest, writes: tuple[str, ...] = ()
    ) -> list[ResultT]:
        """Call ``task(block, *arguments)`` for every block; return the results in the blocks' order."""

    @abstractmethod
    def sum(
        self,
        task: Callable[[Block[ProblemT], *Rest], SumT],
        *arguments: *Rest,
        most: int | None = None,
        writes: tuple[str, ...] = (),
    ) -> SumT:
        """Add the results of all blocks, floats or arrays that may be overwritten, over a fixed binary tree.

        ``most`` bounds the number of blocks in memory, where results are large.
        """

    @abstractmethod
    def do(
        self, task: Callable[[Block[ProblemT], *Rest], None], *arguments: *Rest, writes: tuple[str, ...] = ()
    ) -> None:
        """Call a task without a result, at the latest before the next answer."""

    @abstractmethod
    def ask(
        self, task: Callable[[Block[ProblemT], *Rest], SumT], *arguments: *Rest, writes: tuple[str, ...] = ()
    ) -> Answer[SumT]:
        """Add the results as ``sum`` does, at the latest when the answer's value is needed."""

    @abstractmethod
    def ask_all(
        self, task: Callable[[Block[ProblemT], *Rest], ResultT], *arguments: *Rest, writes: tuple[str, ...] = ()
    ) -> Answer[list[ResultT]]:
        """The list of the results of all blocks, as ``map``, at the latest when it is needed."""
