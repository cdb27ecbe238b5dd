"""The support vector machine in the feature space of a kernel (theory B5, B10 to B12)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxmargin.data import Points
from maxmargin.problems.expansion import expansion_scores
from maxmargin.problems.kernels import Kernel, Sigmoid
from maxmargin.problems.linear_svm import DualShape, LinearSVMProblem

# Kernel values above this overflow when they are squared or added up.
LARGEST_VALUE = 1e140


@dataclass(frozen=True)
class KernelSVMProblem:
    r"""The dual of the soft margin, or of the epsilon-insensitive regression, in signed duals.

    .. math:: \max_\beta \sum_i (t_i \beta_i - \epsilon |\beta_i|) - \tfrac12 \sum_{ij} \beta_i \beta_j k(x_i, x_j),
              \qquad \sum_i \beta_i = 0

    with beta_i between 0 and C y_i (times the row's weight) for a classifier, and between -C and C for a regression.

    Attributes
    ----------
    points : Points
        The rows; or rows of the gram matrix, where ``kernel`` is None.
    kernel : Kernel or None
    shape : DualShape
    """

    points: Points
    kernel: Kernel | None
    shape: DualShape

    @cached_property
    def losses(self) -> LinearSVMProblem:
        """The losses and the duals' box, which do not depend on the kernel, with a free intercept."""
        return LinearSVMProblem(self.points, self.shape, 0.0)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """k(x_i, x_i)"""
        if self.kernel is None:
            return np.asarray(np.diagonal(self.points.matrix), dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            diagonal = self.kernel.diagonal(self.points.matrix, self.points.squared_norms)
        # Of a kernel of a feature space, no other value is larger.
        if not float(np.abs(diagonal).max(initial=0.0)) <= LARGEST_VALUE:
            raise ValueError("kernel gives values too large to be squared: rescale X, or lower gamma, degree or coef0.")
        return diagonal

    @property
    def may_be_indefinite(self) -> bool:
        """Whether the kernel is known not to be one of a feature space in general: then nothing is proven."""
        return isinstance(self.kernel, Sigmoid)

    def primal_value(self, beta: np.ndarray, scores: np.ndarray, b: float) -> float:
        """The primal's value of the plane that the duals make, given its scores without intercept."""
        return 0.5 * float(beta @ scores) + float(self.losses.losses(scores + b).sum())

    def dual_value(self, beta: np.ndarray, scores: np.ndarray) -> float:
        """The dual's value at a feasible point, given sum_j beta_j k(x_j, x_i)."""
        return float(self.losses.gains(beta).sum()) - 0.5 * float(beta @ scores)

    def part(self, rows: np.ndarray) -> "KernelSVMProblem":
        """The problem of some rows alone."""
        matrix = self.points.matrix[rows]
        shape = self.shape._replace(targets=self.shape.targets[rows], weights=self.shape.weights[rows])
        return KernelSVMProblem(Points(matrix if self.kernel is not None else matrix[:, rows]), self.kernel, shape)

    def scores_of(self, rows: np.ndarray, support: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """The sums of some rows' kernels with the support, times coefficients."""
        matrix = self.points.matrix
        others = support if self.kernel is None else matrix[support]
        return expansion_scores(self.kernel, matrix[rows], others, coefficients[:, None])[:, 0]
