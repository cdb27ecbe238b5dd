"""The tools, each a process of its own; out of core has its place here, too."""

from suite import Solver


class InMemory(Solver):
    """`LinearSVC` on arrays, two threads."""

    name = "memory"
    parts = ("covtype",)
    # Repetitions up to which it runs; copies of the data are the limit.
    most = 10


class OnDask(InMemory):
    """`LinearSVC` on a Dask cluster of two worker processes."""

    name = "dask"
    most = 100


class Spark(InMemory):
    """Spark MLlib's `LinearSVC` in local mode, two threads."""

    name = "spark"
