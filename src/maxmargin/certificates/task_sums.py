"""Sums over the rows of one task, or of many small tasks at once.

The rows of many tasks follow one another in one array: a certificate then costs a few passes over all of them together,
where one pass a task would be nothing but the interpreter's time.
"""

import math
from collections.abc import Sequence

import numpy as np

from maxmargin.certificates.rounding import gamma, up

# The most parts of numbers that are summed exactly; what is left is summed one by one.
PARTS_OF_SUM = 3
# Numbers that are faster summed one by one than in parts.
SUMMED_ONE_BY_ONE = 512


class OneTask:
    """All rows belong to one task."""

    def sums(self, values: np.ndarray) -> list[float]:
        """The sum of the values of every task."""
        return [float(np.add.reduce(values))]

    def counts(self, mask: np.ndarray) -> list[int]:
        """The number of rows of every task where the mask is true."""
        return [int(np.count_nonzero(mask))]

    def largest(self, values: np.ndarray) -> list[float]:
        """The largest value of every task, at least zero."""
        return [float(values.max(initial=0.0))]

    def two_largest(self, values: np.ndarray) -> list[list[float]]:
        """The largest value of every task, preceded by the second where there is one."""
        if values.size < 2:
            return [values.tolist()]
        k = int(values.argmax())
        others = values[:k].max(initial=-math.inf), values[k + 1 :].max(initial=-math.inf)
        return [[float(max(others)), float(values[k])]]

    def spread(self, numbers: Sequence[float]) -> float | np.ndarray:
        """The number of every row's task; the number itself where it is the same for all rows."""
        return numbers[0]

    def sizes(self, values: np.ndarray) -> list[int]:
        """The number of rows of every task."""
        return [values.size]

    def parts(self, values: np.ndarray) -> list[np.ndarray]:
        """The values of every task."""
        return [values]


class ManyTasks(OneTask):
    """The rows of several tasks, one task after the other.

    Parameters
    ----------
    sizes : sequence of int
        The number of rows of every task, at least one.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = np.asarray(sizes)
        self._ends = np.cumsum(self._sizes)
        self._starts = self._ends - self._sizes

    def sums(self, values: np.ndarray) -> list[float]:
        """The sum of the values of every task."""
        found: list[float] = np.add.reduceat(values, self._starts).tolist()
        return found

    def counts(self, mask: np.ndarray) -> list[int]:
        """The number of rows of every task where the mask is true."""
        found: list[int] = np.add.reduceat(mask, self._starts, dtype=np.int64).tolist()
        return found

    def largest(self, values: np.ndarray) -> list[float]:
        """The largest value of every task, at least zero."""
        found: list[float] = np.maximum(np.maximum.reduceat(values, self._starts), 0.0).tolist()
        return found

    def two_largest(self, values: np.ndarray) -> list[list[float]]:
        """The largest value of every task, preceded by the second."""
        largest = np.maximum.reduceat(values, self._starts)
        is_below = values < np.repeat(largest, self._sizes)
        second = np.maximum.reduceat(np.where(is_below, values, -math.inf), self._starts)
        # Of several that are the largest, the second is one of them.
        several = np.add.reduceat(is_below, self._starts, dtype=np.int64) < self._sizes - 1
        pairs = zip(np.where(several, largest, second).tolist(), largest.tolist(), strict=True)
        return list(map(list, pairs))

    def spread(self, numbers: Sequence[float]) -> np.ndarray:
        """The number of every row's task."""
        return np.repeat(np.asarray(numbers, dtype=np.float64), self._sizes)

    def sizes(self, values: np.ndarray) -> list[int]:  # noqa: ARG002
        """The number of rows of every task."""
        found: list[int] = self._sizes.tolist()
        return found

    def parts(self, values: np.ndarray) -> list[np.ndarray]:
        """The values of every task."""
        # np.split takes ten times as long.
        ends = self._ends.tolist()
        return [values[first:last] for first, last in zip([0, *ends[:-1]], ends, strict=True)]


ONE_TASK = OneTask()


def sums_at_most(values: np.ndarray, tasks: OneTask) -> list[float]:
    """An upper bound on the exact sum of every task's nonnegative numbers."""
    sums, sizes = tasks.sums(values), tasks.sizes(values)
    return [up(total * (1.0 + 2.0 * gamma(size))) for total, size in zip(sums, sizes, strict=True)]


def exact_sum(values: np.ndarray) -> float:
    """The sum, rounded once; NaN where it, or a part of it, overflows."""
    return exact_sums(values, ONE_TASK)[0]


def exact_sums(values: np.ndarray, tasks: OneTask) -> list[float]:
    """The sum of every task, rounded once; NaN where it, or a part of it, overflows.

    S. Rump, T. Ogita, S. Oishi, "Accurate floating-point summation", SIAM Journal on Scientific Computing, 2008: added
    to a large power of two and taken off again, numbers become multiples of one unit, whose sum in float64 is exact.
    What is cut off by that is exact, too, and has smaller units.
    """
    if values.size <= SUMMED_ONE_BY_ONE:
        return [sum_of(part.tolist()) for part in tasks.parts(values)]
    exact, rest = [], values
    for _ in range(PARTS_OF_SUM):
        largest = float(np.abs(rest).max(initial=0.0))
        power = math.frexp(largest)[1] + rest.size.bit_length() if math.isfinite(largest) else 1024
        if largest == 0.0 or power >= 1024:
            break
        high = rest + 2.0**power
        high -= 2.0**power
        exact.append(tasks.sums(high))
        rest = rest - high
    # Of a task without a rest, the sums of its parts.
    rests = [part[part != 0.0].tolist() for part in tasks.parts(rest)] if rest.any() else []
    n_tasks = len(tasks.sizes(values))
    return [sum_of([*(part[k] for part in exact), *(rests[k] if rests else ())]) for k in range(n_tasks)]


def sum_of(numbers: Sequence[float]) -> float:
    """The sum of a few numbers, rounded once; NaN where it overflows."""
    try:
        return math.fsum(numbers)
    except (OverflowError, ValueError):
        return math.nan
