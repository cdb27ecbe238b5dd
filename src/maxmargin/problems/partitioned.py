"""Problems whose rows lie in partitions elsewhere."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from maxmargin.data.partitions import PartitionedPoints, PartitionedTask
from maxmargin.data.points import HasPoints, Points

if TYPE_CHECKING:
    from maxmargin.problems.linear_svm import LinearSVMProblem
    from maxmargin.problems.logistic import LogisticProblem
    from maxmargin.problems.squared_errors import RidgeProblem, SquaredErrors


class RowsOfBlock(Protocol):
    """What is used of a block of an engine, which stands above the problems."""

    @property
    def problem(self) -> HasPoints: ...

    def __getitem__(self, name: str) -> np.ndarray: ...


@dataclass(frozen=True)
class PartitionedProblem:
    """A problem with its losses and penalty here, and its rows, targets and weights in partitions.

    Attributes
    ----------
    problem : LinearSVMProblem, LogisticProblem, RidgeProblem or SquaredErrors
        Its points are ``PartitionedPoints``, and its targets and weights are empty.
    task : PartitionedTask
    """

    problem: "LinearSVMProblem | LogisticProblem | RidgeProblem | SquaredErrors"
    task: PartitionedTask

    @property
    def points(self) -> PartitionedPoints:
        """What is known of the rows."""
        return self.task.points


def column_sums(block: RowsOfBlock) -> np.ndarray:
    """sum m_i, sum m_i y_i and sum m_i y_i² of a partition; then of every column sum m_i x_ij and sum m_i x_ij².

    A task of the engine of partitions.
    """
    points, targets, weights = block.problem.points, block["targets"], block["row_weights"]
    weighted = weights * targets
    return np.concatenate(
        [
            [weights.sum(), weighted.sum(), weighted @ targets],
            points.combination(weights),
            points.squares_of_columns(weights),
        ]
    )


class ErrorSums:
    """What is known of squared errors in partitions: the means and squares of ``SquaredErrors``, from sums.

    Parameters
    ----------
    points : PartitionedPoints
    has_intercept : bool
    sums : ndarray of shape (3 + 2 d,)
        The total of ``column_sums``.
    """

    def __init__(self, points: Points, has_intercept: bool, sums: np.ndarray) -> None:
        self.points, self.has_intercept = points, has_intercept
        self.total_weight, total, self.squares_of_targets = map(float, sums[:3])
        self.target_mean = total / self.total_weight if has_intercept else 0.0
        first, self.squares_of_columns = np.split(sums[3:], 2)
        self.column_means = first / self.total_weight if has_intercept else np.zeros_like(first)

    @property
    def squared_deviations(self) -> np.ndarray:
        """sum_i m_i (x_ij - mean_j)² of every column j."""
        return np.maximum(0.0, self.squares_of_columns - self.total_weight * np.square(self.column_means))

    def best_intercept(self, w: np.ndarray) -> float:
        """The b with the smallest errors for these coefficients."""
        return self.target_mean - float(self.column_means @ w) if self.has_intercept else 0.0
