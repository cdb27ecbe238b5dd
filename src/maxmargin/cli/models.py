"""The models that the command trains, by their names, and their options."""

import inspect
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
    "ridge": "Ridge",
    "lasso": "Lasso",
    "bayesian-regression": "BayesianRegression",
}


def make_model(name: str, options: dict[str, Any]) -> Any:
    """Make a model with the options that were given; one that it does not have is refused."""
    import maxmargin

    if name not in MODELS:
        raise ValueError(f"--model {name} is none of {', '.join(MODELS)}.")
    maker = getattr(maxmargin, MODELS[name])
    known = inspect.signature(maker.__init__).parameters
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if option not in known:
            raise ValueError(f"--model {name} has no option {flag_of(option)}: leave it out.")
    return maker(**given)


def flag_of(option: str) -> str:
    """The option as it is written in the shell."""
    return "-C" if option == "C" else "--" + option.replace("_", "-")


def is_regression(model: Any) -> bool:
    """Whether values are learned, and not classes."""
    from sklearn.base import is_regressor

    return is_regressor(model)


def number_or_name(text: str | None) -> Any:
    """A number where the text is one, as for --gamma, which may be "scale" or 0.5."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text
