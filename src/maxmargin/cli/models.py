"""Names and options of the models that the command trains."""

import inspect
import re
from typing import Any

from maxmargin.cli.console import Entry, plain

# Name in the shell, and the class.
MODELS = {
    "linear-svc": "LinearSVC",
    "linear-svr": "LinearSVR",
    "svc": "SVC",
    "svr": "SVR",
    "nu-svc": "NuSVC",
    "nu-svr": "NuSVR",
    "one-class-svm": "OneClassSVM",
    "perceptron": "Perceptron",
    "margin-perceptron": "MarginPerceptron",
    "kernel-perceptron": "KernelPerceptron",
    "logistic-regression": "LogisticRegression",
    "ridge": "Ridge",
    "lasso": "Lasso",
    "elastic-net": "ElasticNet",
    "bayesian-regression": "BayesianRegression",
}
# Those that are trained without scikit-learn.
LINEAR_MODELS = (
    "linear-svc", "linear-svr", "perceptron", "margin-perceptron", "logistic-regression", "ridge", "lasso",
    "elastic-net",
)  # fmt: skip
# Name of a kernel, and its options.
KERNEL_OPTIONS: dict[str, tuple[str, ...]] = {
    "rbf": ("gamma",),
    "linear": (),
    "poly": ("gamma", "degree", "coef0"),
    "sigmoid": ("gamma", "coef0"),
}
# n_jobs for one thread per core.
ALL_CORES = -1
SEED = 0


