"""Cross-validation, of one model or of a grid of parameters, in the time that a command has."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from maxmargin.cli.console import working
from maxmargin.cli.models import is_regression, score

if TYPE_CHECKING:
    from maxmargin.files import DataFile

SEARCH_FOLDS = 5
# What a fit gets where no time is left: limits of zero are refused.
LEAST_SECONDS = 1e-3


class Clock:
    """Shares the seconds that all fits of a command have: each gets its part of what is left when it begins."""

    def __init__(self, seconds: float | None, n_fits: int) -> None:
        self._seconds = seconds
        self._ends = None if seconds is None else time.perf_counter() + seconds
        self._n_waiting = n_fits

    @contextmanager
    def limit(self, machine: Any) -> Iterator[None]:
        """Limit the next fit of a machine, which keeps the limit that the user gave."""
        if self._ends is None:
            yield
            return
        share = (self._ends - time.perf_counter()) / self._n_waiting
        self._n_waiting -= 1
        machine.set_params(max_time=max(LEAST_SECONDS, share))
        try:
            yield
        finally:
            machine.set_params(max_time=self._seconds)


def scores_in_folds(
    machine: Any,
    rows: "DataFile",
    n_folds: int,
    grid: list[dict[str, Any]],
    description: str,
    clock: Clock,
    seed: int,
) -> Any:
    """A score for every fold and every entry of the grid; linear models go on from price to price."""
    import numpy as np
    from sklearn.base import clone

    from maxmargin.files import DataFile

    X, y = rows.X, rows.y
    warm = {"warm_start": True} if "warm_start" in machine.get_params() and len(grid) > 1 else {}
    scores = np.zeros((n_folds, len(grid)))
    with working(description, steps=scores.size) as advance:
        for fold, (seen, unseen) in enumerate(_folds(y, n_folds, seed, of_values=is_regression(machine))):
            model, held_out = clone(machine).set_params(**warm), DataFile(X[unseen], y[unseen])
            for k, parameters in enumerate(grid):
                model.set_params(**parameters)
                with clock.limit(model):
                    model.fit(X[seen], y[seen])
                scores[fold, k] = score(model, held_out)
                advance()
    return scores


def _folds(y: Any, n_folds: int, seed: int, *, of_values: bool) -> Iterator[Any]:
    """Folds of rows in a random order, since files are often sorted; each with its share of every class."""
    import numpy as np
    from sklearn.model_selection import KFold, StratifiedKFold

    if len(y) < n_folds:
        raise ValueError(f"The data have {len(y)} rows, too few for {n_folds} folds: leave out --cv and --search.")
    kind = KFold if of_values else StratifiedKFold
    codes = y if of_values else np.unique(y, return_inverse=True)[1]
    return kind(n_folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), codes)


def best_of(grid: list[dict[str, Any]], scores: Any) -> tuple[dict[str, Any], float]:
    means = scores.mean(axis=0)
    best = int(means.argmax())
    return grid[best], float(means[best])
