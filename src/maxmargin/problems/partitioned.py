"""Problems whose rows lie in partitions elsewhere."""

from dataclasses import dataclass

from maxmargin.data.partitions import PartitionedPoints, PartitionedTask
from maxmargin.problems.linear_svm import LinearSVMProblem


@dataclass(frozen=True)
class PartitionedSVM:
    """A linear support vector machine: its losses and penalty here, its rows, targets and weights in partitions.

    Attributes
    ----------
    problem : LinearSVMProblem
        Its points are ``PartitionedPoints``, and its targets and weights are empty.
    task : PartitionedTask
    """

    problem: LinearSVMProblem
    task: PartitionedTask

    @property
    def points(self) -> PartitionedPoints:
        """What is known of the rows."""
        return self.task.points
