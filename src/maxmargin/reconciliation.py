"""The status of a fit, reconciled with what its certificate proves: one rule for fits and for ``verify``."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from maxmargin.certificates import (
    Certificate,
    DualityGap,
    LogisticGap,
    MarginBracket,
    MistakeBound,
    has_no_margin,
)
from maxmargin.certificates.base import AGREEMENT
from maxmargin.solvers.core import Status

# Statuses that claim something of the problem; the others say only why the run ended.
CLAIMS = (Status.SOLVED, Status.NOT_SEPARABLE, Status.NO_SUCH_MARGIN, Status.SEPARABLE)
# From the status that promises most to the one that promises least.
ORDER = (
    Status.SOLVED,
    Status.STALLED,
    Status.SEPARABLE,
    Status.NOT_SEPARABLE,
    Status.NO_SUCH_MARGIN,
    Status.ITERATION_LIMIT,
    Status.TIME_LIMIT,
    Status.INTERRUPTED,
)


@dataclass(frozen=True)
class Goal:
    """The goal of a fit.

    Attributes
    ----------
    tol : float or None
        The relative gap, or the relative width of a margin bracket. None for perceptrons, which are solved after a pass
        without a mistake: a certificate can refute that, but not prove it.
    is_negligible : callable, optional
        Whether a gap counts as none whatever its relative size, because the optimum may be zero.
    not_separable : callable
        Whether a bracket proves that no hyperplane separates the classes.
    lacks_margin : callable, optional
        Whether a bracket proves that no hyperplane has the margin asked for, where one was.
    may_leave_mistakes : bool
        Whether a perceptron that is solved may have mistakes: the last pass made none, but the average of all
        hyperplanes, or rows that were held out, may.
    """

    tol: float | None
    is_negligible: Callable[[DualityGap], bool] | None = None
    not_separable: Callable[[MarginBracket], bool] = has_no_margin
    lacks_margin: Callable[[MarginBracket], bool] | None = None
    may_leave_mistakes: bool = False


def reconcile(status: Status, certificate: Certificate, goal: Goal) -> Status:
    """Return the status that the certificate, with all rounding errors counted, confirms.

    A claim that is not proven becomes what is proven, or else STALLED; so does the status of a stalled run.
    """
    if not (status in CLAIMS or status is Status.STALLED):
        return status
    proven = proven_claims(certificate, goal)
    if status in proven:
        return status
    if goal.tol is None:
        return Status.STALLED
    return next((claim for claim in (Status.SOLVED, Status.NOT_SEPARABLE) if claim in proven), Status.STALLED)


def proven_claims(certificate: Certificate, goal: Goal) -> set[Status]:
    """The claims that a certificate proves."""
    tol = math.inf if goal.tol is None else goal.tol
    proven: dict[Status, bool] = {}
    if isinstance(certificate, DualityGap):
        negligible = goal.is_negligible
        proven[Status.SOLVED] = certificate.relative <= tol or (negligible is not None and negligible(certificate))
        if isinstance(certificate, LogisticGap):
            proven[Status.SEPARABLE] = certificate.margin > 0.0 or certificate.freed > 0
    elif isinstance(certificate, MarginBracket):
        proven[Status.SOLVED] = certificate.separates and certificate.relative <= tol
        proven[Status.NOT_SEPARABLE] = goal.not_separable(certificate)
        proven[Status.NO_SUCH_MARGIN] = goal.lacks_margin is not None and goal.lacks_margin(certificate)
    elif isinstance(certificate, MistakeBound):
        bracket = certificate.bracket
        # An infinite upper bound is that of a kernel that may be indefinite, which has no margins.
        no_mistake = bracket.lower >= -AGREEMENT * bracket.radius or math.isinf(bracket.upper)
        proven[Status.SOLVED] = no_mistake or goal.may_leave_mistakes
        proven[Status.NOT_SEPARABLE] = goal.not_separable(bracket)
    return {claim for claim, is_proven in proven.items() if is_proven}


def worst(statuses: Sequence[Status]) -> Status:
    """The status of a fit of several tasks: the one that promises least."""
    return max(statuses, key=ORDER.index)
