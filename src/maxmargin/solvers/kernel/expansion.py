"""Kernel expansions with compiled exponentials, for solvers and predictions; certificates use NumPy's."""

from typing import Any

import numpy as np

from maxmargin.data import Points
from maxmargin.loops.exponential import exponentiate
from maxmargin.problems.kernel_expansion import expansion_scores
from maxmargin.problems.kernels import Kernel


def kernel_scores(
    kernel: Kernel | None, points: Points, support: Any, coefficients: np.ndarray, n_threads: int | None = None
) -> np.ndarray:
    """Kernel expansions at all points, without intercept, with compiled exponentials: for predictions.

    Parameters and result are those of :func:`expansion_scores`.
    """
    return expansion_scores(
        kernel, points.matrix, support, coefficients, n_threads=n_threads, exponentiate=exponentiate
    )
