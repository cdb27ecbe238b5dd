"""Programs that are started from the shell: their time and their memory."""

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from suite import Solver

# Seconds after which a program is ended.
CAP = 100.0


class Command(Solver):
    """A program that reads a text file and writes a model."""

    parts = ("end_to_end",)

    def set_data(self, X, y):
        """Take the paths."""
        self.text, self.other = X, y
        self.folder = tempfile.TemporaryDirectory()
        self.model = Path(self.folder.name) / "model"

    def warm_up(self, _stop):
        """Nothing: a process begins cold. The compiled loops are in their cache after the first round."""

    def command(self) -> list[str]:
        """Return the words of the command line."""
        raise NotImplementedError

    def run(self, _stop):
        """Start the program and wait for it."""
        self.peak, self.ended = peak_of(self.command())

    def get_result(self):
        """Return the peak of its resident memory, and whether it was ended."""
        return {"peak": self.peak, "ended": self.ended}


def peak_of(command: list[str]) -> tuple[int, bool]:
    """Run a program, for at most ``CAP`` seconds; return the peak of its resident memory, and whether it was ended."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        clock = threading.Timer(CAP, process.kill)
        clock.start()
        _, status, usage = os.wait4(process.pid, 0)
        ended = not clock.is_alive()
        clock.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0 and not ended:
            errors.seek(0)
            sys.exit(f"{command[0]} failed: {errors.read().decode()[-500:]}")
    return usage.ru_maxrss * 1024, ended
