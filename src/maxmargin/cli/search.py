"""Cross-validation of one model or of a grid of parameters, within the command's time limit."""

import re
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from maxmargin.cli.metrics import is_better, metric_of
from maxmargin.cli.models import flag_of, is_regression, number_or_name, refuse_values, score

if TYPE_CHECKING:
    from maxmargin.files import DataFile
    from maxmargin.problems.squared_errors import SquaredErrors

SEARCH_FOLDS = 5
# Seconds of a fit where no time is left: estimators refuse a limit of zero.
LEAST_SECONDS = 1e-3
# Grids run from the strongest regularisation to the weakest: of equal scores the first, simplest model is chosen, and
# warm starts come from a neighbour.
GRID_OF_C = tuple(10.0**k for k in range(-3, 4))
# lambda of ridge, in units of the mean eigenvalue of X'X.
RIDGE_SHARES = tuple(10.0**-k for k in range(-1, 6))
# lambda of lasso, in units of the least lambda for which all coefficients are zero.
LASSO_SHARES = tuple(10.0 ** (-0.5 * k) for k in range(9))
# gamma of a kernel, in units of gamma="scale".
GAMMA_SHARES = tuple(4.0**k for k in range(-2, 3))


def refuse_empty_search(machine: Any, *, given_c: float | None, given_gamma: str | None, given_grid: bool) -> None:
    """Refuse a search without a parameter to choose."""
    if given_grid:
        return
    parameters = machine.get_params()
    if "lam" in parameters:
        fixed = [
            flag_of(name) for name in ("alpha", "lam", "sigma2", "tau2", "rate") if parameters.get(name) is not None
        ]
        if fixed:
            raise ValueError(f"--search chooses lam: leave it out, or {' and '.join(fixed)}.")
    elif "C" not in parameters:
        raise ValueError("--search chooses C (and gamma) or lam, and this model has none of them: leave it out.")
    elif given_c is not None and (given_gamma is not None or not _has_gamma(machine)):
        raise ValueError("--search has nothing to choose: leave out -C or --gamma.")


def given_grid(machine: Any, texts: list[str]) -> list[dict[str, Any]]:
    """The grid of --grid: ``C=0.01:100:log5`` (five values in equal ratios), ``C=1:5:lin3`` or ``C=0.1,1,10``.

    Several parameters stand in several options, or with spaces between them.
    """
    from itertools import product

    axes: dict[str, list[Any]] = {}
    for text in (part for given in texts for part in given.split()):
        name, sign, values = text.partition("=")
        name = name.lstrip("-").replace("-", "_")
        if not sign or not values:
            raise ValueError(f"--grid {text}: write NAME=VALUES, such as C=0.01:100:log5 or gamma=0.1,1.")
        if name not in machine.get_params():
            raise ValueError(f"--grid {text}: this model has no option {flag_of(name)}.")
        if name in axes:
            raise ValueError(f"--grid {text}: {name} is given twice.")
        axes[name] = _grid_values(text, values)
    grid = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    for entry in grid:
        refuse_values(clone_of(machine).set_params(**entry))
    return grid


def _grid_values(text: str, values: str) -> list[Any]:
    """Values with commas between them, or START:END:logN or START:END:linN."""
    import numpy as np

    range_of = re.fullmatch(r"([^:]+):([^:]+):(log|lin)(\d+)", values)
    if range_of is None:
        if ":" in values:
            raise ValueError(f"--grid {text}: write START:END:log5 or START:END:lin5.")
        return [_typed(value) for value in values.split(",")]
    try:
        start, end, count = float(range_of[1]), float(range_of[2]), int(range_of[4])
    except ValueError as error:
        raise ValueError(f"--grid {text}: {error}.") from error
    if count < 1 or (range_of[3] == "log" and not (start > 0.0 and end > 0.0)):
        raise ValueError(f"--grid {text}: a logarithmic range needs positive ends, and at least one value.")
    spread = np.geomspace if range_of[3] == "log" else np.linspace
    return [float(f"{value:.12g}") for value in spread(start, end, count)]


