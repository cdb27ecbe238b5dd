"""Reading and writing LIBLINEAR's text model files.

For two classes LIBLINEAR predicts ``label[0]`` where the score is positive, and ``label[1]`` where it is zero; this
package predicts the greater label where it is zero. Therefore the smaller label is written first, with the signs of the
coefficients reversed: both then predict the same everywhere. The intercept is the coefficient of an additional last
feature whose value is ``bias``.
"""

import os
from typing import Any

import numpy as np

from maxmargin.estimators import LinearSVC, LinearSVR, LogisticRegression, MarginPerceptron, Perceptron
from maxmargin.files.atomic import written_atomically
from maxmargin.files.errors import ModelFileError
from maxmargin.files.model_text import Head, ModelText, exactly, whole_labels

CLASSIFIERS = (LinearSVC, Perceptron, MarginPerceptron, LogisticRegression)
CRAMMER_SINGER = "MCSVM_CS"
LOGISTIC, SPARSE_LOGISTIC, SPARSE_SVC = "L2R_LR", "L1R_LR", "L1R_L2LOSS_SVC"
HINGE, SQUARED_HINGE = "L2R_L1LOSS_SVC_DUAL", "L2R_L2LOSS_SVC_DUAL"
EPSILON, SQUARED_EPSILON = "L2R_L1LOSS_SVR_DUAL", "L2R_L2LOSS_SVR_DUAL"
# LIBLINEAR's problems, -s 0 to 7 and 11 to 13: the estimator and its parameters.
PROBLEMS: dict[str, tuple[Any, dict[str, Any]]] = {
    HINGE: (LinearSVC, {"loss": "hinge"}),
    SQUARED_HINGE: (LinearSVC, {"loss": "squared_hinge"}),
    "L2R_L2LOSS_SVC": (LinearSVC, {"loss": "squared_hinge"}),
    SPARSE_SVC: (LinearSVC, {"loss": "squared_hinge", "penalty": "l1"}),
    LOGISTIC: (LogisticRegression, {}),
    "L2R_LR_DUAL": (LogisticRegression, {}),
    SPARSE_LOGISTIC: (LogisticRegression, {"l1_ratio": 1.0}),
    CRAMMER_SINGER: (LinearSVC, {"multi_class": "crammer_singer"}),
    EPSILON: (LinearSVR, {"loss": "epsilon_insensitive"}),
    SQUARED_EPSILON: (LinearSVR, {"loss": "squared_epsilon_insensitive"}),
    "L2R_L2LOSS_SVR": (LinearSVR, {"loss": "squared_epsilon_insensitive"}),
}
ENTRIES = ("solver_type", "nr_class", "label", "nr_feature", "bias", "rho")


def write_liblinear_model(
    model: LinearSVC | LinearSVR | Perceptron | MarginPerceptron | LogisticRegression, path: str | os.PathLike[str]
) -> None:
    """Write a fitted linear model as a model file of LIBLINEAR, for its ``predict``.

    The format has no certificate, C or duals: :func:`maxmargin.save` stores them. LIBLINEAR has no name for a
    perceptron: it is written as a machine with the hinge loss.

    Parameters
    ----------
    model : LinearSVC, LinearSVR, LogisticRegression, Perceptron or MarginPerceptron
        The labels of a classifier have to be whole numbers. Columns that were scaled in training are taken as they are:
        the scaling goes into the coefficients.
    path : str or path

    Raises
    ------
    ModelFileError
        Where the format cannot hold the model.

    See Also
    --------
    read_liblinear_model : The way back.
    maxmargin.save : A file that also holds the certificate.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.files import read_liblinear_model, write_liblinear_model
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC(penalize_intercept=True).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     write_liblinear_model(model, Path(folder, "iris.model"))
    ...     again = read_liblinear_model(Path(folder, "iris.model"))
    >>> float(abs(again.coef_ - model.coef_).max())
    0.0
    """
    if type(model) not in (*CLASSIFIERS, LinearSVR):
        raise ModelFileError(
            path, f"{type(model).__name__} is not LinearSVC, LinearSVR, LogisticRegression or a linear perceptron"
        )
    model = model._as_fitted()
    coefficients, intercepts = _unscaled(model)
    has_intercept = bool(model.fit_intercept or intercepts.any())
    if has_intercept:
        coefficients = np.column_stack([coefficients, intercepts])
    head = [f"solver_type {_solver_of(model)}"]
    if isinstance(model, LinearSVR):
        head.append("nr_class 2")
    else:
        labels = whole_labels(model.classes_, path)
        coefficients = -coefficients if len(labels) == 2 else coefficients
        head += [f"nr_class {len(labels)}", f"label {' '.join(map(str, labels))}"]
    head += [f"nr_feature {model.n_features_in_}", f"bias {1 if has_intercept else -1}", "w"]
    with written_atomically(path) as file:
        file.write(("\n".join(head) + "\n").encode("ascii"))
        for weights in coefficients.T:
            file.write((" ".join(exactly(weight) for weight in weights) + " \n").encode("ascii"))


