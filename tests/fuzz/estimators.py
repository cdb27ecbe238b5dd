"""Hostile fits: every model that comes out is saved, read back, verified and checked in exact arithmetic.

The data have values near the ends of float64, offsets, zero, equal and contradicting rows, classes of one row, constant
and dependent columns, integers that float64 rounds, weights from 0 to 1e100; the parameters are as extreme.
"""

import math
import warnings
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier

import maxmargin as mm
import maxmargin_check
from checker_cases import write_data
from fuzz.containers import as_validated, in_a_container
from fuzz.harness import REFUSED, FalseClaim, Fault, Outcome, Refusal, generator_of, refusals
from maxmargin.certificates import CertificateError
from maxmargin.estimators._finite import MAY_BE_INFINITE, is_finite
from maxmargin.files.model import read_model_file
from maxmargin.files.verification import verify_file

Choices = dict[str, tuple[Any, ...]]
# A class, the parameters that make it what it is, and values to choose the others from.
Machine = tuple[type, Choices, Choices]
SCALES = (1e-300, 1e-200, 1e-160, 1e-140, 1e-100, 1e-30, 1e-8, 1e8, 1e13, 1e30, 1e100, 1e139, 1e160)
OFFSETS = (1.0, 1e6, 1e13, -1e13, 4e15, 1e100)
C = (1.0, 1.0, 0.1, 10.0, 1e-3, 1e3, 1e-10, 1e10, 1e-100, 1e100, math.inf, 0.0, -1.0, math.nan)
TOL = (1e-4, 1e-4, 0.1, 1e-2, 1e-6, 1e-9, 1e-13, 1e-15, 1e-300, 0.0, 1.0)
WEIGHTS = (0.0, 0.0, 1.0, 1.0, 2.0, 0.3, 1e-100, 1e-30, 1e30, 1e100)
KERNEL = {
    "kernel": ("rbf", "rbf", "linear", "poly", "poly", "sigmoid"),
    "gamma": ("scale", "scale", "auto", 1.0, 0.1, 10.0, 1e-10, 1e10, 1e-100, 1e100, 0.0),
    "coef0": (0.0, 0.0, 1.0, -1.0, 1e-10, 1e10, -1e10, 1e100),
    "degree": (1, 2, 3, 3, 5, 9),
    "cache_size": (200, 200, 1e-3, 1e-6),
}
MAX_TIME = (*[None] * 9, 1e-9, 0.05)
NO_LIMIT = {"max_iter": (None, 1, 5, 100), "max_time": MAX_TIME}
LIMITS = {"max_iter": (1000, 100, 10, 1, 3), "max_time": MAX_TIME}
BOOLEAN = (True, False)
LINEAR = {
    **NO_LIMIT,
    "C": C,
    "tol": TOL,
    "fit_intercept": (True, True, False),
    "penalize_intercept": (False, False, True),
    "intercept_scaling": (1.0, 1.0, 1.0, 1e-8, 1e8),
    "solver": ("auto", "auto", "newton", "coordinate"),
    "selection": ("random", "cyclic"),
    "random_state": (0, 1),
}
CLASS_WEIGHT = (None, None, None, "balanced", "dict")
# The parameters of every estimator, with the values to choose from.
CLASSIFIERS: dict[type, Choices] = {
    mm.LinearSVC: {
        **LINEAR,
        "loss": ("hinge", "hinge", "squared_hinge"),
        "class_weight": CLASS_WEIGHT,
        "multi_class": ("ovr", "ovr", "crammer_singer"),
    },
    mm.SVC: {
        **KERNEL,
        "C": C,
        "tol": TOL,
        "class_weight": CLASS_WEIGHT,
        "max_iter": (-1, -1, 1, 100),
        "max_time": MAX_TIME,
        "shrinking": BOOLEAN,
        "decision_function_shape": ("ovr", "ovo"),
    },
    mm.LogisticRegression: {
        **NO_LIMIT,
        "C": (*C, math.inf, math.inf),
        "tol": TOL,
        "fit_intercept": (True, True, False),
        "solver": ("auto", "auto", "newton"),
        "class_weight": CLASS_WEIGHT,
    },
    mm.Perceptron: {
        **LIMITS,
        "rule": ("online", "online", "batch"),
        "eta0": (1.0, 1.0, 0.1, 1e-100, 1e100),
        "init": ("zeros", "random"),
        "normalize": (False, True),
        "fit_intercept": BOOLEAN,
        "shuffle": BOOLEAN,
        "tol": (None, None, 1e-3),
        "average": (False, False, True, 3),
        "early_stopping": (False, False, False, True),
        "class_weight": CLASS_WEIGHT,
        "random_state": (0, 1),
    },
    mm.MarginPerceptron: {
        "max_iter": (1000, 100, 10),
        "max_time": MAX_TIME,
        "gamma": (None, None, 1.0, 1e-3, 1e3, 1e-100),
        "min_gamma": (1e-3, 1e-3, 0.1, 1e-9),
        "normalize": (False, True),
        "fit_intercept": BOOLEAN,
        "accelerated": (False, False, True),
        "random_state": (0, 1),
    },
    mm.KernelPerceptron: {
        **KERNEL,
        **LIMITS,
        "eta0": (1.0, 1.0, 0.1, 1e-100, 1e100),
        "fit_intercept": BOOLEAN,
        "random_state": (0, 1),
    },
}
REGRESSIONS: dict[type, Choices] = {
    mm.LinearSVR: {
        **LINEAR,
        "loss": ("epsilon_insensitive", "squared_epsilon_insensitive"),
        "epsilon": (0.0, 0.1, 1.0, 1e-12, 1e3, 1e100),
    },
    mm.SVR: {
        **KERNEL,
        "C": C,
        "tol": TOL,
        "epsilon": (0.1, 0.0, 1.0, 1e-12, 1e3, 1e100),
        "max_iter": (-1, -1, 1, 100),
        "max_time": MAX_TIME,
    },
    mm.Ridge: {
        **NO_LIMIT,
        "lam": (1.0, 0.0, 1e-3, 1e3, 1e-100, 1e100, 1e-12, None),
        "tol": TOL,
        "fit_intercept": BOOLEAN,
    },
    mm.Lasso: {
        **NO_LIMIT,
        "lam": (1.0, 0.1, 1e-3, 1e3, 1e-100, 1e100, 0.0, None),
        "tol": TOL,
        "fit_intercept": BOOLEAN,
    },
    mm.BayesianRegression: {"fit_intercept": BOOLEAN},
}
WARM = (mm.LinearSVC, mm.LinearSVR, mm.LogisticRegression, mm.Lasso, mm.Perceptron)
UNWEIGHTED = (mm.MarginPerceptron, mm.KernelPerceptron)
ARGUMENTS = {"X", "y", "sample_weight", "class_weight", "classes", "coef_init", "intercept_init", "warm_start"}


