"""Model files: a safetensors file with the arrays, and one JSON text with all else; reading one runs no code of it."""

import os
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as serialize
from sklearn.utils.validation import check_is_fitted

from maxmargin.estimators._base import CertifiedModel
from maxmargin.files.atomic import written_atomically
from maxmargin.files.attributes import KERNELS, Parts
from maxmargin.files.errors import ModelFileError
from maxmargin.files.model_table import ENTRY_OF, Entry
from maxmargin.files.plain_values import decode, encode, from_text, to_text
from maxmargin.files.stored_parts import StoredParts

FORMAT, VERSION = "maxmargin model", 1
# The one key of the safetensors file's metadata.
KEY = "maxmargin"
CONTENT = ("format", "version", "class", "parameters", "attributes", "column_major")


def save(model: CertifiedModel, path: str | os.PathLike[str]) -> None:
    """Write a fitted model, with its certificate, to a file.

    The file holds what predicting and certifying need. Histories of the fit and callbacks are left out. It replaces an
    old file only when it is complete, on the disk, and was read back.

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
    entry = ENTRY_OF.get(type(model).__name__)
    if entry is None or type(model) is not entry.kind:
        raise ModelFileError(path, f"{type(model).__name__} is not an estimator of maxmargin")
    check_is_fitted(model)
    try:
        content = _to_bytes(model, entry)
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


def _to_bytes(model: CertifiedModel, entry: Entry) -> bytes:
    parameters = {name: _parameter(name, value) for name, value in model.get_params(deep=False).items()}
    parts = Parts()
    for name, attribute in entry.attributes.items():
        if hasattr(model, name):
            attribute.pack(name, getattr(model, name), parts)
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
    # safetensors writes the memory as it lies there.
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
    if not isinstance(name, str) or name not in ENTRY_OF:
        raise ValueError(f"there is no estimator {name!r}")
    for part in ("parameters", "attributes"):
        if not isinstance(content[part], dict):
            raise ValueError(f"its {part} are not an object")
    layout = content["column_major"]
    if not isinstance(layout, list) or not all(isinstance(tensor, str) for tensor in layout):
        raise ValueError("column_major is not a list of names")
    entry = ENTRY_OF[name]
    model = _with_parameters(entry, {key: decode(value) for key, value in content["parameters"].items()})
    values = {key: decode(value) for key, value in content["attributes"].items()}
    vars(model).update(_attributes(entry, StoredParts(values, tensors, frozenset(layout))))
    _refuse_other_kernel(model)
    return model


def _with_parameters(entry: Entry, parameters: dict[str, Any]) -> Any:
    """An estimator with its parameters, checked as a fit would check them."""
    unknown = set(parameters) - set(entry.kind._get_param_names())
    if unknown:
        raise ValueError(f"{entry.kind.__name__} has no parameter {', '.join(sorted(unknown))}")
    model = entry.kind(**parameters)
    model._validate_params()
    if hasattr(model, "_check_parameters"):
        model._check_parameters()
    return model


def _attributes(entry: Entry, stored: StoredParts) -> dict[str, Any]:
    if "classes_" not in entry.attributes:
        stored.sizes.agree("planes", 1, "a regression")
    for name, attribute in entry.attributes.items():
        if stored.has(name):
            stored.found[name] = attribute.unpack(name, stored)
        elif not attribute.optional:
            raise ValueError(f"{name} is missing")
    if stored.names():
        raise ValueError(f"{entry.kind.__name__} has no attribute {', '.join(sorted(stored.names()))}")
    if not any(complete <= set(stored.found) for complete in entry.one_of):
        raise ValueError("it lacks " + ", ".join(sorted(entry.one_of[0] - set(stored.found))))
    return stored.found


def _refuse_other_kernel(model: Any) -> None:
    """A parameter that was changed after the fit would make the model predict with the one and look up the other."""
    if not hasattr(model, "_kernel"):
        return
    fitted = next((name for name, kind in KERNELS.items() if type(model._kernel) is kind), "precomputed")
    if model.kernel != fitted:
        raise ValueError(f"kernel is {model.kernel!r}, but the model was fitted with {fitted!r}")
