"""Chunks of svmlight text: blocks of lines parsed into rows, by one thread or several, and their errors."""

import mmap
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maxmargin.files.line_blocks import LineBlocks, LineTooLongError
from maxmargin.loops import svmlight as loops

# Bytes from which on an array of a chunk is mapped.
LEAST_MAPPED = 1 << 17
# Column indices are stored in 32 bits.
LARGEST_INDEX = 2**31 - 1

TOO_LARGE = "the number is too large for float64"

# Characters of a line that an error shows before and after the fault.
SHOWN_BEFORE, SHOWN_BEHIND = 40, 60


class Fault(Exception):  # noqa: N818 - it becomes an error when the file and the line's number are known
    """An invalid line of a block.

    Attributes
    ----------
    line : int, the number of lines of the block before it
    reason : str
    excerpt : str, the line, shortened
    """

    def __init__(self, line: int, reason: str, excerpt: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason
        self.excerpt = excerpt


@dataclass(frozen=True)
class Expected:
    """Properties of the file that the caller stated, and the output to produce.

    Attributes
    ----------
    n_features : int or None
    zero_based : bool, or None to infer it from the file
    dtype : dtype of the values
    query_id : bool
    """

    n_features: int | None
    zero_based: bool | None
    dtype: np.dtype
    query_id: bool = False

    @property
    def limits(self) -> loops.Limits:
        """The valid indices; while ``zero_based`` is unknown, all that one of its two values allows."""
        lowest = 1 if self.zero_based is False else 0
        highest = LARGEST_INDEX if self.n_features is None else self.n_features
        return loops.Limits(lowest, highest - 1 if self.zero_based else highest)

    def reason(self, fault: int) -> str:
        """The error message of a fault."""
        if fault == loops.INDEX_TOO_LARGE:
            why = "" if self.n_features is None else f", since n_features is {self.n_features}"
            return f"the index is larger than {self.limits.highest}{why}"
        return _REASONS[fault]


_REASONS = {
    loops.NO_LABEL: "the line must begin with its label, one finite number",
    loops.NO_QUERY: "there is no qid behind the label, as query_id=True asks for",
    loops.BAD_QUERY: "qid: must be followed by a whole number of at most 18 digits",
    loops.NO_INDEX: "expected index:value, where the index is a whole number without sign",
    loops.INDEX_TOO_SMALL: "index 0, in a file whose indices begin with 1 (zero_based=False)",
    loops.NOT_RISING: "the indices of a line must rise, and none may come twice",
    loops.NO_VALUE: "the value must be a finite number",
}


class Chunk(NamedTuple):
    """The rows of a block.

    Attributes
    ----------
    labels, ends, queries, indices, values : see ``Entries``
    n_lines : int
    smallest, largest : int, the extreme indices
    too_large : Fault or None, a line that is invalid if indices start at 0
    """

    labels: np.ndarray
    ends: np.ndarray
    queries: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    n_lines: int
    smallest: int
    largest: int
    too_large: Fault | None


def parse_block(text: np.ndarray, expected: Expected) -> Chunk:
    """Parse a block of lines; raises ``Fault`` for the first invalid line."""
    n_lines, n_colons = loops.count(text)
    # The length of the text bounds them, too, since it may be all colons: the shortest entry is "1:1 ", the shortest
    # row "1", the shortest late number "1e999".
    n_rows, n_entries = min(n_lines, text.size // 2 + 1), min(n_colons, text.size // 4 + 1)
    entries = loops.Entries(
        np.empty(n_rows),
        np.empty(n_rows, dtype=np.int64),
        np.empty(n_rows if expected.query_id else 0, dtype=np.int64),
        _mapped(n_entries, np.dtype(np.int32)),
        _mapped(n_entries, expected.dtype),
        np.empty((min(n_rows + n_entries, text.size // 6 + 1), 3), dtype=np.int64),
    )
    limits = expected.limits
    outcome = loops.Outcome(*loops.parse(text, limits, entries))
    faults = _read_late_numbers(text, entries, outcome.n_late)
    ends, indices = entries.ends[: outcome.n_rows], entries.indices[: outcome.n_entries]
    values = entries.values[: outcome.n_entries]

    def fault_of_entry(which: np.ndarray, reason: str) -> Fault:
        row = int(np.searchsorted(ends, np.argmax(which), side="right"))
        return _fault(text, _start_of_row(text, row), reason)

    if expected.dtype == np.float32 and np.isinf(values).any():
        faults.append(fault_of_entry(np.isinf(values), "the value is too large for float32"))
    if outcome.fault != loops.FINE:
        faults.append(_fault(text, outcome.place, expected.reason(outcome.fault)))
    if faults:
        raise min(faults, key=lambda fault: fault.line)
    too_large = None
    if expected.zero_based is None and outcome.largest == limits.highest:
        reason = f"the index is larger than {limits.highest - 1}, in a file whose indices begin with 0"
        too_large = fault_of_entry(indices == limits.highest, reason)
    return Chunk(
        _trimmed(entries.labels[: outcome.n_rows]),
        _trimmed(ends),
        _trimmed(entries.queries[: outcome.n_rows]),
        _trimmed(indices),
        _trimmed(values),
        n_lines,
        outcome.smallest,
        outcome.largest,
        too_large,
    )


def _mapped(size: int, dtype: np.dtype) -> np.ndarray:
    """An uninitialised array in memory of its own, which the system has back as soon as the array is freed.

    Freed memory of the C library stays with the process: chunks that are joined would take twice the memory.
    """
    if size * dtype.itemsize < LEAST_MAPPED:
        return np.empty(size, dtype=dtype)
    try:
        return np.frombuffer(mmap.mmap(-1, size * dtype.itemsize), dtype=dtype)
    except OSError:
        # The system limits the number of maps.
        return np.empty(size, dtype=dtype)


def _trimmed(array: np.ndarray) -> np.ndarray:
    """Copy an array that uses less than half of its memory, which comments made too large."""
    return array.copy() if array.base is not None and array.base.size > 2 * array.size else array


def _read_late_numbers(text: np.ndarray, entries: loops.Entries, n_late: int) -> list[Fault]:
    """Read by Python the numbers that the loop left out; returns the fault of the first one that overflows, if any."""
    if n_late == 0:
        return []
    late = entries.late[:n_late]
    view = text.data
    numbers = np.array([float(bytes(view[first:last])) for _, first, last in late.tolist()])
    places = late[:, 0]
    of_labels = places < 0
    entries.labels[-1 - places[of_labels]] = numbers[of_labels]
    with np.errstate(over="ignore"):
        entries.values[places[~of_labels]] = numbers[~of_labels]
    too_large = np.isinf(numbers)
    return [_fault(text, int(late[np.argmax(too_large), 1]), TOO_LARGE)] if too_large.any() else []


def _start_of_row(text: np.ndarray, row: int) -> int:
    """Return the offset of a row's line; lines without a label are no rows."""
    start = 0
    for line in text.tobytes().split(b"\n"):
        row -= bool(line.split(b"#", 1)[0].strip())
        if row < 0:
            break
        start += len(line) + 1
    return start


def _fault(text: np.ndarray, place: int, reason: str) -> Fault:
    before = text[:place].tobytes()
    start = before.rfind(b"\n") + 1
    behind = text[place : place + SHOWN_BEHIND + 1].tobytes().partition(b"\n")[0]
    first = max(start, place - SHOWN_BEFORE)
    left = "..." if first > start else ""
    right = "..." if len(behind) > SHOWN_BEHIND else ""
    excerpt = before[first:] + behind[:SHOWN_BEHIND]
    return Fault(before.count(b"\n"), reason, f"{left}{_readable(excerpt)}{right}")


def _readable(line: bytes) -> str:
    """Escape bytes that are not printable, so that a file cannot control the terminal."""
    return repr(line.removesuffix(b"\r"))[1:]


class ParallelParser:
    """Parser of all blocks by several threads.

    One thread reads and decompresses the next block while the others parse theirs. The result and the reported fault
    depend on the blocks only, not on the number of threads.

    Parameters
    ----------
    blocks : LineBlocks
    expected : Expected
    """

    def __init__(self, blocks: LineBlocks, expected: Expected) -> None:
        self._blocks = blocks
        self._expected = expected
        self._turn = threading.Lock()
        self._n_taken = 0
        self._ended = False
        self._chunks: dict[int, Chunk] = {}
        self._failures: dict[int, BaseException] = {}

    def run(self, n_threads: int) -> list[Chunk]:
        """Return all chunks in order; raises the error of the first invalid block, with the line in the file."""
        if n_threads == 1:
            self._work()
        else:
            with ThreadPoolExecutor(n_threads - 1) as pool:
                others = [pool.submit(self._work) for _ in range(n_threads - 1)]
                try:
                    self._work()
                finally:
                    self._ended = True
                    for other in others:
                        other.result()
        if self._failures:
            # Blocks are taken in order: all before the first failure were parsed.
            number = min(self._failures)
            failure = self._failures[number]
            if isinstance(failure, Fault):
                failure.line += sum(self._chunks[k].n_lines for k in range(number))
            raise failure
        return [self._chunks[number] for number in range(len(self._chunks))]

    def _work(self) -> None:
        while True:
            with self._turn:
                if self._ended:
                    return
                number = self._n_taken
                self._n_taken += 1
                try:
                    block = take_block(self._blocks)
                except Exception as error:
                    self._failures[number] = error
                    block = None
                if block is None:
                    self._ended = True
                    return
            try:
                self._chunks[number] = parse_block(block, self._expected)
            except Exception as error:
                self._failures[number] = error
                self._ended = True


def take_block(blocks: LineBlocks) -> np.ndarray | None:
    """Return the next block; a line that is too long raises ``Fault``."""
    try:
        return blocks.take()
    except LineTooLongError as error:
        raise Fault(0, f"the line is longer than {error.limit} bytes", f"{_readable(error.beginning)}...") from error
