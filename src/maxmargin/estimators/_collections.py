"""Dask collections and blocks on disk as the data of an estimator: predictions and scores, where the rows are."""

import warnings
from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from maxmargin.data.block_source import BlockSource
from maxmargin.data.validation import is_collection
from maxmargin.engine.dask import partitions_of
from maxmargin.engine.executors import array_of_chunks

# What predictions do without: histories, and vectors over the rows of the fit.
NOT_FOR_PREDICTION = ("dual_coef_", "history_", "certificate_", "support_")


def in_partitions(model: Any, method: str, X: Any, n_outputs: int | None = None, dtype: Any = np.float64) -> Any:
    """The Dask array of a method's results, partition by partition.

    Parameters
    ----------
    model : a fitted estimator
    method : str
    X : Dask collection
    n_outputs : int, optional
        Columns of the result; without it, the result is a vector.
    dtype : dtype of the result
    """
    import dask

    parts = partitions_of("X", X, optimized=False)
    # The lengths of a data frame's partitions are not known.
    counts = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(parts)
    shape = () if n_outputs is None else (n_outputs,)
    call = dask.delayed(_call, pure=True)
    light = without_training_data(model)
    pieces = [call(light, method, part, shape, dtype) for part in parts]
    return array_of_chunks(pieces, (tuple(counts), *((size,) for size in shape)), 0, dtype)


def in_blocks(model: Any, method: str, source: BlockSource) -> np.ndarray:
    """The results of a method, block by block."""
    with warnings.catch_warnings():
        # The names of the columns were compared once.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        _refuse_other_names(model, source)
        blocks = map(source.read_rows, range(len(source.block_rows)))
        return np.concatenate([np.asarray(getattr(model, method)(rows)) for rows in blocks])


def _refuse_other_names(model: Any, source: BlockSource) -> None:
    names, own = getattr(model, "feature_names_in_", None), source.feature_names
    if names is not None and own is not None and list(names) != own:
        raise ValueError("X has columns of other names than the model was fitted to.")


def score_in_partitions(model: Any, X: Any, y: Any, sample_weight: Any, measure: Callable[..., Any]) -> Any:
    """A score that is computed later: ``measure`` of every partition, merged by its method ``merged`` and ``score``."""
    import dask.array as da

    import dask

    columns = [partitions_of("X", X, optimized=False)]
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        if values is not None and not is_collection(values):
            raise TypeError(f"X is a Dask collection, and {name} is not: give {name} with the partitions of X.")
        columns.append([None] * len(columns[0]) if values is None else partitions_of(name, values, optimized=False))
        if len(columns[-1]) != len(columns[0]):
            raise ValueError(
                f"X has {len(columns[0])} partitions and {name} has {len(columns[-1])}: give both the same."
            )
    light = without_training_data(model)
    parts = [dask.delayed(_measured)(measure, light, *part) for part in zip(*columns, strict=True)]
    return da.from_delayed(dask.delayed(_score_of)(parts), (), dtype=np.float64)


def without_training_data(model: Any) -> Any:
    """A copy of a fitted model without vectors over the rows that it was fitted to."""
    light = copy(model)
    light.__dict__ = {name: value for name, value in vars(model).items() if name not in NOT_FOR_PREDICTION}
    return light


def _call(model: Any, method: str, X: Any, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    if X.shape[0] == 0:
        return np.empty((0, *shape), dtype=dtype)
    return np.asarray(getattr(model, method)(X)).astype(dtype, copy=False)


def _measured(measure: Callable[..., Any], model: Any, X: Any, y: Any, sample_weight: Any) -> np.ndarray:
    y = np.asarray(y).reshape(-1)
    if X.shape[0] != y.size:
        raise ValueError(f"X and y must have as many rows as each other: {X.shape[0]} and {y.size} in a partition.")
    weights = np.ones(y.size) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64).reshape(-1)
    return measure(np.empty(0) if y.size == 0 else model.predict(X), y, weights)


def _score_of(parts: list[np.ndarray]) -> float:
    """One minus the ratio of the first two sums; the second one may need the spread of the partitions' means."""
    loss, total, weight, mean = np.zeros(4)
    for part in parts:
        loss += part[0]
        if part[2] > 0.0:
            # Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979.
            both = weight + part[2]
            total += part[1] + (part[3] - mean) ** 2 * weight * part[2] / both
            mean += (part[3] - mean) * part[2] / both
            weight = both
    return float(1.0 - loss / total) if total > 0.0 else float(loss == 0.0)


def accuracy(predicted: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weight of the mistakes and of all rows of a partition."""
    return np.array([weights[predicted != y].sum() if y.size else 0.0, weights.sum(), weights.sum(), 0.0])


def r_squared(predicted: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The squared errors and the squared deviations of the targets in a partition, its weight and its mean."""
    if not y.size or not weights.any():
        return np.zeros(4)
    total = float(weights.sum())
    mean = float(weights @ y) / total
    return np.array([weights @ np.square(y - predicted), weights @ np.square(y - mean), total, mean])
