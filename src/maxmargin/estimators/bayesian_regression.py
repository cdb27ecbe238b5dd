"""Bayesian linear regression with an uninformative prior: the posterior in closed form."""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maxmargin.certificates.ridge_gap import RidgeGap, measure_ridge_gap
from maxmargin.data import TargetPoints, as_dense, validate_points
from maxmargin.data.partitions import PartitionedTask
from maxmargin.data.scikit_learn import _fit_context, check_is_fitted
from maxmargin.estimators._linear_regression import LinearRegression
from maxmargin.estimators._parameters import by_name
from maxmargin.estimators._shared import generator_of
from maxmargin.estimators._solvers import SolverTable
from maxmargin.problems.partitioned import PartitionedProblem
from maxmargin.problems.squared_errors import RidgeProblem, SquaredErrors


class PosteriorSample(NamedTuple):
    """Draws from the joint posterior.

    Attributes
    ----------
    coef : ndarray of shape (size, d)
    intercept, sigma2 : ndarray of shape (size,)

    See Also
    --------
    BayesianRegression : Its ``sample`` returns this.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import BayesianRegression
    >>> X, y = load_diabetes(return_X_y=True)
    >>> draws = BayesianRegression().fit(X, y).sample(1000, random_state=0)
    >>> draws.coef.shape, draws.sigma2.shape
    ((1000, 10), (1000,))
    """

    coef: np.ndarray
    intercept: np.ndarray
    sigma2: np.ndarray


