"""Loaded by the worker processes that the command starts: signals to the whole process group are the command's."""

import signal


def dask_setup(_worker: object) -> None:
    """Leave Ctrl-C, SIGTERM and SIGHUP to the command, which ends its workers; they also end when it is gone."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
