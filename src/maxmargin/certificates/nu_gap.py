"""The duality gap of kernel machines with nu, and the nu-property (see :mod:`maxmargin.problems.nu_svm`)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from maxmargin.certificates.base import Certificate
from maxmargin.certificates.bounds import OF_BOUNDS, FeatureVector
from maxmargin.certificates.duality_gap import rounding_matters
from maxmargin.certificates.kernel_gap import certificate_of_scores, change_of_duals, moved_by
from maxmargin.certificates.kkt_conditions import AT_BOUND
from maxmargin.certificates.rounding import (
    SMALLEST,
    UNIT,
    down,
    lower_bound,
    sum_at_most,
    up,
    upper_bound,
)
from maxmargin.certificates.svm_dual_bounds import dual_terms_at_least
from maxmargin.certificates.svm_gap import SVMGap
from maxmargin.certificates.task_sums import exact_sum
from maxmargin.data.printed_bounds import percent_down, percent_up
from maxmargin.problems.nu_svm import NuPairProblems, NuSVMProblem, Offsets

# Roundings of nu times the sum of the weights, times C and divided by 2, and one more.
ROUNDINGS_OF_SUMS = 6.0
# Shares of the weight are sums of that many rows, and duals at their bound may be below it by AT_BOUND.
SHARE_AGREEMENT = 1e-8


@dataclass(frozen=True)
class NuGap(SVMGap):
    r"""The duality gap of a machine with nu, and the nu-property.

    .. math:: \text{share of margin errors} \le \nu \le \text{share of support vectors}

    The values are those of the problem in which duals are at most the weights of the rows (times C for a regression):
    of a classifier and a one-class machine they are negative, near -||w||²/2. The model's duals are projected: into
    their box, and so that they have the sums that nu prescribes.

    Attributes
    ----------
    primal, dual : float
    kkt_violation : float
        The largest violation of the KKT conditions by a residual.
    nu : float
    margin_errors : float
        The share of the weight of the rows that are beyond the margin (outside of the epsilon interval) by more than
        the violation of the KKT conditions: their duals are at the bound. At most nu.
    support_share : float
        The share of the weight of the support vectors. At least nu, but for a regression without errors to bound, of
        which the best epsilon is zero.
    support_vectors, at_bound : int
        Rows with a dual that is not zero, and with one at its bound.

    See Also
    --------
    ClassificationGap : The gap of the machine with C in place of nu.
    NuSVC, NuSVR, OneClassSVM : The models that have it.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from maxmargin import NuSVC
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> proof = NuSVC(nu=0.2, tol=1e-8).fit(X, y).certificate_
    >>> print(f"margin errors {proof.margin_errors:.2f} <= nu = 0.2 <= {proof.support_share:.2f} support vectors")
    margin errors 0.18 <= nu = 0.2 <= 0.22 support vectors
    """

    nu: float
    margin_errors: float
    support_share: float
    support_vectors: int
    at_bound: int

    def __post_init__(self) -> None:
        super().__post_init__()
        self._refuse_unless(
            self.margin_errors <= self.nu * (1.0 + SHARE_AGREEMENT) + SHARE_AGREEMENT,
            f"a share of {self.margin_errors!r} margin errors is more than nu {self.nu!r}",
        )

    @property
    def relative(self) -> float:
        """The duality gap relative to the larger size of both values."""
        scale = max(abs(self.primal), abs(self.dual))
        if math.isinf(scale):
            return math.inf
        return up(self.gap / scale) if scale > 0.0 < self.gap else 0.0

    def __str__(self) -> str:
        before = f"{self.assumption}: " if self.assumption else ""
        return (
            f"{before}{self._values(self.relative < 1.0)}; "
            f"margin errors {percent_up(self.margin_errors, 4)} % <= nu {percent_up(self.nu, 4)} %, support vectors "
            f"{percent_down(self.support_share, 4)} %: {self.support_vectors}, {self.at_bound} of them at their bound"
        )

    def check(self, proven: Certificate) -> None:
        """Raise CertificateError where a value is better than what the data prove."""
        super().check(proven)
        self._check_equal(proven, "nu", "margin_errors", "support_share", rel_tol=1e-6, abs_tol=1e-9)


def measure_nu_gap(problem: NuSVMProblem, beta: np.ndarray, offsets: Offsets) -> NuGap:
    """Measure the duality gap of signed duals and offsets; w = sum_j beta_j phi(x_j).

    What is said of kernels in :func:`maxmargin.certificates.measure_kernel_gap` holds here, too.

    Parameters
    ----------
    problem : NuSVMProblem
    beta : ndarray of shape (n,)
        Signed duals. They need not be feasible: they are projected.
    offsets : Offsets
        Of the model.
    """
    given, beta = beta, problem.feasible(beta)
    support = np.flatnonzero(beta)
    with np.errstate(over="ignore", invalid="ignore"):
        scores = problem.scores_of(slice(None), support, beta[support])
        return _from_scores(problem, beta, offsets, scores, change_of_duals(given, beta))


def measure_nu_pair_gaps(
    problems: NuPairProblems, betas: Sequence[np.ndarray], offsets: Sequence[Offsets]
) -> list[NuGap]:
    """Measure the gap of every pair of classes; kernel values within a class serve all its pairs."""
    each: list[NuSVMProblem] = list(problems)  # type: ignore[arg-type]
    feasible = [problem.feasible(beta) for problem, beta in zip(each, betas, strict=True)]
    with np.errstate(over="ignore", invalid="ignore"):
        return [
            _from_scores(problem, beta, own, scores, change_of_duals(given, beta))
            for problem, given, beta, own, scores in zip(
                each, betas, feasible, offsets, problems.scores(feasible), strict=True
            )
        ]


def _from_scores(problem: NuSVMProblem, beta: np.ndarray, offsets: Offsets, scores: np.ndarray, moved: float) -> NuGap:
    """The certificate of feasible duals and their scores; the model's own duals differ from them by ``moved``."""
    return certificate_of_scores(problem, beta, scores, partial(_judge, problem, beta, offsets, moved))


