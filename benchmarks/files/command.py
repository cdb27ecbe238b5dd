"""Programs that are started from the shell: their time and their memory."""

import subprocess
import sys
import tempfile
from pathlib import Path

from suite import Solver

# Seconds after which a program is ended.
CAP = 40.0

# Runs a program; prints the peak of its memory, and whether it was ended.
STARTER = """
import os, signal, sys
cap, *command = sys.argv[1:]
process = os.fork()
if process == 0:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.execvp(command[0], command)
signal.signal(signal.SIGALRM, lambda *_: os.kill(process, signal.SIGKILL))
signal.setitimer(signal.ITIMER_REAL, float(cap))
_, status, usage = os.wait4(process, 0)
ended = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
print(usage.ru_maxrss, "ended" if ended else "done")
sys.exit(0 if ended else os.waitstatus_to_exitcode(status))
"""


class Command(Solver):
    """A program that reads a text file and writes a model."""

    parts = ("end_to_end",)

    def set_data(self, X, y):
        """Take the paths."""
        self.text, self.other = X, y
        self.folder = tempfile.TemporaryDirectory()
        self.model = Path(self.folder.name) / "model"
        self.ended = False

    def warm_up(self, _stop):
        """Nothing: a process begins cold. The compiled loops are in their cache after the first round."""

    def command(self) -> list[str]:
        """Return the words of the command line."""
        raise NotImplementedError

    def run(self, _stop):
        """Start the program and wait for it; one that had to be ended is not given a second chance."""
        if not self.ended:
            self.peak, self.ended = peak_of(self.command())

    def get_result(self):
        """Return the peak of its resident memory, and whether it was ended."""
        return {"peak": self.peak, "ended": self.ended}


def peak_of(command: list[str]) -> tuple[int, bool]:
    """Run a program, for at most ``CAP`` seconds; return the peak of its resident memory, and whether it was ended."""
    # The system counts to a child what its parent held when it was started: hence a small parent in between.
    between = subprocess.run(
        [sys.executable, "-I", "-S", "-c", STARTER, str(CAP), *command], capture_output=True, text=True, check=False
    )
    if between.returncode != 0:
        sys.exit(f"{command[0]} failed: {between.stderr[-500:]}")
    kilobytes, ended = between.stdout.split()
    return 1024 * int(kilobytes), ended == "ended"
