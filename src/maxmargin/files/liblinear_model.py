"""Linear models as LIBLINEAR's model text, both ways.

LIBLINEAR decides for ``label[0]`` where the score of two classes is positive, and for ``label[1]`` where it is zero;
here a score of zero is the greater label. So the smaller label is written first, with the plane turned round: then both
decide alike everywhere. The intercept is the weight of a last feature of the value ``bias``.
"""

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.estimators import LinearSVC, LinearSVR, MarginPerceptron, Perceptron
from maxmargin.files.atomic import written_atomically
from maxmargin.files.errors import ModelFileError
from maxmargin.files.model_text import Head, ModelText, exactly, whole_labels

CLASSIFIERS = (LinearSVC, Perceptron, MarginPerceptron)
CRAMMER_SINGER = "MCSVM_CS"
HINGE, SQUARED_HINGE = "L2R_L1LOSS_SVC_DUAL", "L2R_L2LOSS_SVC_DUAL"
TUBE, SQUARED_TUBE = "L2R_L1LOSS_SVR_DUAL", "L2R_L2LOSS_SVR_DUAL"
# LIBLINEAR's problems that are ours: the estimator and its parameters. The others differ in penalty or loss.
SOLVERS: dict[str, tuple[Any, dict[str, Any]]] = {
    HINGE: (LinearSVC, {"loss": "hinge"}),
    SQUARED_HINGE: (LinearSVC, {"loss": "squared_hinge"}),
    "L2R_L2LOSS_SVC": (LinearSVC, {"loss": "squared_hinge"}),
    CRAMMER_SINGER: (LinearSVC, {"multi_class": "crammer_singer"}),
    TUBE: (LinearSVR, {"loss": "epsilon_insensitive"}),
    SQUARED_TUBE: (LinearSVR, {"loss": "squared_epsilon_insensitive"}),
    "L2R_L2LOSS_SVR": (LinearSVR, {"loss": "squared_epsilon_insensitive"}),
}
ENTRIES = ("solver_type", "nr_class", "label", "nr_feature", "bias", "rho")


def write_liblinear_model(
    model: LinearSVC | LinearSVR | Perceptron | MarginPerceptron, path: str | os.PathLike[str]
) -> None:
    """Write a fitted linear model as a model file of LIBLINEAR, for its ``predict``.

    The certificate, C and the duals have no place in it: :func:`maxmargin.save` keeps them. LIBLINEAR has no name for a
    perceptron; its plane is written as one of the hinge loss.

    Parameters
    ----------
    model : LinearSVC, LinearSVR, Perceptron or MarginPerceptron
        The labels of a classifier have to be whole numbers.
    path : str or path

    Raises
    ------
    ModelFileError
        Where the format cannot hold the model.
    """
    if type(model) not in (*CLASSIFIERS, LinearSVR):
        raise ModelFileError(path, f"{type(model).__name__} is not LinearSVC, LinearSVR or a linear perceptron")
    check_is_fitted(model)
    has_intercept = bool(model.fit_intercept or model.intercept_.any())
    planes = np.atleast_2d(model.coef_)
    if has_intercept:
        planes = np.column_stack([planes, model.intercept_])
    head = [f"solver_type {_solver_of(model)}"]
    if isinstance(model, LinearSVR):
        head.append("nr_class 2")
    else:
        labels = whole_labels(model.classes_, path)
        planes = -planes if len(labels) == 2 else planes
        head += [f"nr_class {len(labels)}", f"label {' '.join(map(str, labels))}"]
    head += [f"nr_feature {model.n_features_in_}", f"bias {1 if has_intercept else -1}", "w"]
    with written_atomically(path) as file:
        file.write(("\n".join(head) + "\n").encode("ascii"))
        for weights in planes.T:
            file.write((" ".join(exactly(weight) for weight in weights) + " \n").encode("ascii"))


