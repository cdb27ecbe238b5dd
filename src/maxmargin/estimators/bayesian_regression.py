"""Bayesian linear regression without a favourite: the posterior in closed form (theory D4)."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from maxmargin.certificates.ridge_gap import RidgeGap, measure_ridge_gap
from maxmargin.data import TargetPoints, validate_points, validate_targets
from maxmargin.estimators._base import CertifiedModel, kept_on_error
from maxmargin.problems.squared_errors import RidgeProblem, SquaredErrors
from maxmargin.solvers import Status, Watch, ctrl_c_asks
from maxmargin.solvers.gap import GapPoint

# A column whose spread is no more than this share of its mean is constant, but for rounding.
CONSTANT = 1e-13


class PosteriorSample(NamedTuple):
    """Draws from the joint posterior.

    Attributes
    ----------
    coef : ndarray of shape (size, d)
    intercept, sigma2 : ndarray of shape (size,)
    """

    coef: np.ndarray
    intercept: np.ndarray
    sigma2: np.ndarray


class BayesianRegression(RegressorMixin, CertifiedModel):
    r"""Linear regression with the prior p(beta, sigma²) proportional to 1/sigma², and its whole posterior.

    With y ~ N(X beta, sigma² I), where a column of ones in X stands for the intercept, n rows, p columns (the ones
    counted) and nu = n - p degrees of freedom,

    .. math:: \sigma^2 \mid y \sim \text{scaled-Inv-}\chi^2(\nu, s^2), \quad
              \beta \mid y \sim t_\nu(\hat\beta, s^2 (X^T X)^{-1}), \quad
              s^2 = \frac{\lVert y - X \hat\beta \rVert^2}{\nu}

    with the coefficients of least squares, and a new target at x is distributed as
    t_nu(x·beta, s² (1 + x' (X'X)^-1 x)).

    Parameters
    ----------
    fit_intercept : bool, default=True

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        The posterior mean and mode of beta, which is that of least squares.
    intercept_ : float
    s2_ : float
        The residual sum of squares divided by the degrees of freedom.
    degrees_of_freedom_ : float
        n - p. With weights n is their sum: a weight of 2 is a row given twice.
    column_means_ : ndarray of shape (d,)
        Zeros without an intercept.
    coef_factor_ : ndarray of shape (d, d)
        A with A A' = (X'X)^-1 of the columns around their means.
    total_weight_ : float
        n.
    status_ : Status
    certificate_ : RidgeGap
        That of least squares, lambda = 0: how far the residual sum of squares can be from the smallest one.

    Notes
    -----
    The posterior is proper only where X has full column rank and n > p; everything else is refused.

    References
    ----------
    Gelman, Carlin, Stern, Dunson, Vehtari, Rubin, "Bayesian data analysis", 3rd edition, 2013, section 14.2.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import BayesianRegression
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BayesianRegression().fit(X, y)
    >>> model.degrees_of_freedom_
    431.0
    >>> low, high = model.credible_interval(0.95)[2]
    >>> bool(low < model.coef_[2] < high)
    True
    """

    _parameter_constraints: dict = {"fit_intercept": ["boolean"]}

    # What a closed form has no use for.
    max_time = None
    random_state = 0
    verbose = 0

    def __init__(self, *, fit_intercept=True):
        self.fit_intercept = fit_intercept

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "BayesianRegression":
        """Compute the posterior.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Sparse rows are made dense: with more rows than columns there is little to save.
        y : array of numbers of shape (n,)
        sample_weight : array of shape (n,), optional
            How often each row was seen: a weight of 2 is the same as the row given twice, also in the degrees of
            freedom. (Weights that are precisions, Var(y_i) = sigma²/w_i, have to be scaled to a sum of n first.)

        Returns
        -------
        self
        """
        with kept_on_error(self):
            data = validate_targets(self, X, y, sample_weight=sample_weight)
            self._refuse_too_few_rows(data)
            errors = SquaredErrors.of(data, self.fit_intercept)
            with ctrl_c_asks() as stop_asked:
                self._solve_tasks(
                    data, lambda _task, _data, _seed, _watch: self._find_posterior(errors, _watch), stop_asked, steps=1
                )
                self.certificate_ = self._prove(data)
                self.status_ = Status.SOLVED
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Compute the mean of the predictive distribution, w·x + b.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        return_std : bool, default=False
            Whether to return the predictive standard deviation of every row, too. It is infinite for two degrees of
            freedom or less.

        Returns
        -------
        ndarray of shape (n,), or two of them
        """
        check_is_fitted(self)
        points = validate_points(self, X)
        means = points.scores(self.coef_) + self.intercept_
        if not return_std:
            return means
        nu = self.degrees_of_freedom_
        wider = np.sqrt(nu / (nu - 2.0)) if nu > 2.0 else np.inf
        return means, self._predictive_scales(points.matrix) * wider

    def predictive(self, X: Any) -> Any:
        """Give the distribution of a new target at every row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        frozen scipy.stats.t, whose location and scale have one entry a row
        """
        from scipy.stats import t

        check_is_fitted(self)
        points = validate_points(self, X)
        means = points.scores(self.coef_) + self.intercept_
        return t(self.degrees_of_freedom_, loc=means, scale=self._predictive_scales(points.matrix))

    @property
    def posterior_sigma2_(self) -> Any:
        """The posterior of sigma²: scaled-Inv-chi²(nu, s²) as a frozen scipy.stats.invgamma."""
        from scipy.stats import invgamma

        check_is_fitted(self)
        nu = self.degrees_of_freedom_
        return invgamma(0.5 * nu, scale=0.5 * nu * self.s2_)

    @property
    def posterior_coef_(self) -> Any:
        """The joint posterior of the coefficients and, as the last entry, the intercept: a scipy.stats.multivariate_t.

        Without an intercept it is that of the coefficients alone. scipy refuses scales that are nearly singular, as
        those of columns far from zero or of very different size are, and of targets without scatter.
        """
        from scipy.stats import multivariate_t

        try:
            return multivariate_t(loc=self._location(), shape=self.posterior_scale_, df=self.degrees_of_freedom_)
        except np.linalg.LinAlgError as error:
            raise ValueError(
                "posterior_coef_: scipy.stats.multivariate_t cannot hold it, since its scale is nearly singular. "
                "Centre and scale the columns of X, or use marginal, credible_interval and sample."
            ) from error

    @property
    def posterior_scale_(self) -> np.ndarray:
        """s² (X'X)^-1 of shape (p, p), the intercept last: the covariance of the posterior is nu/(nu - 2) times it."""
        check_is_fitted(self)
        inverse = self.coef_factor_ @ self.coef_factor_.T
        if not self.fit_intercept:
            return self.s2_ * inverse
        tilt = -inverse @ self.column_means_
        corner = 1.0 / self.total_weight_ - self.column_means_ @ tilt
        return self.s2_ * np.block([[inverse, tilt[:, None]], [tilt[None], np.array([[corner]])]])

    def marginal(self, j: int) -> Any:
        """Give the posterior of one coefficient.

        Parameters
        ----------
        j : int
            From 0 for the first column to d - 1; d, or -1, is the intercept, where there is one.

        Returns
        -------
        frozen scipy.stats.t
        """
        from scipy.stats import t

        location = self._location()
        if not isinstance(j, Integral) or not -location.size <= j < location.size:
            raise ValueError(
                f"j must be a whole number from 0 to {location.size - 1}, or count from the end; it is {j!r}."
            )
        return t(self.degrees_of_freedom_, loc=location[j], scale=np.sqrt(self.posterior_scale_[j, j]))

    def credible_interval(self, level: float = 0.95) -> np.ndarray:
        """Compute the central interval that holds every coefficient with a posterior probability.

        Parameters
        ----------
        level : float, default=0.95
            The probability, between 0 and 1.

        Returns
        -------
        ndarray of shape (p, 2)
            Lower and upper ends; those of the intercept come last.
        """
        from scipy.stats import t

        if not 0.0 < level < 1.0:
            raise ValueError(f"level must be between 0 and 1; it is {level!r}.")
        scales = np.sqrt(np.diag(self.posterior_scale_))
        half = t.ppf(0.5 + 0.5 * level, self.degrees_of_freedom_) * scales
        location = self._location()
        return np.column_stack([location - half, location + half])

    def sample(self, size: int = 1, random_state: Any = None) -> PosteriorSample:
        """Draw from the joint posterior of coefficients, intercept and sigma².

        Parameters
        ----------
        size : int, default=1
        random_state : int, RandomState or None

        Returns
        -------
        PosteriorSample
        """
        check_is_fitted(self)
        if not isinstance(size, Integral) or size < 0:
            raise ValueError(f"size must be a whole number that is not negative; it is {size!r}.")
        generator, nu = check_random_state(random_state), self.degrees_of_freedom_
        sigma2 = nu * self.s2_ / generator.chisquare(nu, size)
        sigma = np.sqrt(sigma2)
        coef = self.coef_ + sigma[:, None] * (generator.standard_normal((size, self.coef_.size)) @ self.coef_factor_.T)
        intercept = np.zeros(size)
        if self.fit_intercept:
            # The mean of the targets and the coefficients are independent, given sigma².
            centre = self.intercept_ + float(self.column_means_ @ self.coef_)
            centres = centre + sigma / np.sqrt(self.total_weight_) * generator.standard_normal(size)
            intercept = centres - coef @ self.column_means_
        return PosteriorSample(coef, intercept, sigma2)

    def _refuse_too_few_rows(self, data: TargetPoints) -> None:
        n_parameters = data.points.n_columns + self.fit_intercept
        total = float(data.points.n_rows if data.weights is None else data.weights.sum())
        if not total > n_parameters:
            raise ValueError(
                f"X has too few rows for a posterior: n_samples = {total:g}, and with {n_parameters} coefficients more "
                "than that are needed. Give more rows or fewer columns, or use Ridge."
            )

    def _find_posterior(self, errors: SquaredErrors, watch: Watch) -> GapPoint:  # noqa: ARG002
        roots = np.ones(errors.targets.size) if errors.weights is None else np.sqrt(errors.weights)
        counted = roots > 0.0
        rows = (dense(errors.points.matrix[counted]) - errors.column_means) * roots[counted, None]
        targets = (roots * (errors.targets - errors.target_mean))[counted]
        # Columns of very different size are no reason to refuse: they are brought to one length.
        lengths = np.sqrt(np.square(rows).sum(axis=0))
        self._refuse_constant_columns(lengths, errors)
        q, r = sl.qr(rows / lengths, mode="economic", overwrite_a=True, check_finite=False)
        left, values, right = sl.svd(r, full_matrices=False, check_finite=False)
        if not values[-1] > rows.shape[0] * np.finfo(np.float64).eps * values[0]:
            raise ValueError(
                "X has columns that are combinations of others, so that beta has no proper posterior. Leave columns "
                "out, or use Ridge."
            )
        factor = right.T / values / lengths[:, None]
        w = factor @ (left.T @ (q.T @ targets))
        residuals = errors.residuals(w, errors.best_intercept(w))
        self.coef_, self.intercept_ = w, errors.best_intercept(w)
        self.total_weight_ = errors.total_weight
        self.degrees_of_freedom_ = errors.total_weight - (w.size + self.fit_intercept)
        self.s2_ = float(errors.weighted(np.square(residuals)).sum()) / self.degrees_of_freedom_
        self.coef_factor_ = factor
        self.column_means_ = errors.column_means
        return GapPoint(w, self.intercept_, residuals, status=Status.SOLVED)

    def _refuse_constant_columns(self, lengths: np.ndarray, errors: SquaredErrors) -> None:
        sizes = np.sqrt(errors.total_weight) * np.abs(errors.column_means)
        constant = np.flatnonzero(~(lengths > CONSTANT * sizes))
        if constant.size:
            why = "are constant, as the intercept is" if self.fit_intercept else "are zero"
            raise ValueError(
                f"X has columns that {why}: {', '.join(map(str, constant[:5]))}. Leave them out, or use Ridge."
            )

    def _location(self) -> np.ndarray:
        check_is_fitted(self)
        return np.append(self.coef_, self.intercept_) if self.fit_intercept else self.coef_

    def _predictive_scales(self, rows: Any) -> np.ndarray:
        spread = np.square((dense(rows) - self.column_means_) @ self.coef_factor_).sum(axis=1)
        if self.fit_intercept:
            spread += 1.0 / self.total_weight_
        return np.sqrt(self.s2_ * (1.0 + spread))

    def _attributes_so_far(self, labelled: Any, results: Sequence[Any]) -> dict[str, Any]:
        w, b, _ = (np.zeros(labelled.points.n_columns), 0.0, None) if results[0] is None else results[0]
        return {"coef_": w, "intercept_": float(b)}

    def _prove(self, data: TargetPoints) -> RidgeGap:
        problem = RidgeProblem(SquaredErrors.of(data, self.fit_intercept), 0.0)
        return measure_ridge_gap(problem, self.coef_, self.intercept_)

    def _data_to_certify(self, X: Any, y: Any, sample_weight: Any) -> TargetPoints:
        return validate_targets(self, X, y, sample_weight=sample_weight, reset=False)


def dense(rows: Any) -> np.ndarray:
    """The rows as an array."""
    return rows.toarray() if sp.issparse(rows) else rows
