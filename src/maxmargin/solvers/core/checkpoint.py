"""Checkpoints of solver runs: what is kept of a run's state, and how a later process continues from it.

The record of a task is the list of its stages, one for each loop that its solver runs, in their order. A stage that has
ended keeps what the rest of the solver needs of it (``outcome``); the one that runs keeps its whole state
(``checkpointed``) as of its last safe point, where ``Monitor.checkpoint`` is called. A resumed solver is called as
before: the stages that have ended return at once, the next one continues where it was, and since all that a step
depends on is in the state, with the same bits.

States are declared, not pickled: a class lists the names of the attributes that its steps depend on. Their types and
shapes are those of a run that was just made; positions are checked against what they point into, because compiled loops
do not check them. Whatever a forged state may hold otherwise, the certificate is computed from the data.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

from maxmargin.engine import Engine
from maxmargin.solvers.core.status import Status

# A run that ends so can continue: its stage stays open.
BROKEN_OFF = (Status.TIME_LIMIT, Status.INTERRUPTED)


class CheckpointError(ValueError):
    """A checkpoint is damaged, or of another fit.

    Parameters
    ----------
    path : str
    reason : str

    See Also
    --------
    checkpoints : Raises this.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason = path, reason

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.path, self.reason)


class Positions(NamedTuple):
    """A declared attribute that holds positions in another one: from 0 to its length, exclusive.

    A single number is a count of its entries. There are no more positions than entries, unless they may occur twice.
    """

    name: str
    of: str
    may_repeat: bool = False


@dataclass
class Stage:
    """One loop of a solver.

    Attributes
    ----------
    name : str
        The class of the run.
    status : Status or None
        How it ended; None while it runs.
    state : dict or None
        The declared values; None before the first safe point.
    """

    name: str
    status: Status | None = None
    state: dict[str, object] | None = None


# The attributes that a class declares.
Declared: TypeAlias = tuple[str | Positions, ...]


class Checkpointed(Protocol):
    """A run with a state."""

    @property
    def checkpointed(self) -> Declared: ...


class StageRun(Checkpointed, Protocol):
    """A run of a solver's loop, as a stage of its task."""

    @property
    def outcome(self) -> Declared: ...


class TaskRecord:
    """The stages of one task.

    Parameters
    ----------
    path : str
        The file, as errors name it.
    stages : list of Stage
        Those of a checkpoint to continue from.
    is_due : callable
        Whether a state is wanted now.
    on_change : callable
        Called after a state was taken.
    """

    def __init__(
        self, path: str, stages: list[Stage], is_due: Callable[[], bool], on_change: Callable[[], None]
    ) -> None:
        self.stages = stages
        self._path, self._is_due, self._on_change = path, is_due, on_change
        self._current = -1

    def begin(self, run: StageRun) -> Status | None:
        """Begin the next stage, where the checkpoint says; return the status of one that has ended already."""
        self._current += 1
        name = type(run).__name__
        if self._current == len(self.stages):
            self.stages.append(Stage(name))
            return None
        stage = self.stages[self._current]
        if stage.name != name or stage.state is None:
            raise CheckpointError(self._path, f"it has a state of {stage.name} where {name} begins")
        try:
            set_state(run, run.checkpointed if stage.status is None else run.outcome, stage.state)
        except (ValueError, OverflowError) as error:
            raise CheckpointError(self._path, f"its state of {name} does not fit: {error}") from error
        return stage.status

    def offer(self, run: Checkpointed) -> None:
        """Take the state of the stage that runs, if one is due."""
        if self._is_due():
            self.stages[self._current].state = state_of(run, run.checkpointed)
            self._on_change()

    def end(self, run: StageRun, status: Status) -> None:
        """Keep what the rest of the solver needs of a stage; one that was broken off stays open."""
        if status not in BROKEN_OFF:
            # In one assignment: another task's thread may be writing.
            self.stages[self._current] = Stage(type(run).__name__, status, state_of(run, run.outcome))


