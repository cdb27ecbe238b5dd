"""Rows that are not in memory: Dask collections and the blocks of a store, as the data of a fit and of predictions."""

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from maxmargin.data.block_source import is_block_source
from maxmargin.data.partitions import PartitionedData
from maxmargin.data.scikit_learn import ClassifierMixin, check_is_fitted
from maxmargin.data.validation import is_collection


class RowsElsewhere:
    """What an estimator does with rows that lie elsewhere, or why it does not take them."""

    n_features_in_: int
    feature_names_in_: np.ndarray
    _n_threads: Callable[[], int]

    # Whether Dask collections are taken, and what to do where they are not.
    _takes_collections: ClassVar[bool] = False
    _advice_for_collections: ClassVar[str] = (
        "compute the collections first, or some of their rows; LinearSVC, LinearSVR, LogisticRegression, Ridge and "
        "BayesianRegression learn from collections"
    )

    @property
    def _may_centre(self) -> bool:
        """Whether an intercept makes up for the centring of columns that lie in partitions."""
        return False

    def _check_collections(self, X: Any) -> None:
        """Refuse Dask collections, or parameters that do not go with them."""
        name, rows = type(self).__name__, kind_of_rows(X)
        if not self._takes_collections:
            raise TypeError(f"{name} does not take Dask collections: {self._advice_for_collections}.")
        if not lies_elsewhere(X):
            raise TypeError("y is a Dask collection, and X is not: give both as collections, or none.")
        if getattr(self, "warm_start", False):
            raise ValueError(f"{name} has no warm start on {rows}: set warm_start=False.")

    def _blocks_or_arrays(self, X: Any, y: Any) -> tuple[Any, Any]:
        """X and y; of blocks, which hold their targets, arrays that are mapped where the model does not take blocks."""
        if not is_block_source(X):
            return X, y
        if y is not None:
            raise TypeError("X holds its targets, as a store does: leave y out, or give X and y as arrays.")
        if self._takes_collections:
            self._check_collections(X)
            return X, None
        return X.arrays, X.targets

    def _in_partitions(self, method: str, X: Any, n_outputs: int | None = None, dtype: Any = np.float64) -> Any:
        """The results of a method for Dask collections, as a Dask array that is computed later; for blocks, now."""
        from maxmargin.estimators._collections import in_blocks, in_partitions

        check_is_fitted(self)
        if is_block_source(X):
            return in_blocks(self, method, X)
        self._check_collections(X)
        return in_partitions(self, method, X, n_outputs, dtype)

    def _load(self, X: Any, y: Any, sample_weight: Any, *, reset: bool = True) -> PartitionedData:
        """Check Dask collections or blocks, where they are; ``reset`` sets the number and names of the columns."""
        from maxmargin.engine.dask import load_partitions
        from maxmargin.engine.disk import load_blocks

        stored = is_block_source(X)
        if y is None and not stored:
            raise ValueError(f"{type(self).__name__}.fit requires y to be passed, but the target y is None.")
        of_classes = isinstance(self, ClassifierMixin)
        load = partial(load_blocks, X) if stored else partial(load_partitions, X, y)
        data = load(
            sample_weight,
            of_classes=of_classes,
            class_weight=getattr(self, "class_weight", None),
            classes=None if reset or not of_classes else getattr(self, "classes_", None),
            n_threads=self._n_threads(),
            may_centre=self._may_centre,
        )
        if reset:
            self.n_features_in_ = data.points.n_columns
            names = X.feature_names if stored else getattr(X, "columns", None)
            if names is not None and all(isinstance(name, str) for name in names):
                self.feature_names_in_ = np.asarray(names, dtype=object)
        elif data.points.n_columns != self.n_features_in_:
            raise ValueError(f"X has {data.points.n_columns} columns; the model was fitted to {self.n_features_in_}.")
        return data

    def _in_memory(self) -> Self:
        """The model with all of its vectors in this process."""
        gathered = {name: np.asarray(value) for name, value in vars(self).items() if is_collection(value)}
        if not gathered:
            return self
        model = copy(self)
        model.__dict__.update(gathered)
        return model

    def _count_rounds(self, data: PartitionedData) -> None:
        """Set, and print with ``verbose``, what a fit on partitions has sent."""
        executor = data.points.executor
        self.rounds_ = executor.rounds
        if not executor.vectors_are_near:
            self.bytes_per_round_ = executor.bytes_per_round
        if getattr(self, "verbose", 0):
            print(f"[{type(self).__name__}] {executor.describe()}")


def kind_of_rows(X: Any) -> str:
    """What X is called in messages."""
    return "the blocks of a store" if is_block_source(X) else "Dask collections"


def lies_elsewhere(X: Any) -> bool:
    """Whether X is a Dask collection, or read block by block."""
    return is_collection(X) or is_block_source(X)
