"""Kernel support vector regression."""

import math
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from maxmargin.certificates import Certificate, measure_kernel_gap
from maxmargin.data import TargetPoints
from maxmargin.estimators._base import Solve
from maxmargin.estimators._kernel_svm import (
    C_CONSTRAINTS,
    EXPANSION_ATTRIBUTES,
    KERNEL_PARAMETERS,
    KernelSVM,
    SingleExpansion,
)
from maxmargin.estimators._parameters import estimator, with_blocks
from maxmargin.estimators._regularized import EpsilonInsensitiveRegressor
from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.problems.kernels import built_in
from maxmargin.problems.linear_svm import epsilon_insensitive, weights_of
from maxmargin.solvers.kernel import smo


@with_blocks(kernel_parameters=KERNEL_PARAMETERS, expansion_attributes=EXPANSION_ATTRIBUTES)
@estimator
class SVR(SingleExpansion, EpsilonInsensitiveRegressor):
    r"""Kernel support vector regression with the epsilon-insensitive loss, solved to a proven duality gap.

    .. math:: \min_{w, b} \tfrac12 \lVert w \rVert^2 + C \sum_i \max(0, |y_i - w \cdot \varphi(x_i) - b| - \epsilon)

    Parameters
    ----------
    C : float, default=1.0
        The factor on the loss of a row.
    epsilon : float, default=0.1
        Residuals of at most this size have no loss.
    {kernel_parameters}

    Attributes
    ----------
    {expansion_attributes}
    certificate_ : RegressionGap

    See Also
    --------
    LinearSVR : Without a kernel, for many rows or columns.
    NuSVR : Finds epsilon from a share nu of larger residuals.
    RegressionGap : What the certificate says.

    References
    ----------
    "Large Margin Classifiers. Linear Support Vector Machines", lecture 9; Smola, Schölkopf, "A tutorial on support
    vector regression", 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import SVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SVR(epsilon=0.2, tol=1e-6).fit(scale(X), scale(y))
    >>> proof = model.certificate_
    >>> print(f"{proof.dual:.2f} <= optimum <= {proof.primal:.2f}; R² {model.score(scale(X), scale(y)):.2f}")
    140.17 <= optimum <= 140.17; R² 0.65
    """

    C: float = 1.0
    epsilon: float = 0.1

    _parameter_constraints: ClassVar[dict] = {
        **KernelSVM._parameter_constraints,
        **C_CONSTRAINTS,
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
    }

    def predict(self, X: Any) -> np.ndarray:
        """Compute f(x), in blocks of rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or the Gram matrix with the training rows, of shape (n, n_train)

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._scores(X)

    def _check_parameters(self) -> None:
        if math.isinf(self.C):
            raise ValueError(
                "C=inf, residuals of at most epsilon without exception, is not solved: take a large C, for example "
                "1e6. Where slack(X, y) is then zero, the model is that of C=inf."
            )
        self._refuse_extreme("C")
        super()._check_parameters()

    def _problem(self, data: TargetPoints) -> KernelSVMProblem:
        loss = epsilon_insensitive(data.targets, weights_of(data.points, data.weights), self.C, self.epsilon)
        points = data.points.narrow if built_in(self._kernel) else data.points
        return KernelSVMProblem(points, self._kernel, loss, n_threads=self._n_threads())

    def _solver(self, problem: KernelSVMProblem) -> Solve:  # noqa: ARG002
        return smo.solve

    def _certify_task(self, k: int, problem: KernelSVMProblem) -> Certificate:  # noqa: ARG002
        return measure_kernel_gap(problem, self._beta(problem.n_rows), float(self.intercept_[0]), self.tol)
