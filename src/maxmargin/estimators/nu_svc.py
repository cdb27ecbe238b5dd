"""Kernel support vector classification with nu in place of C."""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from maxmargin.certificates import Certificate, NuGap, measure_nu_pair_gaps
from maxmargin.data.scikit_learn import Interval
from maxmargin.estimators._kernel_classifier import KernelClassifier
from maxmargin.estimators._kernel_svm import KERNEL_PARAMETERS, nu_goal
from maxmargin.estimators._parameters import estimator, with_blocks
from maxmargin.problems.nu_svm import NuPairProblems, NuSVMProblem, Offsets
from maxmargin.reconciliation import Goal
from maxmargin.solvers.core import Status
from maxmargin.solvers.kernel import nu_smo

# ||w||²/2, relative to the largest value, up to which there is no margin: rho is then some 1e-6 of the longest phi(x).
WITHOUT_MARGIN = 1e-11
# What that means, and what to do.
INTERSECT = "as far as float64 can tell, the reduced convex hulls of the classes intersect"
ADVICE = "Raise nu, or take a kernel that tells the points apart, for example a larger gamma"


@with_blocks(kernel_parameters=KERNEL_PARAMETERS)
@estimator
class NuSVC(KernelClassifier):
    r"""Kernel support vector classification with a share nu of margin errors, solved to a proven duality gap.

    .. math:: \min_{w, b, \rho} \tfrac12 \lVert w \rVert^2 - \nu W \rho
              + \sum_i c_i \max(0, \rho - y_i (w \cdot \varphi(x_i) + b)), \qquad W = \sum_i c_i

    The share of the rows, in their weights c, that are beyond the margin is at most nu, and that of the support vectors
    at least nu; the certificate checks both. The decision function is divided by rho, as LIBSVM's: it is that of
    :class:`SVC` with C = 1/rho. More than two classes are learned one against one.

    Parameters
    ----------
    nu : float, default=0.5
        Above 0 and at most 1. It is infeasible, a ValueError, where it is more than twice the share of the lighter of
        two classes. Where it is so small that there is no margin with so few errors, as of classes that a hyperplane
        in feature space does not separate, w = 0 is optimal: the model is then the one at which LIBSVM would stop,
        with a warning, if that has a margin; if not, nu is refused.
    {kernel_parameters}
    class_weight : dict, "balanced" or None, default=None
        Factors on the weights of the rows of each class. scikit-learn's NuSVC ignores them.
    decision_function_shape, break_ties, probability, random_state :
        As for :class:`SVC`.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, coef_, intercept_, classes_, class_weight_, probA_, probB_ :
        As for :class:`SVC`; the duals are divided by rho.
    objective_ : float, or list with one entry a pair
        The primal objective, rounded up; it is negative.
    fit_status_ : 0 where every pair is solved to ``tol``, else 1
    n_iter_ : ndarray of int32 of shape (n_pairs,)
        Steps on pairs of duals.
    shape_fit_ : tuple
    status_ : Status
    history_ : list of (seconds, primal, dual), or one a pair
    certificate_ : NuGap, or PerPair of them

    See Also
    --------
    SVC : The same machine with C in place of nu.
    NuGap : What the certificate says.

    References
    ----------
    Schölkopf, Smola, Williamson, Bartlett, "New support vector algorithms", 2000; Chang, Lin, "Training nu-support
    vector classifiers: theory and algorithms", 2001.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from maxmargin import NuSVC
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> proof = NuSVC(nu=0.2, tol=1e-6).fit(X, y).certificate_
    >>> print(f"{proof.margin_errors:.2f} of the rows are margin errors, {proof.support_share:.2f} support vectors")
    0.18 of the rows are margin errors, 0.22 support vectors
    """

    nu: float = 0.5

    # Duals are bounded by the weights of the rows.
    C = 1.0
    # The pairs of classes without a margin.
    _without_margin = ""
    _method: ClassVar[Any] = nu_smo
    # A class without weight makes every nu infeasible.
    _may_lack_weight: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict] = {
        **KernelClassifier._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    def _problems(self, tasks: Any) -> NuPairProblems:
        return NuPairProblems(tasks, self._kernel, float(self.nu), self._threads_of(tasks))

    def _scaled(self, beta: np.ndarray, intercept: Any) -> tuple[np.ndarray, float]:
        """Divided by rho; a run that was stopped early may have none that is positive, and is left as it is."""
        offsets = Offsets(*intercept)
        scale = offsets.rho if offsets.rho > 0.0 else 1.0
        return beta / scale, offsets.intercept / scale

    def _set_attributes(self, tasks: Any, results: Sequence[Any]) -> None:
        without = []
        for name, result in zip(tasks.names(), results, strict=True):
            if lacks_margin(result):
                without.append(name)
                if result.first_within is None:
                    raise ValueError(f"nu={self.nu:g} leaves no margin, {name}: {INTERSECT}. {ADVICE}.")
                result.beta, result.intercept = result.first_within
        self._without_margin = ", ".join(without)
        super()._set_attributes(tasks, results)

    def _advice_for(self, status: Status) -> str | None:
        if not self._without_margin or status not in (Status.SOLVED, Status.STALLED):
            return super()._advice_for(status)
        return (
            f"nu={self.nu:g} leaves no margin, {self._without_margin}: {INTERSECT}, so that w = 0 is optimal. The "
            f"model is the first one that violated the KKT conditions by less than tol, as LIBSVM's. {ADVICE}"
        )

    def _pair_proofs(self, problems: Any, betas: Sequence[np.ndarray]) -> Sequence[Certificate]:
        return nu_pair_proofs(problems, betas, self.intercept_)

    def _goal(self, k: int, problem: Any | None = None) -> Goal:  # noqa: ARG002
        return nu_goal(self.tol, problem)


def lacks_margin(result: Any) -> bool:
    """Whether a run to the end found reduced convex hulls that intersect."""
    no_margin = -result.dual <= WITHOUT_MARGIN * result.largest_value or Offsets(*result.intercept).rho <= 0.0
    # Where kernel values overflow, a run stalls at its start, and nothing is known of the hulls.
    ended = result.status in (Status.SOLVED, Status.STALLED) and math.isfinite(result.primal - result.dual)
    return ended and no_margin


def nu_pair_proofs(problems: NuPairProblems, betas: Sequence[np.ndarray], intercepts: np.ndarray) -> list[NuGap]:
    """The certificates of decision functions that were divided by rho; it follows from the sum that nu prescribes."""
    scaled: list[np.ndarray] = []
    offsets: list[Offsets] = []
    for problem, beta, b in zip(problems, betas, intercepts, strict=True):
        assert isinstance(problem, NuSVMProblem)
        total = float(np.abs(beta).sum())
        rho = (problem.sum_above + problem.sum_below) / total if total > 0.0 else 1.0
        scaled.append(rho * beta)
        offsets.append(Offsets(rho * float(b) - rho, rho * float(b) + rho))
    return measure_nu_pair_gaps(problems, scaled, offsets)