def make_model(name: str, options: dict[str, Any], used_elsewhere: tuple[str, ...] = ()) -> Any:
    """Make a model with the given options; an option that is not used is refused.

    The command uses all cores by default, unlike the library: it usually has the computer to itself. Its seed is 0 by
    default: two runs write the same model.
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
    if "random_state" in known:
        given.setdefault("random_state", SEED)
    if given.get("n_jobs") == 0:
        raise ValueError("--jobs must be a number of threads, or -1 for all cores; it is 0.")
    if name == "logistic-regression" and "penalty" in given:
        _set_share_of_norm(given)
    model = maker(**given)
    refuse_values(model)
    return model


def _set_share_of_norm(given: dict[str, Any]) -> None:
    """Turn --penalty into --l1-ratio: the option stays, but the parameter is deprecated."""
    shares, penalty = {"l2": 0.0, "l1": 1.0}, given.pop("penalty")
    if penalty not in (*shares, "elasticnet"):
        raise ValueError(f"--penalty must be one of l2, l1, elasticnet; it is {penalty}.")
    if penalty == "elasticnet" and "l1_ratio" not in given:
        raise ValueError("--penalty elasticnet needs --l1-ratio, the share of the 1-norm.")
    if penalty in shares and given.setdefault("l1_ratio", shares[penalty]) != shares[penalty]:
        raise ValueError(f"--penalty {penalty} contradicts --l1-ratio: leave one of them out.")


def model_entry(model: Any) -> Entry:
    """A model as it is typed: its name and the options that are not the default ones; in JSON all parameters."""
    from maxmargin.cli.options import ModelOptions

    kind = type(model).__name__
    name = next((name for name, of in MODELS.items() if of == kind), kind)
    known = inspect.signature(type(model).__init__).parameters
    usual = {"n_jobs": ALL_CORES, "random_state": SEED}
    words, others = [name], []
    for option, value in sorted(model.get_params(deep=False).items()):
        if value in (known[option].default, usual.get(option)):
            continue
        if option == "fit_intercept":
            words.append(flag_of(option))
        elif option in ModelOptions().parameters():
            words += [flag_of(option), _typed(value)]
        else:
            others.append(f"{option.replace('_', ' ')} {_typed(value)}")
    text = "; ".join((" ".join(words), *others))
    return Entry(text, {"model": name, "parameters": plain(model.get_params(deep=False))})


def _typed(value: Any) -> str:
    """The value of an option as it is typed."""
    if isinstance(value, dict):
        return ",".join(f"{label}={weight:g}" for label, weight in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def refuse_values(model: Any) -> None:
    """Refuse values that ``fit`` would refuse, before any file is read, by their names in the shell."""
    try:
        model._validate_params()
    except ValueError as error:
        named = re.sub(r"^The '(\w+)' parameter of \w+", lambda found: flag_of(found[1]), str(error))
        raise ValueError(_without_types(named)) from error


def _without_types(message: str) -> str:
    """A refusal by scikit-learn without the types of Python: numbers, whole numbers and words are what is typed."""
    message = re.sub(r",? (or )?an instance of '[\w.]+'", "", message.replace(" or None", ""))
    message = re.sub(r"\ba float in the range ", "a number in ", message)
    message = re.sub(r"\ban int in the range ", "a whole number in ", message)
    message = re.sub(r"\ba str among \{([^}]*)\}", _listed, message)
    message = re.sub(r"(?<=[\[(, ])(-?\d+)\.0(?=[\]), ])", r"\1", message)
    return re.sub(r"\. Got '?(.*?)'? instead\.$", r"; it is \1.", message)


def _listed(found: re.Match[str]) -> str:
    return "one of " + ", ".join(sorted(re.findall(r"'([^']*)'", found[1])))


def _refuse_unused(kernel: str, given: dict[str, Any]) -> None:
    """Refuse options that the kernel does not use."""
    if kernel == "precomputed":
        raise ValueError(
            "--kernel precomputed needs a gram matrix, and files hold rows: use the Python library for it."
        )
    if kernel not in KERNEL_OPTIONS:
        raise ValueError(f"--kernel {kernel} is none of {', '.join(KERNEL_OPTIONS)}.")
    for option in ("gamma", "degree", "coef0"):
        if option in given and option not in KERNEL_OPTIONS[kernel]:
            raise ValueError(f"--kernel {kernel} does not use {flag_of(option)}: leave it out.")


def flag_of(option: str) -> str:
    """The option as it is written in the shell."""
    shell_names = {"C": "-C", "fit_intercept": "--no-intercept", "n_jobs": "--jobs", "random_state": "--seed"}
    shell_names |= {"header": "--no-header", "weight": "--sample-weight"}
    return shell_names.get(option, "--" + option.replace("_", "-"))


# Parameters of the library that errors name, besides those of the models.
DATA_PARAMETERS = (
    "target", "drop", "categorical", "numeric", "id", "impute", "max_categories", "dates", "encoding", "delimiter",
    "decimal", "zero_based", "n_features", "unseen", "scale", "weight", "header",
)  # fmt: skip


def options_as_typed(message: str) -> str:
    """An error of the library with options as they are typed: ``drop='a'`` is ``--drop a``, ``n_jobs`` ``--jobs``."""
    names = "|".join((*DATA_PARAMETERS, "n_jobs", "random_state", "max_iter", "max_time"))

    def typed(found: re.Match[str]) -> str:
        name, value = found[1], found[2].strip("'")
        if name == "header":
            return "--no-header"
        if value == "False":
            return f"without {flag_of(name)}"
        return flag_of(name) if value in ("True", "None") else f"{flag_of(name)} {value}"

    message = re.sub(rf"\b({names})=('[^']*'|[\w-]+)", typed, message).replace("since n_features is", "the columns are")
    quoted = re.sub(r"(--[\w-]+ [\w-]+), '([\w-]+)' or '([\w-]+)'", r"\1, \2 or \3", message)
    quoted = re.sub(r"^\w+: (max_iter|max_time)(?= was reached)", lambda found: flag_of(found[1]), quoted)
    start = "|".join((*DATA_PARAMETERS, "n_jobs", "class_weight", "sample_weight"))
    found = re.match(rf"({start})\b(?= (must|is about|names))", quoted)
    return quoted if found is None else flag_of(found[1]) + quoted[found.end() :]


def is_regression(model: Any) -> bool:
    """Whether the model is a regression."""
    from maxmargin.data.scikit_learn import is_regressor

    return is_regressor(model)


def is_outlier_detector(model: Any) -> bool:
    """Whether the model learns from rows without labels which rows are outliers."""
    from maxmargin.data.scikit_learn import is_outlier_detector as is_detector

    return is_detector(model)


def score_name(model: Any) -> str:
    """Name of what :func:`score` returns."""
    if is_outlier_detector(model):
        return "share inside"
    return "R²" if is_regression(model) else "accuracy"


def score(model: Any, rows: Any) -> float:
    """Accuracy, R² of a regression or share of rows inside, as ``model.score`` computes it."""
    return score_of(model, rows.quietly(model.predict)(rows.X), rows.y)


# Kernel values that the accuracy on training rows may take: some seconds.
SCORED_KERNEL_VALUES = 200_000_000


def rows_to_score(model: Any, rows: Any) -> Any:
    """The training rows whose score is printed: all of them, or a random sample where a kernel makes that slow."""
    from dataclasses import replace

    import numpy as np

    n_rows, n_support = rows.X.shape[0], len(model.support_) if hasattr(model, "support_vectors_") else 0
    n_scored = max(1000, SCORED_KERNEL_VALUES // max(1, n_support))
    if n_scored >= n_rows:
        return rows
    places = np.sort(np.random.default_rng(0).choice(n_rows, n_scored, replace=False))
    return replace(rows, X=rows.X[places], y=rows.y[places], ids=None, weights=None)


def score_of(model: Any, predicted: Any, y: Any) -> float:
    """Accuracy or R² of predictions, or the share of rows that are no outliers.

    Not by scikit-learn's metrics: importing them takes longer than training on most files.
    """
    import numpy as np

    if is_outlier_detector(model):
        return float(np.mean(predicted == 1))
    if not is_regression(model):
        return float(np.mean(predicted == y))
    total = float(np.square(y - y.mean()).sum())
    residual = float(np.square(y - predicted).sum())
    return 1.0 - residual / total if total > 0.0 else float(residual == 0.0)


def weights_of_classes(text: str | None) -> Any:
    """--class-weight: balanced, or a weight for each label."""
    if text is None or text == "balanced":
        return text
    weights: dict[str, float] = {}
    for part in text.split(","):
        label, sign, number = part.rpartition("=")
        try:
            weights[label.strip()] = float(number)
        except ValueError:
            sign = ""
        if not sign or not label:
            raise ValueError(f"--class-weight {text}: write balanced, or LABEL=WEIGHT with commas between them.")
    return weights


def with_labels(weights: Any, y: Any) -> Any:
    """Weights by the labels of the data, which may be numbers; a label that does not occur is refused."""
    import numpy as np

    if not isinstance(weights, dict):
        return weights
    labels = {str(label): label for label in np.unique(y).tolist()}
    for label in weights:
        if label not in labels:
            raise ValueError(f"--class-weight {label}=...: there is no such label; there are {', '.join(labels)}.")
    return {labels[label]: weight for label, weight in weights.items()}


def weights_by_labels(machine: Any, y: Any) -> dict[str, Any]:
    """The parameter class_weight by the labels in the data, where it names labels."""
    given = machine.get_params().get("class_weight")
    return {"class_weight": with_labels(given, y)} if isinstance(given, dict) else {}


def number_or_name(text: str | None) -> Any:
    """A number where the text is one, as for --gamma, which may be "scale" or 0.5."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text