def hostile_rows(random: Random) -> np.ndarray:
    """A few rows, after up to three of the changes that numerical code dislikes."""
    g = generator_of(random)
    n = random.choice((2, 3, 4, 5, 6, 8, 10, 12, 12, 20, 40)) if random.random() < 0.97 else 150
    d = random.choice((1, 1, 2, 2, 3, 4, 6)) if random.random() < 0.97 else random.choice((15, 40))
    X = random.choice(
        (
            lambda: g.standard_normal((n, d)),
            lambda: g.integers(-2, 3, (n, d)).astype(float),
            lambda: g.integers(0, 2, (n, d)).astype(float),
            lambda: np.outer(np.arange(n), np.ones(d)) + g.integers(0, 2, (n, d)),
        )
    )()
    with np.errstate(all="ignore"):
        for _ in range(random.choice((0, 1, 1, 2, 3))):
            X = random.choice(CHANGES)(X, random, g)
    return X


def _scale_columns(X: np.ndarray, random: Random, g: np.random.Generator) -> np.ndarray:
    reach = random.choice((3, 8, 15, 100))
    return X * 10.0 ** g.integers(-reach, reach + 1, X.shape[1])


def _scale_rows(X: np.ndarray, random: Random, g: np.random.Generator) -> np.ndarray:
    reach = random.choice((3, 15, 100))
    return X * 10.0 ** g.integers(-reach, reach + 1, (len(X), 1))


