"""The lectures' algorithms as generators of steps, in plain NumPy, each step with what its theorem claims.

Nothing else of the package is imported. The estimators are the same algorithms, made fast; docs/lectures.md shows each
algorithm beside its steps.
"""

from maxmargin.lectures.perceptrons import batch_perceptron, online_perceptron
from maxmargin.lectures.steps import Claim, GuessStep, HullStep, PairStep, Step

__all__ = [
    "Claim",
    "GuessStep",
    "HullStep",
    "PairStep",
    "Step",
    "batch_perceptron",
    "online_perceptron",
]