def _unscaled(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and intercepts for columns that are not scaled."""
    coefficients, intercepts = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    preparation = getattr(model, "preparation_", None)
    if preparation is None or preparation.scaling is None:
        return coefficients, intercepts
    coefficients = coefficients / preparation.scaling.width
    return coefficients, intercepts - coefficients @ preparation.scaling.shift


def _solver_of(model: Any) -> str:
    if isinstance(model, LogisticRegression):
        # LIBLINEAR has no elastic net.
        return SPARSE_LOGISTIC if model._l1_ratio == 1.0 else LOGISTIC
    if isinstance(model, LinearSVR):
        return EPSILON if model.loss == "epsilon_insensitive" else SQUARED_EPSILON
    if isinstance(model, LinearSVC):
        # For two classes the joint problem is that of the hinge loss.
        if model.multi_class == "crammer_singer" and len(model.classes_) > 2:
            return CRAMMER_SINGER
        if model.penalty == "l1":
            return SPARSE_SVC
        return HINGE if model.loss == "hinge" else SQUARED_HINGE
    return HINGE


def read_liblinear_model(path: str | os.PathLike[str]) -> LinearSVC | LinearSVR | LogisticRegression:
    """Read a model file of LIBLINEAR's ``train`` as a fitted estimator.

    The file contains neither C nor epsilon: these parameters have their defaults. An intercept is taken as penalised,
    which is LIBLINEAR's default. Without duals there is no certificate. Of two classes, a score of exactly zero may get
    the other label where ``label[0]`` is the greater one.

    Parameters
    ----------
    path : str or path
        A support vector machine, its regression, or logistic regression.

    Returns
    -------
    LinearSVC, LinearSVR or LogisticRegression

    Raises
    ------
    ModelFileError
        Where the file is not such a model; with the line.

    See Also
    --------
    write_liblinear_model : The way back.
    read_libsvm_model : The same for LIBSVM.
    """
    text = ModelText(path)
    lines = text.lines()
    head = Head(text, lines, ENTRIES, last="w")
    kind, parameters = head.choice("solver_type", PROBLEMS)
    joint = parameters.get("multi_class") == "crammer_singer"
    labels = None if kind is LinearSVR else head.labels()
    n_features, bias = head.wholes("nr_feature", 1, least=1)[0], head.reals("bias", 1)[0]
    k = 1 if labels is None or (len(labels) == 2 and not joint) else len(labels)
    coefficients = _weights(text, lines, n_features + (bias >= 0.0), k)
    intercepts = bias * coefficients[:, -1] if bias > 0.0 else np.zeros(k)
    coefficients = np.ascontiguousarray(coefficients[:, :n_features])
    intercept_parameters = (
        {"penalize_intercept": True, "intercept_scaling": bias} if bias > 0.0 else {"fit_intercept": False}
    )
    if kind is LogisticRegression:
        parameters, intercept_parameters = parameters | {"multi_class": "ovr"}, {"fit_intercept": bias > 0.0}
    model = kind(**parameters, **intercept_parameters)
    try:
        getattr(model, "_check_parameters", model._validate_params)()
    except ValueError as error:
        text.refuse(f"bias {bias!r} is out of range: {error}", head.line("bias"))
    if labels is None:
        model.coef_, model.intercept_ = coefficients[0], intercepts
    else:
        model.classes_, model.coef_, model.intercept_ = _arranged(labels, coefficients, intercepts)
    model.n_features_in_ = n_features
    # The training data are not known.
    if kind is not LogisticRegression:
        model.dual_coef_ = np.zeros((len(model.intercept_), 0))
        model.support_ = np.zeros(0, dtype=np.intp)
    model._freeze_parameters()
    return model


def _weights(text: ModelText, lines: Any, n_lines: int, k: int) -> np.ndarray:
    """The coefficients, of shape (k, n_lines)."""
    weights: list[list[float]] = []
    for words in lines:
        if len(weights) == n_lines:
            text.refuse(f"there are more lines of weights than {n_lines}")
        if len(words) != k:
            text.refuse(f"the line has {len(words)} weights instead of {k}")
        weights.append([text.real(word) for word in words])
    if len(weights) < n_lines:
        text.refuse(f"the file ends after {len(weights)} of {n_lines} lines of weights")
    return np.array(weights).T


def _arranged(
    labels: list[int], coefficients: np.ndarray, intercepts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sorted labels, with the coefficients in their order; of two classes those of the greater one."""
    ranks = np.argsort(labels)
    classes = np.array(labels)[ranks]
    if len(labels) > 2:
        return classes, coefficients[ranks], intercepts[ranks]
    if len(coefficients) == 2:
        low, high = ranks
        return classes, coefficients[[high]] - coefficients[[low]], intercepts[[high]] - intercepts[[low]]
    sign = 1.0 if labels[0] > labels[1] else -1.0
    return classes, sign * coefficients, sign * intercepts
