"""Separability of two classes whose rows lie in the partitions of Dask collections: a growing working set of rows.

The rows of a working set are the only ones that are sent. If no hyperplane separates them, none separates all rows, and
their hull weights prove it. Else their hyperplane is evaluated on all partitions, in one round: the largest margin of
the working set is an upper bound on that of all rows, and the smallest margin of all rows a lower bound. While the two
are too far apart, the rows that violate the hyperplane most join the working set.

Fung, Mangasarian, "Data selection for support vector machine classifiers", 2000; Joachims, "Training linear SVMs in
linear time", 2006, for cutting planes.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin.certificates import MarginBracket
from maxmargin.certificates.bounds import longest_row_at_most
from maxmargin.certificates.hard_margin import margin_of_all_at_least
from maxmargin.certificates.rounding import lower_bound, up
from maxmargin.data import Dataset, Points
from maxmargin.data.blas import one_blas_thread
from maxmargin.data.partitions import PartitionedPoints
from maxmargin.data.points import RowsAlone
from maxmargin.engine import Block
from maxmargin.engine.dask import DaskEngine, load_partitions
from maxmargin.engine.executors import array_of_chunks
from maxmargin.problems.hard_margin import HardMarginProblem

# Rows of the first working set: so many for every column, and at least so many.
ROWS_PER_COLUMN, FEWEST_ROWS = 4, 1000
# Rows of a partition that join the working set in a round, at least.
ROWS_PER_ROUND = 32
# Entries of the largest working set, 256 MB of dense rows.
LARGEST_WORKING_SET = 1 << 25


class Chosen(NamedTuple):
    """Some rows of a partition, with their signs and their numbers."""

    rows: Any
    signs: np.ndarray
    numbers: np.ndarray


class Evaluation(NamedTuple):
    """The lowest score of a positive row, the highest one of a negative row, and the rows that violate most."""

    lowest: float
    highest: float
    worst: Chosen


class PartitionedClasses:
    """Two classes in partitions, and the working set.

    Parameters
    ----------
    X, y : Dask collections
    fit_intercept : bool
    n_threads : int
    """

    def __init__(self, X: Any, y: Any, fit_intercept: bool, n_threads: int) -> None:
        data = load_partitions(X, y, of_classes=True, n_threads=n_threads)
        if len(data.classes) != 2:
            raise ValueError(
                f"y has {len(data.classes)} classes {data.classes[:5].tolist()}; separate takes exactly two."
            )
        self.points: PartitionedPoints = data.points
        self.fit_intercept = fit_intercept
        self.engine = DaskEngine(RowsAlone(data.points), next(iter(data.tasks())).local)  # type: ignore[arg-type]
        wanted = max(FEWEST_ROWS, ROWS_PER_COLUMN * (self.points.n_columns + 1))
        most = LARGEST_WORKING_SET / max(1.0, 4.0 * self.points.entries_per_row)
        stride = math.ceil(self.points.n_rows / max(2.0, min(wanted, most)))
        self.rows: list[Any] = []
        self.signs: list[np.ndarray] = []
        self.places: list[np.ndarray] = []
        self.known: list[set[int]] = [set() for _ in self.points.row_counts]
        with one_blas_thread():
            self._add(self.engine.map(_every_row, stride))

    @property
    def rounds(self) -> int:
        """The rounds so far."""
        return int(self.points.executor.rounds)

    @property
    def is_full(self) -> bool:
        """Whether the working set is as large as it may be."""
        return sum(rows.shape[0] for rows in self.rows) * self.points.entries_per_row > LARGEST_WORKING_SET

    def _add(self, found: list[Chosen]) -> int:
        """Let rows join the working set; return how many were not in it."""
        n_new = 0
        for number, chosen in enumerate(found):
            new = [k for k, row in enumerate(chosen.numbers.tolist()) if row not in self.known[number]]
            if new:
                self.known[number].update(chosen.numbers[new].tolist())
                self.rows.append(chosen.rows[new])
                self.signs.append(chosen.signs[new])
                self.places.append(np.column_stack([np.full(len(new), number), chosen.numbers[new]]))
                n_new += len(new)
        return n_new

    def working_set(self) -> HardMarginProblem:
        """The problem of the rows that were sent."""
        matrix = sp.csr_array(sp.vstack(self.rows)) if self.points.is_sparse else np.concatenate(self.rows)
        return HardMarginProblem(Dataset(Points(matrix), np.concatenate(self.signs)), self.fit_intercept)

    def evaluate(self, w: np.ndarray, b: float, below: float) -> tuple[float, float, int]:
        """Evaluate a hyperplane on all rows, and let those with the smallest margins, below a bound, join the set.

        Returns
        -------
        lower : float
            A lower bound on the smallest distance y f(x)/||w||, with the best intercept.
        b : float
            That intercept.
        n_new : int
            Rows that joined the working set.
        """
        n_rows = max(ROWS_PER_ROUND, (self.points.n_columns + 1) // len(self.points.row_counts))
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            found: list[Evaluation] = self.engine.map(_evaluate, w, b, below, n_rows)
        lowest, highest = min(part.lowest for part in found), max(part.highest for part in found)
        if self.fit_intercept:
            b = -0.5 * (lowest + highest)
        smallest = min(lowest + b, -(highest + b))
        lower = margin_of_all_at_least(self.points, w, b, smallest)
        return lower, b, self._add([part.worst for part in found])

    def bracket(self, of_working_set: MarginBracket, lower: float) -> MarginBracket:
        """The bracket of all rows, given that of the working set and a lower bound on the margin of all rows."""
        points: Any = self.points
        radius = up(max(of_working_set.upper, longest_row_at_most(points)))
        return MarginBracket(
            lower=lower_bound(lower),
            upper=of_working_set.upper,
            radius=radius,
            space=of_working_set.space,
            hulls_meet=of_working_set.hulls_meet,
        )

    def spread_out(self, weights: np.ndarray) -> Any:
        """Weights of the working set, without the rows that joined it last, as a Dask array over all rows."""
        import dask

        places = np.concatenate(self.places)[: weights.size]
        used = weights > 0.0
        chunks = []
        for number, count in enumerate(self.points.row_counts):
            mine = used & (places[:, 0] == number)
            chunks.append(dask.delayed(_scattered)(count, places[mine, 1], weights[mine]))
        return array_of_chunks(chunks, (self.points.row_counts,), 0, np.float64)


def _scattered(n_rows: int, index: np.ndarray, values: np.ndarray) -> np.ndarray:
    vector = np.zeros(n_rows)
    vector[index] = values
    return vector


# Tasks on a partition.


def _chosen(block: Block[RowsAlone], index: np.ndarray) -> Chosen:
    return Chosen(block.problem.points.matrix[index], block["targets"][index], index)


def _every_row(block: Block[RowsAlone], stride: int) -> Chosen:
    """Every k-th row of each class, and at least one."""
    signs = block["targets"]
    index = np.concatenate([np.flatnonzero(signs > 0.0)[::stride], np.flatnonzero(signs < 0.0)[::stride]])
    return _chosen(block, index)


def _evaluate(block: Block[RowsAlone], w: np.ndarray, b: float, below: float, n_rows: int) -> Evaluation:
    signs, scores = block["targets"], block.problem.points.scores(w)
    margins = signs * (scores + b)
    violating = np.flatnonzero(~(margins >= below))
    worst = violating[np.argsort(margins[violating], kind="stable")[:n_rows]]
    return Evaluation(
        float(scores.min(where=signs > 0.0, initial=math.inf)),
        float(scores.max(where=signs < 0.0, initial=-math.inf)),
        _chosen(block, np.sort(worst)),
    )
