"""The perceptron's problem in the feature space of a kernel."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxmargin.data import Dataset
from maxmargin.data.blocks import row_blocks
from maxmargin.problems.kernels import Kernel


@dataclass(frozen=True)
class KernelPerceptronProblem:
    r"""Find duals whose plane in feature space makes no mistake (theory A8).

    .. math:: f(x) = \sum_j \alpha_j y_j (k(x_j, x) + 1)

    (without the 1 where there is no intercept: the feature that is always 1 adds it to the kernel).

    ``kernel`` is None where the rows of the data set already are rows of the gram matrix.
    """

    dataset: Dataset
    kernel: Kernel | None
    fit_intercept: bool = True
    step: float = 1.0

    @property
    def intercept_step(self) -> float:
        """What the feature that is always 1 adds to the kernel."""
        return float(self.fit_intercept)

    @cached_property
    def steps(self) -> np.ndarray:
        """The step that an update takes on each row."""
        return np.full(self.dataset.points.n_rows, self.step)

    @cached_property
    def squared_norms(self) -> np.ndarray:
        """k(x_i, x_i), plus 1 with an intercept."""
        matrix = self.dataset.points.matrix
        diagonal = (
            np.diagonal(matrix)
            if self.kernel is None
            else self.kernel.diagonal(matrix, self.dataset.points.squared_norms)
        )
        return np.asarray(diagonal, dtype=np.float64) + self.intercept_step

    def gram(self, rows: np.ndarray | slice, columns: np.ndarray) -> np.ndarray:
        """k(x_i, x_j) for i in ``rows`` and j in ``columns``."""
        matrix, squares = self.dataset.points.factor, self.dataset.points.squared_norms
        if self.kernel is None:
            return np.asarray(matrix[rows][:, columns], dtype=np.float64)
        return self.kernel.gram(matrix[rows], matrix[columns], (squares[rows], squares[columns]))

    def columns(self, columns: np.ndarray) -> np.ndarray:
        """k(x_i, x_j) for all rows i and j in ``columns``, one array a column, made in blocks."""
        result = np.empty((columns.size, self.dataset.points.n_rows))
        for part in row_blocks(self.dataset.points.n_rows, columns.size):
            result[:, part] = self.gram(part, columns).T
        return result
