"""Kernel perceptron: the problem in the feature space of a kernel."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxmargin.data import Dataset, as_dense
from maxmargin.problems.kernels import Kernel
from maxmargin.problems.semidefinite import KernelFacts


@dataclass(frozen=True)
class KernelPerceptronProblem:
    r"""Find duals of a hyperplane in feature space that classifies all rows correctly.

    .. math:: f(x) = \sum_j \alpha_j y_j (k(x_j, x) + 1)

    The 1 is the intercept's constant feature; it is absent without an intercept.

    Attributes
    ----------
    dataset : Dataset
    kernel : Kernel, or None where the rows of the data set are rows of the Gram matrix
    fit_intercept : bool
    step : float
        What a mistake adds to the row's dual.
    """

    dataset: Dataset
    kernel: Kernel | None
    fit_intercept: bool = True
    step: float = 1.0

    @property
    def intercept_step(self) -> float:
        """What the constant feature adds to the kernel: 1 with an intercept, else 0."""
        return float(self.fit_intercept)

    @cached_property
    def kernel_facts(self) -> KernelFacts:
        """Whether the kernel is positive semidefinite."""
        return KernelFacts(self.kernel, self.dataset.points)

    @cached_property
    def steps(self) -> np.ndarray:
        """What a mistake at each row adds to its dual."""
        return np.full(self.dataset.points.n_rows, self.step)

    @cached_property
    def squared_norms(self) -> np.ndarray:
        """k(x_i, x_i), plus 1 with an intercept."""
        matrix = self.dataset.points.matrix
        diagonal = (
            np.diagonal(as_dense(matrix))
            if self.kernel is None
            else self.kernel.diagonal(matrix, self.dataset.points.squared_norms)
        )
        return np.asarray(diagonal, dtype=np.float64) + self.intercept_step