@by_name
class BayesianRegression(LinearRegression):
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
        The residual sum of squares divided by the degrees of freedom. Zero where the residuals are rounding errors:
        then the model predicts, but has no posterior.
    degrees_of_freedom_ : float
        n - p. With weights n is their sum: a weight of 2 is a row given twice.
    column_means_ : ndarray of shape (d,)
        Zeros without an intercept.
    coef_factor_ : ndarray of shape (d, d)
        A with A A' = (X'X)^-1 of the columns around their means.
    total_weight_ : float
        n.
    objective_ : float
        The residual sum of squares, rounded up.
    history_ : list
        Empty.
    n_iter_ : int
        One.
    rounds_ : int
        After a fit on Dask collections: rounds of messages, loading and certificate included.
    bytes_per_round_ : float
        Likewise: the bytes of numbers in the messages to all partitions and in their answers, per round.
    status_ : Status
        SOLVED where the certificate's relative gap is 1e-6 at most, else STALLED.
    certificate_ : RidgeGap
        That of least squares, lambda = 0: how far the residual sum of squares can be from the smallest one.

    See Also
    --------
    Ridge : The most probable coefficients under a normal prior.
    PosteriorSample : Draws from the posterior.
    maxmargin.plots.PosteriorDisplay : Credible intervals as a picture.

    Notes
    -----
    The posterior is proper only where X has full column rank, n > p, and y is not a linear function of X. Without the
    first two ``fit`` raises an error; without the last the model has coefficients, and the methods that return a
    distribution raise one.

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
    >>> print(f"the coefficient of column 2 is between {low:.0f} and {high:.0f} with probability 0.95")
    the coefficient of column 2 is between 389 and 651 with probability 0.95
    """

    _solvers: ClassVar[SolverTable] = {
        SquaredErrors: "regression.posterior",
        PartitionedProblem: "regression.partitioned:solve_posterior",
    }
    _parameter_constraints: ClassVar[dict] = {"fit_intercept": ["boolean"]}

    _takes_collections: ClassVar[bool] = True
    # The posterior is about the best coefficients, not about rounded ones.
    _in_precision_of_rows: ClassVar[tuple[str, ...]] = ()

    # A closed form has no limits.
    max_iter = None
    max_time = None
    verbose = 0

    tol = 1e-6
    _advice_when_stalled = (
        "the coefficients are not proven to be the best: leave out columns that are nearly combinations of others"
    )

    def __init__(self, *, fit_intercept=True):
        self.fit_intercept = fit_intercept

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "BayesianRegression":
        """Compute the posterior.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Sparse rows are made dense: with more rows than columns there is little to save.
        y : array of numbers of shape (n,)
        sample_weight : array of shape (n,), optional
            How often each row occurred: a weight of 2 is the same as the row given twice, also in the degrees of
            freedom. (Weights that are precisions, Var(y_i) = sigma²/w_i, have to be scaled to a sum of n first.)

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

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
        if not return_std:
            return super().predict(X)
        means, scales = self._predictive(X)
        nu = self.degrees_of_freedom_
        return means, scales * (np.sqrt(nu / (nu - 2.0)) if nu > 2.0 else np.inf)

    def predictive(self, X: Any) -> Any:
        """Return the distribution of a new target at every row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        frozen scipy.stats.t, whose location and scale have one entry a row
        """
        from scipy.stats import t

        means, scales = self._predictive(X)
        return t(self.degrees_of_freedom_, loc=means, scale=scales)

    def predictive_interval(self, X: Any, level: float = 0.95) -> np.ndarray:
        """Compute the central interval that holds a new target at every row with a probability.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        level : float, default=0.95
            The probability, between 0 and 1.

        Returns
        -------
        ndarray of shape (n, 2)
            Lower and upper ends.
        """
        return self._intervals(*self._predictive(X), level)

    @property
    def posterior_sigma2_(self) -> Any:
        """The posterior of sigma²: scaled-Inv-chi²(nu, s²) as a frozen scipy.stats.invgamma."""
        from scipy.stats import invgamma

        scale, half = self._residual_scale(), 0.5 * self.degrees_of_freedom_
        return invgamma(half, scale=half * scale**2)

    @property
    def posterior_coef_(self) -> Any:
        """The joint posterior of the coefficients and, as the last entry, the intercept: a scipy.stats.multivariate_t.

        Without an intercept it is that of the coefficients alone. It is made from a factor of its scale, so that
        columns far from zero or of very different size do no harm.
        """
        from maxmargin.estimators._multivariate_t import FactoredT

        return FactoredT(self._location(), self._residual_scale() * self._design_factor(), self.degrees_of_freedom_)

    @property
    def posterior_scale_(self) -> np.ndarray:
        """s² (X'X)^-1 of shape (p, p), the intercept last: the covariance of the posterior is nu/(nu - 2) times it."""
        factor = self._residual_scale() * self._design_factor()
        return factor @ factor.T

    def marginal(self, j: int) -> Any:
        """Return the posterior of one coefficient.

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
        return t(self.degrees_of_freedom_, loc=location[j], scale=self._scales()[j])

    def credible_interval(self, level: float = 0.95) -> np.ndarray:
        """Compute the central interval, the shortest one, that holds every coefficient with a posterior probability.

        Parameters
        ----------
        level : float, default=0.95
            The probability, between 0 and 1.

        Returns
        -------
        ndarray of shape (p, 2)
            Lower and upper ends; those of the intercept come last.
        """
        return self._intervals(self._location(), self._scales(), level)

    def sample(self, size: int = 1, random_state: Any = None) -> PosteriorSample:
        """Draw from the joint posterior of coefficients, intercept and sigma².

        Parameters
        ----------
        size : int, default=1
        random_state : int, RandomState, Generator or None

        Returns
        -------
        PosteriorSample
        """
        scale, nu = self._residual_scale(), self.degrees_of_freedom_
        if not isinstance(size, Integral) or size < 0:
            raise ValueError(f"size must be a whole number that is not negative; it is {size!r}.")
        generator, factor = generator_of(random_state), self._design_factor()
        sigma = scale * np.sqrt(nu / generator.chisquare(nu, size))
        joint = self._location() + sigma[:, None] * (generator.standard_normal((size, factor.shape[1])) @ factor.T)
        d = self.coef_.size
        return PosteriorSample(joint[:, :d], joint[:, d] if self._has_intercept else np.zeros(size), np.square(sigma))

    @property
    def _may_centre(self) -> bool:
        return self.fit_intercept

    def _problem(self, data: TargetPoints | PartitionedTask) -> SquaredErrors | PartitionedProblem:
        errors = self._errors(data)
        known = data if isinstance(data, PartitionedTask) else errors
        self._refuse_too_few_rows(errors, known.total_weight)
        return PartitionedProblem(errors, data) if isinstance(data, PartitionedTask) else errors

    def _penalised(self, problem: PartitionedProblem) -> PartitionedProblem:
        errors = problem.problem
        assert isinstance(errors, SquaredErrors)
        return replace(problem, problem=RidgeProblem(errors, 0.0))

    def _certify_target(self, k: int, problem: SquaredErrors, dual_point: np.ndarray) -> RidgeGap:
        return measure_ridge_gap(RidgeProblem(problem, 0.0), *self._coefficients(k), dual_point=dual_point)

    def _set_attributes(self, tasks: Any, results: Sequence[Any]) -> None:
        super()._set_attributes(tasks, results)
        result = results[0]
        self.total_weight_ = result.total_weight
        self.column_means_ = result.column_means
        self.coef_factor_ = result.factor
        self.degrees_of_freedom_ = result.total_weight - (result.w.size + self.fit_intercept)
        self.s2_ = result.squares / self.degrees_of_freedom_

    def _refuse_too_few_rows(self, errors: SquaredErrors, total_weight: float) -> None:
        n_parameters = errors.points.n_columns + self.fit_intercept
        if not total_weight > n_parameters:
            raise ValueError(
                f"X has too few rows for a posterior: n_samples = {total_weight:g}, and with {n_parameters} "
                "coefficients more than that are needed. Use more rows, fewer columns, or Ridge."
            )

    def _residual_scale(self) -> float:
        """The root of s², where it is more than a rounding error."""
        check_is_fitted(self)
        if not self.s2_ > 0.0:
            raise ValueError(
                "There is no proper posterior: y is a linear function of X, but for rounding, and so sigma² has no "
                "lower bound. Use coef_, intercept_ and predict alone, or targets y that scatter."
            )
        return float(np.sqrt(self.s2_))

    @property
    def _has_intercept(self) -> bool:
        """Whether an intercept was fitted; the parameter may have changed since."""
        return self._as_fitted().fit_intercept

    def _location(self) -> np.ndarray:
        check_is_fitted(self)
        return np.append(self.coef_, self.intercept_) if self._has_intercept else self.coef_

    def _design_factor(self) -> np.ndarray:
        """F with F F' = (X'X)^-1, the column of ones counted."""
        if not self._has_intercept:
            return self.coef_factor_
        d = self.coef_.size
        factor = np.zeros((d + 1, d + 1))
        factor[:d, :d] = self.coef_factor_
        # The intercept is the mean of the targets, which is independent of the coefficients, less their part in it.
        factor[d, :d] = -self.column_means_ @ self.coef_factor_
        factor[d, d] = 1.0 / np.sqrt(self.total_weight_)
        return factor

    def _scales(self) -> np.ndarray:
        """The scale of the posterior of every coefficient, the intercept last."""
        return self._residual_scale() * np.linalg.norm(self._design_factor(), axis=1)

    def _predictive(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Location and scale of the target at every row."""
        scale, points = self._residual_scale(), validate_points(self, X)
        rows = as_dense(points.matrix)
        leverages = np.square((rows - self.column_means_) @ self.coef_factor_).sum(axis=1)
        if self._has_intercept:
            leverages += 1.0 / self.total_weight_
        return points.scores(self.coef_) + self.intercept_, scale * np.sqrt(1.0 + leverages)

    def _intervals(self, locations: np.ndarray, scales: np.ndarray, level: float) -> np.ndarray:
        from scipy.stats import t

        if not isinstance(level, Real) or not 0.0 < level < 1.0:
            raise ValueError(f"level must be one number between 0 and 1, without these; it is {level!r}.")
        half = t.isf(0.5 * (1.0 - level), self.degrees_of_freedom_) * scales
        return np.column_stack([locations - half, locations + half])