def _solver_of(model: Any) -> str:
    if isinstance(model, LinearSVR):
        return TUBE if model.loss == "epsilon_insensitive" else SQUARED_TUBE
    if isinstance(model, LinearSVC):
        # For two classes the joint problem has one plane here, as that of the hinge loss has.
        if model.multi_class == "crammer_singer" and len(model.classes_) > 2:
            return CRAMMER_SINGER
        return HINGE if model.loss == "hinge" else SQUARED_HINGE
    return HINGE


def read_liblinear_model(path: str | os.PathLike[str]) -> LinearSVC | LinearSVR:
    """Read a model file of LIBLINEAR's ``train`` as a fitted estimator.

    The file says neither C nor epsilon: these parameters are at their defaults. An intercept is taken to have been
    penalised, as LIBLINEAR does unless told otherwise. Without duals nothing is proven: there is no certificate. Of two
    classes, a score of exactly zero may get the other label where ``label[0]`` is the greater one.

    Parameters
    ----------
    path : str or path
        A support vector machine with the squared norm as penalty, or its regression.

    Returns
    -------
    LinearSVC or LinearSVR

    Raises
    ------
    ModelFileError
        Where the text is not such a model; with the line.
    """
    text = ModelText(path)
    lines = text.lines()
    head = Head(text, lines, ENTRIES, last="w")
    kind, parameters = head.choice("solver_type", SOLVERS)
    joint = parameters.get("multi_class") == "crammer_singer"
    labels = head.labels() if kind is LinearSVC else None
    n_features, bias = head.wholes("nr_feature", 1, least=1)[0], head.reals("bias", 1)[0]
    n_planes = 1 if labels is None or (len(labels) == 2 and not joint) else len(labels)
    planes = _weights(text, lines, n_features + (bias >= 0.0), n_planes)
    intercepts = bias * planes[:, -1] if bias > 0.0 else np.zeros(n_planes)
    planes = np.ascontiguousarray(planes[:, :n_features])
    intercept_parameters = (
        {"penalize_intercept": True, "intercept_scaling": bias} if bias > 0.0 else {"fit_intercept": False}
    )
    model = kind(**parameters, **intercept_parameters)
    try:
        model._check_parameters()
    except ValueError as error:
        text.refuse(f"bias {bias!r} is out of range: {error}", head.line("bias"))
    if labels is None:
        model.coef_, model.intercept_ = planes[0], intercepts
    else:
        model.classes_, model.coef_, model.intercept_ = _arranged(labels, planes, intercepts)
    model.n_features_in_ = n_features
    # No row of the training data is known.
    model.dual_coef_ = np.zeros((len(model.intercept_), 0))
    model.support_ = np.zeros(0, dtype=np.intp)
    return model


def _weights(text: ModelText, lines: Any, n_lines: int, n_planes: int) -> np.ndarray:
    """The planes, (n_planes, n_lines)."""
    weights: list[list[float]] = []
    for words in lines:
        if len(weights) == n_lines:
            text.refuse(f"there are more lines of weights than {n_lines}")
        if len(words) != n_planes:
            text.refuse(f"the line has {len(words)} weights instead of {n_planes}")
        weights.append([text.real(word) for word in words])
    if len(weights) < n_lines:
        text.refuse(f"the file ends after {len(weights)} of {n_lines} lines of weights")
    return np.array(weights).T


def _arranged(
    labels: list[int], planes: np.ndarray, intercepts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sorted labels, with the planes in their order; of two classes the plane of the greater one."""
    ranks = np.argsort(labels)
    classes = np.array(labels)[ranks]
    if len(labels) > 2:
        return classes, planes[ranks], intercepts[ranks]
    if len(planes) == 2:
        low, high = ranks
        return classes, planes[[high]] - planes[[low]], intercepts[[high]] - intercepts[[low]]
    sign = 1.0 if labels[0] > labels[1] else -1.0
    return classes, sign * planes, sign * intercepts
