"""The status of a fit says no more than its certificate proves."""

import math

import pytest

from maxmargin import LogisticGap, MarginBracket, RidgeGap, Status
from maxmargin.reconciliation import reconcile, worst

TOL = 1e-3


def gap(relative):
    """A certificate of this relative gap."""
    return RidgeGap(primal=1.0, dual=1.0 - relative, radius=math.inf)


def logistic(relative, *, margin=-math.inf, freed=0):
    return LogisticGap(primal=1.0, dual=1.0 - relative, reach=math.inf, margin=margin, freed=freed)


def bracket(lower, upper, hulls_meet=False):
    return MarginBracket(lower=lower, upper=upper, radius=1.0, space="x", hulls_meet=hulls_meet)


@pytest.mark.parametrize(
    ("status", "certificate", "expected"),
    [
        # A gap: solved is what is within tol, whatever the solver believed.
        (Status.SOLVED, gap(0.5e-3), Status.SOLVED),
        (Status.SOLVED, gap(2e-3), Status.STALLED),
        (Status.STALLED, gap(0.5e-3), Status.SOLVED),
        (Status.STALLED, gap(2e-3), Status.STALLED),
        (Status.NOT_SEPARABLE, gap(2e-3), Status.STALLED),
        # A limit is the reason why the run ended, also where the gap has become small enough.
        (Status.ITERATION_LIMIT, gap(0.5e-3), Status.ITERATION_LIMIT),
        (Status.TIME_LIMIT, gap(2e-3), Status.TIME_LIMIT),
        (Status.INTERRUPTED, gap(2e-3), Status.INTERRUPTED),
        # Logistic regression: separable by a margin, or by rows that are freed of their loss.
        (Status.SEPARABLE, logistic(1.0, margin=0.1), Status.SEPARABLE),
        (Status.SEPARABLE, logistic(1.0, freed=1), Status.SEPARABLE),
        (Status.SEPARABLE, logistic(1.0), Status.STALLED),
        (Status.SEPARABLE, logistic(0.5e-3), Status.SOLVED),
        # A margin bracket: solved where it is narrow, not separable where no margin is left.
        (Status.SOLVED, bracket(0.4999, 0.5), Status.SOLVED),
        (Status.SOLVED, bracket(0.4, 0.5), Status.STALLED),
        (Status.NOT_SEPARABLE, bracket(-0.1, 1e-12, hulls_meet=True), Status.NOT_SEPARABLE),
        # A margin below the rounding errors is no proof that there is none.
        (Status.NOT_SEPARABLE, bracket(-0.1, 1e-12), Status.STALLED),
        (Status.NOT_SEPARABLE, bracket(-0.1, 0.5), Status.STALLED),
        (Status.SOLVED, bracket(-0.1, 1e-12, hulls_meet=True), Status.NOT_SEPARABLE),
    ],
)
def test_a_status_is_what_the_certificate_proves(status, certificate, expected):
    assert reconcile(status, certificate, TOL) is expected


def test_a_negligible_gap_counts_where_the_optimum_may_be_zero():
    proof = RidgeGap(primal=1e-20, dual=0.0, radius=math.inf)
    assert reconcile(Status.SOLVED, proof, TOL) is Status.STALLED
    assert reconcile(Status.SOLVED, proof, TOL, negligible=1e-19) is Status.SOLVED
    assert reconcile(Status.SOLVED, proof, TOL, negligible=1e-21) is Status.STALLED
    # Beside a positive dual value the relative gap decides.
    assert reconcile(Status.SOLVED, gap(2e-3), TOL, negligible=1.0) is Status.STALLED


def test_of_several_tasks_the_status_that_promises_least_counts():
    assert worst([Status.SOLVED, Status.SOLVED]) is Status.SOLVED
    assert worst([Status.SOLVED, Status.STALLED]) is Status.STALLED
    assert worst([Status.TIME_LIMIT, Status.NOT_SEPARABLE, Status.SOLVED]) is Status.TIME_LIMIT
    assert worst(list(Status)) is Status.INTERRUPTED
