"""Training data of a fit, and the tasks into which it is split: one two-class problem each, or one regression.

============== ============================================= ==================
container      tasks                                         each task is a
============== ============================================= ==================
LabelledPoints one; for three or more classes one-vs-rest    Dataset
JointClasses   one for all classes                           LabelledPoints
ClassPairs     one for each pair of classes (one-vs-one)     ClassPair
TargetPoints   one, the regression                           TargetPoints
TargetColumns  one for each column of the targets            TargetPoints
============== ============================================= ==================

All have the interface ``Tasks``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, combinations, pairwise
from typing import ClassVar, Protocol, TypeAlias

import numpy as np

from maxmargin.data.points import Points


class Tasks(Protocol):
    """Training data cut into the tasks of a fit, each of which is one optimisation problem."""

    @property
    def points(self) -> Points: ...

    @property
    def weights(self) -> np.ndarray | None: ...

    @property
    def n_tasks(self) -> int: ...

    def labels(self) -> np.ndarray: ...

    def names(self) -> list[str]: ...

    def tasks(self) -> Iterator["Task"]: ...


@dataclass(frozen=True)
class Dataset:
    """Points with signs: the data of a two-class problem.

    Attributes
    ----------
    points : Points
    signs : ndarray of shape (n,)
        y_i, -1.0 or +1.0.
    weights : ndarray of shape (n,) or None
        Non-negative weights of the rows; None where all are one.
    """

    points: Points
    signs: np.ndarray
    weights: np.ndarray | None = None

    @property
    def counted(self) -> np.ndarray | slice:
        """The rows of positive weight: a row of weight zero has no influence."""
        if self.weights is None or self.weights.all():
            return slice(None)
        return np.flatnonzero(self.weights)


@dataclass(frozen=True)
class LabelledPoints:
    """Points with the labels of two or more classes; its tasks are one-vs-rest.

    Attributes
    ----------
    points : Points
    classes : ndarray of shape (n_classes,)
        The labels in sorted order.
    codes : ndarray of int of shape (n,)
        The position of each row's label in ``classes``.
    weights : ndarray of shape (n,) or None
    """

    points: Points
    classes: np.ndarray
    codes: np.ndarray
    weights: np.ndarray | None = None

    @property
    def n_tasks(self) -> int:
        """One task for two classes, else one for each class."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    def labels(self) -> np.ndarray:
        """The label of each row."""
        return np.asarray(self.classes[self.codes])

    def names(self) -> list[str]:
        """What each task is about."""
        positive = self.classes[1:] if self.n_tasks == 1 else self.classes
        return [f"class {label} against the rest" for label in positive]

    def tasks(self) -> Iterator[Dataset]:
        """Yield the two-class problem, or for more classes each class against the rest."""
        for positive in [1] if self.n_tasks == 1 else range(self.n_tasks):
            signs = 2.0 * (self.codes == positive) - 1.0
            yield Dataset(self.points, signs, self.weights)


@dataclass(frozen=True)
class TargetPoints:
    """Points with real targets: the data of a regression.

    Attributes
    ----------
    points : Points
    targets : ndarray of float of shape (n,)
    weights : ndarray of shape (n,) or None
    """

    points: Points
    targets: np.ndarray
    weights: np.ndarray | None = None

    n_tasks: ClassVar[int] = 1

    def labels(self) -> np.ndarray:
        """The target of each row."""
        return self.targets

    def names(self) -> list[str]:
        """What each task is about."""
        return ["values"]

    def tasks(self) -> Iterator["TargetPoints"]:
        """Yield the one problem."""
        yield self


@dataclass(frozen=True)
class TargetColumns:
    """Points with several real targets each: the data of as many regressions.

    Attributes
    ----------
    points : Points
    targets : ndarray of float of shape (n, n_targets)
    weights : ndarray of shape (n,) or None
    """

    points: Points
    targets: np.ndarray
    weights: np.ndarray | None = None

    @property
    def n_tasks(self) -> int:
        """One for each target."""
        return int(self.targets.shape[1])

    def labels(self) -> np.ndarray:
        """The targets of each row."""
        return self.targets

    def names(self) -> list[str]:
        """What each task is about."""
        return [f"target {k}" for k in range(self.n_tasks)]

    def tasks(self) -> Iterator[TargetPoints]:
        """Yield a regression for each target."""
        for column in np.ascontiguousarray(self.targets.T):
            yield TargetPoints(self.points, column, self.weights)