OptionsT = TypeVar("OptionsT")


class FitRecord(Protocol):
    """The checkpoint of a fit, as the fit template uses it."""

    def begin(self, model: object, data: object, starts: Sequence[object], options: OptionsT) -> OptionsT:
        """Begin or continue a fit; return the options of its solver."""

    def task(self, attempt: int, k: int) -> TaskRecord:
        """The record of task k in an attempt."""

    def resuming(self) -> AbstractContextManager[None]:
        """Within the block, errors of a fit that continues from a checkpoint are errors of that."""

    def check(self, model: object, data: object) -> None:
        """Refuse a model whose vectors do not belong together, where the fit was continued from a checkpoint."""

    def end(self, status: Status) -> None:
        """Write the last checkpoint of a fit that has ended."""


# The checkpoint that the next fit of this context writes.
active_record: ContextVar[FitRecord | None] = ContextVar("active_record", default=None)

LoopT = TypeVar("LoopT", bound=Callable[..., Status])


def stage(loop: LoopT) -> LoopT:
    """Declare a method that runs a solver's loop, and returns its status, as a stage of the task.

    The class declares ``checkpointed`` and ``outcome``; its runs have a ``monitor``.
    """

    @wraps(loop)
    def run(self: StageRun, *arguments: object) -> Status:
        record: TaskRecord | None = self.monitor.record_of_task  # type: ignore[attr-defined]
        if record is None:
            return loop(self, *arguments)
        status = record.begin(self)
        if status is None:
            status = loop(self, *arguments)
            record.end(self, status)
        return status

    return run  # type: ignore[return-value]


# States as trees of plain values and arrays.


def state_of(value: object, names: Declared) -> dict[str, object]:
    """Copies of declared attributes, which may be those of an attribute: ``"coefficients.w"``."""
    return {_name(entry): _plain(_get(value, _name(entry))) for entry in names}


def set_state(value: object, names: Declared, state: dict[str, object]) -> None:
    """Set declared attributes; ValueError where their types, shapes or positions are not those of the object."""
    if set(state) != {_name(entry) for entry in names}:
        raise ValueError(f"it has the entries {', '.join(sorted(state))}")
    for entry in names:
        name = _name(entry)
        current = _get(value, name)
        if isinstance(entry, Positions):
            new = _positions(entry, current, state[name], _get(value, entry.of))
        else:
            new = _like(name, current, state[name])
        if new is not current:
            _set(value, name, new)


def _name(entry: str | Positions) -> str:
    return entry.name if isinstance(entry, Positions) else entry


def _get(value: object, path: str) -> object:
    for name in path.split("."):
        value = value.vector(name) if isinstance(value, Engine) else getattr(value, name)
    return value


def _set(value: object, path: str, new: object) -> None:
    parent, _, name = path.rpartition(".")
    owner = _get(value, parent) if parent else value
    if isinstance(owner, Engine):
        assert isinstance(new, np.ndarray)
        owner.set_vector(name, new)
    elif isinstance(owner, tuple):
        # Compiled loops have the arrays of a named tuple.
        getattr(owner, name)[...] = new
    else:
        setattr(owner, name, new)


def _declared(value: object) -> Declared | None:
    """The declared attributes of an object; None where it is a plain value."""
    names = getattr(value, "checkpointed", None)
    if names is None and is_dataclass(value):
        return tuple(field.name for field in fields(value))
    return names


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray):
        return value.copy(order="K")
    if isinstance(value, np.random.Generator):
        return _words_of(value)
    if isinstance(value, np.generic):
        return value.item()
    names = _declared(value)
    if names is not None:
        return state_of(value, names)
    if isinstance(value, list):
        # A history: rows of numbers.
        return np.array(value, dtype=np.float64).reshape(len(value), -1 if value else 0)
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    return str(value) if isinstance(value, Status) else value


