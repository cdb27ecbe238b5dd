"""Rows that lie in partitions elsewhere: what is known of all of them, and the checks of one partition."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeAlias, TypedDict, TypeVar

import numpy as np

from maxmargin.data.array_types import UserArray
from maxmargin.data.centring import Centring
from maxmargin.data.partition_summaries import PartitionRows, PartitionSummary
from maxmargin.data.validation import (
    LARGEST_FACTOR,
    LARGEST_NORM,
    SMALLEST_FACTOR,
    class_factors,
    refuse_unmeasurable,
    warn_of_rounding,
)

ResultT = TypeVar("ResultT")
ResultT_co = TypeVar("ResultT_co", covariant=True)


class Future(Protocol[ResultT_co]):
    """A result that lies on a worker of a cluster, or will."""

    def result(self) -> ResultT_co: ...

    def add_done_callback(self, function: Callable[[object], None]) -> object: ...


# A result where it lies: in this process itself, on a cluster its future.
Held: TypeAlias = ResultT | Future[ResultT]


class PartitionExecutor(Protocol):
    """What is known of where partitions lie, and what reaching them has cost."""

    rounds: int

    @property
    def vectors_are_near(self) -> bool: ...

    @property
    def bytes_per_round(self) -> float: ...

    def describe(self) -> str: ...


# What a task gets of a partition; its summary stays beside it where it was computed there.
CheckedPartition: TypeAlias = tuple[PartitionRows] | tuple[PartitionRows, PartitionSummary]


class KnownOfRows(TypedDict):
    """What the summaries tell of the rows of all partitions."""

    row_counts: tuple[int, ...]
    n_columns: int
    entries_per_row: float
    largest_norm: float
    typical_norm: float
    longest_row: int
    is_sparse: bool


@dataclass(frozen=True)
class PartitionedPoints:
    """What is known of rows in partitions, in place of ``Points``.

    Attributes
    ----------
    matrix : the collection
    partitions : sequence
        Where the partitions are: futures, or in this process themselves.
    executor : object
        Runs tasks on them.
    row_counts : tuple of int
    centre : ndarray of shape (d,) or None
        What was subtracted from the rows, exactly: columns far from zero cost digits.
    """

    matrix: UserArray
    partitions: Sequence[Held[CheckedPartition]]
    executor: PartitionExecutor
    row_counts: tuple[int, ...]
    n_columns: int
    entries_per_row: float
    largest_norm: float
    typical_norm: float
    longest_row: int
    is_sparse: bool
    centre: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows in all partitions."""
        return sum(self.row_counts)

    @property
    def centring(self) -> Centring:
        """Turns intercepts for the rows of the partitions into those of the data, and back."""
        # The intercepts need no rows.
        return Centring(self, np.zeros(self.n_columns) if self.centre is None else self.centre, 1.0)  # type: ignore[arg-type]


class LocalTargets(NamedTuple):
    """How a partition's labels become the targets and weights of a task: a picklable function of the partition.

    Attributes
    ----------
    classes : ndarray or None
        None for a regression.
    positive : int
        The class with sign +1.
    factors : ndarray or None
        One for each class.
    """

    classes: np.ndarray | None
    positive: int
    factors: np.ndarray | None

    def __call__(self, partition: PartitionRows) -> tuple[np.ndarray, np.ndarray]:
        """The targets and weights."""
        # A byte for a sign, and nothing for equal weights: there may be more rows than fit in memory otherwise.
        weights = np.broadcast_to(1.0, partition.points.n_rows) if partition.weights is None else partition.weights
        if self.classes is None:
            return partition.labels, weights
        codes = np.searchsorted(self.classes, partition.labels)
        if self.factors is not None:
            weights = weights * self.factors[codes]
        return np.where(codes == self.positive, np.int8(1), np.int8(-1)), weights


@dataclass(frozen=True)
class PartitionedTask:
    """A two-class problem or a regression, whose targets and weights lie beside the rows.

    Attributes
    ----------
    points : PartitionedPoints
    local : LocalTargets
    total_weight : float
    sides : tuple of two floats
        The weight of the positive and of the negative rows.
    mean_target, largest_target : float
        The weighted mean of the targets, and their largest size.
    """

    points: PartitionedPoints
    local: LocalTargets
    total_weight: float
    sides: tuple[float, float]
    mean_target: float
    largest_target: float


