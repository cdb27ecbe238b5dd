"""Classifiers with an L1 penalty or an elastic net, to the same distance from the optimum."""

from typing import NamedTuple

from regression.parts.logistic import WANTED, LogisticRace


class Penalty(NamedTuple):
    """A loss, the share of the 1-norm in the penalty, and C."""

    loss: str
    l1_ratio: float
    C: float


class SparseRace(LogisticRace):
    """Each solver with the coarsest of its tolerances that is good enough; the fastest rival counts."""

    name = "sparse"
    title = "sparse: r ||w||₁ + (1 - r) ||w||²/2 + C Σ loss, without an intercept"
    penalties = (
        Penalty("squared hinge", 1.0, 1.0),
        Penalty("logistic", 1.0, 1.0),
        Penalty("logistic", 0.5, 1.0),
    )
    text = (
        'The same for `LinearSVC(penalty="l1")` and `LogisticRegression(l1_ratio=r)` without an intercept, beside '
        "scikit-learn's liblinear (r = 1) and saga (logistic losses). Our time holds the proof of the gap. Wanted: at "
        f"most {WANTED:g} times the time of the fastest one."
    )

    def text_of(self, penalty):
        """The penalty in words."""
        return f"{penalty.loss}, r = {penalty.l1_ratio:g}, C = {penalty.C:g}"
