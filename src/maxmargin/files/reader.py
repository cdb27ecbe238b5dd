"""Reader of model files: takes the stored parts by name, checks them against the schema, and rebuilds the attributes.

Nothing of the file is executed. Every type, shape, index and number is checked before it is used; ValueError says what
is wrong. A part can be taken once only, so that nothing unknown stays unnoticed.
"""

import math
from dataclasses import fields
from functools import singledispatch
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.certificates import PerClass, PerPair
from maxmargin.files.container import Tensor
from maxmargin.files.problem import KERNELS
from maxmargin.files.schema import (
    FLOATS,
    INTEGERS,
    Array,
    Attribute,
    Certificates,
    Count,
    Counts,
    CountsPerTask,
    Entry,
    FitShape,
    Flag,
    Indices,
    KernelName,
    Labels,
    Names,
    Numbers,
    Records,
    Shape,
    StatusName,
    SupportVectors,
)
from maxmargin.files.values import certificate_of
from maxmargin.solvers.core import Status

# Largest size that an attribute may state, for sizes that no tensor bounds, such as the columns of sparse rows. No
# machine addresses more.
LARGEST_SIZE = 2**48
# Class labels of a file: numbers of these types, or text.
LABEL_TYPES = ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), "float32", "float64")
# Characters that a text label may reserve beyond its own length: a small file must not make a large array.
LABEL_LENGTH = 64
# Tensors that are no attributes, see docs/proof-format.md: scales of the columns, and the centre behind a radius.
PROOF_TENSORS = ("proof.centre", "proof.scales")


class StoredParts:
    """Plain values and tensors of a file by name, and the sizes of the symbols of shapes.

    Parameters
    ----------
    values : dict of decoded values
    tensors : dict of Tensor
    column_major : names of the tensors that were column-major in memory
        Sums of BLAS depend on the memory layout in their last bits.
    """

    def __init__(self, values: dict[str, Any], tensors: dict[str, Tensor], column_major: frozenset[str]) -> None:
        self._values, self._tensors, self._column_major = dict(values), tensors, column_major
        self._tensor_names = set(tensors)
        self._sizes: dict[str, int] = {}
        # The attributes that were read so far.
        self.found: dict[str, Any] = {}
        if not column_major <= self._tensor_names:
            raise ValueError("there is no tensor for the layout of " + ", ".join(sorted(column_major)))

    def names(self) -> set[str]:
        """The parts that were not taken yet."""
        return set(self._values) | self._tensor_names

    def has(self, name: str) -> bool:
        """Whether there is a value or a tensor of the attribute."""
        return any(part == name or part.startswith(f"{name}.") for part in self.names())

    def has_value(self, name: str) -> bool:
        """Whether there is a plain value of this name."""
        return name in self._values

    def has_tensor(self, name: str) -> bool:
        """Whether there is a tensor of this name."""
        return name in self._tensor_names

    def take_value(self, name: str) -> Any:
        """A plain value, once."""
        if name not in self._values:
            raise ValueError(f"{name} is missing")
        return self._values.pop(name)

    def take_tensor(self, name: str, dtypes: tuple[str, ...], shape: Shape) -> np.ndarray:
        """A tensor, once; its type and shape are checked before its numbers are read."""
        if name not in self._tensor_names:
            raise ValueError(f"{name} is missing")
        self._tensor_names.remove(name)
        stored = self._tensors[name]
        if stored.dtype not in dtypes:
            raise ValueError(f"{name} has the type {stored.dtype} instead of {' or '.join(dtypes)}")
        if len(stored.shape) != len(shape):
            raise ValueError(f"{name} has {len(stored.shape)} axes instead of {len(shape)}")
        for symbol, size in zip(shape, stored.shape, strict=True):
            self.set_size(symbol, size, name)
        array = stored.array().astype(stored.array().dtype.newbyteorder("="), order="C")
        if name in self._column_major:
            array = np.asfortranarray(array)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{name} has entries that are not finite")
        return array

    def size(self, symbol: str) -> int:
        """The size of a symbol."""
        if symbol not in self._sizes:
            raise ValueError(f"nothing says what {symbol} is")
        return self._sizes[symbol]

    def knows_size(self, symbol: str) -> bool:
        """Whether the symbol's size was set."""
        return symbol in self._sizes

    def set_size(self, symbol: str | int, size: int, name: str) -> None:
        """Set the size of a symbol, or compare it with the size that was set."""
        if not 0 <= size <= LARGEST_SIZE:
            raise ValueError(f"{name} has the size {size}")
        expected = symbol if isinstance(symbol, int) else self._sizes.setdefault(symbol, size)
        if size != expected:
            raise ValueError(f"{name} has {size} instead of {expected} for {symbol}")


