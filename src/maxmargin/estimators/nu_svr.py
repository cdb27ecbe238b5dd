"""Kernel support vector regression with nu in place of epsilon."""

from collections.abc import Sequence
from dataclasses import field
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from maxmargin.certificates import Certificate, measure_nu_gap
from maxmargin.data import TargetPoints
from maxmargin.data.scikit_learn import Interval
from maxmargin.estimators._kernel_svm import (
    C_CONSTRAINTS,
    EXPANSION_ATTRIBUTES,
    KERNEL_PARAMETERS,
    KernelRegressor,
    KernelSVM,
)
from maxmargin.estimators._parameters import estimator, with_blocks
from maxmargin.estimators._predictors import CertifiedRegressor
from maxmargin.estimators._solvers import SolverTable
from maxmargin.problems.linear_svm import weights_of
from maxmargin.problems.nu_svm import NuSVMProblem, Offsets, nu_regression
from maxmargin.solvers.core import Result


@with_blocks(kernel_parameters=KERNEL_PARAMETERS, expansion_attributes=EXPANSION_ATTRIBUTES)
@estimator
class NuSVR(KernelRegressor, CertifiedRegressor):
    r"""Kernel support vector regression that finds epsilon from a share nu of larger residuals, with a proven gap.

    .. math:: \min_{w, b, \epsilon \ge 0} \tfrac12 \lVert w \rVert^2
              + C \Big(\nu W \epsilon + \sum_i c_i \max(0, |y_i - w \cdot \varphi(x_i) - b| - \epsilon)\Big)

    The share of the rows, in their weights c with the sum W, whose residuals are larger than epsilon is at most nu, and
    that of the support vectors at least nu; the certificate has both. With its epsilon, :class:`SVR` has the same
    solution.

    Parameters
    ----------
    nu : float, default=0.5
        Above 0 and at most 1.
    C : float, default=1.0
        The factor on the loss of a row.
    {kernel_parameters}

    Attributes
    ----------
    epsilon_ : float
        The residual from which on there is a loss.
    {expansion_attributes}
    certificate_ : NuGap

    See Also
    --------
    SVR : The same machine with a given epsilon.
    NuGap : What the certificate says.

    References
    ----------
    Schölkopf, Smola, Williamson, Bartlett, "New support vector algorithms", 2000; Chang, Lin, "Training nu-support
    vector regression: theory and algorithms", 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import NuSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = NuSVR(nu=0.3).fit(scale(X), scale(y))
    >>> residuals = abs(model.predict(scale(X)) - scale(y))
    >>> print(f"epsilon {model.epsilon_:.2f}; {(residuals > model.epsilon_).mean():.1f} of the residuals are larger")
    epsilon 0.67; 0.3 of the residuals are larger
    """

    nu: float = 0.5
    C: float = 1.0

    epsilon_: float = field(init=False)

    _solvers: ClassVar[SolverTable] = {
        NuSVMProblem: "kernel.nu_smo",
    }
    _parameter_constraints: ClassVar[dict] = {
        **KernelSVM._parameter_constraints,
        **C_CONSTRAINTS,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    def _check_parameters(self) -> None:
        self._refuse_extreme("C")
        super()._check_parameters()

    def _problem(self, data: TargetPoints) -> NuSVMProblem:
        points, weights = self._points_of_kernel(data.points), weights_of(data.points, data.weights)
        return nu_regression(
            points, self._kernel, data.targets, weights, float(self.C), float(self.nu), self._n_threads()
        )

    def _scaled(self, beta: np.ndarray, intercept: Any) -> tuple[np.ndarray, float]:
        return beta, Offsets(*intercept).intercept

    def _set_attributes(self, tasks: Any, results: Sequence[Result[Any]]) -> None:
        super()._set_attributes(tasks, results)
        self.epsilon_ = max(0.0, -Offsets(*results[0].intercept).rho)

    def _certify_task(self, k: int, problem: NuSVMProblem) -> Certificate:  # noqa: ARG002
        b = float(self.intercept_[0])
        return measure_nu_gap(problem, self._beta(problem.n_rows), Offsets(b + self.epsilon_, b - self.epsilon_))
