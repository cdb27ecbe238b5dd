"""The models that the command trains, by their names, and their options."""

import inspect
import re
from typing import Any

# name -> name of the class
MODELS = {
    "linear-svc": "LinearSVC",
    "linear-svr": "LinearSVR",
    "svc": "SVC",
    "svr": "SVR",
    "perceptron": "Perceptron",
    "margin-perceptron": "MarginPerceptron",
    "kernel-perceptron": "KernelPerceptron",
    "logistic-regression": "LogisticRegression",
    "ridge": "Ridge",
    "lasso": "Lasso",
    "bayesian-regression": "BayesianRegression",
}
# kernel -> its options
KERNELS: dict[str, tuple[str, ...]] = {
    "rbf": ("gamma",),
    "linear": (),
    "poly": ("gamma", "degree", "coef0"),
    "sigmoid": ("gamma", "coef0"),
}
ALL_CORES = -1


def make_model(name: str, options: dict[str, Any], used_elsewhere: tuple[str, ...] = ()) -> Any:
    """Make a model with the options that were given; one that neither it nor anything else uses is refused.

    All cores are used unless a number is given: a command has the machine to itself more often than a library.
    """
    import maxmargin

    if name not in MODELS:
        raise ValueError(f"--model {name} is none of {', '.join(MODELS)}.")
    maker = getattr(maxmargin, MODELS[name])
    known = inspect.signature(maker.__init__).parameters
    given = {
        option: value
        for option, value in options.items()
        if value is not None and (option in known or option not in used_elsewhere)
    }
    for option in given:
        if option not in known:
            raise ValueError(f"--model {name} has no option {flag_of(option)}: leave it out.")
    if "kernel" in known:
        _refuse_unused(given.get("kernel", known["kernel"].default), given)
    if "n_jobs" in known:
        given.setdefault("n_jobs", ALL_CORES)
    model = maker(**given)
    _refuse_values(model)
    return model


def _refuse_values(model: Any) -> None:
    """Refuse values that a fit would refuse, before any file is read, and by the names that they have in the shell."""
    try:
        model._validate_params()
    except ValueError as error:
        named = re.sub(r"^The '(\w+)' parameter of \w+", lambda found: flag_of(found[1]), str(error))
        raise ValueError(named.replace(" or None", "")) from error


def _refuse_unused(kernel: str, given: dict[str, Any]) -> None:
    """Refuse what the kernel would silently leave unused."""
    if kernel == "precomputed":
        raise ValueError(
            "--kernel precomputed needs a gram matrix, and files hold rows: use the Python library for it."
        )
    if kernel not in KERNELS:
        raise ValueError(f"--kernel {kernel} is none of {', '.join(KERNELS)}.")
    for option in ("gamma", "degree", "coef0"):
        if option in given and option not in KERNELS[kernel]:
            raise ValueError(f"--kernel {kernel} does not use {flag_of(option)}: leave it out.")


def flag_of(option: str) -> str:
    """The option as it is written in the shell."""
    shell_names = {"C": "-C", "fit_intercept": "--no-intercept", "n_jobs": "--jobs", "random_state": "--seed"}
    return shell_names.get(option, "--" + option.replace("_", "-"))


def is_regression(model: Any) -> bool:
    """Whether values are learned, and not classes."""
    from sklearn.base import is_regressor

    return is_regressor(model)


def score_name(model: Any) -> str:
    """What :func:`score` is."""
    return "R²" if is_regression(model) else "accuracy"


def score(model: Any, rows: Any) -> float:
    """The share of labels that are right, or R² of values, as ``model.score`` computes them."""
    return score_of(model, rows.quietly(model.predict)(rows.X), rows.y)


def score_of(model: Any, found: Any, y: Any) -> float:
    """Judge what a model has predicted.

    Written out, since the import of scikit-learn's metrics takes longer than training on most files.
    """
    import numpy as np

    if not is_regression(model):
        return float(np.mean(found == y))
    around_mean = float(np.square(y - y.mean()).sum())
    left = float(np.square(y - found).sum())
    return 1.0 - left / around_mean if around_mean > 0.0 else float(left == 0.0)


def number_or_name(text: str | None) -> Any:
    """A number where the text is one, as for --gamma, which may be "scale" or 0.5."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text
