"""Hostile fits of machines with nu, one-class machines, penalties with a 1-norm, joint classes and several targets.

A target of its own: the inputs of ``estimators`` stay those that their seeds name.
"""

import warnings
from pathlib import Path
from random import Random

import numpy as np

import maxmargin as mm
from fuzz.containers import in_a_container
from fuzz.estimators import (
    ARGUMENTS,
    BOOLEAN,
    CLASS_WEIGHT,
    CLASSIFIERS,
    KERNEL,
    LIMITS,
    MAX_TIME,
    NO_LIMIT,
    TOL,
    UNWEIGHTED,
    C,
    Estimators,
    Machine,
    check_file,
    describe,
    hostile_labels,
    hostile_rows,
    hostile_weights,
    parameters_of,
)
from fuzz.harness import REFUSED, Fault, Outcome, Refusal, refusals

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


CALIBRATED = (mm.LinearSVC, mm.SVC, mm.NuSVC, mm.Perceptron, mm.KernelPerceptron)


class Calibrated(Estimators):
    """The target: probabilities of classifiers, which a file holds."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds = {kind: CLASSIFIERS.get(kind, NU) for kind in CALIBRATED}

    def try_input(self, random: Random, folder: Path) -> Outcome:
        """Fit and calibrate a classifier: probabilities are finite and sum to one, in the model and in its file."""
        kind = random.choice(CALIBRATED)
        dense = hostile_rows(random)
        y, X = hostile_labels(dense, random), in_a_container(dense, random)
        weights = hostile_weights(len(y), random) if kind not in UNWEIGHTED else None
        parameters = parameters_of(kind, self.kinds[kind], y, random)
        method = random.choice(("sigmoid", "isotonic"))
        self.last = f"{method}: {describe(kind, parameters, X, y, weights)}"
        given = {} if weights is None else {"sample_weight": weights}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                with refusals((ValueError, TypeError), ARGUMENTS | set(kind().get_params()) | {"folds"}):
                    model = mm.calibrate(kind(**parameters).fit(X, y, **given), X, y, method=method, **given)
            except Refusal:
                return REFUSED
            found = model.predict_proba(X)
            if not (np.isfinite(found).all() and (found >= 0.0).all() and np.allclose(found.sum(axis=1), 1.0)):
                raise Fault(f"probabilities are none: {found!r}")
            outcome = check_file(model, X, y, weights, folder)
            if not np.array_equal(mm.load(folder / "model").predict_proba(X), found):
                raise Fault("the model read back has other probabilities")
            return outcome


class FurtherEstimators(Estimators):
    """The target: the machines above, with the data and weights of ``estimators``."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds = {kind: choices for kind, _, choices in MACHINES}

    def try_input(self, random: Random, folder: Path) -> Outcome:
        """Fit a model, and check everything that it says."""
        return self.try_machine(random.choice(MACHINES), random, folder)
