"""The numbers of a model's optimisation problem, as model files state them (docs/proof-format.md, "The problems").

They follow from the parameters, but a reader of the file should not have to know how.
"""

import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from maxmargin.problems.kernels import Linear, Polynomial, RadialBasis, Sigmoid

# The kernels that a file can name.
KERNELS: dict[str, Any] = {"linear": Linear, "poly": Polynomial, "rbf": RadialBasis, "sigmoid": Sigmoid}


def kernel_name(kernel: Any) -> str | None:
    """The name of a kernel that a file can hold, else None."""
    return next((name for name, kind in KERNELS.items() if type(kernel) is kind), None)


def kernel_numbers(kernel: Any) -> dict[str, Any] | None:
    """Name and numbers of a kernel; None where X is the Gram matrix."""
    if kernel is None:
        return None
    known = kernel_name(kernel)
    if known is None:
        raise ValueError("kernel was a function, which a file cannot hold")
    return {"name": known, **{part.name: getattr(kernel, part.name) for part in fields(kernel)}}


def problem_of(model: Any) -> dict[str, Any]:
    """The numbers of a fitted model's problem."""
    loss, *names = PROBLEMS[type(model).__name__]
    numbers = {"loss": loss or model.loss, **{name: NUMBERS[name](model) for name in names}}
    if numbers.get("C") == math.inf and loss != "logistic":
        numbers["loss"] = "hard_margin"
    elif loss == "epsilon_insensitive" and math.isinf(model.C):
        # The penalised form of the hard constraints, in which weights only say which rows count.
        numbers["equal_weights"] = True
    elif loss == "squared_error" and getattr(model, "positive", False):
        # Half the objective of ridge regression.
        numbers |= {"loss": "positive_elastic_net", "lam": 0.0, "squared_penalty": numbers["lam"]}
    elif loss in ("absolute_penalty", "elastic_net") and numbers["lam"] == numbers.get("squared_penalty", 0.0) == 0.0:
        numbers = {"loss": "squared_error", "lam": 0.0, "intercept": numbers["intercept"]}
    elif getattr(model, "positive", False):
        numbers["loss"] = f"positive_{loss}"
    elif getattr(model, "_is_penalised", False):
        numbers |= {"loss": "elastic_net_perceptron", "alpha": float(model.alpha), "l1_ratio": model._l1_ratio}
    elif loss != "perceptron" and getattr(model, "_l1_ratio", float(getattr(model, "penalty", None) == "l1")) > 0.0:
        numbers = elastic_net_classifier(model)
        if loss == "logistic" and model._is_joint() and len(model.classes_) > 2:
            numbers["loss"] = "elastic_net_multinomial"
    elif loss == "logistic" and model._is_joint() and len(model.classes_) > 2:
        numbers |= {"loss": "multinomial", **intercept_column(model)}
    elif loss == "logistic" and model._has_intercept_column:
        penalty = float(model.intercept_scaling) ** -2.0
        numbers |= {"loss": "logistic_penalized_intercept", "intercept_penalty": penalty, **intercept_column(model)}
    elif getattr(model, "multi_class", None) == "crammer_singer":
        # For two classes the joint problem is half the two-class problem with 2 C.
        joint = len(model.classes_) > 2
        numbers |= {"loss": "crammer_singer"} if joint else {"loss": "hinge", "C": 2.0 * numbers["C"]}
    return numbers


def elastic_net_classifier(model: Any) -> dict[str, Any]:
    """The numbers of a classifier whose penalty has a 1-norm."""
    ratio = getattr(model, "_l1_ratio", 1.0)
    numbers = {
        "loss": f"elastic_net_{getattr(model, 'loss', 'logistic')}",
        "C": float(model.C),
        "lam": ratio,
        "squared_penalty": 1.0 - ratio,
        "intercept": bool(model.fit_intercept),
    }
    return numbers | intercept_column(model)


def intercept_column(model: Any) -> dict[str, Any]:
    """The value of the column of constants whose coefficient is the intercept, where there is one."""
    return {"intercept_scaling": float(model.intercept_scaling)} if model._has_intercept_column else {}


# How the numbers follow from a model.
NUMBERS: dict[str, Callable[[Any], Any]] = {
    "C": lambda model: model._inverse_strength,
    "epsilon": lambda model: float(model.epsilon),
    "intercept": lambda model: bool(model.fit_intercept),
    "intercept_penalty": lambda model: model._intercept_penalty,
    "kernel": lambda model: kernel_numbers(model._kernel),
    "lam": lambda model: model._penalty() if hasattr(model, "_penalty") else 0.0,
    "squared_penalty": lambda model: model._squared_penalty(),
    "nu": lambda model: float(model.nu),
    "normalize": lambda model: bool(model.normalize),
    "rule": lambda model: getattr(model, "rule", "online"),
    "step": lambda model: float(model.eta0),
}
# The loss of every estimator, None where it is a parameter, and the names of its numbers.
PROBLEMS: dict[str, tuple[str | None, *tuple[str, ...]]] = {
    "LinearSVC": (None, "C", "intercept_penalty"),
    "LinearSVR": (None, "C", "epsilon", "intercept_penalty"),
    "SVC": ("hinge", "C", "kernel"),
    "SVR": ("epsilon_insensitive", "C", "epsilon", "kernel"),
    "NuSVC": ("nu_classification", "nu", "kernel"),
    "NuSVR": ("nu_regression", "C", "nu", "kernel"),
    "OneClassSVM": ("nu_one_class", "nu", "kernel"),
    "LogisticRegression": ("logistic", "C", "intercept"),
    "Ridge": ("squared_error", "lam", "intercept"),
    "BayesianRegression": ("squared_error", "lam", "intercept"),
    "Lasso": ("absolute_penalty", "lam", "intercept"),
    "ElasticNet": ("elastic_net", "lam", "squared_penalty", "intercept"),
    "Perceptron": ("perceptron", "rule", "step", "normalize", "intercept"),
    "MarginPerceptron": ("margin", "normalize", "intercept"),
    "KernelPerceptron": ("perceptron", "rule", "step", "intercept", "kernel"),
}
