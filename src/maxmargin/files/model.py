"""Model files: safetensors with the arrays, and one JSON text in its metadata with all other values.

``schema.py`` lists what is stored of every estimator. Reading a file runs no code of it.
"""

import os
from dataclasses import dataclass, field, fields
from functools import singledispatch
from typing import Any

import numpy as np
import scipy.sparse as sp
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as serialize

from maxmargin.estimators._base import CertifiedModel
from maxmargin.files.atomic import written_atomically
from maxmargin.files.errors import ModelFileError
from maxmargin.files.reader import StoredParts, longest_label, read_attributes
from maxmargin.files.schema import (
    KERNELS,
    SCHEMA,
    Array,
    Attribute,
    Certificates,
    CountsPerTask,
    Entry,
    KernelName,
    Labels,
    Names,
    Numbers,
    Records,
    StatusName,
    SupportVectors,
)
from maxmargin.files.values import decode, encode, from_text, plain_certificate, to_text

FORMAT, VERSION = "maxmargin model", 1
# The one key of the safetensors file's metadata.
KEY = "maxmargin"
CONTENT = ("format", "version", "class", "parameters", "attributes", "column_major")


def save(model: CertifiedModel, path: str | os.PathLike[str]) -> None:
    """Write a fitted model, with its certificate, to a file.

    The file holds what predicting and certifying need. Histories of the fit and callbacks are left out. It replaces an
    old file only when it is complete, on the disk, and was read back without an error.

    Parameters
    ----------
    model : a fitted estimator of this package
    path : str or path
        By custom it ends in ``.safetensors``.

    Raises
    ------
    ModelFileError
        Where the model has a function or a random generator as parameter, which a file cannot hold.

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
    >>> again.certificate_ == model.certificate_
    True
    >>> again.certificate_.check(certify(again, X, y == 1))
    """
    entry = SCHEMA.get(type(model).__name__)
    if entry is None or type(model) is not entry.kind:
        raise ModelFileError(path, f"{type(model).__name__} is not an estimator of maxmargin")
    fitted = model._as_fitted()
    try:
        content = _to_bytes(fitted, entry)
    except (TypeError, ValueError) as error:
        raise ModelFileError(path, f"the {type(model).__name__} cannot be saved: {error}") from error
    with written_atomically(path) as file:
        file.write(content)
        file.flush()
        if os.path.isfile(file.name):
            try:
                _read(file.name)
            except ModelFileError as error:
                raise ModelFileError(path, f"the {type(model).__name__} cannot be saved: {error.reason}") from error


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that :func:`save` wrote.

    Nothing in the file is run. Every array's type and shape, every index and every number is checked; the certificate
    is what the file claims, and ``model.certificate_.check(certify(model, X, y))`` tells whether the data prove it.

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
    """
    with open(path, "rb"):  # an OSError of the system says more than safetensors would
        pass
    return _read(path)


@dataclass
class _Parts:
    """What is written of a model: plain values, and arrays."""

    values: dict[str, Any] = field(default_factory=dict)
    tensors: dict[str, np.ndarray] = field(default_factory=dict)


def _to_bytes(model: CertifiedModel, entry: Entry) -> bytes:
    parameters = {name: _parameter(name, value) for name, value in model.get_params(deep=False).items()}
    parts = _Parts()
    for name, attribute in entry.attributes.items():
        if hasattr(model, name):
            _write(attribute, name, getattr(model, name), parts)
        elif not attribute.optional:
            raise ValueError(f"it has no {name}")
    content = {
        "format": FORMAT,
        "version": VERSION,
        "class": entry.kind.__name__,
        "parameters": parameters,
        "attributes": {name: encode(value) for name, value in parts.values.items()},
        "column_major": sorted(name for name, array in parts.tensors.items() if _is_column_major(array)),
    }
    # safetensors writes the bytes in the order of memory.
    tensors = {name: np.ascontiguousarray(array) for name, array in parts.tensors.items()}
    return serialize(tensors, {KEY: to_text(content)})


def _parameter(name: str, value: Any) -> Any:
    if callable(value):
        raise ValueError(f"{name} is a function, which a file cannot hold")
    try:
        return encode(value)
    except TypeError as error:
        raise ValueError(f"{name} is a {type(value).__name__}, which a file cannot hold") from error


def _is_column_major(array: np.ndarray) -> bool:
    return array.flags.f_contiguous and not array.flags.c_contiguous


@singledispatch
def _write(_attribute: Attribute, name: str, value: Any, parts: _Parts) -> None:
    """Store one attribute: a plain value as it is, all other kinds by the functions below."""
    parts.values[name] = value


@_write.register
def _(attribute: Array, name: str, value: Any, parts: _Parts) -> None:
    if value is None and attribute.or_none:
        parts.values[name] = None
    else:
        parts.tensors[name] = np.asarray(value)


@_write.register
def _(_attribute: CountsPerTask, name: str, value: Any, parts: _Parts) -> None:
    for task, counts in enumerate(value if isinstance(value, list) else [value]):
        parts.tensors[f"{name}.{task}"] = counts


@_write.register
def _(attribute: Records, name: str, value: Any, parts: _Parts) -> None:
    for part, kind in attribute.fields.items():
        column = [getattr(record, part) for record in value]
        if not kind.optional or all(entry is not None for entry in column):
            parts.tensors[f"{name}.{part}"] = np.array(column)


@_write.register
def _(_attribute: SupportVectors, name: str, value: Any, parts: _Parts) -> None:
    if not sp.issparse(value):
        parts.tensors[name] = value
        return
    for part in ("data", "indices", "indptr"):
        parts.tensors[f"{name}.{part}"] = getattr(value, part)


@_write.register
def _(attribute: Numbers, name: str, value: Any, parts: _Parts) -> None:
    numbers = list(value) if isinstance(value, (list, np.ndarray)) else [value]
    parts.values[name] = [attribute.of(number) for number in numbers]


@_write.register
def _(_attribute: Names, name: str, value: Any, parts: _Parts) -> None:
    parts.values[name] = [str(entry) for entry in value]


@_write.register
def _(_attribute: Labels, name: str, value: Any, parts: _Parts) -> None:
    labels = parts.values[name] = value.tolist()
    kind = value.dtype.name
    if value.dtype.kind == "U":
        kind = f"text {min(value.dtype.itemsize // 4, longest_label(labels))}"
    parts.values[f"{name}.type"] = kind


@_write.register
def _(_attribute: KernelName, name: str, value: Any, parts: _Parts) -> None:
    parts.values[name] = None
    if value is not None:
        known = _kernel_name(value)
        if known is None:
            raise ValueError("kernel was a function, which a file cannot hold")
        parts.values[name] = {"name": known, **{part.name: getattr(value, part.name) for part in fields(value)}}


@_write.register
def _(_attribute: StatusName, name: str, value: Any, parts: _Parts) -> None:
    parts.values[name] = str(value)


@_write.register
def _(_attribute: Certificates, name: str, value: Any, parts: _Parts) -> None:
    parts.values[name] = plain_certificate(value)


def _kernel_name(kernel: Any) -> str | None:
    return next((name for name, kind in KERNELS.items() if type(kernel) is kind), None)


def _read(path: str | os.PathLike[str]) -> Any:
    try:
        with safe_open(os.fspath(path), framework="numpy") as tensors:
            return _from_file(tensors)
    except (SafetensorError, ValueError, OverflowError, RecursionError) as error:
        raise ModelFileError(path, str(error) or type(error).__name__) from error


def _from_file(tensors: Any) -> Any:
    metadata = tensors.metadata()
    if not metadata or set(metadata) != {KEY}:
        raise ValueError("it is a safetensors file, but not one of maxmargin's")
    content = from_text(metadata[KEY])
    if content.get("format") != FORMAT:
        raise ValueError(f"its format is {content.get('format')!r} instead of {FORMAT!r}")
    if content.get("version") != VERSION or type(content["version"]) is not int:
        raise ValueError(f"its version is {content.get('version')!r}; this maxmargin reads version {VERSION}")
    if set(content) != set(CONTENT):
        raise ValueError(f"it has the entries {sorted(content)}")
    name = content["class"]
    if not isinstance(name, str) or name not in SCHEMA:
        raise ValueError(f"there is no estimator {name!r}")
    for part in ("parameters", "attributes"):
        if not isinstance(content[part], dict):
            raise ValueError(f"its {part} are not an object")
    layout = content["column_major"]
    if not isinstance(layout, list) or not all(isinstance(tensor, str) for tensor in layout):
        raise ValueError("column_major is not a list of names")
    entry = SCHEMA[name]
    model = _with_parameters(entry, {key: decode(value) for key, value in content["parameters"].items()})
    values = {key: decode(value) for key, value in content["attributes"].items()}
    vars(model).update(read_attributes(entry, StoredParts(values, tensors, frozenset(layout))))
    _refuse_other_kernel(model)
    model._freeze_parameters()
    return model


def _with_parameters(entry: Entry, parameters: dict[str, Any]) -> Any:
    """An estimator with its parameters, checked as ``fit`` checks them."""
    unknown = set(parameters) - set(entry.kind._get_param_names())
    if unknown:
        raise ValueError(f"{entry.kind.__name__} has no parameter {', '.join(sorted(unknown))}")
    model = entry.kind(**parameters)
    model._validate_params()
    if hasattr(model, "_check_parameters"):
        model._check_parameters()
    return model


def _refuse_other_kernel(model: Any) -> None:
    """Refuse a kernel parameter that is not that of the fitted kernel: predictions and lookups would then disagree."""
    if hasattr(model, "_kernel"):
        fitted = _kernel_name(model._kernel) or "precomputed"
        if model.kernel != fitted:
            raise ValueError(f"kernel is {model.kernel!r}, but the model was fitted with {fitted!r}")
