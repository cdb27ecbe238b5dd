"""The lectures' algorithms as generators of steps, in plain NumPy, each step with what its theorem claims.

Nothing else of the package is imported. The estimators are the same algorithms, made fast; docs/lectures.md shows each
algorithm beside its steps.
"""

from maxmargin.lectures.deficit import TotalDeficit, total_deficit
from maxmargin.lectures.distances import (
    Robustness,
    foot_point,
    is_c_approximate,
    margin_width,
    robustness,
    signed_distance,
)
from maxmargin.lectures.duals import coordinate_ascent, smo
from maxmargin.lectures.hulls import nearest_hull_points
from maxmargin.lectures.kernels import kernel_matrix, kernel_perceptron
from maxmargin.lectures.logistic import gradient_descent
from maxmargin.lectures.margin_perceptrons import incremental_search, margin_perceptron
from maxmargin.lectures.objectives import dual, kkt_conditions, lagrangian, perceptron_criterion, primal
from maxmargin.lectures.perceptrons import batch_perceptron, online_perceptron
from maxmargin.lectures.steps import Claim, GuessStep, HullStep, PairStep, Step

__all__ = [
    "Claim",
    "GuessStep",
    "HullStep",
    "PairStep",
    "Robustness",
    "Step",
    "TotalDeficit",
    "batch_perceptron",
    "coordinate_ascent",
    "dual",
    "foot_point",
    "gradient_descent",
    "incremental_search",
    "is_c_approximate",
    "kernel_matrix",
    "kernel_perceptron",
    "kkt_conditions",
    "lagrangian",
    "margin_perceptron",
    "margin_width",
    "nearest_hull_points",
    "online_perceptron",
    "perceptron_criterion",
    "primal",
    "robustness",
    "signed_distance",
    "smo",
    "total_deficit",
]
