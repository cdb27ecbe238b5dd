"""The status of a fit, reconciled with what its certificate proves."""

from collections.abc import Sequence

from maxmargin.certificates import (
    Certificate,
    DualityGap,
    LogisticGap,
    MarginBracket,
    has_no_margin,
)
from maxmargin.solvers.core import Status

# Statuses that claim something of the problem; the others say only why the run ended.
CLAIMS = (Status.SOLVED, Status.NOT_SEPARABLE, Status.SEPARABLE)
# From the status that promises most to the one that promises least.
ORDER = (
    Status.SOLVED,
    Status.STALLED,
    Status.SEPARABLE,
    Status.NOT_SEPARABLE,
    Status.ITERATION_LIMIT,
    Status.TIME_LIMIT,
    Status.INTERRUPTED,
)


def reconcile(status: Status, certificate: Certificate, tol: float, negligible: float = 0.0) -> Status:
    """Return the status that the certificate, with all rounding errors counted, confirms.

    A claim that is not proven becomes what is proven, or else STALLED; so does the status of a stalled run.

    Parameters
    ----------
    status : Status
        What the solver reported.
    certificate : Certificate
    tol : float
        The relative gap, or the relative width of a margin bracket, that was asked for.
    negligible : float
        A gap of at most this much counts as none where the optimum may be zero.
    """
    proven = proven_claims(certificate, tol, negligible)
    if status in proven or not (status in CLAIMS or status is Status.STALLED):
        return status
    return next((claim for claim in (Status.SOLVED, Status.NOT_SEPARABLE) if claim in proven), Status.STALLED)


def proven_claims(certificate: Certificate, tol: float, negligible: float = 0.0) -> set[Status]:
    """The claims that a certificate proves."""
    proven = set()
    if isinstance(certificate, DualityGap):
        nothing_lost = certificate.dual <= 0.0 and certificate.gap <= negligible
        if certificate.relative <= tol or nothing_lost:
            proven.add(Status.SOLVED)
        if isinstance(certificate, LogisticGap) and (certificate.margin > 0.0 or certificate.freed > 0):
            proven.add(Status.SEPARABLE)
    elif isinstance(certificate, MarginBracket):
        if certificate.separates and certificate.relative <= tol:
            proven.add(Status.SOLVED)
        if has_no_margin(certificate):
            proven.add(Status.NOT_SEPARABLE)
    return proven


def worst(statuses: Sequence[Status]) -> Status:
    """The status of a fit of several tasks: the one that promises least."""
    return max(statuses, key=ORDER.index)
