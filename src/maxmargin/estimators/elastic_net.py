"""The elastic net as a scikit-learn regressor."""

from numbers import Real
from typing import Any, ClassVar

from maxmargin.data.scikit_learn import Interval
from maxmargin.estimators._linear_regression import LARGEST_PENALTY, SMALLEST_PENALTY
from maxmargin.estimators._parameters import estimator, with_blocks
from maxmargin.estimators.lasso import SPARSE_ATTRIBUTES, SPARSE_PARAMETERS, Lasso


@with_blocks(sparse_parameters=SPARSE_PARAMETERS, sparse_attributes=SPARSE_ATTRIBUTES)
@estimator
class ElasticNet(Lasso):
    r"""The elastic net, solved to a certified duality gap.

    .. math:: \min_{w, b} \frac{1}{2n} \sum_i (y_i - w \cdot x_i - b)^2
              + \alpha r \lVert w \rVert_1 + \frac{\alpha (1 - r)}{2} \lVert w \rVert^2

    where r is ``l1_ratio`` and n the number of rows, or the sum of their weights. The objective, the certificate and
    the history are those of n times this: half the squared errors, with the penalties lambda = n alpha r and
    n alpha (1 - r). The intercept b is not penalised.

    Parameters
    ----------
    alpha : float, default=1.0
        The penalty for every row, as scikit-learn means it.
    l1_ratio : float, default=0.5
        The share of the 1-norm: 1 is the lasso, 0 ridge regression with the penalty n alpha.
    {sparse_parameters}

    Attributes
    ----------
    {sparse_attributes}
    certificate_ : LassoGap
        It also says how many columns are proven to have a coefficient of zero in the optimum.

    See Also
    --------
    Lasso : With the 1-norm alone.
    Ridge : With the squared norm alone.

    References
    ----------
    Zou, Hastie, "Regularization and variable selection via the elastic net", 2005.

    Ndiaye, Fercoq, Gramfort, Salmon, "Gap safe screening rules for sparsity enforcing penalties", 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import ElasticNet
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ElasticNet(alpha=0.01, l1_ratio=0.99, tol=1e-8).fit(X, y)
    >>> proof = model.certificate_
    >>> print(f"{proof.dual:.0f} <= optimum; {proof.unused} coefficient is zero in every optimum")
    660924 <= optimum; 1 coefficient is zero in every optimum
    """

    alpha: float = 1.0
    l1_ratio: float = 0.5

    # What the lasso has besides, in the names of its prior, is no parameter of the elastic net.
    lam: ClassVar[None] = None  # type: ignore[misc]
    sigma2: ClassVar[None] = None  # type: ignore[misc]
    rate: ClassVar[None] = None  # type: ignore[misc]

    _parameter_constraints: ClassVar[dict] = {
        **Lasso._parameter_constraints,
        "alpha": [Interval(Real, 0.0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0.0, 1.0, closed="both")],
    }
    for _name in ("lam", "sigma2", "rate"):
        del _parameter_constraints[_name]
    del _name

    def _penalty(self) -> float:
        return self._in_range(self.alpha * self.l1_ratio * getattr(self, "_total_weight", 1.0))

    def _squared_penalty(self) -> float:
        return self._in_range(self.alpha * (1.0 - self.l1_ratio) * getattr(self, "_total_weight", 1.0))

    def _in_range(self, penalty: Any) -> float:
        if penalty != 0.0 and not SMALLEST_PENALTY <= penalty <= LARGEST_PENALTY:
            raise ValueError(
                f"alpha times the weight of the rows must be between {SMALLEST_PENALTY:g} and {LARGEST_PENALTY:g}; it "
                f"makes a penalty of {penalty!r}."
            )
        return float(penalty)
