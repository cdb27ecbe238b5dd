"""Reading and writing LIBSVM's text model files.

LIBSVM predicts the first class of a pair where its score is positive, and the second where it is zero; ties of votes go
to the class that is first in ``label``. It subtracts ``rho`` where this package adds an intercept. SVC votes alike,
with its classes in ascending order, except that a positive score of only two classes means the second. Therefore
labels are written in ascending order, and for two classes the signs of the coefficients are reversed. The order of the
labels in a file is kept for the votes, and written again.

``probA`` and ``probB`` are the sigmoids of the pairs, P(first | f) = 1/(1 + exp(A f + B)). Where the classes of a pair
change places, f and B change their signs, as the intercept does, and A stays.
"""

import os
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.data.scikit_learn import check_is_fitted
from maxmargin.estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from maxmargin.estimators._kernel_classifier import KernelClassifier
from maxmargin.estimators._probabilities import Calibration, Sigmoid
from maxmargin.files.atomic import written_atomically
from maxmargin.files.errors import ModelFileError
from maxmargin.files.model_text import LARGEST_INT, Head, ModelText, exactly, whole_labels
from maxmargin.problems import kernels
from maxmargin.problems.kernels import kernel_by_name

Machine = KernelClassifier | SVR | NuSVR | OneClassSVM
MACHINES: dict[str, type[Any]] = {
    "c_svc": SVC,
    "nu_svc": NuSVC,
    "epsilon_svr": SVR,
    "nu_svr": NuSVR,
    "one_class": OneClassSVM,
}
# LIBSVM's name of a kernel, ours, its class and its parameters.
LIBSVM_KERNELS: dict[str, tuple[str, type, tuple[str, ...]]] = {
    "linear": ("linear", kernels.Linear, ()),
    "polynomial": ("poly", kernels.Polynomial, ("degree", "gamma", "coef0")),
    "rbf": ("rbf", kernels.RadialBasis, ("gamma",)),
    "sigmoid": ("sigmoid", kernels.Sigmoid, ("gamma", "coef0")),
}
ENTRIES = (
    "svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv", "rho", "label", "probA", "probB",
    "prob_density_marks", "nr_sv",
)  # fmt: skip


def write_libsvm_model(model: Machine, path: str | os.PathLike[str]) -> None:
    """Write a fitted kernel machine as a model file of LIBSVM, for ``svm-predict``.

    The format has no certificate, no C and no nu: :func:`maxmargin.save` stores them. Probabilities are written where
    they are sigmoids, those of ``probability=True`` or of :func:`maxmargin.calibrate`.

    Parameters
    ----------
    model : SVC, SVR, NuSVC, NuSVR or OneClassSVM
        With the linear, polynomial, RBF or sigmoid kernel; the labels of a classifier have to be whole numbers.
    path : str or path

    Raises
    ------
    ModelFileError
        Where the format cannot hold the model.

    See Also
    --------
    read_libsvm_model : The way back.
    maxmargin.save : A file that also holds the certificate.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> from maxmargin.files import read_libsvm_model, write_libsvm_model
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC().fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     write_libsvm_model(model, Path(folder, "iris.model"))
    ...     again = read_libsvm_model(Path(folder, "iris.model"))
    >>> float((again.predict(X) == model.predict(X)).mean())
    1.0
    """
    if type(model) not in MACHINES.values():
        raise ModelFileError(path, f"{type(model).__name__} is not SVC, SVR, NuSVC, NuSVR or OneClassSVM")
    check_is_fitted(model)
    preparation = getattr(model, "preparation_", None)
    if preparation is not None and preparation.scaling is not None:
        raise ModelFileError(path, "the columns were scaled in training, which the format cannot hold: write ONNX")
    coefficients, intercepts, order = model._duals, model.intercept_, np.arange(model.support_.size)
    kind = next(name for name, machine in MACHINES.items() if type(model) is machine)
    head = [f"svm_type {kind}", *_kernel_lines(model, path)]
    if isinstance(model, KernelClassifier):
        labels, places = whole_labels(model.classes_, path), model._order_of_votes()
        if len(labels) == 2:
            coefficients, intercepts = -coefficients, -intercepts
        sigmoids = _written_sigmoids(model, places, path)
        coefficients, intercepts, order = _reordered(coefficients, intercepts, model.n_support_, places)
        head += [
            f"nr_class {len(labels)}",
            f"total_sv {order.size}",
            _rho(intercepts),
            f"label {' '.join(str(labels[place]) for place in places)}",
            *sigmoids,
            f"nr_sv {' '.join(map(str, model.n_support_[places]))}",
        ]
    else:
        head += ["nr_class 2", f"total_sv {order.size}", _rho(intercepts)]
    with written_atomically(path) as file:
        file.write(("\n".join([*head, "SV"]) + "\n").encode("ascii"))
        rows = sp.csr_array(model.support_vectors_)
        for row, own_coefficients in zip(order, coefficients.T, strict=True):
            own = slice(rows.indptr[row], rows.indptr[row + 1])
            entries = zip(rows.indices[own].tolist(), rows.data[own].tolist(), strict=True)
            words = [exactly(coefficient) for coefficient in own_coefficients]
            words += [f"{column + 1}:{exactly(value)}" for column, value in entries if value != 0.0]
            file.write((" ".join(words) + " \n").encode("ascii"))


