"""Blocks of whole lines of a stream of bytes."""

import io

import numpy as np

# Bytes of a block: some milliseconds of parsing.
BLOCK_BYTES = 1 << 20
# Bytes of the longest line that is read: a line must fit memory.
LONGEST_LINE = 1 << 28
# Bytes of a line that is too long which the error shows.
SHOWN = 60


class LineTooLongError(Exception):
    """A line is longer than ``LONGEST_LINE``.

    Attributes
    ----------
    limit : int, the number of bytes
    beginning : bytes of the line
    """

    def __init__(self, limit: int, beginning: bytes) -> None:
        super().__init__(limit, beginning)
        self.limit = limit
        self.beginning = beginning


class LineBlocks:
    """Iterates over the blocks of a stream in order.

    Parameters
    ----------
    stream : binary stream
    """

    def __init__(self, stream: io.RawIOBase) -> None:
        self._stream = stream
        self._rest = b""
        self._ended = False

    def take(self) -> np.ndarray | None:
        """Return the next block, which ends with a newline; None at the end of the stream.

        A newline is added to a last line that has none.
        """
        if self._ended:
            return None
        filled = len(self._rest)
        buffer = bytearray(max(BLOCK_BYTES, 2 * filled))
        buffer[:filled] = self._rest
        searched = filled
        while True:
            filled = self._fill(buffer, filled)
            if filled < len(buffer):
                self._ended = True
                if filled and buffer[filled - 1] != ord("\n"):
                    buffer[filled] = ord("\n")
                    filled += 1
                return _bytes_of(buffer, filled) if filled else None
            cut = buffer.rfind(b"\n", searched) + 1
            if cut:
                self._rest = bytes(memoryview(buffer)[cut:])
                return _bytes_of(buffer, cut)
            if filled >= LONGEST_LINE:
                raise LineTooLongError(LONGEST_LINE, bytes(memoryview(buffer)[:SHOWN]))
            searched = filled
            buffer.extend(bytes(filled))

    def _fill(self, buffer: bytearray, filled: int) -> int:
        with memoryview(buffer) as room:
            while filled < len(buffer):
                size = self._stream.readinto(room[filled:])
                if not size:
                    break
                filled += size
        return filled


def _bytes_of(buffer: bytearray, size: int) -> np.ndarray:
    block = np.frombuffer(buffer, dtype=np.uint8, count=size)
    block.flags.writeable = False
    return block
