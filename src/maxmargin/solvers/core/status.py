"""What goes into a solver and what comes out of it."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from sklearn.exceptions import ConvergenceWarning


class Status(StrEnum):
    """How a run ended. Whatever it says, the vectors it left and their certificate are true."""

    SOLVED = "solved"
    """What was asked for was reached: no mistake left, or the margin or gap that was wanted."""
    NOT_SEPARABLE = "not separable"
    """No plane has the margin that was asked for: the certificate's upper bound is below it."""
    SEPARABLE = "separable"
    """A plane separates the classes, so that a loss without a price on the plane's length has no minimum."""
    ITERATION_LIMIT = "iteration limit"
    """``max_iter`` passes were made."""
    TIME_LIMIT = "time limit"
    """``max_time`` seconds were used."""
    STALLED = "stalled"
    """``n_iter_no_change`` passes brought no improvement of ``tol``."""
    INTERRUPTED = "interrupted"
    """Ctrl-C or a callback asked to stop."""


class LimitWarning(ConvergenceWarning):
    """A limit was hit: says what is proven of the model as it is, and which limit to raise."""


@dataclass(frozen=True)
class EpochOptions:
    """When an algorithm that makes passes over the rows has to stop, and in which order it visits them.

    ``held_out`` are rows that are not trained on: their accuracy decides when to stop.
    """

    max_iter: float = 1000
    tol: float | None = 1e-3
    n_iter_no_change: int = 5
    shuffle: bool = True
    seed: int = 0
    held_out: np.ndarray | None = None
    average_since: int | None = None


@dataclass(frozen=True)
class Start:
    """The plane that a run starts from (``None`` is the zero plane), and what an average over it has seen."""

    w: np.ndarray | None = None
    intercept: float = 0.0
    average_w: np.ndarray | None = None
    average_intercept: float = 0.0
    seen: int = 0


@dataclass
class PerceptronResult:
    """A plane, the duals that made it, and how the run went.

    ``w`` is the start plus the sum of alpha_i y_i x_i (theory A7). ``end`` is where a later run would go on.
    ``witness`` are weights of the rows for which the hulls of the two classes meet, where that was found.
    """

    w: np.ndarray
    intercept: float
    alpha: np.ndarray
    status: Status
    n_passes: int
    n_updates: int
    mistakes_per_pass: np.ndarray
    criterion_per_pass: np.ndarray
    rows_evaluated_per_pass: np.ndarray
    end: Start
    witness: np.ndarray | None = None
