"""Programs that are started from the shell: their time and their memory."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from suite import Solver


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
        self.peak = peak_of(self.command())

    def get_result(self):
        """Return the peak of its resident memory, and the size of the model."""
        return {"peak": self.peak, "model": self.model.stat().st_size}


def peak_of(command: list[str], **options: Any) -> int:
    """Run a program; return the peak of its resident memory in bytes."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options) as process:
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command[0]} failed: {errors.decode()[-500:]}")
    return usage.ru_maxrss * 1024
