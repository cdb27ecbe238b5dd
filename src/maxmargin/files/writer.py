"""Writer of model files: turns the attributes that the schema lists into plain values and arrays."""

from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.files.problem import kernel_numbers
from maxmargin.files.reader import longest_label
from maxmargin.files.schema import (
    Array,
    Attribute,
    Certificates,
    CountsPerTask,
    KernelName,
    Labels,
    Names,
    Numbers,
    Records,
    StatusName,
    SupportVectors,
)
from maxmargin.files.values import encode, plain_certificate


@dataclass
class Parts:
    """What is written of a model: plain values, and arrays."""

    values: dict[str, Any] = field(default_factory=dict)
    tensors: dict[str, np.ndarray] = field(default_factory=dict)


def precisions_of(model: Any) -> dict[str, np.dtype]:
    """The types of the attributes that may be float32."""
    found = {name: getattr(model, name) for name in model._in_precision_of_rows if hasattr(model, name)}
    return {name: getattr(value, "dtype", np.dtype(np.float64)) for name, value in found.items()}


def json_object(values: dict[str, Any]) -> dict[str, Any]:
    """Plain values as a JSON object."""
    return {name: encode(value) for name, value in values.items()}


def plain_parameter(name: str, value: Any) -> Any:
    if callable(value):
        raise ValueError(f"{name} is a function, which a file cannot hold")
    try:
        return encode(value)
    except TypeError as error:
        raise ValueError(f"{name} is a {type(value).__name__}, which a file cannot hold") from error


def is_column_major(array: np.ndarray) -> bool:
    return array.flags.f_contiguous and not array.flags.c_contiguous


@singledispatch
def write_attribute(_attribute: Attribute, name: str, value: Any, parts: Parts) -> None:
    """Store one attribute: a plain value as it is, all other kinds by the functions below."""
    parts.values[name] = value


@write_attribute.register
def _(attribute: Array, name: str, value: Any, parts: Parts) -> None:
    if value is None and attribute.or_none:
        parts.values[name] = None
    else:
        parts.tensors[name] = np.asarray(value)


@write_attribute.register
def _(_attribute: CountsPerTask, name: str, value: Any, parts: Parts) -> None:
    for task, counts in enumerate(value if isinstance(value, list) else [value]):
        parts.tensors[f"{name}.{task}"] = counts


@write_attribute.register
def _(attribute: Records, name: str, value: Any, parts: Parts) -> None:
    for part, kind in attribute.fields.items():
        column = [getattr(record, part) for record in value]
        if not kind.optional or all(entry is not None for entry in column):
            parts.tensors[f"{name}.{part}"] = np.array(column)


@write_attribute.register
def _(_attribute: SupportVectors, name: str, value: Any, parts: Parts) -> None:
    if not sp.issparse(value):
        parts.tensors[name] = value
        return
    for part in ("data", "indices", "indptr"):
        parts.tensors[f"{name}.{part}"] = getattr(value, part)


@write_attribute.register
def _(attribute: Numbers, name: str, value: Any, parts: Parts) -> None:
    numbers = list(value) if isinstance(value, (list, np.ndarray)) else [value]
    parts.values[name] = [attribute.of(number) for number in numbers]


@write_attribute.register
def _(_attribute: Names, name: str, value: Any, parts: Parts) -> None:
    parts.values[name] = [str(entry) for entry in value]


@write_attribute.register
def _(_attribute: Labels, name: str, value: Any, parts: Parts) -> None:
    labels = parts.values[name] = value.tolist()
    kind = value.dtype.name
    if value.dtype.kind == "U":
        kind = f"text {min(value.dtype.itemsize // 4, longest_label(labels))}"
    parts.values[f"{name}.type"] = kind


@write_attribute.register
def _(_attribute: KernelName, name: str, value: Any, parts: Parts) -> None:
    parts.values[name] = kernel_numbers(value)


@write_attribute.register
def _(_attribute: StatusName, name: str, value: Any, parts: Parts) -> None:
    parts.values[name] = str(value)


@write_attribute.register
def _(_attribute: Certificates, name: str, value: Any, parts: Parts) -> None:
    parts.values[name] = plain_certificate(value)
