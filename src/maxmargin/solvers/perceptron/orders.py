"""Random orders of the rows, epoch by epoch; the first ones of small data are drawn once.

All classes of a fit, and fits with the same seed to as many rows, have the same orders. To draw one takes about as long
as an epoch over short rows.
"""

import threading
from copy import deepcopy
from functools import lru_cache

import numpy as np

# Entries of the orders that are kept for a seed and a number of rows: 256 kilobytes.
KEPT_ENTRIES = 1 << 16


class KeptOrders:
    """The first orders of a seed, drawn when they are first asked for.

    Parameters
    ----------
    seed : int
    n_rows : int
    """

    def __init__(self, seed: int, n_rows: int) -> None:
        self._generator, self._order = np.random.default_rng(seed), np.arange(n_rows, dtype=np.uint32)
        self._orders: list[np.ndarray] = []
        self._lock = threading.Lock()
        self.most = KEPT_ENTRIES // max(1, n_rows)

    def order(self, epoch: int) -> np.ndarray:
        """The order of an epoch below ``most``."""
        with self._lock:
            while len(self._orders) <= epoch:
                self._generator.shuffle(self._order)
                self._orders.append(self._order.copy())
            return self._orders[epoch]

    def generator_after(self, n_epochs: int, seed: int) -> np.random.Generator:
        """The generator that has drawn so many orders."""
        with self._lock:
            if n_epochs == len(self._orders):
                return deepcopy(self._generator)
        generator, order = np.random.default_rng(seed), np.arange(self._order.size, dtype=np.uint32)
        for _ in range(n_epochs):
            generator.shuffle(order)
        return generator


kept_orders = lru_cache(maxsize=8)(KeptOrders)


class Shuffler:
    """The orders of a run, one epoch after the other.

    Parameters
    ----------
    seed : int
    n_rows : int or None
        The number of rows, where the run has all of them; None where some are left out.
    """

    def __init__(self, seed: int, n_rows: int | None) -> None:
        self._seed, self._n_drawn = seed, 0
        is_small = n_rows is not None and 0 < n_rows <= KEPT_ENTRIES
        self._kept: KeptOrders | None = kept_orders(seed, n_rows) if is_small else None
        self._generator: np.random.Generator | None = np.random.default_rng(seed) if self._kept is None else None

    @property
    def generator(self) -> np.random.Generator:
        """The generator of all later orders, as it is now."""
        if self._generator is None:
            assert self._kept is not None
            self._generator, self._kept = self._kept.generator_after(self._n_drawn, self._seed), None
        return self._generator

    @generator.setter
    def generator(self, generator: np.random.Generator) -> None:
        self._generator, self._kept = generator, None

    def shuffle(self, order: np.ndarray) -> None:
        """Make the order of the last epoch, ascending before the first, that of the next."""
        if self._kept is None or self._n_drawn >= self._kept.most:
            self.generator.shuffle(order)
            return
        order[:] = self._kept.order(self._n_drawn)
        self._n_drawn += 1
