"""A multivariate t distribution, given by a factor of its scale matrix."""

from typing import Any

import numpy as np
import scipy.linalg as sl
from scipy.stats import multivariate_t
from scipy.stats._multivariate import multivariate_t_frozen

from maxmargin.estimators._shared import generator_of

# scipy's integration takes an entry to be a combination of others where they leave this share of its variance; with a
# margin, since that is computed from the rounded scale.
COMBINATION = 1e-9


class FactoredT(multivariate_t_frozen):
    r"""A frozen scipy.stats.multivariate_t whose scale is given by a factor F of it, F F'.

    With F' = Q R, Q'Q = I, and p_I the density of the t distribution around zero whose scale is I,

    .. math:: \log p(x) = \log p_I(R^{-T} (x - \text{loc})) - \log \lvert \det R \rvert

    F F' has twice the digits between its largest and its smallest direction that F has: where it is singular in
    float64, so that scipy cannot invert it, R still is not. Only ``cdf`` is scipy's own, and refuses such a scale.

    Parameters
    ----------
    loc : array of shape (p,)
    factor : array of shape (p, q), of rank p
    df : float

    Attributes
    ----------
    loc, df
    shape : ndarray of shape (p, p)
        F F', rounded.
    dim : int
        p.

    Examples
    --------
    >>> from maxmargin.estimators._multivariate_t import FactoredT
    >>> distribution = FactoredT([0.0, 0.0], [[1.0, 0.0], [2000.0, 1e-6]], df=5.0)
    >>> round(float(distribution.logpdf([0.0, 0.0])), 6)
    11.977633
    """

    def __init__(self, loc: Any, factor: Any, df: float) -> None:
        self._factor = np.asarray(factor, dtype=np.float64)
        super().__init__(loc=loc, shape=self._factor @ self._factor.T, df=df, allow_singular=True)
        self._triangle = np.linalg.qr(self._factor.T, mode="r")
        self._log_det = float(np.log(np.abs(np.diag(self._triangle))).sum())
        self._standard = multivariate_t(shape=np.eye(self.dim), df=df)

    def logpdf(self, x: Any) -> Any:
        """Compute the logarithm of the density at x, whose last axis has p entries."""
        x = np.asarray(x, dtype=np.float64)
        if self.dim == 1 and x.ndim <= 1:
            x = x.reshape(-1, 1)
        away = x - self.loc
        unscaled = sl.solve_triangular(self._triangle, away.reshape(-1, self.dim).T, trans="T", check_finite=False)
        return self._standard.logpdf(unscaled.T.reshape(away.shape)) - self._log_det

    def cdf(self, x: Any, **options: Any) -> Any:
        """Compute the probability of the entries being at most those of x, by scipy's integration."""
        rows = sl.solve_triangular(self._triangle, np.eye(self.dim), check_finite=False)
        own_shares = 1.0 / (np.square(rows).sum(axis=1) * np.diag(self.shape))
        if not own_shares.min() > COMBINATION:
            raise ValueError(
                "cdf cannot be computed, since the scale is nearly singular: an entry is nearly a combination of the "
                "others. Ask for fewer of them by marginal, or count draws of rvs."
            )
        return super().cdf(x, **options)

    def rvs(self, size: Any = 1, random_state: Any = None) -> Any:
        """Draw ``size`` points."""
        generator = self.random_state if random_state is None else generator_of(random_state)
        mixing = np.sqrt(generator.chisquare(self.df, size) / self.df)
        normal = generator.standard_normal((*mixing.shape, self._factor.shape[1])) @ self._factor.T
        return (self.loc + normal / mixing[..., None]).squeeze()[()]

    def entropy(self) -> Any:
        """Compute the differential entropy."""
        return self._standard.entropy() + self._log_det

    def marginal(self, dimensions: Any) -> "FactoredT":
        """Return the distribution of some entries, by their indices, in that order."""
        numbers = np.atleast_1d(dimensions)
        if (
            numbers.ndim != 1
            or numbers.dtype.kind not in "iu"
            or not ((-self.dim <= numbers) & (numbers < self.dim)).all()
            or np.unique(numbers % self.dim).size != numbers.size
        ):
            raise ValueError(
                f"dimensions must be different whole numbers from 0 to {self.dim - 1}, or count from the end; "
                f"they are {dimensions!r}."
            )
        return FactoredT(self.loc[numbers], self._factor[numbers], self.df)
