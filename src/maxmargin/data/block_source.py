"""Rows that are read block by block from elsewhere, such as a store on disk."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from maxmargin.data.rows import Matrix


class BlockSource(ABC):
    """Blocks of rows with their targets, each of which fits in memory and can be read again.

    Estimators take one in place of X, without y.
    """

    @property
    @abstractmethod
    def block_rows(self) -> Sequence[int]:
        """The number of rows of every block."""

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """The number of columns."""

    @property
    @abstractmethod
    def n_bytes(self) -> int:
        """The bytes of all rows in memory."""

    @property
    @abstractmethod
    def arrays(self) -> Matrix:
        """All rows as one matrix that is mapped into memory, for methods that do not work on blocks."""

    @property
    @abstractmethod
    def targets(self) -> np.ndarray:
        """All targets."""

    @property
    @abstractmethod
    def scratch_folder(self) -> Path:
        """A folder on disk for vectors over the rows that are too long for the memory."""

    @property
    @abstractmethod
    def feature_names(self) -> list[str] | None:
        """The names of the columns, if they have names."""

    @abstractmethod
    def read_rows(self, number: int, *, cached: bool = True) -> Matrix:
        """The rows of a block, an array or sparse rows in memory.

        Unless ``cached``, the system is not to keep what it has read of the files: it would push out other pages.
        """

    @abstractmethod
    def read_targets(self, number: int) -> np.ndarray:
        """The targets of a block."""

    @abstractmethod
    def name_of_row(self, number: int, row: int) -> str:
        """Where a row of a block is, for messages."""


def is_block_source(X: object) -> bool:
    """Whether X is read block by block."""
    return isinstance(X, BlockSource)