@dataclass(frozen=True)
class PartitionedData:
    """Training data in partitions; the tasks are one-vs-rest for several classes.

    Attributes
    ----------
    points : PartitionedPoints
    classes : ndarray
        Empty for a regression.
    class_weights : ndarray
        The weight of all rows of each class, class factors included.
    factors : ndarray or None
    total_weight : float
    weights : ndarray
        The smallest and the largest weight that is not zero.
    mean_target, largest_target : float
    """

    points: PartitionedPoints
    classes: np.ndarray
    class_weights: np.ndarray
    factors: np.ndarray | None
    total_weight: float
    weights: np.ndarray
    mean_target: float
    largest_target: float

    @property
    def n_tasks(self) -> int:
        """One task for two classes or a regression, else one for each class."""
        return max(1, len(self.classes) if len(self.classes) != 2 else 1)

    def labels(self) -> None:
        """Labels are not gathered."""
        return

    def names(self) -> list[str]:
        """What each task is about."""
        if not len(self.classes):
            return ["values"]
        positive = self.classes[1:] if self.n_tasks == 1 else self.classes
        return [f"class {label} against the rest" for label in positive]

    def tasks(self) -> Iterator[PartitionedTask]:
        """Yield the tasks."""
        if not len(self.classes):
            yield PartitionedTask(
                self.points,
                LocalTargets(None, 0, None),
                self.total_weight,
                (self.total_weight, self.total_weight),
                self.mean_target,
                self.largest_target,
            )
            return
        for positive in [1] if self.n_tasks == 1 else range(self.n_tasks):
            own = float(self.class_weights[positive])
            rest = float(np.delete(self.class_weights, positive).sum())
            local = LocalTargets(self.classes, positive, self.factors)
            yield PartitionedTask(self.points, local, own + rest, (own, rest), (own - rest) / (own + rest), 1.0)


def merge_summaries(
    points: Callable[..., PartitionedPoints],
    summaries: Sequence[PartitionSummary],
    *,
    of_classes: bool,
    class_weight: object = None,
    classes: np.ndarray | None = None,
) -> PartitionedData:
    """Check what is known of all partitions together.

    Parameters
    ----------
    points : callable
        Makes the PartitionedPoints, given what is known of them.
    summaries : sequence of PartitionSummary
    of_classes : bool
    class_weight : dict, "balanced" or None
    classes : ndarray, optional
        The possible labels, where they are known.
    """
    for number, summary in enumerate(summaries):
        if summary.error:
            raise ValueError(f"partition {number}: {summary.error}")
    filled = [number for number, summary in enumerate(summaries) if summary.n_rows]
    if not filled:
        raise ValueError("X has no rows: all of its partitions are empty.")
    first = filled[0]
    for number in filled:
        found, expected = summaries[number].n_columns, summaries[first].n_columns
        if found != expected:
            raise ValueError(f"partition {number}: X has {found} columns; partition {first} has {expected}.")
    if any(summary.is_rounded for summary in summaries):
        warn_of_rounding("the data" if not of_classes else "X")
    n_rows = sum(summary.n_rows for summary in summaries)
    largest = max(summary.largest_norm for summary in summaries)
    refuse_unmeasurable(largest, all(summary.all_zero for summary in summaries))
    known = points(
        row_counts=tuple(summary.n_rows for summary in summaries),
        n_columns=summaries[first].n_columns,
        entries_per_row=sum(summary.n_stored for summary in summaries) / n_rows,
        largest_norm=largest,
        typical_norm=float(np.sqrt(sum(summary.sum_of_squares for summary in summaries) / n_rows)),
        longest_row=max(summary.longest_row for summary in summaries),
        is_sparse=any(summary.is_sparse for summary in summaries),
    )
    total = sum(summary.total_weight for summary in summaries)
    extremes = np.array(
        [min(summary.smallest_weight for summary in summaries), max(summary.largest_weight for summary in summaries)]
    )
    if not total > 0.0:
        raise ValueError("sample_weight is zero for every row: give at least one row a positive weight.")
    data = PartitionedData(
        known,
        np.empty(0),
        np.empty(0),
        None,
        total,
        extremes,
        sum(summary.target_sum for summary in summaries) / total,
        max(summary.largest_target for summary in summaries),
    )
    if not of_classes:
        if data.largest_target > LARGEST_NORM:
            raise ValueError("y has values too large to be squared: rescale it.")
        return data
    return _with_classes(data, summaries, class_weight, classes)


def _with_classes(
    data: PartitionedData, summaries: Sequence[PartitionSummary], class_weight: object, classes: np.ndarray | None
) -> PartitionedData:
    # An empty partition may have labels of another type.
    found = np.unique(np.concatenate([summary.labels for summary in summaries if summary.n_rows]))
    if classes is None:
        classes = found
    elif np.setdiff1d(found, classes).size:
        unknown = np.setdiff1d(found, classes)
        raise ValueError(f"y has labels {unknown[:5].tolist()} that are not among the classes {classes[:5].tolist()}.")
    totals = np.zeros(len(classes))
    for summary in summaries:
        if summary.n_rows:
            totals[np.searchsorted(classes, summary.labels)] += summary.label_weights
    factors = class_factors(class_weight, classes, totals)
    extremes = data.weights
    if factors is not None:
        totals = totals * factors
        used = factors[factors > 0.0]
        extremes = extremes * np.array([used.min(initial=1.0), used.max(initial=1.0)])
    if not SMALLEST_FACTOR <= extremes[0] <= extremes[1] <= LARGEST_FACTOR:
        raise ValueError("sample_weight and class_weight must give weights of zero, or between 1e-100 and 1e100.")
    return replace(
        data,
        classes=classes,
        class_weights=totals,
        factors=factors,
        total_weight=float(totals.sum()),
        weights=extremes,
    )