def _written_sigmoids(model: KernelClassifier, places: np.ndarray, path: str | os.PathLike[str]) -> list[str]:
    """The lines probA and probB, where the model has probabilities."""
    calibration = getattr(model, "calibration_", None)
    if calibration is None:
        return []
    if calibration.method != "sigmoid":
        raise ModelFileError(
            path, "its isotonic calibration does not go into the format, which has sigmoids: write ONNX"
        )
    A, B = model._sigmoids(0), model._sigmoids(1)
    A, B = _reordered_sigmoids(A, -B if len(places) == 2 else B, places)
    return [f"{name} {' '.join(map(exactly, values))}" for name, values in (("probA", A), ("probB", B))]


def _reordered_sigmoids(A: np.ndarray, B: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A and B of all pairs with the classes in another order."""
    none = np.zeros((len(places) - 1, 0)), np.zeros(len(places), dtype=np.intp)
    signs, signed_A, signed_B = (_reordered(none[0], values, none[1], places)[1] for values in (np.ones_like(A), A, B))
    # Zero is written as 0, not as -0.
    return signs * signed_A + 0.0, signed_B + 0.0


def _rho(intercepts: np.ndarray) -> str:
    # Zero is written as 0, not as -0.
    return f"rho {' '.join(exactly(0.0 - intercept) for intercept in intercepts)}"


def _kernel_lines(model: Any, path: str | os.PathLike[str]) -> list[str]:
    for name, (_, kind, numbers) in LIBSVM_KERNELS.items():
        if type(model._kernel) is kind:
            values = {number: getattr(model._kernel, number) for number in numbers}
            return [
                f"kernel_type {name}",
                *(
                    f"{number} {int(value) if number == 'degree' else exactly(value)}"
                    for number, value in values.items()
                ),
            ]
    raise ModelFileError(path, "only the linear, polynomial, RBF and sigmoid kernels can be written in this format")


def read_libsvm_model(path: str | os.PathLike[str], *, n_features: int | None = None) -> Any:
    """Read a model file of LIBSVM's ``svm-train`` as a fitted estimator.

    The file contains neither C nor epsilon nor nu, nor the indices of the support vectors: these parameters have their
    defaults, and ``support_`` numbers the support vectors themselves. There is no certificate. The sigmoids of a
    classifier that was trained with ``-b 1`` give ``predict_proba``; the width of a regression's noise is not read.
    Labels are those of ``svm-predict``, also where votes tie or a score is zero.

    Parameters
    ----------
    path : str or path
        A file of type ``c_svc``, ``nu_svc``, ``epsilon_svr``, ``nu_svr`` or ``one_class``.
    n_features : int, optional
        The number of columns of X, which the file does not contain; by default its largest index.

    Returns
    -------
    SVC, NuSVC, SVR, NuSVR or OneClassSVM

    Raises
    ------
    ModelFileError
        Where the file is not such a model; with the line.

    See Also
    --------
    write_libsvm_model : The way back.
    read_liblinear_model : The same for LIBLINEAR.
    """
    text = ModelText(path)
    lines = text.lines()
    head = Head(text, lines, ENTRIES, last="SV")
    machine = head.choice("svm_type", MACHINES)
    parameters = _kernel_parameters(head)
    numbers = {name: value for name, value in parameters.items() if name != "kernel"}
    labels = head.labels() if issubclass(machine, KernelClassifier) else None
    if labels is not None and "probA" in head:
        parameters["probability"] = True
    model = machine(**parameters)
    n_support = head.wholes("total_sv", 1)[0]
    if labels is None:
        n_coefficients, n_pairs, counts = 1, 1, [n_support]
    else:
        n_coefficients, n_pairs = len(labels) - 1, len(labels) * (len(labels) - 1) // 2
        counts = head.wholes("nr_sv", len(labels))
        if sum(counts) != n_support:
            text.refuse(f"nr_sv does not add up to total_sv {n_support}", head.line("nr_sv"))
    rho = np.array(head.reals("rho", n_pairs))
    coefficients, rows = _support(text, lines, n_support, n_coefficients)
    if n_features is not None:
        if n_features < rows.shape[1]:
            raise ModelFileError(path, f"n_features is {n_features}, but the file has the index {rows.shape[1]}")
        rows.resize((n_support, n_features))
    model._duals, model.intercept_, model.support_vectors_ = coefficients, 0.0 - rho, rows
    if labels is not None:
        _arrange(model, labels, counts)
    model.support_ = np.arange(n_support, dtype=np.int32)
    model.n_features_in_ = model.support_vectors_.shape[1]
    model._n_rows = n_support
    model._kernel = kernel_by_name(**{"name": model.kernel, "gamma": 1.0, **numbers})
    if parameters.get("probability"):
        model.calibration_ = _read_sigmoids(head, labels, n_pairs)
    model._freeze_parameters()
    return model


def _kernel_parameters(head: Head) -> dict[str, Any]:
    kernel, _, numbers = head.choice("kernel_type", LIBSVM_KERNELS)
    parameters: dict[str, Any] = {"kernel": kernel}
    for number in numbers:
        read = head.wholes if number == "degree" else head.reals
        parameters[number] = read(number, 1)[0]
    if "gamma" in numbers and parameters["gamma"] < 0.0:
        head.text.refuse("gamma is negative", head.line("gamma"))
    return parameters


def _read_sigmoids(head: Head, labels: Any, n_pairs: int) -> Calibration:
    """The probabilities, with the classes in ascending order."""
    A, B = (np.array(head.reals(name, n_pairs)) for name in ("probA", "probB"))
    A, B = _reordered_sigmoids(A, B, np.argsort(labels))
    if n_pairs == 1:
        # P of the second class, whose scores are positive here.
        B = -B
    return Calibration(tuple(map(Sigmoid, A.tolist(), B.tolist())), by_pairs=True)


def _support(text: ModelText, lines: Any, n_support: int, n_coefficients: int) -> tuple[np.ndarray, Any]:
    """Coefficients (n_coefficients, n_support) and support vectors, from the lines after the head."""
    coefficients: list[list[float]] = []
    offsets, columns, values = [0], [], []
    for words in lines:
        if len(coefficients) == n_support:
            text.refuse(f"there are more lines than total_sv {n_support}")
        if len(words) < n_coefficients:
            text.refuse(f"the line has {len(words)} coefficients instead of {n_coefficients}")
        coefficients.append([text.real(word) for word in words[:n_coefficients]])
        before = 0
        for word in words[n_coefficients:]:
            index, colon, value = word.partition(":")
            column = text.whole(index, least=1)
            if not colon or column <= before:
                text.refuse(f"{word[:40]!r} is not an entry index:value with a greater index than the one before")
            before = column
            columns.append(column - 1)
            values.append(text.real(value))
        offsets.append(len(columns))
    if len(coefficients) < n_support:
        text.refuse(f"the file ends after {len(coefficients)} of {n_support} support vectors")
    shape = n_support, max(columns, default=0) + 1
    indices = np.array(columns, dtype=np.int32)
    offset_type = np.int32 if len(columns) <= LARGEST_INT else np.int64
    rows = sp.csr_matrix((np.array(values, dtype=np.float64), indices, np.array(offsets, offset_type)), shape=shape)
    return np.array(coefficients).reshape(n_support, n_coefficients).T.copy(), rows


def _arrange(model: KernelClassifier, labels: list[int], counts: list[int]) -> None:
    """Sort classes, support vectors and pairs by the labels."""
    places = np.argsort(labels)
    duals, intercepts, order = _reordered(model._duals, model.intercept_, np.array(counts), places)
    if len(labels) == 2:
        # A positive score means the first class in the file, and the second here.
        duals, intercepts = -duals, -intercepts
    model._duals, model.intercept_, model.support_vectors_ = duals, intercepts, model.support_vectors_[order]
    model.classes_, model._n_support = np.array(labels)[places], np.array(counts, dtype=np.int32)[places]
    if labels != sorted(labels):
        model._vote_order = np.argsort(places)


def _reordered(
    duals: np.ndarray, intercepts: np.ndarray, counts: np.ndarray, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Duals and intercepts with the classes in another order, and the permutation of the support vectors.

    ``places`` are the classes' former positions. A positive score means the first class of a pair, before and after.
    """
    ends = np.cumsum(counts)
    parts = [np.arange(ends[place] - counts[place], ends[place]) for place in places]
    moved, moved_intercepts = np.zeros_like(duals), np.zeros_like(intercepts)
    pair_before = {pair: number for number, pair in enumerate(combinations(range(len(counts)), 2))}
    for pair, (first, second) in enumerate(combinations(range(len(counts)), 2)):
        own, other = int(places[first]), int(places[second])
        sign = 1.0 if own < other else -1.0
        moved_intercepts[pair] = sign * intercepts[pair_before[min(own, other), max(own, other)]]
        moved[second - 1, parts[first]] = sign * duals[other - (other > own), parts[first]]
        moved[first, parts[second]] = sign * duals[own - (own > other), parts[second]]
    order = np.concatenate(parts)
    return moved[:, order], moved_intercepts, order
