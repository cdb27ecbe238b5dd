"""What goes into a perceptron run and what comes out of it."""

from dataclasses import dataclass, field

import numpy as np

from maxmargin.solvers.core import Options, Result


@dataclass(frozen=True)
class EpochOptions(Options):
    """Options of algorithms that make passes over the rows.

    Attributes
    ----------
    tol : float or None
        The improvement of the criterion per row, or of the held-out accuracy, that counts as progress; None for no
        stall test.
    n_iter_no_change : int
        Passes without progress after which the run has stalled.
    shuffle : bool
    held_out : ndarray of int, or None
        Rows that are not trained on: their accuracy decides when to stop.
    average_since : int or None
        From which example on the coefficients are averaged.
    """

    tol: float | None = 1e-3  # type: ignore[assignment]
    max_iter: float = 1000
    n_iter_no_change: int = 5
    shuffle: bool = True
    held_out: np.ndarray | None = None
    average_since: int | None = None


@dataclass(frozen=True)
class Start:
    """Coefficients that a run starts from (``None`` for zeros), and the sums of an average over earlier examples."""

    w: np.ndarray | None = None
    intercept: float = 0.0
    average_w: np.ndarray | None = None
    average_intercept: float = 0.0
    seen: int = 0


@dataclass
class PerceptronResult(Result[float]):
    """Coefficients, the steps taken on each row, and the record of every pass.

    ``w`` is the start plus the sum of alpha_i y_i x_i. ``end`` is where a later run goes on. ``witness`` are weights of
    the rows for which the convex hulls of the two classes meet, where that was found.
    """

    alpha: np.ndarray = field(default_factory=lambda: np.empty(0))
    n_updates: int = 0
    mistakes_per_pass: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    criterion_per_pass: np.ndarray = field(default_factory=lambda: np.empty(0))
    rows_evaluated_per_pass: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    end: Start = field(default_factory=Start)
    witness: np.ndarray | None = None