def read_proof_tensors(stored: StoredParts) -> dict[str, np.ndarray]:
    """The vectors that a claim depends on, beside the attributes; all have one number for each column."""
    names = sorted(name for name in stored.names() if name in PROOF_TENSORS)
    return {name: stored.take_tensor(name, FLOATS, ("d",)) for name in names}


def read_attributes(entry: Entry, stored: StoredParts) -> dict[str, Any]:
    """All attributes of an estimator; ValueError where a part is missing, unknown or does not fit."""
    if "classes_" not in entry.attributes:
        stored.set_size("k", 1, "a regression")
    for name, attribute in entry.attributes.items():
        if stored.has(name):
            stored.found[name] = read(attribute, name, stored)
        elif not attribute.optional:
            raise ValueError(f"{name} is missing")
    if stored.names():
        raise ValueError(f"{entry.name} has no attribute {', '.join(sorted(stored.names()))}")
    if not any(complete <= set(stored.found) for complete in entry.one_of):
        raise ValueError("it lacks " + ", ".join(sorted(entry.one_of[0] - set(stored.found))))
    return stored.found


@singledispatch
def read(attribute: Attribute, name: str, stored: StoredParts) -> Any:
    """Read one attribute: one function below for each kind in the schema."""
    raise NotImplementedError(f"{name}: {type(attribute).__name__}, {stored}")


@read.register
def _(attribute: Array, name: str, stored: StoredParts) -> np.ndarray | None:
    if attribute.or_none and stored.has_value(name):
        if stored.take_value(name) is not None:
            raise ValueError(f"{name} is neither a tensor nor null")
        return None
    return stored.take_tensor(name, attribute.dtypes, attribute.shape)


@read.register
def _(attribute: Indices, name: str, stored: StoredParts) -> np.ndarray:
    indices = stored.take_tensor(name, attribute.dtypes, attribute.shape)
    size = stored.size(attribute.below)
    if indices.size and not 0 <= indices.min() <= indices.max() < size:
        raise ValueError(f"{name} has indices outside of 0 to {size - 1}")
    if not (np.diff(indices) > 0).all() and np.unique(indices).size < indices.size:
        raise ValueError(f"{name} has an index twice")
    return indices


@read.register
def _(attribute: Counts, name: str, stored: StoredParts) -> np.ndarray:
    counts = stored.take_tensor(name, attribute.dtypes, attribute.shape)
    if (counts < 0).any():
        raise ValueError(f"{name} has negative entries")
    if attribute.total is not None and int(counts.sum(dtype=np.int64)) != stored.size(attribute.total):
        raise ValueError(f"{name} does not add up to {stored.size(attribute.total)}, which is {attribute.total}")
    return counts


@read.register
def _(_attribute: CountsPerTask, name: str, stored: StoredParts) -> np.ndarray | list[np.ndarray]:
    arrays: list[np.ndarray] = []
    for task in range(stored.size("k")):
        own = f"{name}.{task}"
        arrays.append(read(Counts(shape=(f"the length of {own}",), dtypes=("I64",)), own, stored))
    return arrays[0] if len(arrays) == 1 else arrays


@read.register
def _(attribute: Records, name: str, stored: StoredParts) -> list[Any]:
    records: list[dict[str, Any]] = [{} for _ in range(stored.size("k"))]
    for field, kind in attribute.fields.items():
        own = f"{name}.{field}"
        if kind.optional and not stored.has_tensor(own):
            continue
        for record, value in zip(records, read(kind, own, stored), strict=True):
            record[field] = value if value.ndim else value.item()
    return [attribute.of(**record) for record in records]