def _typed(text: str) -> Any:
    value = number_or_name(text)
    return int(value) if isinstance(value, float) and value.is_integer() and re.fullmatch(r"-?\d+", text) else value


def clone_of(machine: Any) -> Any:
    """An unfitted copy."""
    from sklearn.base import clone

    return clone(machine)


def grid_of(machine: Any, rows: "DataFile", *, given_c: float | None, given_gamma: str | None) -> list[dict[str, Any]]:
    """The parameters to try: lambda, or C and for a kernel gamma; from strong to weak regularisation."""
    if "lam" in machine.get_params():
        return [{"lam": lam} for lam in _grid_of_lam(machine, rows)]
    values_of_c = [{"C": C} for C in GRID_OF_C] if given_c is None else [{}]
    if given_gamma is not None or not _has_gamma(machine):
        return values_of_c
    gammas = [share / (rows.X.shape[1] * _variance(rows.X)) for share in GAMMA_SHARES]
    return [{**value, "gamma": gamma} for gamma in gammas for value in values_of_c]


def _has_gamma(machine: Any) -> bool:
    parameters = machine.get_params()
    return "gamma" in parameters and parameters["kernel"] not in ("linear", "precomputed")


def _variance(X: Any) -> float:
    import scipy.sparse as sp

    if sp.issparse(X):
        mean = X.mean()
        return float(X.multiply(X).mean() - mean * mean) or 1.0
    return float(X.var()) or 1.0


def _grid_of_lam(machine: Any, rows: "DataFile") -> list[float]:
    """Descending values of lambda for a ridge or a lasso."""
    from sklearn.base import clone

    from maxmargin import Lasso
    from maxmargin.data import validate_targets
    from maxmargin.problems.squared_errors import SquaredErrors

    errors = SquaredErrors.of(validate_targets(clone(machine), rows.X, rows.y), machine.fit_intercept)
    is_lasso = isinstance(machine, Lasso)
    # Where all columns or all targets are constant, every lambda gives the same coefficients.
    unit = (_least_lam_of_zeros(errors) if is_lasso else _mean_eigenvalue(errors)) or 1.0
    return [share * unit for share in (LASSO_SHARES if is_lasso else RIDGE_SHARES)]


def _least_lam_of_zeros(errors: "SquaredErrors") -> float:
    """The least lambda for which all coefficients are zero: max_j |sum_i (y_i - mean) (x_ij - mean_j)|."""
    around_mean = errors.targets - errors.target_mean
    products = errors.points.combination(around_mean) - errors.column_means * around_mean.sum()
    return float(abs(products).max(initial=0.0))


def _mean_eigenvalue(errors: "SquaredErrors") -> float:
    """The mean of the min(n, d) eigenvalues of X'X, with X centred, that may differ from zero."""
    return float(errors.squared_deviations.sum()) / min(errors.points.n_rows, errors.points.n_columns)


class Clock:
    """Divides the command's time limit among its fits: each gets an equal share of what is left when it starts."""

    def __init__(self, seconds: float | None, n_fits: int) -> None:
        self._seconds = seconds
        self._deadline = None if seconds is None else time.perf_counter() + seconds
        self._n_left = n_fits

    @property
    def next_limit(self) -> float | None:
        """The seconds of the next fit; None without a limit."""
        if self._deadline is None:
            return None
        return max(LEAST_SECONDS, (self._deadline - time.perf_counter()) / self._n_left)

    @contextmanager
    def limit(self, machine: Any, n_fits: int = 1) -> Iterator[None]:
        """Set the time limit of each of the next fits; afterwards ``max_time`` is the user's again."""
        share = self.next_limit
        if share is None:
            yield
            return
        self._n_left -= n_fits
        machine.set_params(max_time=share)
        try:
            yield
        finally:
            machine.set_params(max_time=self._seconds)
            # The model depends on no time limit: what is saved is the user's.
            machine._freeze_parameters()


