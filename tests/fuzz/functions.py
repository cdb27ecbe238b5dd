"""Hostile calls of functions beside the estimators: paths, nearest points of hulls, models of scikit-learn, streams.

What two ways of computing prove is compared: no lower bound of one is above an upper bound of the other.
"""

import warnings
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import linear_model, svm
from sklearn.base import is_regressor

import maxmargin as mm
from fuzz.containers import in_a_container
from fuzz.estimators import (
    ARGUMENTS,
    TOL,
    C,
    as_validated,
    check_attributes,
    check_file,
    hostile_labels,
    hostile_rows,
    hostile_targets,
    hostile_weights,
)
from fuzz.harness import ACCEPTED, REFUSED, Fault, Outcome, Refusal, generator_of, refusals
from maxmargin.certificates import CertificateError

# Models of scikit-learn, and those of ours that have the same problem.
PAIRS = (
    (svm.LinearSVC(loss="hinge", max_iter=50), mm.LinearSVC(penalize_intercept=True)),
    (svm.SVC(max_iter=200), mm.SVC()),
    (svm.SVR(max_iter=200), mm.SVR()),
    (linear_model.Ridge(), mm.Ridge()),
    (linear_model.Lasso(max_iter=50), mm.Lasso()),
    (linear_model.LogisticRegression(max_iter=30), mm.LogisticRegression()),
)
NAMES = ARGUMENTS | {"Cs", "C", "tol", "alpha", "lam", "fit_intercept", "estimator", "classes"}


def proofs_of(proof: Any) -> list[Any]:
    """The certificates of all tasks."""
    return list(proof.values()) if hasattr(proof, "values") else [proof]