@dataclass(frozen=True)
class _SplitOtherwise:
    """Labelled points that are split into other tasks than one-vs-rest."""

    labelled: LabelledPoints

    @property
    def points(self) -> Points:
        """The points of all classes."""
        return self.labelled.points

    @property
    def classes(self) -> np.ndarray:
        """The labels in sorted order."""
        return self.labelled.classes

    @property
    def weights(self) -> np.ndarray | None:
        """The rows' weights."""
        return self.labelled.weights

    def labels(self) -> np.ndarray:
        """The label of each row."""
        return self.labelled.labels()


@dataclass(frozen=True)
class JointClasses(_SplitOtherwise):
    """All classes as one task, for machines that learn them jointly (Crammer and Singer)."""

    n_tasks: ClassVar[int] = 1

    def names(self) -> list[str]:
        """What each task is about."""
        return ["all classes"]

    def tasks(self) -> Iterator[LabelledPoints]:
        """Yield the one problem."""
        yield self.labelled


@dataclass(frozen=True)
class ClassPair:
    """Two classes against each other.

    Attributes
    ----------
    rows : ndarray of int, or None for all rows
    signs : ndarray of -1.0 and +1.0, one for each row of the pair
    """

    rows: np.ndarray | None
    signs: np.ndarray


@dataclass(frozen=True)
class ClassPairs(_SplitOtherwise):
    """All pairs of classes, one-vs-one, in the order (0, 1), (0, 2), ..., (1, 2), ...

    The first class of a pair is the positive one; of only two classes, the second. The rows of a pair are those of its
    first class, then those of its second; of only two classes, all rows in their own order.
    """

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The positions of the classes of each pair."""
        return list(combinations(range(len(self.classes)), 2))

    @cached_property
    def rows_by_class(self) -> tuple[np.ndarray, list[int]]:
        """All rows, one class after the other, and where each class begins; last the number of rows."""
        codes = self.labelled.codes
        sizes = np.bincount(codes, minlength=len(self.classes)).tolist()
        return np.argsort(codes, kind="stable"), list(accumulate(sizes, initial=0))

    @cached_property
    def rows_of_class(self) -> list[np.ndarray]:
        """The rows of each class."""
        order, cuts = self.rows_by_class
        # np.split takes ten times as long.
        return [order[first:last] for first, last in pairwise(cuts)]

    @property
    def n_tasks(self) -> int:
        """One for each pair."""
        return len(self.pairs)

    def names(self) -> list[str]:
        """What each task is about."""
        return [f"class {self.classes[first]} against {self.classes[second]}" for first, second in self.pairs]

    def shares_of_work(self) -> list[float]:
        """The share of each pair in the work of all: kernel machines read its rows against each other."""
        sizes = np.array([len(rows) for rows in self.rows_of_class], dtype=np.float64)
        squares = np.array([(sizes[first] + sizes[second]) ** 2 for first, second in self.pairs])
        return [float(square) for square in squares / squares.sum()]

    def tasks(self) -> Iterator[ClassPair]:
        """Yield the pairs."""
        return iter(self._class_pairs)

    @cached_property
    def _class_pairs(self) -> list[ClassPair]:
        if self.n_tasks == 1:
            return [ClassPair(None, np.where(self.labelled.codes == 1, 1.0, -1.0))]
        # Slices of one array of rows: a few operations a pair.
        signs = np.concatenate([np.ones(self.points.n_rows), np.full(self.points.n_rows, -1.0)])
        found = []
        for first, second in self.pairs:
            positive, negative = self.rows_of_class[first], self.rows_of_class[second]
            of_pair = signs[self.points.n_rows - positive.size : self.points.n_rows + negative.size]
            found.append(ClassPair(np.concatenate([positive, negative]), of_pair))
        return found


# One optimisation problem's data.
Task: TypeAlias = Dataset | LabelledPoints | TargetPoints | ClassPair
