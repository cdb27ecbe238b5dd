"""Model files: safetensors with the arrays, and one JSON text in its metadata with all other values.

docs/proof-format.md specifies them, and what they claim; ``schema.py`` lists what is stored of every estimator. Reading
a file runs no code of it.
"""

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from safetensors import SafetensorError

from maxmargin.data.validation import is_collection
from maxmargin.estimators._base import CertifiedModel
from maxmargin.files.atomic import written_atomically
from maxmargin.files.calibration import plain_calibration, read_calibration
from maxmargin.files.container import CHECKSUM, check_sum, content_of, pack, tensors_of
from maxmargin.files.errors import ModelFileError
from maxmargin.files.fingerprint import Fingerprint, fingerprint_of, hull_witnesses, proof_tensors, read_fingerprint
from maxmargin.files.preparation import read_preparation
from maxmargin.files.problem import kernel_name, problem_of
from maxmargin.files.reader import StoredParts, read_attributes, read_proof_tensors
from maxmargin.files.schema import SCHEMA, Entry
from maxmargin.files.values import decode, encode
from maxmargin.files.writer import Parts, is_column_major, json_object, plain_parameter, precisions_of, write_attribute

FORMAT, VERSION = "maxmargin model", 2
CONTENT = (CHECKSUM, "format", "version", "class", "parameters", "problem", "data", "attributes", "column_major")
# Entries that a file may have: what was done to the rows of a file before the fit, the curves from scores to
# probabilities, and where the model comes from.
OPTIONAL = ("preparation", "calibration", "provenance")


def save(
    model: CertifiedModel,
    path: str | os.PathLike[str],
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    *,
    provenance: dict[str, Any] | None = None,
) -> None:
    """Write a fitted model, with its certificate, to a file.

    The file holds what predicting and certifying need (see :doc:`/proof-format`). Histories of the fit and callbacks
    are left out. It replaces an old file only when it is complete, on the disk, and was read back without an error.

    Parameters
    ----------
    model : a fitted estimator of this package
    path : str or path
        By custom it ends in ``.safetensors``.
    X, y, sample_weight : the data of the fit, optional
        The file then identifies them by hashes, and holds what a stranger needs to check every claim. ``fit`` does
        not compute the hashes itself: they would take more than 2 % of the time of an ordinary fit. A model that learns
        without targets needs no y.
    provenance : dict of plain values, optional
        Where the model comes from, such as version, time, command and data. Nothing is computed from it.

    Raises
    ------
    ModelFileError
        Where the model has a function or a random generator as parameter, which a file cannot hold.

    See Also
    --------
    load : Reads the file.
    checkpoints : Files of a fit that has not ended.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC, certify, load, save
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC().fit(X, y == 1)
    >>> with TemporaryDirectory() as folder:
    ...     save(model, Path(folder, "iris.safetensors"))
    ...     again = load(Path(folder, "iris.safetensors"))
    >>> float(abs(again.decision_function(X) - model.decision_function(X)).max())  # the same bits
    0.0
    >>> again.certificate_.check(certify(again, X, y == 1))  # silent: the data prove what the file claims
    """
    entry = SCHEMA.get(type(model).__name__)
    if entry is None or type(model) is not entry.kind:
        raise ModelFileError(path, f"{type(model).__name__} is not an estimator of maxmargin")
    fitted = model._as_fitted()._in_memory()
    if getattr(model, "_takes_target_columns", False) and np.ndim(fitted.intercept_):
        raise ModelFileError(path, "y had columns, and a file holds the regression of one: fit and save one at a time")
    if is_collection(X):
        raise TypeError("The rows of Dask collections are not hashed: leave X and y out, or compute them first.")
    if X is None and (y is not None or sample_weight is not None):
        raise ValueError("X and y identify the data of the fit only together: give both, or neither.")
    if X is not None and y is None and needs_targets(model):
        raise ValueError("X and y identify the data of the fit only together: give both, or neither.")
    data = None if X is None else fitted._data_to_certify(X, y, sample_weight)
    try:
        content = _to_bytes(fitted, entry, data, sample_weight, provenance, precisions_of(model))
    except (TypeError, ValueError) as error:
        raise ModelFileError(path, f"the {type(model).__name__} cannot be saved: {error}") from error
    with written_atomically(path) as file:
        file.write(content)
        file.flush()
        if os.path.isfile(file.name):
            try:
                read_model_file(file.name)
            except ModelFileError as error:
                raise ModelFileError(path, f"the {type(model).__name__} cannot be saved: {error.reason}") from error


