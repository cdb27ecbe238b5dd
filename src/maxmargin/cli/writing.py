"""Writing a trained model: beside what stood there before, to standard output, or elsewhere where the disk is full."""

import errno
import os
import shlex
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from maxmargin.cli.console import working
from maxmargin.files.compression import STANDARD_INPUT

if TYPE_CHECKING:
    from maxmargin.files import DataFile

STANDARD_OUTPUT = Path(STANDARD_INPUT)
# Errors of a disk that another place may not have.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EFBIG)
INTERRUPTED_SUFFIX = ".interrupted"


@dataclass
class Signals:
    """The signal that requested the end: SIGTERM and SIGHUP are answered as Ctrl-C is."""

    received: int = field(default=int(signal.SIGINT))

    @property
    def exit_code(self) -> int:
        """The code by which a shell knows the signal."""
        return 128 + self.received

    @contextmanager
    def answered(self) -> Iterator[None]:
        """Within the block SIGTERM and SIGHUP end the fit as Ctrl-C does, with a model and its certificate.

        Those that the process ignores stay ignored, as nohup wants it.
        """

        def interrupt(number: int, frame: FrameType | None) -> None:
            self.received = number
            # The handler itself: SIGINT may be ignored, as in jobs that a script starts in the background.
            handler = signal.getsignal(signal.SIGINT)
            (handler if callable(handler) else signal.default_int_handler)(number, frame)

        numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
        numbers = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
        try:
            before = {number: signal.signal(number, interrupt) for number in numbers}
        except ValueError:
            # Only the main thread can set handlers.
            before = {}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def write_model(
    machine: Any, rows: "DataFile | None", sample_weight: Any, output: Path, *, strip: bool, provenance: dict[str, Any]
) -> tuple[Path, str | None]:
    """Write a model; returns where it lies, and why that is not ``output`` where the disk did not take it."""
    from maxmargin.files import save
    from maxmargin.files.proof_file import proof_path, stripped

    def whole(path: Path) -> None:
        if rows is None:
            save(machine, path, provenance=provenance)
        else:
            rows.quietly(save)(machine, path, rows.X, rows.y, sample_weight, provenance=provenance)

    def write(path: Path) -> None:
        if strip:
            whole(proof_path(path))
            save(stripped(machine), path, provenance={**provenance, "stripped": True})
        else:
            whole(path)

    with working("writing"):
        if output == STANDARD_OUTPUT:
            _to_standard_output(write)
            return output, None
        return written_somewhere(output, write)


def _to_standard_output(write: Callable[[Path], None]) -> None:
    """Write the file to standard output, through a temporary one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        write(path)
        sys.stdout.buffer.write(path.read_bytes())
        sys.stdout.buffer.flush()


def written_somewhere(output: Path, write: Callable[[Path], None]) -> tuple[Path, str | None]:
    """Write a file; where its disk is full, in another folder: hours of training are not lost to it."""
    try:
        write(output)
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        why = f"{output}: {os.strerror(error.errno)}"
        for folder in _other_folders(output):
            other = folder / f"{output.name}.{os.getpid()}"
            try:
                write(other)
            except OSError:
                continue
            return other, why
        raise OSError(
            f"{why}; no other folder took the model either, and it is lost: give -o another place."
        ) from error
    return output, None


def _other_folders(output: Path) -> list[Path]:
    """Folders that may lie on another disk."""
    here = Path(os.path.realpath(output)).parent
    others = [Path(tempfile.gettempdir()), Path.home(), Path.cwd(), Path("/dev/shm")]
    return [folder for folder in dict.fromkeys(others) if folder.is_dir() and folder.resolve() != here]


def command_line() -> str:
    """The command as it was typed."""
    return shlex.join(["maxmargin", *sys.argv[1:]])