@read.register
def _(attribute: SupportVectors, name: str, stored: StoredParts) -> Any:
    if stored.found["_kernel"] is None:
        return stored.take_tensor(name, attribute.dtypes, (0, "columns_of_no_rows"))
    if stored.has_tensor(name):
        return stored.take_tensor(name, attribute.dtypes, ("n_support", "d"))
    data = stored.take_tensor(f"{name}.data", attribute.dtypes, ("n_stored",))
    indices = stored.take_tensor(f"{name}.indices", INTEGERS, ("n_stored",))
    indptr = stored.take_tensor(f"{name}.indptr", INTEGERS, ("n_offsets",))
    shape = stored.size("n_support"), stored.size("d")
    _check_sparse_rows(name, indices, indptr, shape)
    return attribute.sparse(sp.csr_array((data, indices, indptr), shape=shape))


def _check_sparse_rows(name: str, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]) -> None:
    n_rows, n_columns = shape
    if indptr.size != n_rows + 1:
        raise ValueError(f"{name} has {indptr.size - 1} rows instead of {n_rows}")
    if indptr[0] != 0 or indptr[-1] != indices.size or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"{name} has rows that do not follow each other")
    if indices.size and not 0 <= indices.min() <= indices.max() < n_columns:
        raise ValueError(f"{name} has columns outside of 0 to {n_columns - 1}")
    starts_row = np.zeros(indices.size, dtype=bool)
    starts_row[indptr[:-1][indptr[:-1] < indices.size]] = True
    if not (starts_row[1:] | (indices[1:] > indices[:-1])).all():
        raise ValueError(f"{name} has rows whose columns are not in order")


@read.register
def _(attribute: Count, name: str, stored: StoredParts) -> int:
    value = stored.take_value(name)
    if not _are_counts([value]):
        raise ValueError(f"{name} is {value!r}, not a count")
    if attribute.size is not None:
        stored.set_size(attribute.size, value, name)
    most = attribute.at_most
    if most is not None and stored.knows_size(most) and value > stored.size(most):
        raise ValueError(f"{name} is {value}, more than {stored.size(most)}")
    return value


@read.register
def _(_attribute: Flag, name: str, stored: StoredParts) -> bool:
    value = stored.take_value(name)
    if not isinstance(value, bool):
        raise ValueError(f"{name} is {value!r}, not a boolean")
    return value


@read.register
def _(_attribute: FitShape, name: str, stored: StoredParts) -> tuple[int, ...]:
    value = stored.take_value(name)
    if not _are_counts(value) or len(value) != 2:
        raise ValueError(f"{name} is {value!r}, not a shape")
    for symbol, size in zip(("n", "d"), value, strict=True):
        stored.set_size(symbol, size, name)
    return tuple(value)


@read.register
def _(attribute: Numbers, name: str, stored: StoredParts) -> Any:
    value, k = stored.take_value(name), stored.size("k")
    is_list = isinstance(value, list) and all(isinstance(number, attribute.of) for number in value)
    if not is_list or (attribute.of is int and not _are_counts(value)):
        raise ValueError(f"{name} is not a list of numbers")
    if len(value) != k and not (attribute.or_one and len(value) == 1):
        raise ValueError(f"{name} has {len(value)} numbers instead of {k} for k")
    if any(number != number for number in value):
        raise ValueError(f"{name} is not a number")
    if attribute.finite and not all(math.isfinite(number) and number >= attribute.at_least for number in value):
        raise ValueError(f"{name} is infinite, or less than {attribute.at_least:g}")
    if len(value) == 1:
        return value[0]
    return np.array(value) if attribute.as_array else value


@read.register
def _(_attribute: Names, name: str, stored: StoredParts) -> np.ndarray:
    value = stored.take_value(name)
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise ValueError(f"{name} is not a list of names")
    stored.set_size("d", len(value), name)
    return np.array(value, dtype=object)