class Functions:
    """One function, called with hostile data."""

    def __init__(self) -> None:
        self.last: Any = None

    def prepare(self, folder: Path) -> None:  # noqa: ARG002
        """Compile what the functions use."""
        X, y = np.random.default_rng(0).standard_normal((12, 2)), np.arange(12) % 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mm.svm_path(X, y, [0.1, 1.0])
            mm.hull_distance(X, y)
            for _, own in PAIRS:
                own.fit(X, y)

    def try_input(self, random: Random, folder: Path) -> Outcome:
        """Call one of the functions; whatever it states is compared with another computation."""
        call = random.choice((self.path, self.hulls, self.foreign, self.stream, self.containers))
        dense = hostile_rows(random)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return call(dense, random, folder)
            except Refusal as refusal:
                if isinstance(refusal.__cause__, CertificateError):
                    raise Fault(f"a CertificateError: {refusal}") from refusal.__cause__
                return REFUSED

    def path(self, dense: np.ndarray, random: Random, folder: Path) -> Outcome:
        """Every model of a path is one of its C."""
        y, X = hostile_labels(dense, random), in_a_container(dense, random)
        weights, Cs = hostile_weights(len(y), random), [random.choice(C) for _ in range(3)]
        tol = random.choice(TOL)
        self.last = f"svm_path({as_validated(X)!r}, {y.tolist()}, {Cs}, tol={tol})  # {dense.tolist()}, {weights}"
        with refusals((ValueError, TypeError), NAMES):
            models = mm.svm_path(X, y, Cs, sample_weight=weights, tol=tol, max_iter=100, random_state=0)
        for model in models:
            check_attributes(model, X)
        return check_file(models[-1], X, y, weights, folder)

    def hulls(self, dense: np.ndarray, random: Random, folder: Path) -> Outcome:  # noqa: ARG002
        """No lower bound on the distance of the hulls is above the distance of two rows."""
        y = np.where(generator_of(random).random(len(dense)) < 0.5, 1, -1)
        y[0], y[-1] = 1, -1
        X, tol, free = in_a_container(dense, random), random.choice(TOL), random.random() < 0.7
        self.last = f"hull_distance({dense.tolist()}, {y.tolist()}, fit_intercept={free}, tol={tol})  # {type(X)}"
        with refusals((ValueError, TypeError), NAMES):
            found = mm.hull_distance(X, y, fit_intercept=free, tol=tol, max_time=5.0)
        rows = as_validated(X)
        exact = [[Fraction(float(x)) for x in row] for row in (rows.toarray() if sp.issparse(rows) else rows)]
        above, below = ([row for row, sign in zip(exact, y, strict=True) if sign == side] for side in (1, -1))
        others = below if free else [[Fraction(0)] * len(exact[0])]
        pairs = [(one, other) for one in (above if free else exact) for other in others]
        shortest = min(sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) for one, other in pairs)
        lower, upper = found.distance.lower, found.distance.upper
        if not 0.0 <= lower <= upper or Fraction(lower) ** 2 > shortest:
            raise Fault(f"the bounds {lower!r} and {upper!r}, and two points are {float(shortest) ** 0.5!r} apart")
        return Outcome(True, true=1)

    def foreign(self, dense: np.ndarray, random: Random, folder: Path) -> Outcome:  # noqa: ARG002
        """The bounds of another program's model and of ours are on the right sides of each other."""
        other, own = random.choice(PAIRS)
        y = hostile_targets(dense, random) if is_regressor(own) else hostile_labels(dense, random)
        self.last = f"certify({other!r}.fit({dense.tolist()}, {y.tolist()}))"
        try:
            other.fit(dense, y)
        except Exception:
            # An error of scikit-learn's.
            return REFUSED
        with refusals((ValueError, TypeError), NAMES):
            proof = mm.certify(other, dense, y)
        with refusals((ValueError, TypeError), NAMES | set(own.get_params())):
            own.set_params(**{"C": other.C} if hasattr(other, "C") else {}).fit(dense, y)
        if is_regressor(own) or type(proof) is not type(own.certificate_):
            # Sums of squares or their means, one regression or a joint one: not the same problem.
            return ACCEPTED
        for theirs, mine in zip(proofs_of(proof), proofs_of(own.certificate_), strict=True):
            if theirs.dual > mine.primal or mine.dual > theirs.primal:
                raise Fault(f"bounds of another model {theirs!r} contradict ours {mine!r}")
        return ACCEPTED

    def stream(self, dense: np.ndarray, random: Random, folder: Path) -> Outcome:  # noqa: ARG002
        """A stream in pieces has finite attributes, and can be certified on the rows of all."""
        y, X = hostile_labels(dense, random), in_a_container(dense, random)
        weights, classes = hostile_weights(len(y), random), np.unique(y)
        model = mm.Perceptron(average=random.choice((False, True, 3)), normalize=random.random() < 0.3)
        self.last = f"{model!r}.partial_fit({dense.tolist()}, {y.tolist()}, weights={weights})  # {type(X)}"
        with refusals((ValueError, TypeError), NAMES):
            model.partial_fit(X, y, classes=classes, sample_weight=weights)
        rows = as_validated(X)
        for first in range(0, len(y), 3):
            part, few = slice(first, first + 3), None if weights is None else weights[first : first + 3]
            with refusals((ValueError, TypeError), NAMES):
                model.partial_fit(rows[part], y[part], sample_weight=few)
            check_attributes(model, X)
        with refusals((ValueError, TypeError), NAMES):
            proof = mm.certify(model, X, y, weights)
        if any(not one.bracket.lower <= one.bracket.upper for one in proofs_of(proof)):
            raise Fault(f"bounds contradict each other: {proof!r}")
        return ACCEPTED

    def containers(self, dense: np.ndarray, random: Random, folder: Path) -> Outcome:  # noqa: ARG002
        """A model that learned from rows in one form predicts them in every other."""
        y, X = hostile_labels(dense, random), in_a_container(dense, random)
        model = random.choice((mm.SVC, mm.NuSVC, mm.KernelPerceptron, mm.LinearSVC, mm.OneClassSVM))()
        self.last = f"{model!r}.fit({dense.tolist()}, {y.tolist()})  # {type(X)}"
        with refusals((ValueError, TypeError), NAMES | set(model.get_params())):
            model.set_params(**{"nu": 0.1} if "nu" in model.get_params() else {}).fit(X, y)
        for rows in (dense, sp.csr_array(dense), sp.csc_array(dense), dense.tolist(), np.asfortranarray(dense)):
            if not np.isfinite(model.decision_function(rows)).all():
                raise Fault(f"scores of rows as {type(rows).__name__} are not finite")
        return ACCEPTED