def _like(name: str, current: object, stored: object) -> object:
    """The stored value as one of the current one's type and shape."""
    if isinstance(current, np.random.Generator):
        return _set_words(name, current, stored)
    if isinstance(current, np.ndarray):
        return _array(name, current, stored)
    names = _declared(current)
    if names is not None:
        if not isinstance(stored, dict):
            raise ValueError(f"{name} has no entries")
        set_state(current, names, stored)
        return current
    if isinstance(current, list):
        if not isinstance(stored, np.ndarray) or stored.ndim != 2 or stored.dtype != np.float64:
            raise ValueError(f"{name} is no table of numbers")
        return [tuple(row) for row in stored.tolist()]
    if isinstance(current, Status):
        return Status(stored)  # type: ignore[arg-type]
    if isinstance(current, tuple) and isinstance(stored, list) and len(stored) == len(current):
        return tuple(_like(name, *pair) for pair in zip(current, stored, strict=True))
    if current is None or isinstance(current, tuple):
        return _optional(name, stored)
    fits = isinstance(stored, bool) if isinstance(current, bool) else isinstance(stored, (int, float))
    if not fits or (isinstance(stored, bool) and not isinstance(current, bool)):
        raise ValueError(f"{name} is no number")
    return type(current)(stored) if isinstance(current, np.generic) else stored


def _optional(name: str, stored: object) -> object:
    """A value that a run may not have at first: a number, a vector, or several of them."""
    if isinstance(stored, list):
        return tuple(_optional(name, entry) for entry in stored)
    if isinstance(stored, np.ndarray):
        return _array(name, np.empty(0), stored)
    if stored is not None and not isinstance(stored, (int, float)):
        raise ValueError(f"{name} is no number")
    return stored


def _array(name: str, current: np.ndarray, stored: object) -> np.ndarray:
    if not isinstance(stored, np.ndarray) or stored.dtype != current.dtype:
        raise ValueError(f"{name} is no array of {current.dtype}")
    if stored.ndim != current.ndim or (current.size and stored.shape != current.shape):
        raise ValueError(f"{name} has shape {stored.shape} instead of {current.shape}")
    return stored.copy(order="K")


def _positions(entry: Positions, current: object, stored: object, of: object) -> object:
    name, size = entry.name, of if isinstance(of, int) else len(of)  # type: ignore[arg-type]
    if not isinstance(current, np.ndarray):
        if type(stored) is not int or not 0 <= stored <= size:
            raise ValueError(f"{name} is no count up to {size}")
        return stored
    if not isinstance(stored, np.ndarray) or stored.dtype != current.dtype or stored.ndim != 1:
        raise ValueError(f"{name} is no list of up to {size} positions")
    if stored.size > size and not entry.may_repeat:
        raise ValueError(f"{name} is no list of up to {size} positions")
    if stored.size and not 0 <= int(stored.min()) <= int(stored.max()) < size:
        raise ValueError(f"{name} has positions that are not from 0 to {size - 1}")
    return stored.copy()


WORD = 1 << 64


def _words_of(generator: np.random.Generator) -> np.ndarray:
    """The state of a generator as words of 64 bits."""
    state = generator.bit_generator.state
    numbers = state["state"]["state"], state["state"]["inc"]
    words = [word for number in numbers for word in divmod(number, WORD)]
    return np.array([*words, state["has_uint32"], state["uinteger"]], dtype=np.uint64)


def _set_words(name: str, generator: np.random.Generator, stored: object) -> np.random.Generator:
    if not isinstance(stored, np.ndarray) or stored.dtype != np.uint64 or stored.shape != (6,):
        raise ValueError(f"{name} is no state of a generator")
    high, low, high_inc, low_inc, has_half, half = map(int, stored)
    state = dict(generator.bit_generator.state)
    if has_half > 1 or half >= 1 << 32 or low_inc % 2 == 0:
        raise ValueError(f"{name} is no state of a generator")
    state["state"] = {"state": high * WORD + low, "inc": high_inc * WORD + low_inc}
    state["has_uint32"], state["uinteger"] = has_half, half
    generator.bit_generator.state = state
    return generator