def _scale(X: np.ndarray, random: Random, _: Any) -> np.ndarray:
    return X * random.choice(SCALES)


def _shift(X: np.ndarray, random: Random, g: np.random.Generator) -> np.ndarray:
    columns = g.random(X.shape[1]) < random.choice((0.5, 1.0))
    return X + random.choice(OFFSETS) * columns


def _zero_rows(X: np.ndarray, random: Random, g: np.random.Generator) -> np.ndarray:
    return X * (g.random((len(X), 1)) < random.choice((0.3, 0.8)))


def _equal_rows(X: np.ndarray, random: Random, g: np.random.Generator) -> np.ndarray:
    X = X[g.integers(0, random.choice((1, 2, len(X))), len(X))]
    return np.nextafter(X, 1e300) if random.random() < 0.1 else X


def _near_rows(X: np.ndarray, random: Random, g: np.random.Generator) -> np.ndarray:
    X = X[g.integers(0, len(X), len(X))].copy()
    X[::2] = np.nextafter(X[::2], random.choice((-1e300, 1e300)))
    return X


def _constant_column(X: np.ndarray, random: Random, _: Any) -> np.ndarray:
    X[:, random.randrange(X.shape[1])] = random.choice((0.0, 1.0, 1e13, -1e-8, 1e100))
    return X


def _dependent_columns(X: np.ndarray, random: Random, g: np.random.Generator) -> np.ndarray:
    others = X @ g.integers(-1, 2, (X.shape[1], random.choice((1, 2))))
    return np.hstack([X, others * (1.0 + random.choice((0.0, 1e-15, 1e-12, 1e-8)) * g.standard_normal(others.shape))])


def _tiny_entries(X: np.ndarray, random: Random, g: np.random.Generator) -> np.ndarray:
    return np.where(g.random(X.shape) < 0.4, X * random.choice((5e-324, 1e-310, 1e-170)), X)


def _huge_row(X: np.ndarray, random: Random, _: Any) -> np.ndarray:
    X[random.randrange(len(X))] *= random.choice((1e9, 1e15, 1e100))
    return X


def _not_finite(X: np.ndarray, random: Random, _: Any) -> np.ndarray:
    if random.random() < 0.3:
        X[random.randrange(len(X)), random.randrange(X.shape[1])] = random.choice((math.nan, math.inf, -math.inf))
    return X


CHANGES = (
    *(_scale_columns, _scale_rows, _scale, _shift, _zero_rows, _equal_rows, _near_rows, _constant_column),
    *(_dependent_columns, _tiny_entries, _huge_row, _not_finite),
)