@dataclass(frozen=True)
class Trial:
    """What cross-validation compares, and how.

    Attributes
    ----------
    rows : DataFile
    sample_weight : ndarray of shape (n,) or None
    metric : str or None
        A metric of ``metrics.py``; None is the accuracy or R².
    clock : Clock
    seed : int
        Of the folds.
    """

    rows: "DataFile"
    sample_weight: Any
    metric: str | None
    clock: Clock
    seed: int

    def of_rows(self, places: Any) -> "Trial":
        """The same for some of the rows."""
        weights = None if self.sample_weight is None else self.sample_weight[places]
        return replace(self, rows=_taken(self.rows, places), sample_weight=weights)

    def fit(self, model: Any, places: Any) -> None:
        """Fit to some of the rows, within the time limit."""
        weights = {} if self.sample_weight is None else {"sample_weight": self.sample_weight[places]}
        with self.clock.limit(model):
            model.fit(self.rows.X[places], self.rows.y[places], **weights)

    def score(self, model: Any, places: Any) -> float:
        """The metric on some of the rows."""
        held_out = _taken(self.rows, places)
        return score(model, held_out) if self.metric is None else metric_of(self.metric, model, held_out)

    def best(self, scores: Any) -> int:
        """The place of the best mean score in a grid."""
        sign = 1 if self.metric is None else is_better(self.metric)
        return int((sign * scores.mean(axis=0)).argmax())


def _taken(rows: "DataFile", places: Any) -> "DataFile":
    return replace(rows, X=rows.X[places], y=rows.y[places], ids=None, weights=None)


def scores_in_folds(machine: Any, trial: Trial, n_folds: int, grid: list[dict[str, Any]], advance: Any) -> Any:
    """The score of every fold (rows) and every entry of the grid (columns); warm starts run along the grid."""
    import numpy as np

    warm = {"warm_start": True} if "warm_start" in machine.get_params() and len(grid) > 1 else {}
    scores = np.zeros((n_folds, len(grid)))
    folds = _folds(trial.rows.y, n_folds, trial.seed, is_stratified=not is_regression(machine))
    for fold, (train, test) in enumerate(folds):
        model = clone_of(machine).set_params(**warm)
        for k, parameters in enumerate(grid):
            model.set_params(**parameters)
            trial.fit(model, train)
            scores[fold, k] = trial.score(model, test)
            advance()
    return scores


def nested_scores(machine: Any, trial: Trial, n_folds: int, grid: list[dict[str, Any]], advance: Any) -> Any:
    """The score of every fold, with the parameters that a search within the other folds chooses.

    Without the inner search, the score of the chosen parameters would be that of the best of many: too good.
    """
    import numpy as np

    found = []
    folds = _folds(trial.rows.y, n_folds, trial.seed, is_stratified=not is_regression(machine))
    for train, test in folds:
        model = clone_of(machine)
        if len(grid) > 1:
            inner = trial.of_rows(train)
            chosen = inner.best(scores_in_folds(machine, inner, SEARCH_FOLDS, grid, advance))
            model.set_params(**grid[chosen])
        trial.fit(model, train)
        found.append(trial.score(model, test))
        advance()
    return np.array(found)


def _folds(y: Any, n_folds: int, seed: int, *, is_stratified: bool) -> Iterator[Any]:
    """Shuffled folds, since files are often sorted; stratified by class for a classifier."""
    import numpy as np
    from sklearn.model_selection import KFold, StratifiedKFold

    advice = f"too few for {n_folds} folds: leave out --cv, --search and --calibrate."
    if len(y) < n_folds:
        raise ValueError(f"The data have {len(y)} rows, {advice}")
    if not is_stratified:
        return KFold(n_folds, shuffle=True, random_state=seed).split(np.zeros(len(y)))
    labels, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if counts.max() < n_folds:
        raise ValueError(f"No label has more than {counts.max()} rows, {advice}")
    if counts.min() < n_folds:
        rare = f"Label {labels[counts.argmin()]} has {counts.min()} rows: some of the {n_folds} folds are without it."
        warnings.warn(rare, stacklevel=2)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        return iter(list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), codes)))
