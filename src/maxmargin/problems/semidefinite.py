"""Whether a kernel is positive semidefinite: by its kind, or by a test of its values.

Everything that is proven in a feature space rests on it. Linear, radial and polynomial kernels with a constant that is
not negative are (Mercer). The sigmoid kernel, and polynomials with a negative constant, are not in general: nothing is
proven for them. Of a Gram matrix and of a user's function only the values are known. They are tested, which can refute
but not prove, and certificates state the assumption. The values of a function may depend on the rows that are asked for
at once, as products of BLAS do in their last digits: that they are exact is assumed, too.
"""

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from scipy.linalg import eigh_tridiagonal

from maxmargin.data import Points, as_dense
from maxmargin.data.exact_numbers import UNIT
from maxmargin.data.interruption import check_interruption
from maxmargin.problems.kernels import Kernel

ASSUMPTION = "if the kernel is positive semidefinite"
ASSUMPTION_OF_FUNCTIONS = f"{ASSUMPTION} and its values are exact"
# Most rows of a Cholesky factorisation, which then takes about a second. Of more rows a random sample is factorised.
MOST_ROWS_TO_FACTORISE = 3000
# The error of an entry of a Gram matrix, relative to the largest entry, that the tests tolerate.
ENTRY_ERROR = 2.0**-46
# Lanczos steps on a Gram matrix of more rows, and the entries that all of them may read: some seconds.
MOST_STEPS, LEAST_STEPS, MOST_ENTRIES_READ = 32, 8, 4e9
# Differences between k(x, z) and k(z, x), relative to the largest entry, that are rounding errors of the one who
# computed the matrix: some thousand roundings of float64, or some dozens of float32.
ASYMMETRY = {8: 2.0**-40, 4: 2.0**-18}
# Rows and columns of a block that is compared with its transpose: both fit the cache.
TILE = 256


class KernelFacts:
    """What is known of a kernel on some points.

    Parameters
    ----------
    kernel : Kernel or None
        None where the points are rows of the Gram matrix.
    points : Points
    """

    def __init__(self, kernel: Kernel | None, points: Points) -> None:
        self.kernel, self.points = kernel, points

    @property
    def assumption(self) -> str:
        """What statements in the feature space rest on: empty where the kernel's kind implies it."""
        if semidefinite_by_kind(self.kernel) is not None:
            return ""
        return ASSUMPTION if self.kernel is None else ASSUMPTION_OF_FUNCTIONS

    @cached_property
    def asymmetry(self) -> float:
        """Half of the largest difference between a Gram matrix and its transpose: the error of an entry.

        The kernel is then taken to be the mean of the two, which is symmetric.
        """
        return 0.0 if self.kernel is not None else 0.5 * largest_asymmetry(as_dense(self.points.matrix))

    @cached_property
    def may_be_indefinite(self) -> bool:
        """Whether the kernel is not semidefinite in general, or is seen not to be: then nothing is proven."""
        known = semidefinite_by_kind(self.kernel)
        if known is not None:
            return not known
        if self.kernel is None and not is_symmetric(as_dense(self.points.matrix)):
            return True
        return not self._passes_tests()

    def _passes_tests(self) -> bool:
        n = self.points.n_rows
        sample = np.arange(n)
        if n > MOST_ROWS_TO_FACTORISE:
            sample = np.sort(np.random.default_rng(0).choice(n, MOST_ROWS_TO_FACTORISE, replace=False))
        rows = self.points.matrix[sample]
        gram = rows[:, sample] if self.kernel is None else self.kernel.gram(rows, rows)
        gram = np.asarray(gram, dtype=np.float64)
        if self.kernel is not None and not is_symmetric(gram):
            return False
        if not is_semidefinite(gram):
            return False
        # A user's function is not evaluated at all pairs of so many rows.
        if self.kernel is not None or sample.size == n:
            return True
        whole = as_dense(self.points.matrix)
        largest = largest_entry(whole)
        # Lanczos' method misses a pair of rows among many that are orthogonal to it.
        if has_indefinite_pair(whole, n * ENTRY_ERROR * largest):
            return False
        answer: bool = smallest_ritz_value(self.points.scores, n) >= -n * ENTRY_ERROR * largest
        return answer