def hostile_labels(X: np.ndarray, random: Random) -> np.ndarray:
    """Labels of two or more classes: separable, random, contradicting, classes of one row."""
    g, n, kind = generator_of(random), len(X), random.random()
    if kind < 0.4:
        with np.errstate(all="ignore"):
            scores = X @ g.standard_normal(X.shape[1])
            y = (scores > np.median(scores)).astype(int)
    elif kind < 0.7:
        y = g.integers(0, 2, n)
    elif kind < 0.8:
        y = np.zeros(n, dtype=int)
    else:
        y = g.integers(0, random.choice((3, 4, max(2, n // 2), n)), n)
    if random.random() < 0.95:
        y[0], y[-1] = 0, 1
    names = random.choice((None, None, None, "text", "float", "large", "bool"))
    if names == "text":
        return np.array([f"c{label}" for label in y])
    if names == "float":
        return y - 1.5 if random.random() < 0.2 else y * 1.0
    if names == "large":
        return y * 2**40 - 2**60
    return y > 0 if names == "bool" else y


def hostile_targets(X: np.ndarray, random: Random) -> np.ndarray:
    """Targets of a regression: linear, random, constant, large, tiny, far from zero."""
    g = generator_of(random)
    with np.errstate(all="ignore"):
        y = random.choice(
            (
                lambda: g.standard_normal(len(X)),
                lambda: g.integers(-3, 4, len(X)).astype(float),
                lambda: X @ g.integers(-2, 3, X.shape[1]) + 1.0,
                lambda: np.full(len(X), random.choice((0.0, 1.0, 1e13))),
            )
        )()
    if random.random() < 0.3:
        with np.errstate(all="ignore"):
            y = y * random.choice(SCALES)
    return y + random.choice((0.0, 0.0, 0.0, 1e6, 1e13))


def hostile_weights(n: int, random: Random) -> np.ndarray | None:
    """Weights of the rows, or none."""
    kind = random.random()
    if kind < 0.6:
        return None
    if kind < 0.97:
        values = random.choice((WEIGHTS, WEIGHTS[:6], (1.0, random.choice(WEIGHTS)), (0.0, 1e100, 1e-100)))
        return np.array(random.choices(values, k=n))
    return np.array(random.choices((1.0, -1.0, math.nan, math.inf, 1e300), k=n))


def parameters_of(kind: type, choices: Choices, labels: Any, random: Random) -> dict[str, Any]:
    """A third of the parameters from the lists, the others as they are by default."""
    share = random.choice((0.0, 0.3, 0.3, 0.6))
    found = {name: random.choice(values) for name, values in choices.items() if random.random() < share}
    if found.get("class_weight") == "dict":
        some = [label.item() for label in np.unique(labels)]
        found["class_weight"] = {label: random.choice((1.0, 2.0, 0.0, 1e-50, 1e50)) for label in some}
    if kind in WARM and random.random() < 0.15:
        found["warm_start"] = True
    # Most runs are short, so that many can be made; what ends at a limit has to be as true. Without a limit, the margin
    # perceptron may make as many updates as its theorem allows, which is more than anybody waits for.
    unlimited = random.random() < 0.1 and kind is not mm.MarginPerceptron
    if "max_iter" in choices and "max_iter" not in found and not unlimited:
        found["max_iter"] = random.choice((20, 100))
    for name in ("kernel", "gamma"):
        if "kernel" in choices and name not in found and random.random() < 0.3:
            found[name] = random.choice(choices[name])
    if "n_jobs" in kind().get_params():
        found["n_jobs"] = 1
    return found


class Estimators:
    """The target: all estimators, or one family of them."""

    def __init__(self) -> None:
        self.kinds = {**CLASSIFIERS, **REGRESSIONS}
        self.last: Any = None

    def prepare(self, folder: Path) -> None:  # noqa: ARG002
        """Compile what fits use."""
        g = np.random.default_rng(0)
        X, y = g.standard_normal((12, 2)), np.arange(12) % 3
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for kind in self.kinds:
                kind().fit(X, y)
                kind().fit(sp.csr_array(X), y)

    def try_input(self, random: Random, folder: Path) -> Outcome:
        """Fit a model, and check everything that it says."""
        kind = random.choice(list(self.kinds))
        return self.try_machine((kind, {}, self.kinds[kind]), random, folder)

    def try_machine(self, machine: Machine, random: Random, folder: Path) -> Outcome:
        """Fit a model with all of the fixed parameters, and some of those to choose from."""
        kind, fixed, choices = machine
        dense = hostile_rows(random)
        y = hostile_labels(dense, random) if is_classifier(kind()) else hostile_targets(dense, random)
        weights = hostile_weights(len(y), random) if kind not in UNWEIGHTED else None
        X = in_a_container(dense, random)
        parameters = parameters_of(kind, choices, y, random)
        parameters |= {name: random.choice(values) for name, values in fixed.items()}
        self.last = describe(kind, parameters, X, y, weights)
        names = ARGUMENTS | set(kind().get_params())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                with refusals((ValueError, TypeError), names):
                    model = fit_or_stream(kind(**parameters), X, y, weights, random)
            except Refusal as refusal:
                if isinstance(refusal.__cause__, CertificateError):
                    raise Fault(f"fit raises CertificateError: {refusal}") from refusal.__cause__
                return REFUSED
            check_attributes(model, X)
            return check_file(model, X, y, weights, folder)


def describe(kind: type, parameters: dict[str, Any], X: Any, y: Any, weights: Any) -> str:
    """The fit as code."""
    rows = as_validated(X)
    shown = rows.toarray() if sp.issparse(rows) else rows
    given = "" if weights is None else f", sample_weight={weights.tolist()}"
    container = f"{type(X).__name__} {getattr(X, 'dtype', '')}"
    arguments = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
    return f"{kind.__name__}({arguments}).fit({shown.tolist()}, {y.tolist()}{given})  # X: {container}"


def fit_or_stream(model: Any, X: Any, y: Any, weights: Any, random: Random) -> Any:
    """Fit once, or twice from the last model, or on top of a stream of rows."""
    arguments = {} if weights is None else {"sample_weight": weights}
    if getattr(model, "warm_start", False):
        other = model.get_params().get("C", None)
        model.fit(X, y, **arguments)
        if other is not None and random.random() < 0.5:
            model.set_params(C=random.choice(C))
    elif hasattr(model, "partial_fit") and random.random() < 0.1:
        model.partial_fit(X, y, classes=np.unique(y), **arguments)
        model.partial_fit(X, y, **arguments)
        if not is_finite(model.predict(X)):
            raise Fault("a stream's predictions are not finite")
    return model.fit(X, y, **arguments)


def check_attributes(model: Any, X: Any) -> None:
    """No attribute is nan, none infinite but for bounds; the training rows can be predicted."""
    for name, value in vars(model).items():
        fitted = name.endswith("_") or name in model._private_attributes
        if fitted and not is_finite(value, may_be_infinite=name in MAY_BE_INFINITE):
            raise Fault(f"{name} is not finite: {value!r}")
    found = model.predict(X)
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise Fault("predictions are not finite")


def check_file(model: Any, X: Any, y: np.ndarray, weights: Any, folder: Path) -> Outcome:
    """Save a model: the file says the same, is verified, and the independent checker finds no claim false."""
    path, data, text = folder / "model", folder / "data.svm", folder / "weights"
    mm.save(model, path, X, y, weights)
    stored = read_model_file(path)
    if not np.array_equal(stored.model.predict(X), model.predict(X)):
        raise Fault("the model read back predicts something else")
    if stored.model.certificate_ != model.certificate_:
        raise Fault("the model read back has another certificate")
    verdict = verify_file(stored, X, y, weights)
    rows = as_validated(X)
    write_data(data, rows, y.astype(int) if y.dtype == bool else y)
    if weights is not None:
        text.write_text("\n".join(map(repr, weights.tolist())))
    answers = maxmargin_check.Check(path, data, weights=None if weights is None else text)
    found = [answer for _, answer, _ in answers]
    outcome = Outcome(True, found.count("TRUE"), found.count("NOT CHECKED"), found.count("FALSE"))
    if outcome.false:
        claim, _, detail = next(answer for answer in answers if answer[1] == "FALSE")
        raise FalseClaim(f"{type(model).__name__}: {claim}: {detail}", outcome)
    if not verdict.true:
        raise Fault(f"verify refuses the package's own model: {verdict.why}")
    return outcome
