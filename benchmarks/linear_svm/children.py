"""Tools in forked processes, which can be ended when they take too long."""

import gc
import multiprocessing
import os
import signal
from multiprocessing.connection import Connection
from typing import Any

from data import small_part
from linear_svm.stops import Stop
from linear_svm.tool import Tool
from measure import timed
from suite import Run

WARM_UP_SECONDS = 300.0


class Child:
    """A process that has the data, has warmed up on a few rows, and runs what it is told to.

    ``failure`` says why it is gone, if it is, and ``waited`` for how many seconds, if it took too long.
    """

    def __init__(self, tool: Tool, data: dict[str, Any]) -> None:
        context = multiprocessing.get_context("fork")
        self.tool = tool
        self.failure: str | None = None
        self.waited = 0.0
        self._pipe, end = context.Pipe()
        self._process = context.Process(target=_serve, args=(tool, data, end, os.getpid()), daemon=True)
        self._process.start()
        end.close()
        self._receive(WARM_UP_SECONDS)

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def run(self, stop: Stop, cap: float) -> Run | None:
        """Run once; None where it failed or took longer than the cap, after which the child is gone."""
        if self.failure is not None:
            return None
        self._pipe.send(stop)
        return self._receive(cap)

    def _receive(self, seconds: float) -> Run | None:
        try:
            if self._pipe.poll(seconds):
                message = self._pipe.recv()
            else:
                message, self.waited = f"not done after {seconds:.3g} s", seconds
        except EOFError:
            message = "its process died"
        if isinstance(message, str):
            self.failure = message
            self._end()
            return None
        return message

    def _end(self) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()


def _serve(tool: Tool, data: dict[str, Any], pipe: Connection, parent: int) -> None:
    """Answer each stop with a run, and a failure with its text."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What is inherited need not be looked at whenever garbage is collected.
    gc.freeze()
    try:
        tool.set_data(*small_part(**data))
        tool.warm_up(Stop(1.0, tool.tolerances[0]))
        tool.set_data(**data)
        pipe.send(None)
        while True:
            while not pipe.poll(5.0):
                if os.getppid() != parent:
                    return
            pipe.send(timed(tool, pipe.recv()))
    except EOFError:
        return
    except Exception as error:
        pipe.send(f"{type(error).__name__}: {error}")
