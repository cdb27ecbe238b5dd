"""The parameters that ``train --search`` chooses from."""

from typing import TYPE_CHECKING, Any

from maxmargin.cli.models import flag_of

if TYPE_CHECKING:
    from maxmargin.files import DataFile
    from maxmargin.problems.squared_errors import SquaredErrors

# The least penalty comes last, so that of equal scores the simplest model wins, and that fits which go on from the last
# one come from near.
PRICES = tuple(10.0**k for k in range(-3, 4))
# Of a ridge, as shares of the mean spread of the columns.
RIDGE_SHARES = tuple(10.0**-k for k in range(-1, 6))
# Of a lasso, as shares of the least price for which all coefficients are zero.
LASSO_SHARES = tuple(10.0 ** (-0.5 * k) for k in range(9))
# Factors on the gamma "scale".
WIDTHS = tuple(4.0**k for k in range(-2, 3))


def refuse_no_choice(machine: Any, *, given_c: float | None, given_gamma: str | None) -> None:
    """Refuse a search that would have nothing to choose."""
    parameters = machine.get_params()
    if "lam" in parameters:
        fixed = [flag_of(name) for name in ("lam", "sigma2", "tau2", "rate") if parameters.get(name) is not None]
        if fixed:
            raise ValueError(f"--search chooses lam: leave it out, or {' and '.join(fixed)}.")
    elif "C" not in parameters:
        raise ValueError("--search chooses C (and gamma) or lam, and this model has none of them: leave it out.")
    elif given_c is not None and (given_gamma is not None or not _has_width(machine)):
        raise ValueError("--search has nothing to choose: leave out -C or --gamma.")


def grid_of(machine: Any, rows: "DataFile", *, given_c: float | None, given_gamma: str | None) -> list[dict[str, Any]]:
    """The prices to try, and for a kernel the widths: for each width the prices, from the simplest model on."""
    if "lam" in machine.get_params():
        return [{"lam": price} for price in _prices_of_coefficients(machine, rows)]
    prices = [{"C": price} for price in PRICES] if given_c is None else [{}]
    if given_gamma is not None or not _has_width(machine):
        return prices
    widths = [width / (rows.X.shape[1] * _variance(rows.X)) for width in WIDTHS]
    return [{**price, "gamma": width} for width in widths for price in prices]


def _has_width(machine: Any) -> bool:
    parameters = machine.get_params()
    return "gamma" in parameters and parameters["kernel"] not in ("linear", "precomputed")


def _variance(X: Any) -> float:
    import scipy.sparse as sp

    if sp.issparse(X):
        mean = X.mean()
        return float(X.multiply(X).mean() - mean * mean) or 1.0
    return float(X.var()) or 1.0


def _prices_of_coefficients(machine: Any, rows: "DataFile") -> list[float]:
    """The values of lambda for a ridge or a lasso, falling."""
    from sklearn.base import clone

    from maxmargin import Lasso
    from maxmargin.data import validate_targets
    from maxmargin.problems.squared_errors import SquaredErrors

    errors = SquaredErrors.of(validate_targets(clone(machine), rows.X, rows.y), machine.fit_intercept)
    is_lasso = isinstance(machine, Lasso)
    # Where all columns or all targets are constant, every price gives the same coefficients.
    unit = (_price_of_nothing(errors) if is_lasso else _mean_spread(errors)) or 1.0
    return [share * unit for share in (LASSO_SHARES if is_lasso else RIDGE_SHARES)]


def _price_of_nothing(errors: "SquaredErrors") -> float:
    """The least lambda for which all coefficients are zero: max_j |sum_i (y_i - mean) (x_ij - mean_j)|."""
    around_mean = errors.targets - errors.target_mean
    products = errors.points.combination(around_mean) - errors.column_means * around_mean.sum()
    return float(abs(products).max(initial=0.0))


def _mean_spread(errors: "SquaredErrors") -> float:
    """The mean of the eigenvalues of X'X, X around its mean, that may differ from zero."""
    return float(errors.squared_deviations.sum()) / min(errors.points.n_rows, errors.points.n_columns)
