"""The tools, each a process of its own."""

from suite import Solver


class InMemory(Solver):
    """`LinearSVC` on arrays, two threads."""

    name = "memory"
    parts = ("covtype",)
    # Repetitions from which on and up to which it runs; copies of the data are the limit.
    least, most = 1, 10


class InStore(InMemory):
    """`LinearSVC` on a store in a quarter of its size of memory, two threads."""

    name = "store"
    # A quarter of a single repetition is less than the program needs.
    least = 10


class OnDask(InMemory):
    """`LinearSVC` on a Dask cluster of two worker processes."""

    name = "dask"
    most = 100


class Spark(InMemory):
    """Spark MLlib's `LinearSVC` in local mode, two threads."""

    name = "spark"
