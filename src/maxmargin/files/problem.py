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
    return PROBLEMS[type(model).__name__](model)


def _linear_svc(model: Any) -> dict[str, Any]:
    loss, C = model.loss, float(model.C)
    if math.isinf(C):
        loss = "hard_margin"
    elif model.multi_class == "crammer_singer":
        # For two classes the joint problem is half the two-class problem with 2 C.
        loss, C = ("crammer_singer", C) if len(model.classes_) > 2 else ("hinge", 2.0 * C)
    return {"loss": loss, "C": C, "intercept_penalty": model._intercept_penalty}


def _linear_svr(model: Any) -> dict[str, Any]:
    return {
        "loss": model.loss,
        "C": float(model.C),
        "epsilon": float(model.epsilon),
        "intercept_penalty": model._intercept_penalty,
    }


def _svc(model: Any) -> dict[str, Any]:
    loss = "hard_margin" if math.isinf(model.C) else "hinge"
    return {"loss": loss, "C": float(model.C), "kernel": kernel_numbers(model._kernel)}


def _svr(model: Any) -> dict[str, Any]:
    return {
        "loss": "epsilon_insensitive",
        "C": float(model.C),
        "epsilon": float(model.epsilon),
        "kernel": kernel_numbers(model._kernel),
    }


def _logistic(model: Any) -> dict[str, Any]:
    return {"loss": "logistic", "C": float(model.C), "intercept": bool(model.fit_intercept)}


def _squared_errors(model: Any) -> dict[str, Any]:
    lam = model._penalty() if hasattr(model, "_penalty") else 0.0
    return {"loss": "squared_error", "lam": lam, "intercept": bool(model.fit_intercept)}


def _lasso(model: Any) -> dict[str, Any]:
    return {"loss": "absolute_penalty", "lam": model._penalty(), "intercept": bool(model.fit_intercept)}


def _perceptron(model: Any) -> dict[str, Any]:
    return {
        "loss": "perceptron",
        "rule": model.rule,
        "step": float(model.eta0),
        "normalize": bool(model.normalize),
        "intercept": bool(model.fit_intercept),
    }


def _margin_perceptron(model: Any) -> dict[str, Any]:
    return {"loss": "margin", "normalize": bool(model.normalize), "intercept": bool(model.fit_intercept)}


def _kernel_perceptron(model: Any) -> dict[str, Any]:
    return {
        "loss": "perceptron",
        "rule": "online",
        "step": float(model.eta0),
        "intercept": bool(model.fit_intercept),
        "kernel": kernel_numbers(model._kernel),
    }


PROBLEMS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "LinearSVC": _linear_svc,
    "LinearSVR": _linear_svr,
    "SVC": _svc,
    "SVR": _svr,
    "LogisticRegression": _logistic,
    "Ridge": _squared_errors,
    "BayesianRegression": _squared_errors,
    "Lasso": _lasso,
    "Perceptron": _perceptron,
    "MarginPerceptron": _margin_perceptron,
    "KernelPerceptron": _kernel_perceptron,
}
