"""Hostile fits of machines with nu, one-class machines, penalties with a 1-norm, joint classes and several targets.

A target of its own: the inputs of ``estimators`` stay those that their seeds name.
"""

from pathlib import Path
from random import Random

import numpy as np

import maxmargin as mm
from fuzz.estimators import BOOLEAN, CLASS_WEIGHT, KERNEL, LIMITS, MAX_TIME, NO_LIMIT, TOL, C, Estimators, Machine
from fuzz.harness import Outcome

NU = {
    **KERNEL,
    "nu": (0.5, 0.5, 0.1, 0.9, 1.0, 1e-3, 1e-12, 0.0, 2.0),
    "tol": TOL,
    "max_iter": (-1, -1, 1, 100),
    "max_time": MAX_TIME,
    "shrinking": BOOLEAN,
}
STRENGTH = (1.0, 0.1, 1e-3, 1e3, 1e-100, 1e100, 1e-12, 0.0)
SPARSE = {
    **NO_LIMIT,
    "tol": TOL,
    "fit_intercept": (True, True, False),
    "selection": ("cyclic", "random"),
    "random_state": (0, 1),
}
LOGISTIC = {
    **NO_LIMIT,
    "C": C,
    "tol": TOL,
    "fit_intercept": (True, True, False),
    "class_weight": CLASS_WEIGHT,
    "random_state": (0, 1),
}
MACHINES: tuple[Machine, ...] = (
    (mm.NuSVC, {}, {**NU, "class_weight": CLASS_WEIGHT, "decision_function_shape": ("ovr", "ovo")}),
    (mm.NuSVR, {}, {**NU, "C": C}),
    (mm.OneClassSVM, {}, NU),
    (
        mm.LinearSVC,
        {"penalty": ("l1",), "loss": ("squared_hinge",), "dual": (False,)},
        {**LOGISTIC, "penalize_intercept": (False, True), "intercept_scaling": (1.0, 1.0, 1e-8, 1e8)},
    ),
    (mm.LogisticRegression, {"multi_class": ("multinomial",)}, {**LOGISTIC, "C": (*C, np.inf, np.inf)}),
    (
        mm.LogisticRegression,
        {"penalize_intercept": (True,)},
        {**LOGISTIC, "intercept_scaling": (1.0, 1e-8, 1e8), "multi_class": ("ovr", "multinomial")},
    ),
    (
        mm.LogisticRegression,
        {"l1_ratio": (1.0, 0.5, 1e-9, 1.0 - 1e-9), "multi_class": ("ovr",)},
        {**LOGISTIC, "penalize_intercept": (False, True), "intercept_scaling": (1.0, 1e-8, 1e8)},
    ),
    (mm.ElasticNet, {"l1_ratio": (0.5, 0.0, 1.0, 1e-9)}, {**SPARSE, "alpha": STRENGTH, "positive": BOOLEAN}),
    (mm.Lasso, {"positive": (True,)}, {**SPARSE, "lam": STRENGTH}),
    (mm.Ridge, {"positive": (True,)}, {**NO_LIMIT, "lam": STRENGTH, "tol": TOL, "fit_intercept": BOOLEAN}),
    (
        mm.Perceptron,
        {"penalty": ("l2", "l1", "elasticnet"), "alpha": STRENGTH},
        {
            **LIMITS,
            "l1_ratio": (0.15, 0.0, 1.0, 0.5),
            "eta0": (1.0, 1.0, 0.1, 1e-100, 1e100),
            "fit_intercept": BOOLEAN,
            "average": (False, False, True, 3),
            "class_weight": CLASS_WEIGHT,
            "random_state": (0, 1),
        },
    ),
)


class FurtherEstimators(Estimators):
    """The target: the machines above, with the data and weights of ``estimators``."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds = {kind: choices for kind, _, choices in MACHINES}

    def try_input(self, random: Random, folder: Path) -> Outcome:
        """Fit a model, and check everything that it says."""
        return self.try_machine(random.choice(MACHINES), random, folder)
