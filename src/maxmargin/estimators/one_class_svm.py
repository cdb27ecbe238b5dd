"""The one-class SVM: the support of a distribution, for the detection of outliers."""

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from maxmargin.certificates import Certificate, measure_nu_gap
from maxmargin.data import TargetPoints, validate_one_class
from maxmargin.data.scikit_learn import Interval, OutlierMixin, _fit_context, check_is_fitted
from maxmargin.estimators._kernel_svm import (
    EXPANSION_ATTRIBUTES,
    KERNEL_PARAMETERS,
    KernelSVM,
    SingleExpansion,
    nu_goal,
    without_negative,
)
from maxmargin.estimators._parameters import estimator, with_blocks
from maxmargin.estimators._solvers import SolverTable
from maxmargin.problems.linear_svm import weights_of
from maxmargin.problems.nu_svm import NuSVMProblem, Offsets, one_class
from maxmargin.reconciliation import Goal


@with_blocks(kernel_parameters=KERNEL_PARAMETERS, expansion_attributes=EXPANSION_ATTRIBUTES)
@estimator
class OneClassSVM(OutlierMixin, SingleExpansion):
    r"""One-class SVM: a region that holds all but a share nu of the rows, solved to a proven duality gap.

    .. math:: \min_{w, \rho} \tfrac12 \lVert w \rVert^2 - \nu W \rho
              + \sum_i c_i \max(0, \rho - w \cdot \varphi(x_i)), \qquad W = \sum_i c_i

    The hyperplane in feature space that is farthest from the origin, with at most the share nu of the rows, in their
    weights c, on the side of the origin: the outliers. At least the share nu are support vectors. The certificate
    checks both.

    With ``kernel="linear"`` and many rows, from a thousand on, or where steps on pairs of duals would take long, Newton
    steps on w take their place: time and memory grow with the rows, not with their square. It is then the exact form
    of scikit-learn's ``SGDOneClassSVM``, with the same ``offset_`` and ``coef_`` up to a factor, nu times the sum of
    the weights. Rows around the origin have no such hyperplane, and w = 0: move them away from it, or take another
    kernel.

    Parameters
    ----------
    nu : float, default=0.5
        Above 0 and at most 1.
    {kernel_parameters}

    Attributes
    ----------
    offset_ : ndarray of shape (1,)
        rho: the decision function is ``score_samples`` minus it; ``intercept_`` is minus this.
    {expansion_attributes}
    certificate_ : NuGap

    See Also
    --------
    NuSVC : The same parameter nu, for two classes.
    NuGap : What the certificate says.

    References
    ----------
    Schölkopf, Platt, Shawe-Taylor, Smola, Williamson, "Estimating the support of a high-dimensional distribution",
    2001.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import OneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = OneClassSVM(nu=0.1, tol=1e-6).fit(X)
    >>> model.predict([[0.0, 0.0], [5.0, 5.0]])
    array([ 1, -1])
    >>> proof = model.certificate_
    >>> print(f"{proof.margin_errors:.2f} of the rows are outside, {proof.support_share:.2f} are support vectors")
    0.07 of the rows are outside, 0.15 are support vectors
    """

    nu: float = 0.5

    # Duals are bounded by the weights of the rows.
    C = 1.0

    _solvers: ClassVar[SolverTable] = {
        NuSVMProblem: {"smo": "kernel.nu_smo", "newton": "linear.one_class"},
    }
    _parameter_constraints: ClassVar[dict] = {
        **KernelSVM._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Learn until the relative duality gap is at most ``tol``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or for ``kernel="precomputed"`` the Gram matrix of shape (n, n)
        y : ignored
            There for the interface of scikit-learn.
        sample_weight : array of shape (n,), optional
            A weight of 2 is the same as the row given twice.

        Returns
        -------
        self
        """
        return self._fit(X, None, sample_weight)

    @property
    def offset_(self) -> np.ndarray:
        """rho"""
        check_is_fitted(self)
        return -self.intercept_

    def score_samples(self, X: Any) -> np.ndarray:
        """Compute w·phi(x), in blocks of rows: the greater, the less of an outlier.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or the Gram matrix with the training rows, of shape (n, n_train)

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._scores(X) + self.offset_

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute w·phi(x) - rho: negative for outliers.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or the Gram matrix with the training rows, of shape (n, n_train)

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._scores(X)

    def predict(self, X: Any) -> np.ndarray:
        """Predict 1 for rows inside of the region, and -1 for outliers.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or the Gram matrix with the training rows, of shape (n, n_train)

        Returns
        -------
        ndarray of int of shape (n,)
        """
        return np.where(self.decision_function(X) > 0.0, 1, -1).astype(np.intp)

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> TargetPoints:  # noqa: ARG002
        return validate_one_class(self, X, sample_weight=sample_weight)

    def _data_to_certify(self, X: Any, y: Any, sample_weight: Any) -> TargetPoints:  # noqa: ARG002
        return validate_one_class(self, X, sample_weight=without_negative(sample_weight), reset=False)

    def _problem(self, data: TargetPoints) -> NuSVMProblem:
        points, weights = self._points_of_kernel(data.points), weights_of(data.points, data.weights)
        return one_class(points, self._kernel, weights, float(self.nu), self._n_threads())

    def _name_of_solver(self, problem: NuSVMProblem) -> str:
        return "newton" if problem.is_linear_one_class else "smo"

    def _finer_attempt(self, problems: Any, results: Any, attempt: Any) -> Any:
        # Newton steps are in double precision.
        return None if problems[0].is_linear_one_class else super()._finer_attempt(problems, results, attempt)

    def _scaled(self, beta: np.ndarray, intercept: Any) -> tuple[np.ndarray, float]:
        return beta, Offsets(*intercept).above

    def _certify_task(self, k: int, problem: NuSVMProblem) -> Certificate:  # noqa: ARG002
        above = float(self.intercept_[0])
        return measure_nu_gap(problem, self._beta(problem.n_rows), Offsets(above, above))

    def _goal(self, k: int, problem: Any | None = None) -> Goal:  # noqa: ARG002
        return nu_goal(self.tol, problem)
