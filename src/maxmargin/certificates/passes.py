"""Passes over the rows as tasks of an engine: the blocks of a certificate's sums.

A task reads the rows of its block and returns sums that are rounded outwards; these are added
with bounds, so that what is stated holds for any blocks and any number of threads.
"""

from collections.abc import Iterable
from functools import partial

import numpy as np

from maxmargin.certificates.rounding import up
from maxmargin.data.points import HasPoints
from maxmargin.engine import Block, Engine, MemoryEngine


def scores(engine: MemoryEngine[HasPoints], name: str, w: np.ndarray, b: float = 0.0) -> np.ndarray:
    """f(x_i) = w·x_i + b of all rows, which the engine keeps under ``name``."""
    ask_scores(engine, name, w, b)
    return engine[name]


def ask_scores(engine: Engine[HasPoints], name: str, w: np.ndarray, b: float = 0.0) -> None:
    """Have an engine compute these scores."""
    if engine.is_local:
        # In one product: to cut a sparse matrix takes longer than to multiply a small block of it.
        values = engine.problem.points.scores(w)
        values += b
        engine.set_vector(name, values)
        return
    engine.allocate(name)
    engine.do(_scores, name, w, b, writes=(name,))


def _scores(block: Block[HasPoints], name: str, w: np.ndarray, b: float) -> None:
    np.add(block.points.scores(w), b, out=block[name])


def combination(engine: Engine[HasPoints], name: str) -> np.ndarray:
    """X^T c of the vector ``name``; each entry is off by at most gamma_n times the sum of its terms' sizes."""
    if engine.is_local:
        return engine.problem.points.combination(engine.vector(name))
    return engine.sum(_combination, name)


def scores_and_combination(
    engine: Engine[HasPoints], w: np.ndarray, b: float, scores_name: str, name: str
) -> np.ndarray:
    """Compute f(x_i), which a local engine keeps under ``scores_name``; return X^T c of the vector ``name``.

    The two products run at the same time, where there are threads. Neither is cut, so that their bits do not depend on
    the number of threads.
    """
    points, coefficients = engine.problem.points, engine.vector(name)
    values, combined = engine.threads.run([partial(points.scores, w), partial(points.combination, coefficients)])
    values += b
    engine.set_vector(scores_name, values)
    return combined


def _combination(block: Block[HasPoints], name: str) -> np.ndarray:
    return block.points.combination(block[name])


def set_zero(block: Block[HasPoints], name: str) -> None:
    """Set a vector to zero."""
    block[name][:] = 0.0


def total_at_most(parts: Iterable[float]) -> float:
    """An upper bound on the sum of the blocks' numbers."""
    total = 0.0
    for part in parts:
        total = up(total + part)
    return total
