"""Kernel support vector regression."""

import math
from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from maxmargin.certificates import Certificate, InfeasibleError, SVMGap, measure_kernel_gap
from maxmargin.certificates.rounding import down
from maxmargin.data import TargetPoints, Tasks
from maxmargin.data.printed_bounds import digits_down
from maxmargin.data.scikit_learn import Interval
from maxmargin.estimators._kernel_svm import (
    C_CONSTRAINTS,
    EXPANSION_ATTRIBUTES,
    KERNEL_PARAMETERS,
    SHARE_OF_TOL,
    SHARE_OF_VIOLATION,
    KernelRegressor,
    KernelSVM,
)
from maxmargin.estimators._parameters import estimator, with_blocks
from maxmargin.estimators._regularized import EpsilonInsensitiveRegressor
from maxmargin.estimators._solvers import SolverTable
from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.problems.linear_svm import epsilon_insensitive, weights_of
from maxmargin.solvers.core import Result, Status
from maxmargin.solvers.kernel import hard_regression
from maxmargin.solvers.kernel.base import SMOOptions

# Of what the duals prove, rounding errors may cost this share.
SHARE_FOR_ROUNDING = 0.1


@with_blocks(kernel_parameters=KERNEL_PARAMETERS, expansion_attributes=EXPANSION_ATTRIBUTES)
@estimator
class SVR(KernelRegressor, EpsilonInsensitiveRegressor):
    r"""Kernel support vector regression with the epsilon-insensitive loss, solved to a proven duality gap.

    .. math:: \min_{w, b} \tfrac12 \lVert w \rVert^2 + C \sum_i \max(0, |y_i - w \cdot \varphi(x_i) - b| - \epsilon)

    Parameters
    ----------
    C : float, default=1.0
        The factor on the loss of a row. ``inf``: the least ``||w||`` among all functions whose residuals are at most
        epsilon, or :class:`InfeasibleError` with the proof that there is none, but for w so long that scores could span
        ten thousand times the targets. Weights then say only which rows count.
    epsilon : float, default=0.1
        Residuals of at most this size have no loss.
    {kernel_parameters}

    Attributes
    ----------
    {expansion_attributes}
    C_ : float
        Only for C = inf: twice the largest dual, the finite C that the certificate is about. With its duality gap g,
        ``||w||²/2`` is at most g above the least one, and the residuals exceed epsilon by at most ``2 g/C_`` in all.
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

    _solvers: ClassVar[SolverTable] = {
        KernelSVMProblem: {"soft": "kernel.smo", "hard": "kernel.hard_regression"},
    }
    _parameter_constraints: ClassVar[dict] = {
        **KernelSVM._parameter_constraints,
        **C_CONSTRAINTS,
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
    }

    @property
    def _inverse_strength(self) -> float:
        return float(getattr(self, "C_", self.C))

    def _options(self, tasks: Tasks) -> SMOOptions:
        violation = SHARE_OF_VIOLATION * self.tol
        return replace(super()._options(tasks), tol=SHARE_OF_TOL * self.tol, max_violation=violation)

    def _problem(self, data: TargetPoints) -> KernelSVMProblem:
        weights = weights_of(data.points, data.weights)
        if math.isinf(self.C):
            weights = (weights > 0.0).astype(np.float64)
        loss = epsilon_insensitive(data.targets, weights, self.C, self.epsilon)
        points = self._points_of_kernel(data.points)
        return KernelSVMProblem(points, self._kernel, loss, n_threads=self._threads_of(data))

    def _name_of_solver(self, problem: KernelSVMProblem) -> str:
        return "hard" if problem.hard else "soft"

    def _set_attributes(self, tasks: Any, results: Sequence[Result[Any]]) -> None:
        super()._set_attributes(tasks, results)
        if math.isinf(self.C):
            self.C_ = 2.0 * float(np.abs(self._duals).max(initial=0.0)) or 1.0

    def _certify_task(self, k: int, problem: KernelSVMProblem) -> Certificate:  # noqa: ARG002
        beta = self._beta(problem.n_rows)
        soft = problem.penalized(beta) if problem.hard else problem
        return measure_kernel_gap(soft, beta, float(self.intercept_[0]), self.tol)

    def _certify_results(self, tasks: Any, problems: Sequence[Any], results: Sequence[Any]) -> None:
        if results[0].status is Status.NOT_SEPARABLE:
            self._refuse_without_solution(problems[0], hard_regression.provable_multiple(problems[0], results[0].beta))
        self._refuse_without_solution(problems[0], getattr(results[0], "unbounded", None))
        super()._certify_results(tasks, problems, results)

    def _refuse_without_solution(self, problem: KernelSVMProblem, beta: np.ndarray | None) -> None:
        """Raise InfeasibleError where duals prove that every solution is too long."""
        if beta is None:
            return
        proof = measure_kernel_gap(problem.penalized(beta), beta, 0.0)
        least = (1.0 - SHARE_FOR_ROUNDING) * hard_regression.PROVEN_SHARE * problem.infeasibility_bound
        if isinstance(proof, SVMGap) and proof.dual >= least:
            raise InfeasibleError(
                f"No function with ||w|| below {digits_down(down(math.sqrt(2.0 * proof.dual)), 3)} has residuals of at "
                f"most epsilon = "
                f"{self.epsilon:g}, so C=inf has no solution: raise epsilon, set a finite C, or take a kernel that "
                "tells the points apart, for example a larger gamma.",
                proof,
            )
