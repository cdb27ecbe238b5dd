"""The status of a fit says no more than its certificate proves."""

import math

import pytest

from maxmargin import LinearSVC, LogisticGap, MarginBracket, MistakeBound, RidgeGap, Status
from maxmargin.reconciliation import Goal, reconcile, worst

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
        # That no hyperplane has a margin is said only where one was asked for.
        (Status.NO_SUCH_MARGIN, bracket(0.1, 0.5), Status.STALLED),
    ],
)
def test_a_status_is_what_the_certificate_proves(status, certificate, expected):
    assert reconcile(status, certificate, Goal(TOL)) is expected


def test_a_negligible_gap_counts_where_the_optimum_may_be_zero():
    proof = RidgeGap(primal=1e-20, dual=0.0, radius=math.inf)
    assert reconcile(Status.SOLVED, proof, Goal(TOL)) is Status.STALLED
    model = LinearSVC(tol=TOL)
    for C, expected in ((1e-10, Status.SOLVED), (1e-12, Status.STALLED)):
        assert reconcile(Status.SOLVED, proof, model.set_params(C=C)._goal(0)) is expected
    # Beside a positive dual value the relative gap decides.
    assert reconcile(Status.SOLVED, gap(2e-3), model.set_params(C=1e9)._goal(0)) is Status.STALLED


@pytest.mark.parametrize(
    ("status", "lower", "goal", "expected"),
    [
        # A perceptron is solved after a pass without a mistake: the hyperplane then has none, up to rounding.
        (Status.SOLVED, 0.1, Goal(None), Status.SOLVED),
        (Status.SOLVED, -1e-12, Goal(None), Status.SOLVED),
        (Status.SOLVED, -0.1, Goal(None), Status.STALLED),
        (Status.SOLVED, -0.1, Goal(None, may_leave_mistakes=True), Status.SOLVED),
        # A run that made mistakes until it ended is not solved by what its last hyperplane proves.
        (Status.STALLED, 0.1, Goal(None), Status.STALLED),
        (Status.NOT_SEPARABLE, -0.1, Goal(None), Status.STALLED),
        (Status.NOT_SEPARABLE, -0.1, Goal(None, not_separable=lambda _: True), Status.NOT_SEPARABLE),
        (Status.TIME_LIMIT, 0.1, Goal(None), Status.TIME_LIMIT),
    ],
)
def test_a_perceptron_says_no_more_than_its_hyperplane_proves(status, lower, goal, expected):
    proof = MistakeBound(
        mistakes=3, bound=9.0, gamma=0.5, deficit=0.0, radius=1.0, examples=10, bracket=bracket(lower, 0.5)
    )
    assert reconcile(status, proof, goal) is expected


def test_of_several_tasks_the_status_that_promises_least_counts():
    assert worst([Status.SOLVED, Status.SOLVED]) is Status.SOLVED
    assert worst([Status.SOLVED, Status.STALLED]) is Status.STALLED
    assert worst([Status.TIME_LIMIT, Status.NOT_SEPARABLE, Status.SOLVED]) is Status.TIME_LIMIT
    assert worst([status for status in Status if status is not Status.RUNNING]) is Status.INTERRUPTED
