"""The checks of one partition, and what is known of its rows."""

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple, Protocol, TypedDict

import numpy as np

from maxmargin.data.array_types import UserArray
from maxmargin.data.centring import ColumnMoments, column_moments, shifted
from maxmargin.data.exact_numbers import float64_rounds
from maxmargin.data.points import Points
from maxmargin.data.rows import Matrix, is_sparse
from maxmargin.data.validation import as_numbers, validate_partition


class PartitionRows(Protocol):
    """The rows of a partition, in memory or to be read when they are used."""

    @property
    def points(self) -> Points: ...

    @property
    def labels(self) -> np.ndarray: ...

    @property
    def weights(self) -> np.ndarray | None: ...


class Partition(NamedTuple):
    """The rows of a partition, their labels or targets, and their weights or None."""

    points: Points
    labels: np.ndarray
    weights: np.ndarray | None


class PartitionSummary(NamedTuple):
    """What is known of a partition.

    ``labels`` are its different labels, with the weight of each in ``label_weights``; of a regression the targets'
    weighted sum and largest size are ``target_sum`` and ``largest_target``. ``error`` says why it is refused,
    ``is_rounded`` whether float64 rounds its numbers.
    ``moments`` are those of the columns, where they may be centred; where they are, ``inexact`` are the columns that
    cannot be without rounding.
    """

    error: str = ""
    is_rounded: bool = False
    n_rows: int = 0
    n_columns: int = 0
    n_stored: float = 0.0
    largest_norm: float = 0.0
    sum_of_squares: float = 0.0
    longest_row: int = 0
    all_zero: bool = True
    is_sparse: bool = False
    labels: np.ndarray = np.empty(0)
    label_weights: np.ndarray = np.empty(0)
    target_sum: float = 0.0
    largest_target: float = 0.0
    total_weight: float = 0.0
    smallest_weight: float = np.inf
    largest_weight: float = 0.0
    moments: ColumnMoments | None = None
    inexact: np.ndarray = np.empty(0, dtype=int)


def check_partition(
    X: UserArray,
    y: UserArray,
    sample_weight: UserArray,
    of_classes: bool,
    may_centre: bool = False,
    is_persisted: bool = False,
) -> tuple[Partition | None, PartitionSummary]:
    """Check the rows of a partition; an error is returned, so that the first partition with one can be named.

    Where the chunk X ``is_persisted``, and its entries are not copied, they do not count as memory of the partition.
    """
    given = y
    try:
        matrix, y, weights = validate_partition(X, y, sample_weight, of_classes=of_classes)
        targets = np.empty(0) if of_classes else as_numbers(y)
    except (TypeError, ValueError) as error:
        return None, PartitionSummary(error=str(error))
    points = Points(matrix)
    points.is_borrowed = is_persisted and shares_entries(matrix, X)
    factors = np.ones(points.n_rows) if weights is None else weights
    positive = factors[factors > 0.0]
    labels, codes = np.unique(y, return_inverse=True) if of_classes else (np.empty(0), np.empty(0, dtype=int))
    summary = PartitionSummary(
        is_rounded=float64_rounds(X) or (not of_classes and float64_rounds(given)),
        **_summary_of_rows(points),
        labels=labels,
        label_weights=np.bincount(codes, factors, minlength=len(labels)) if of_classes else np.empty(0),
        target_sum=float(factors @ targets) if targets.size else 0.0,
        largest_target=float(np.abs(targets).max(initial=0.0)),
        total_weight=float(factors.sum()),
        smallest_weight=float(positive.min(initial=np.inf)),
        largest_weight=float(positive.max(initial=0.0)),
        moments=column_moments(points, weights) if may_centre else None,
    )
    return Partition(points, y if of_classes else targets, weights), summary


def shares_entries(matrix: Matrix, X: UserArray) -> bool:
    """Whether a validated matrix has the entries of X itself, not a copy."""
    if is_sparse(matrix):
        return is_sparse(X) and np.may_share_memory(matrix.data, X.data)
    return isinstance(X, np.ndarray) and np.may_share_memory(matrix, X)


class _SummaryOfRows(TypedDict):
    n_rows: int
    n_columns: int
    n_stored: float
    largest_norm: float
    sum_of_squares: float
    longest_row: int
    all_zero: bool
    is_sparse: bool


def _summary_of_rows(points: Points) -> _SummaryOfRows:
    return {
        "n_rows": points.n_rows,
        "n_columns": points.n_columns,
        "n_stored": points.entries_per_row * points.n_rows,
        "largest_norm": points.largest_norm,
        "sum_of_squares": float(points.squared_norms.sum()),
        "longest_row": points.longest_row,
        "all_zero": points.all_zero,
        "is_sparse": points.is_sparse,
    }


def centre_partition(
    checked: tuple[Partition, PartitionSummary], centre: np.ndarray
) -> tuple[Partition, PartitionSummary]:
    """A partition whose rows are shifted by the centre; the summary has the columns that cannot be."""
    partition, summary = checked
    if not partition.points.n_rows:
        return checked
    points, inexact = shifted(partition.points, centre)
    return partition._replace(points=points), summary._replace(**_summary_of_rows(points), inexact=inexact)


def centre_of(summaries: Sequence[PartitionSummary]) -> np.ndarray | None:
    """The offsets of the columns that are very far from zero; None where there are none, or they are not known."""
    filled = [summary for summary in summaries if summary.n_rows]
    moments = [summary.moments for summary in filled if summary.moments is not None]
    refused = any(summary.error for summary in summaries) or len({summary.n_columns for summary in filled}) > 1
    if not moments or refused:
        return None
    centre = reduce(ColumnMoments.merged, moments).offsets(filled[0].n_columns)
    return centre if centre.any() else None


def without_inexact(centre: np.ndarray, summaries: Sequence[PartitionSummary]) -> np.ndarray:
    """The centre without the columns that cannot be shifted exactly in all partitions."""
    refused = np.unique(np.concatenate([summary.inexact for summary in summaries]))
    if not refused.size:
        return centre
    centre = centre.copy()
    centre[refused.astype(int)] = 0.0
    return centre
