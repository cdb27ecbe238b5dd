"""What the page shows, as one frozen value, and its text in the address."""

import base64
import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from maxmargin.lab.algorithms import ALGORITHMS, PARAMETERS
from maxmargin.lab.presets import PRESETS, preset

# More points make a picture that nobody can read; steps take up to n² operations.
MAX_POINTS = 1000
# Coordinates beyond this have squares whose sums would overflow; those below its inverse count as zero.
LARGEST = 1e100
# Characters of the state's text, and bytes of what it decompresses to.
MAX_CODE, MAX_JSON = 100_000, 1_000_000
VERSION = "1"
LESSON_COUNT = 12


@dataclass(frozen=True)
class State:
    """Points, algorithm, parameters and step number.

    Attributes
    ----------
    points : tuple of (float, float)
    labels : tuple of int
        -1 and +1.
    data : str
        The preset that the points are; "" where they were edited or loaded.
    algorithm : str
    parameters : mapping of str to value
        All parameters, of other algorithms, too.
    picks : tuple of tuples of int
        The rows that were clicked, one tuple a step, for the order "click".
    step : int
        The frame that is shown.
    lesson : int or None
        The lesson that is on, counted from 0.
    """

    points: tuple[tuple[float, float], ...]
    labels: tuple[int, ...]
    data: str = ""
    algorithm: str = "online"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    picks: tuple[tuple[int, ...], ...] = ()
    step: int = 0
    lesson: int | None = None

    def __post_init__(self) -> None:
        defaults = {name: parameter.default for name, parameter in PARAMETERS.items()}
        object.__setattr__(self, "parameters", {**defaults, **self.parameters})

    def __getitem__(self, name: str) -> Any:
        """The value of a parameter."""
        return self.parameters[name]

    def with_parameter(self, name: str, value: Any) -> "State":
        """The state with another value of a parameter, at its first step."""
        parameter = PARAMETERS.get(name)
        if parameter is None:
            raise ValueError(f"there is no parameter {name!r}.")
        parameters = {**self.parameters, name: parameter.check(value)}
        picks = () if name in ("order", "dual_order", "pair") else self.picks
        return replace(self, parameters=parameters, picks=picks, step=0)

    def with_algorithm(self, name: str) -> "State":
        """The state with another algorithm, at its first step."""
        if name not in ALGORITHMS:
            raise ValueError(f"there is no algorithm {name!r}.")
        return replace(self, algorithm=name, picks=(), step=0)

    def with_points(self, points: Any, labels: Any, data: str = "") -> "State":
        """The state with other points, at its first step; the points are checked."""
        checked = tuple((_coordinate(point[0]), _coordinate(point[1])) for point in map(_pair, points))
        signs = tuple(labels)
        if len(checked) != len(signs) or any(type(sign) is not int or sign not in (-1, 1) for sign in signs):
            raise ValueError("every point needs a label, 1 or -1.")
        if len(checked) > MAX_POINTS:
            raise ValueError(f"the page takes at most {MAX_POINTS} points, got {len(checked)}.")
        return replace(self, points=checked, labels=signs, data=data, picks=(), step=0)


def _pair(point: Any) -> Any:
    if not isinstance(point, (list, tuple)) or len(point) != 2:
        raise ValueError("a point must be a pair of numbers.")
    return point


def _coordinate(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= LARGEST:
        raise ValueError(f"a coordinate must be a finite number up to {LARGEST:g} in size, got {value!r:.50}.")
    return float(value) if abs(value) >= 1 / LARGEST else 0.0


def from_preset(name: str, algorithm: str = "online", **parameters: Any) -> State:
    """A state with the points of a preset."""
    points, labels = preset(name)
    state = State(points, labels, data=name).with_algorithm(algorithm)
    for parameter, value in parameters.items():
        state = state.with_parameter(parameter, value)
    return state


def encode(state: State) -> str:
    """The state as text for an address: its version, a dot, and what differs from the defaults, compressed."""
    changed = {
        name: str(value) if value == math.inf else value
        for name, value in state.parameters.items()
        if value != PARAMETERS[name].default
    }
    content: dict[str, Any] = {"a": state.algorithm}
    if state.data:
        content["d"] = state.data
    else:
        content["p"] = [[*point, label] for point, label in zip(state.points, state.labels, strict=True)]
    content |= {key: value for key, value in (("q", changed), ("c", state.picks), ("s", state.step)) if value}
    if state.lesson is not None:
        content["l"] = state.lesson
    packed = zlib.compress(json.dumps(content, separators=(",", ":")).encode(), 9)
    return f"{VERSION}.{base64.urlsafe_b64encode(packed).decode().rstrip('=')}"


def decode(text: Any) -> State:
    """The state that a text stands for.

    Raises
    ------
    ValueError
        Where the text is of another version, damaged, too long, or stands for what the page does not have.
    """
    if not isinstance(text, str) or len(text) > MAX_CODE:
        raise ValueError(f"the state in the address must be text of at most {MAX_CODE} characters.")
    version, _, packed = text.partition(".")
    if version != VERSION:
        raise ValueError(f"the address is of version {version!r:.20} of the page, and this is version {VERSION}.")
    try:
        unpacker = zlib.decompressobj()
        plain = unpacker.decompress(base64.b64decode(packed + "=" * (-len(packed) % 4), b"-_", True), MAX_JSON)
        content = json.loads(plain) if unpacker.eof else None
    except (ValueError, zlib.error, RecursionError):
        content = None
    kinds = {"q": dict, "c": list}
    if not isinstance(content, dict) or not all(
        isinstance(content.get(key, kind()), kind) for key, kind in kinds.items()
    ):
        raise ValueError("the state in the address is damaged: copy the whole address.")
    if "d" in content:
        state = from_preset(_name(content["d"], PRESETS, "data set"))
    else:
        rows = content.get("p")
        if not isinstance(rows, list) or not all(isinstance(row, list) and len(row) == 3 for row in rows):
            raise ValueError("the state in the address is damaged: it has no points.")
        state = State((), ()).with_points([row[:2] for row in rows], [row[2] for row in rows])
    state = state.with_algorithm(_name(content.get("a"), ALGORITHMS, "algorithm"))
    for name, value in content.get("q", {}).items():
        state = state.with_parameter(name, math.inf if value == "inf" else value)
    picks = tuple(check_pick(rows, len(state.points)) for rows in content.get("c", ()))
    lesson = content.get("l")
    if lesson is not None and (type(lesson) is not int or not 0 <= lesson < LESSON_COUNT):
        raise ValueError(f"there is no lesson {lesson!r:.50}.")
    return replace(state, picks=picks, step=check_step(content.get("s", 0)), lesson=lesson)


def _name(value: Any, known: Any, kind: str) -> str:
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"there is no {kind} {value!r:.50}.")
    return value


def check_pick(rows: Any, n: int) -> tuple[int, ...]:
    """Rows that were clicked for one step, or a refusal."""
    if not isinstance(rows, (list, tuple)) or not 1 <= len(rows) <= n:
        raise ValueError("a step needs one row or two.")
    return tuple(check_row(row, n) for row in rows)


def check_row(row: Any, n: int) -> int:
    """The index of a point, or a refusal."""
    if type(row) is not int or not 0 <= row < n:
        raise ValueError(f"there is no point {row!r:.50}.")
    return row


def check_step(step: Any) -> int:
    """A step number, or a refusal."""
    if type(step) is not int or not 0 <= step <= 10**9:
        raise ValueError(f"there is no step {step!r:.50}.")
    return step