def _judge(
    problem: NuSVMProblem, beta: np.ndarray, offsets: Offsets, moved: float, scores: np.ndarray, w: FeatureVector
) -> tuple[NuGap, bool]:
    """The certificate, and whether rounding errors make up much of its gap."""
    own = w if moved == 0.0 else moved_by(w, moved)
    largest_target = float(np.abs(problem.targets).max(initial=0.0))
    sizes = abs(offsets.above) + abs(offsets.below) + float(np.abs(scores).max(initial=0.0)) + largest_target
    errors = np.nextafter(own.score_error + 4.0 * UNIT * sizes, np.inf) + np.zeros(scores.size)
    primal = _primal_at_most(problem, offsets, scores, errors, own)
    dual = _dual_at_least(problem, beta, w, largest_target) if w.semidefinite else -math.inf
    of_losses = float((problem.bounds * errors).sum())
    of_norm = 0.5 * (w.squared_norm - w.shortest * w.shortest)
    # The values may be negative: their sizes are what errors are compared with.
    size = max(abs(primal), abs(dual))
    matters = rounding_matters(of_losses + of_norm, size, size - (primal - dual))
    return _with_shares(problem, beta, offsets, scores, primal, dual), matters


def _primal_at_most(
    problem: NuSVMProblem, offsets: Offsets, scores: np.ndarray, errors: np.ndarray, w: FeatureVector
) -> float:
    """||w||²/2 + S lambda - S* lambda* and the losses, at most."""
    excess = problem.losses_at(scores, offsets)
    residuals = problem.targets - scores
    # A residual may be beyond the offset by its error; a NaN, which overflow leaves behind, may be anywhere.
    is_near = ~np.stack([residuals - offsets.above <= -errors, offsets.below - residuals <= -errors])
    losses = problem.bounds * (1.0 + 8.0 * UNIT) * np.where(is_near, excess + errors, 0.0) + SMALLEST
    above, below = problem.sum_above * offsets.above, problem.sum_below * offsets.below
    rounded = 2.0 * ROUNDINGS_OF_SUMS * UNIT * (abs(above) + abs(below)) + 4.0 * SMALLEST
    return up(up(up(0.5 * w.squared_norm) + up(above - below)) + up(up(sum_at_most(losses)) + rounded))


def _dual_at_least(problem: NuSVMProblem, beta: np.ndarray, w: FeatureVector, largest_target: float) -> float:
    """The dual value of the exactly feasible duals next to these, at least.

    They differ by ``off`` in sum |beta_i|: the linear terms change by at most ``off`` times the largest target, and w
    by a vector of at most ``off`` times the longest phi(x).
    """
    terms = dual_terms_at_least(problem.losses, beta)[0] if problem.is_regression else 0.0
    off = _distance_from_sums(problem, beta)
    length = up(off * w.radius)
    of_terms = up(off * largest_target) if problem.is_regression else 0.0
    change = up(up(of_terms + up(length * w.longest)) + up(0.5 * up(length * length)))
    return down(down(terms - up(0.5 * w.squared_norm)) - change)


def _distance_from_sums(problem: NuSVMProblem, beta: np.ndarray) -> float:
    """sum |beta_i - b_i| for the nearest b in the exact box and with the exact sums, at most."""
    above, below = exact_sum(np.maximum(beta, 0.0)), exact_sum(np.maximum(-beta, 0.0))
    both = up(sum_at_most(np.abs(beta)))
    if problem.is_regression:
        # sum beta = 0, and sum |beta| is at most 2 S: either side shrinks.
        off = abs(above - below) + 2.0 * max(0.0, max(above, below) - problem.sum_above)
    else:
        off = abs(above - problem.sum_above) + abs(below - problem.sum_below)
    rounded = ROUNDINGS_OF_SUMS * UNIT * (problem.sum_above + problem.sum_below + 2.0 * both)
    return up((off + rounded) * (1.0 + OF_BOUNDS) + (beta.size + 4.0) * SMALLEST)


def _with_shares(
    problem: NuSVMProblem, beta: np.ndarray, offsets: Offsets, scores: np.ndarray, primal: float, dual: float
) -> NuGap:
    """The gap with the KKT violation and the shares of the weight that the nu-property is about."""
    counted = problem.loss.weights > 0.0
    residuals = problem.targets - scores
    beyond = np.stack([residuals - offsets.above, offsets.below - residuals])
    duals = np.stack([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)])
    has_dual = problem.bounds > 0.0
    at_bound = has_dual & (duals >= (1.0 - AT_BOUND) * problem.bounds)
    may_grow, may_shrink = has_dual & ~at_bound, has_dual & (duals > 0.0)
    violation = max(float(beyond.max(where=may_grow, initial=0.0)), float((-beyond).max(where=may_shrink, initial=0.0)))
    weights, total = problem.loss.weights, float(problem.loss.weights.sum())
    is_error = ((beyond > violation) & has_dual).any(axis=0)
    is_support = beta != 0.0
    return NuGap(
        upper_bound(primal),
        lower_bound(dual),
        upper_bound(violation),
        nu=problem.nu,
        margin_errors=float(weights.sum(where=is_error)) / total,
        support_share=float(weights.sum(where=is_support)) / total,
        support_vectors=int(np.count_nonzero(is_support & counted)),
        at_bound=int(np.count_nonzero(at_bound.any(axis=0) & is_support)),
        assumption=problem.kernel_facts.assumption if math.isfinite(dual) else "",
    )
