"""Kernel matrices of pairs of classes: what lies within a class is made once for all its pairs."""

import threading

import numpy as np

from maxmargin.data import ClassPairs
from maxmargin.engine.threads import ThreadEngine
from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.solvers.kernel.base import SMOOptions
from maxmargin.solvers.kernel.kernel_matrix import KernelMatrix
from maxmargin.solvers.kernel.smo_full_matrix import MOST_ROWS

# The share of the cache that the matrices of all classes may take together, and that of a single pair.
SHARE_OF_CLASSES = 0.5
SHARE_OF_PAIR = 0.25
# What an entry costs, for cutting the work into pieces for threads: pieces are classes.
ENTRIES_PER_CLASS = 1 << 17


def pairs_at_once(pairs: ClassPairs, problem: KernelSVMProblem, options: SMOOptions) -> int:
    """How many pairs' matrices may be held at the same time beside those of the classes; zero if not even one."""
    sizes = [rows.size for rows in pairs.rows_of_class]
    largest = sum(sorted(sizes)[-2:])
    # The cache's room in entries.
    room = options.cache_size * 2**20 / np.dtype(options.dtype_for(problem)).itemsize
    of_pair, of_classes = largest**2, sum(size**2 for size in sizes)
    if largest > MOST_ROWS or of_pair > SHARE_OF_PAIR * room or of_classes > SHARE_OF_CLASSES * room:
        return 0
    return min(options.n_threads, int((1.0 - SHARE_OF_CLASSES) * room // of_pair))


class PairMatrices:
    """Kernel matrices of all pairs, one at a time in a thread.

    Parameters
    ----------
    pairs : ClassPairs
    problem : KernelSVMProblem
        A problem of all points, whatever their signs.
    options : SMOOptions
    """

    def __init__(self, pairs: ClassPairs, problem: KernelSVMProblem, options: SMOOptions) -> None:
        self._pairs, self._dtype = pairs, options.dtype_for(problem)
        self._blocks = KernelMatrix(problem, self._dtype)
        self._rooms = threading.local()
        self._within: list[np.ndarray] = []
        n_threads = options.n_threads if self._blocks.in_threads else 1
        with ThreadEngine(ENTRIES_PER_CLASS, n_threads) as classes:
            for made in classes.each(len(pairs.rows_of_class), self._make_classes):
                self._within.extend(made)

    def of(self, first: int, second: int) -> np.ndarray:
        """The matrix of a pair; it is good until the same thread asks for the next."""
        rows, others = self._pairs.rows_of_class[first], self._pairs.rows_of_class[second]
        size, cut = rows.size + others.size, rows.size
        gram = self._room(size)
        gram[:cut, :cut], gram[cut:, cut:] = self._within[first], self._within[second]
        self._blocks.fill(rows, others, gram, cut)
        gram[cut:, :cut] = gram[:cut, cut:].T
        return gram

    def _make_classes(self, first: int, last: int) -> list[np.ndarray]:
        made = []
        for rows in self._pairs.rows_of_class[first:last]:
            gram: np.ndarray = np.empty((rows.size, rows.size), dtype=self._dtype)
            self._blocks.fill(rows, rows, gram, 0)
            made.append(gram)
        return made

    def _room(self, size: int) -> np.ndarray:
        room = getattr(self._rooms, "array", None)
        if room is None or room.size < size * size:
            room = self._rooms.array = np.empty(size * size, dtype=self._dtype)
        return room[: size * size].reshape(size, size)