@read.register
def _(_attribute: Labels, name: str, stored: StoredParts) -> np.ndarray:
    kind, labels = stored.take_value(f"{name}.type"), stored.take_value(name)
    if not isinstance(labels, list) or len(labels) < 2:
        raise ValueError(f"{name} is not a list of two labels or more")
    classes = _labels_of_type(name, kind, labels)
    if classes.tolist() != labels or not all(first < second for first, second in pairwise(labels)):
        raise ValueError(f"{name} has labels that are not in order, or not of the type {kind}")
    n_classes = len(labels)
    stored.set_size("n_classes", n_classes, name)
    stored.set_size("n_classes - 1", n_classes - 1, name)
    stored.set_size("n_pairs", n_classes * (n_classes - 1) // 2, name)
    stored.set_size("k", 1 if n_classes == 2 else n_classes, name)
    return classes


def _labels_of_type(name: str, kind: Any, labels: list[Any]) -> np.ndarray:
    """The labels as an array of the stated type: one of ``LABEL_TYPES``, "object" for text, or "text LENGTH"."""
    text, _, length = kind.partition(" ") if isinstance(kind, str) else ("", "", "")
    is_text = kind == "object" or (text == "text" and length.isdecimal() and len(length) < 10)
    if not is_text and kind not in LABEL_TYPES:
        raise ValueError(f"{name} has the type {kind!r}: labels are numbers, booleans or text")
    expected = str if is_text else type(np.zeros(1, dtype=kind)[0].item())
    if not all(type(label) is expected for label in labels):
        raise ValueError(f"{name} has labels that are not of the type {kind}")
    if length and int(length) > longest_label(labels):
        raise ValueError(f"{name} has room for {length} letters in a label")
    return np.array(labels, dtype=f"U{length}" if length else kind)


def longest_label(labels: list[str]) -> int:
    """How many characters an array of text labels may reserve for each."""
    return max(LABEL_LENGTH, *(len(label) for label in labels))


@read.register
def _(_attribute: KernelName, name: str, stored: StoredParts) -> Any:
    value = stored.take_value(name)
    if value is None:
        stored.set_size("d", stored.size("n"), "the Gram matrix")
        return None
    known = value.get("name") if isinstance(value, dict) else None
    if not isinstance(known, str) or known not in KERNELS:
        raise ValueError(f"{name} is no kernel that a file can hold")
    kind = KERNELS[known]
    numbers = {key: number for key, number in value.items() if key != "name"}
    if set(numbers) != {part.name for part in fields(kind)}:
        raise ValueError(f"{name} has the numbers {sorted(map(str, numbers))}")
    for key, number in numbers.items():
        is_integer = isinstance(number, int) and not isinstance(number, bool)
        if not is_integer and (key == "degree" or not isinstance(number, float) or not np.isfinite(number)):
            raise ValueError(f"{name} has {key} = {number!r}")
        if key in ("gamma", "degree") and number < 0:
            raise ValueError(f"{name} has {key} = {number!r}")
    return kind(**numbers)


@read.register
def _(_attribute: StatusName, name: str, stored: StoredParts) -> Status:
    value = stored.take_value(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} is not text")
    return Status(value)


@read.register
def _(attribute: Certificates, name: str, stored: StoredParts) -> Any:
    certificate = certificate_of(stored.take_value(name))
    classes = stored.found["classes_"].tolist() if "classes_" in stored.found else []
    kind = type(certificate).__name__
    if len(classes) <= 2 or kind in attribute.joint:
        expected = attribute.kinds if len(classes) <= 2 else attribute.joint
        if kind not in expected:
            raise ValueError(f"{name} is a {kind}")
        return certificate
    labels = list(combinations(classes, 2)) if attribute.per_pair else classes
    collection = PerPair if attribute.per_pair else PerClass
    if not isinstance(certificate, collection) or type(certificate) is not collection or list(certificate) != labels:
        raise ValueError(f"{name} does not state one certificate for each class or pair")
    for one in certificate.values():
        if type(one).__name__ not in attribute.kinds:
            raise ValueError(f"{name} has a {type(one).__name__}")
    return certificate


def _are_counts(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)