def semidefinite_by_kind(kernel: Kernel | None) -> bool | None:
    """True or False where the kernel's formula decides, None where only its values are known, as of a Gram matrix."""
    return None if kernel is None else kernel.semidefinite


def is_semidefinite(gram: np.ndarray) -> bool:
    """Whether a symmetric matrix has no negative eigenvalue, up to rounding: shifted, it has a Cholesky factor."""
    largest = float(np.abs(gram).max(initial=0.0))
    shifted = gram + gram.shape[0] * ENTRY_ERROR * largest * np.eye(gram.shape[0])
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return True


def smallest_ritz_value(product: Callable[[np.ndarray], np.ndarray], n: int) -> float:
    """An upper bound on the smallest eigenvalue, up to rounding: the Rayleigh quotient of a vector of a Krylov space.

    (Lanczos' method with full orthogonalisation; a Gram matrix that is far from semidefinite is seen in few steps.)
    """
    steps = int(min(n, MOST_STEPS, max(LEAST_STEPS, MOST_ENTRIES_READ // n**2)))
    basis = np.zeros((steps, n))
    diagonal, beside = np.zeros(steps), np.zeros(steps)
    vector = np.random.default_rng(0).normal(size=n)
    for k in range(steps):
        check_interruption()
        basis[k] = vector / np.linalg.norm(vector)
        vector = product(basis[k])
        diagonal[k] = basis[k] @ vector
        for _ in range(2):
            vector = vector - basis[: k + 1].T @ (basis[: k + 1] @ vector)
        beside[k] = np.linalg.norm(vector)
        if beside[k] <= ENTRY_ERROR * np.abs(diagonal[: k + 1]).max():
            steps = k + 1
            break
    vectors = eigh_tridiagonal(diagonal[:steps], beside[: steps - 1], select="i", select_range=(0, 0))[1]
    ritz = basis[:steps].T @ vectors[:, 0]
    return float(ritz @ product(ritz)) / float(ritz @ ritz)


def is_symmetric(gram: np.ndarray) -> bool:
    """Whether a matrix is symmetric up to the rounding errors of its computation, in its own precision."""
    return largest_asymmetry(gram) <= ASYMMETRY[gram.dtype.itemsize] * largest_entry(gram)


def largest_entry(gram: np.ndarray) -> float:
    """max |k_ij|"""
    return max(abs(float(gram.max(initial=0.0))), abs(float(gram.min(initial=0.0))))


def has_indefinite_pair(gram: np.ndarray, shift: float) -> bool:
    """Whether some 2 x 2 minor has an eigenvalue below -shift: k_ij² > (k_ii + shift) (k_jj + shift)."""
    # In units of the largest entry: squares neither overflow nor underflow.
    unit = largest_entry(gram) or 1.0
    diagonal = (np.diagonal(gram).astype(np.float64) + shift) / unit
    if (diagonal < 0.0).any():
        return True
    roots = np.sqrt(diagonal)
    for i, j, block, _ in lower_tiles(gram):
        if (np.abs(block) > unit * (1.0 + 8.0 * UNIT) * np.outer(roots[i : i + TILE], roots[j : j + TILE])).any():
            return True
    return False


def largest_asymmetry(gram: np.ndarray) -> float:
    """max |k_ij - k_ji|, block by block."""
    largest = 0.0
    for _, _, block, mirrored in lower_tiles(gram):
        largest = max(largest, float(np.abs(block - mirrored.T).max(initial=0.0)))
    return largest


def lower_tiles(gram: np.ndarray) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
    """The blocks on and below the diagonal, where they begin, and their mirror images."""
    for i in range(0, gram.shape[0], TILE):
        for j in range(0, i + 1, TILE):
            yield i, j, gram[i : i + TILE, j : j + TILE], gram[j : j + TILE, i : i + TILE]
