"""Options, starting point and result of a perceptron run."""

from dataclasses import dataclass, field

import numpy as np

from maxmargin.solvers.core import Options, Result


@dataclass(frozen=True)
class EpochOptions(Options):
    """Options of algorithms that run through the rows epoch by epoch.

    Attributes
    ----------
    tol : float or None
        The improvement of the loss per row, or of the held-out accuracy, that counts as progress; None for no stall
        test.
    n_iter_no_change : int
        Epochs without progress after which the run has stalled.
    shuffle : bool
    held_out : ndarray of int, or None
        Rows that are not trained on: their accuracy decides when to stop.
    average_since : int or None
        From which example on the coefficients are averaged.
    record_criterion : bool
        Whether the online rule evaluates the perceptron criterion after each epoch, which reads all rows once more.
    """

    tol: float | None = None  # type: ignore[assignment]
    max_iter: float = 1000
    n_iter_no_change: int = 5
    shuffle: bool = True
    held_out: np.ndarray | None = None
    average_since: int | None = None
    record_criterion: bool = False


@dataclass(frozen=True)
class Start:
    """The state that an online run continues from: coefficients (None for zeros) and sums over earlier examples.

    It is no :class:`Result`: the model may be the average of all coefficients, but a run continues from the last ones
    and the sums of that average; in the same way a kernel perceptron continues from the ``scores`` of its rows (None
    for zeros), which no model holds. Model files hold it for ``partial_fit``.
    """

    w: np.ndarray | None = None
    intercept: float = 0.0
    average_w: np.ndarray | None = None
    average_intercept: float = 0.0
    seen: int = 0
    scores: np.ndarray | None = None


@dataclass
class PerceptronResult(Result[float]):
    """Coefficients, the steps taken on each row, and the record of every epoch.

    ``beta`` holds the sums of the steps taken on each row, times its sign: ``w`` is that of the start plus the sum of
    beta_i x_i.

    Attributes
    ----------
    n_updates : int
    mistakes_per_pass, rows_evaluated_per_pass : ndarray of int
    online_loss_per_pass : ndarray
        The sum of max(0, -y_i f(x_i)), each with the coefficients at the time of its evaluation.
    criterion_per_pass : ndarray or None
        The perceptron criterion J(w, b) of the coefficients after each epoch, where it was computed.
    start, end : Start
        Where the run started, and where a later one continues.
    witness : ndarray of shape (n,), or None
        Weights of the rows for which the convex hulls of the two classes meet, where the run ended with them.
    """

    n_updates: int = 0
    mistakes_per_pass: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    online_loss_per_pass: np.ndarray = field(default_factory=lambda: np.empty(0))
    criterion_per_pass: np.ndarray | None = None
    rows_evaluated_per_pass: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    start: Start = field(default_factory=Start)
    end: Start = field(default_factory=Start)
    witness: np.ndarray | None = None


def start_of(start: Start | Result[float] | None) -> Start:
    """Where to start: at zero, at a start, at the end of an earlier run, or at the coefficients of another solver."""
    if isinstance(start, PerceptronResult):
        return start.end
    if isinstance(start, Result):
        return Start(start.w, start.intercept)
    return Start() if start is None else start