def needs_targets(model: Any) -> bool:
    """Whether a model learns from targets; a one-class machine does not."""
    return bool(model.__sklearn_tags__().target_tags.required)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that :func:`save` wrote.

    Nothing in the file is run. Every array's type and shape, every index and every number is checked; the certificate
    is what the file claims, and ``model.certificate_.check(certify(model, X, y))`` checks whether the data prove it.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    a fitted estimator
        Its predictions are bit for bit those of the model that was saved.

    Raises
    ------
    ModelFileError
        Where the file is damaged, or not such a file.

    See Also
    --------
    save : Writes such a file.
    certify : Proves from the data what the file claims.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC, load, save
    >>> X, y = load_iris(return_X_y=True)
    >>> with TemporaryDirectory() as folder:
    ...     save(LinearSVC().fit(X, y), Path(folder, "iris.safetensors"))
    ...     model = load(Path(folder, "iris.safetensors"))
    >>> model.predict(X[[0, 75, 149]])
    array([0, 1, 2])
    """
    return read_model_file(path).model


def check_storable(model: Any, data: Any) -> None:
    """Raise ValueError where a fitted model cannot be saved: its attributes are not those of a fit.

    Parameters
    ----------
    model : a fitted estimator
    data : LabelledPoints or TargetPoints
        The data of the fit, checked by the model.
    """
    if getattr(model, "_takes_target_columns", False) and np.ndim(model.intercept_):
        return
    content = _to_bytes(model._as_fitted(), SCHEMA[type(model).__name__], data, None, None, precisions_of(model))
    _read(content, type(model).__name__)


def file_of(model: Any) -> bytes:
    """The file of a fitted model that was saved without its data, and without word of where it comes from."""
    fitted = model._as_fitted()
    return _to_bytes(fitted, SCHEMA[type(model).__name__], None, None, None, precisions_of(model))


@dataclass(frozen=True)
class StoredModel:
    """What a model file holds.

    Attributes
    ----------
    model : a fitted estimator
    fingerprint : Fingerprint or None
        What identifies the data; None where the model was saved without them.
    proof_tensors : dict of ndarray
        The vectors that a claim depends on, beside the attributes.
    provenance : dict
        Where the model comes from, as far as the file says.
    """

    model: Any
    fingerprint: Fingerprint | None
    proof_tensors: dict[str, np.ndarray]
    provenance: dict[str, Any] = field(default_factory=dict)


def read_model_file(path: str | os.PathLike[str]) -> StoredModel:
    """Read a model and what the file says of its data; ModelFileError as in :func:`load`."""
    with open(path, "rb") as file:
        data = file.read()
    return _read(data, path)


def _to_bytes(
    model: CertifiedModel,
    entry: Entry,
    data: Any,
    sample_weight: Any,
    provenance: dict[str, Any] | None,
    precisions: dict[str, np.dtype],
) -> bytes:
    """The content of a file; coefficients, float64 in a model ``_as_fitted``, are written with these precisions."""
    parameters = {name: plain_parameter(name, value) for name, value in model.get_params(deep=False).items()}
    parts = Parts()
    for name, attribute in entry.attributes.items():
        if hasattr(model, name):
            write_attribute(attribute, name, getattr(model, name), parts)
        elif not attribute.optional:
            raise ValueError(f"it has no {name}")
    for name, precision in precisions.items():
        if name in parts.tensors:
            parts.tensors[name] = parts.tensors[name].astype(precision, copy=False)
    fingerprint = None
    if data is not None:
        plain = fingerprint_of(model, data, sample_weight).plain()
        fingerprint = json_object(plain | hull_witnesses(model, data))
        parts.tensors |= proof_tensors(model, data)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "class": entry.name,
        "parameters": parameters,
        "problem": json_object(problem_of(model)),
        "data": fingerprint,
        "attributes": json_object(parts.values),
        "column_major": sorted(name for name, array in parts.tensors.items() if is_column_major(array)),
    }
    preparation = getattr(model, "preparation_", None)
    if preparation is not None:
        content["preparation"] = encode(preparation.plain())
    if hasattr(model, "calibration_"):
        content["calibration"] = encode(plain_calibration(model.calibration_))
    if provenance:
        content["provenance"] = encode(provenance)
    return pack(parts.tensors, content)


def _read(data: bytes, path: str | os.PathLike[str]) -> StoredModel:
    try:
        return _from_bytes(data)
    except (SafetensorError, ValueError, OverflowError, RecursionError) as error:
        raise ModelFileError(path, str(error) or type(error).__name__) from error


def _from_bytes(data: bytes) -> StoredModel:
    content = content_of(data)
    if content.get("format") != FORMAT:
        raise ValueError(f"its format is {content.get('format')!r} instead of {FORMAT!r}")
    if content.get("version") != VERSION or type(content["version"]) is not int:
        raise ValueError(
            f"its version is {content.get('version')!r}; this maxmargin reads version {VERSION}: train the model anew"
        )
    if not set(CONTENT) <= set(content) <= {*CONTENT, *OPTIONAL}:
        raise ValueError(f"it has the entries {sorted(content)}")
    check_sum(data, content[CHECKSUM])
    name = content["class"]
    if not isinstance(name, str) or name not in SCHEMA:
        raise ValueError(f"there is no estimator {name!r}")
    for part in ("parameters", "problem", "attributes"):
        if not isinstance(content[part], dict):
            raise ValueError(f"its {part} are not an object")
    layout = content["column_major"]
    if not isinstance(layout, list) or not all(isinstance(tensor, str) for tensor in layout):
        raise ValueError("column_major is not a list of names")
    entry, read = SCHEMA[name], {part: _decoded(content[part]) for part in ("parameters", "problem", "attributes")}
    model = _with_parameters(entry, read["parameters"])
    stored = StoredParts(read["attributes"], tensors_of(data), frozenset(layout))
    vectors = read_proof_tensors(stored)
    vars(model).update(read_attributes(entry, stored))
    _refuse_other_kernel(model)
    model._freeze_parameters()
    if read["problem"] != _plain_problem(model):
        raise ValueError("its problem is not that of its parameters")
    identified = content["data"]
    if identified is not None and not isinstance(identified, dict):
        raise ValueError("its data are not an object")
    if "preparation" in content:
        model.preparation_ = read_preparation(decode(content["preparation"]), model.n_features_in_)
    if "calibration" in content:
        model.calibration_ = read_calibration(decode(content["calibration"]), model)
    provenance = decode(content.get("provenance", {"pairs": []}))
    if not isinstance(provenance, dict) or not all(isinstance(key, str) for key in provenance):
        raise ValueError("its provenance is not an object")
    fingerprint = read_fingerprint(None if identified is None else _decoded(identified))
    return StoredModel(model, fingerprint, vectors, provenance)


def _decoded(values: dict[str, Any]) -> dict[str, Any]:
    return {key: decode(value) for key, value in values.items()}


def _plain_problem(model: Any) -> dict[str, Any]:
    """The numbers of the problem as they come back from a file."""
    return _decoded(json_object(problem_of(model)))


def _with_parameters(entry: Entry, parameters: dict[str, Any]) -> Any:
    """An estimator with its parameters, checked as ``fit`` checks them."""
    unknown = set(parameters) - set(entry.kind._get_param_names())
    if unknown:
        raise ValueError(f"{entry.name} has no parameter {', '.join(sorted(unknown))}")
    model = entry.kind(**parameters)
    model._validate_params()
    if hasattr(model, "_check_parameters"):
        model._check_parameters()
    return model


def _refuse_other_kernel(model: Any) -> None:
    """Refuse a kernel parameter that is not that of the fitted kernel: predictions and lookups would then disagree."""
    if hasattr(model, "_kernel"):
        fitted = kernel_name(model._kernel) or "precomputed"
        if model.kernel != fitted:
            raise ValueError(f"kernel is {model.kernel!r}, but the model was fitted with {fitted!r}")


def add_provenance(path: str | os.PathLike[str], provenance: dict[str, Any]) -> None:
    """Write where a model comes from into its file, in place of what it said before; all else stays as it is.

    Parameters
    ----------
    path : str or path
        A file that :func:`save` wrote.
    provenance : dict of plain values
    """
    with open(path, "rb") as file:
        data = file.read()
    content = {**content_of(data), "provenance": encode(provenance)}
    check_sum(data, content.pop(CHECKSUM))
    tensors = {name: tensor.array() for name, tensor in tensors_of(data).items()}
    with written_atomically(path) as file:
        file.write(pack(tensors, content))
