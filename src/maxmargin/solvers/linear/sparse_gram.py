"""The Gram matrix of few sparse rows that lie in partitions, as a sparse matrix: a sum of theirs, and no row is sent.

Where columns are many and products with the Hessian matrix cost rounds, the matrix itself may take fewer bytes than the
vectors of conjugate gradients: a row with k entries adds at most k (k + 1) / 2 to its half. The system is then solved
where the sum arrives, in no round, whatever its condition.
"""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from maxmargin.data.rows import is_sparse
from maxmargin.engine import Answer, Block, Engine
from maxmargin.problems.linear_svm import LinearSVMProblem
from maxmargin.solvers.core.conjugate_gradients import ConjugateGradients
from maxmargin.solvers.core.hessian import HessianOperator

# Numbers of 8 bytes that an entry takes: its value, and its column.
NUMBERS_PER_ENTRY = 1.5
# The residual falls to this share, in at most so many steps of milliseconds.
FORCING, MOST_STEPS = 1e-2, 2000


class SparseGram:
    """Asks for the Gram matrix of the free rows where it is small.

    Parameters
    ----------
    most : float
        The numbers of 8 bytes that it may take.

    Attributes
    ----------
    is_small : bool
        Whether it was in the step before: it is then asked for with the evaluation.
    """

    def __init__(self, most: float) -> None:
        self.most, self.is_small = most, False
        self._entries: Answer[float] | None = None
        self._matrix: Answer[sp.csr_array] | None = None

    def ask(self, engine: Engine[LinearSVMProblem]) -> None:
        """Ask how many entries the matrix has at most, and for itself if it was small."""
        self._entries = engine.ask(_most_entries)
        self._matrix = engine.ask(_lower_half, self.most / NUMBERS_PER_ENTRY) if self.is_small else None

    def find(self, engine: Engine[LinearSVMProblem]) -> sp.csr_array | None:
        """The lower half of the matrix, where it is small; that costs a round where it was not before."""
        if self._entries is None:
            self.ask(engine)
            assert self._entries is not None
        asked, self.is_small = self._matrix, self._entries.value * NUMBERS_PER_ENTRY <= self.most
        self._entries = self._matrix = None
        if not self.is_small:
            return None
        answer = asked or engine.ask(_lower_half, self.most / NUMBERS_PER_ENTRY)
        return answer.value


def solve_sparse(
    hessian: HessianOperator, lower: sp.csr_array, right: np.ndarray, stopped: Callable[[], bool]
) -> np.ndarray:
    """Solve H x = right by conjugate gradients, given the lower half of the sum over the rows."""
    diagonal, upper = lower.diagonal(), lower.T.tocsr()

    def image(direction: np.ndarray) -> np.ndarray:
        return hessian.image_of_sum(direction, lower @ direction + upper @ direction - diagonal * direction)

    run = ConjugateGradients(image, right, hessian.inverse_diagonal(diagonal.copy()))
    return run.run(FORCING, MOST_STEPS, stopped)


# Tasks on a partition.


def _most_entries(block: Block[LinearSVMProblem]) -> float:
    """A bound on the entries of the half: those of every free row's own matrix; infinite for dense rows."""
    matrix, free = block.problem.points.matrix, block.index[block["free"]]
    if not is_sparse(matrix):
        return float(free.size * (matrix.shape[1] + 1.0) ** 2)
    # The intercept is one more column.
    lengths = np.diff(matrix.indptr)[free] + 1.0
    return float((0.5 * lengths * (lengths + 1.0)).sum())


def _lower_half(block: Block[LinearSVMProblem], most: float) -> sp.csr_array:
    """sum weights_i (x_i, 1)(x_i, 1)^T over the free rows, its lower half; empty where it is too large to be used."""
    size = block.problem.points.n_columns + 1
    if _most_entries(block) > most:
        return sp.csr_array((size, size))
    free = block.index[block["free"]]
    rows = sp.csr_array(block.problem.points.matrix[free])
    rows = sp.csr_array(sp.hstack([rows, np.ones((free.size, 1))], format="csr"), dtype=np.float64)
    weighted = sp.csr_array(sp.diags_array(block.problem.loss.weights[free]) @ rows)
    found: sp.csr_array = sp.csr_array(sp.tril(rows.T @ weighted, format="csr"))
    found.sort_indices()
    return found
