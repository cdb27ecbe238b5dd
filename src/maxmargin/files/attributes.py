"""The kinds of fitted attributes: how each is laid into a model file, and checked and made again from it."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from itertools import combinations, pairwise
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from maxmargin.certificates import PerClass, PerPair
from maxmargin.files.certificate_values import certificate_of, plain_certificate
from maxmargin.files.stored_parts import StoredParts
from maxmargin.problems.kernels import Linear, Polynomial, RadialBasis, Sigmoid
from maxmargin.solvers.core import Status
from maxmargin.solvers.perceptron.result import Start

FLOATS = ("F64",)
INDICES = ("I32", "I64")
KERNELS: dict[str, Any] = {"linear": Linear, "poly": Polynomial, "rbf": RadialBasis, "sigmoid": Sigmoid}


@dataclass
class Parts:
    """What is written of a model: plain values, and arrays."""

    values: dict[str, Any] = field(default_factory=dict)
    tensors: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Attribute(ABC):
    """A kind of attribute; an ``optional`` one need not be there."""

    optional: bool = False

    @abstractmethod
    def pack(self, name: str, value: Any, parts: Parts) -> None:
        """Lay the attribute's parts into a file."""

    @abstractmethod
    def unpack(self, name: str, stored: StoredParts) -> Any:
        """Take the parts, check them, and make the attribute; ValueError where they do not fit."""


class PlainAttribute(Attribute):
    """An attribute that is one plain value in the file."""

    def pack(self, name: str, value: Any, parts: Parts) -> None:
        parts.values[name] = value

    def unpack(self, name: str, stored: StoredParts) -> Any:
        return self.checked(name, stored.take_value(name), stored)

    @abstractmethod
    def checked(self, name: str, value: Any, stored: StoredParts) -> Any:
        """The attribute, if the value can be one."""


@dataclass(frozen=True, kw_only=True)
class Array(Attribute):
    """An array of finite numbers; ``or_none`` where None stands for no such array."""

    shape: tuple[str | int, ...]
    dtypes: tuple[str, ...] = FLOATS
    or_none: bool = False

    def pack(self, name: str, value: Any, parts: Parts) -> None:
        if value is None and self.or_none:
            parts.values[name] = None
        else:
            parts.tensors[name] = np.asarray(value)

    def unpack(self, name: str, stored: StoredParts) -> Any:
        if self.or_none and stored.has_value(name):
            if stored.take_value(name) is not None:
                raise ValueError(f"{name} is neither a tensor nor null")
            return None
        return stored.take_tensor(name, self.dtypes, self.shape)


@dataclass(frozen=True, kw_only=True)
class Places(Array):
    """Different whole numbers from 0 to below a size: places of rows."""

    below: str

    def unpack(self, name: str, stored: StoredParts) -> np.ndarray:
        places = super().unpack(name, stored)
        size = stored.sizes[self.below]
        if places.size and not 0 <= places.min() <= places.max() < size:
            raise ValueError(f"{name} has places outside of 0 to {size - 1}")
        if not (np.diff(places) > 0).all() and np.unique(places).size < places.size:
            raise ValueError(f"{name} has a place twice")
        return places


@dataclass(frozen=True, kw_only=True)
class Tallies(Array):
    """Whole numbers that are not negative; those that count the parts of a size add up to it."""

    dtypes: tuple[str, ...] = ("I32",)
    parts_of: str | None = None

    def unpack(self, name: str, stored: StoredParts) -> np.ndarray:
        tallies = super().unpack(name, stored)
        if (tallies < 0).any():
            raise ValueError(f"{name} has negative entries")
        if self.parts_of is not None and int(tallies.sum(dtype=np.int64)) != stored.sizes[self.parts_of]:
            raise ValueError(f"{name} does not add up to {stored.sizes[self.parts_of]}, which is {self.parts_of}")
        return tallies


@dataclass(frozen=True, kw_only=True)
class SupportRows(Attribute):
    """Rows that a kernel is taken with: dense, sparse (in the estimator's own class), or none for a gram matrix."""

    sparse: type = sp.csr_matrix

    DTYPES: ClassVar[tuple[str, ...]] = ("F64", "F32")

    def pack(self, name: str, value: Any, parts: Parts) -> None:
        if not sp.issparse(value):
            parts.tensors[name] = value
            return
        for part in ("data", "indices", "indptr"):
            parts.tensors[f"{name}.{part}"] = getattr(value, part)

    def unpack(self, name: str, stored: StoredParts) -> Any:
        if stored.found["_kernel"] is None:
            return stored.take_tensor(name, self.DTYPES, (0, "columns_of_no_rows"))
        if stored.has_tensor(name):
            return stored.take_tensor(name, self.DTYPES, ("n_support", "d"))
        data = stored.take_tensor(f"{name}.data", self.DTYPES, ("n_stored",))
        indices = stored.take_tensor(f"{name}.indices", INDICES, ("n_stored",))
        offsets = stored.take_tensor(f"{name}.indptr", INDICES, ("n_offsets",))
        n_rows, n_columns = stored.sizes["n_support"], stored.sizes["d"]
        _refuse_bad_rows(name, indices, offsets, n_rows, n_columns)
        return self.sparse((data, indices, offsets), shape=(n_rows, n_columns))


def _refuse_bad_rows(name: str, indices: np.ndarray, offsets: np.ndarray, n_rows: int, n_columns: int) -> None:
    if offsets.size != n_rows + 1:
        raise ValueError(f"{name} has {offsets.size - 1} rows instead of {n_rows}")
    if offsets[0] != 0 or offsets[-1] != indices.size or (offsets[1:] < offsets[:-1]).any():
        raise ValueError(f"{name} has rows that do not follow each other")
    if indices.size and not 0 <= indices.min() <= indices.max() < n_columns:
        raise ValueError(f"{name} has columns outside of 0 to {n_columns - 1}")
    begins = np.zeros(indices.size, dtype=bool)
    begins[offsets[:-1][offsets[:-1] < indices.size]] = True
    if not (begins[1:] | (indices[1:] > indices[:-1])).all():
        raise ValueError(f"{name} has rows whose columns are not in order")


class Passes(Attribute):
    """One array of counts a plane, of different lengths: an array for one plane, a list for more."""

    def pack(self, name: str, value: Any, parts: Parts) -> None:
        arrays = value if isinstance(value, list) else [value]
        parts.values[f"{name}.lengths"] = [len(array) for array in arrays]
        parts.tensors[name] = np.concatenate(arrays)

    def unpack(self, name: str, stored: StoredParts) -> Any:
        lengths = stored.take_value(f"{name}.lengths")
        counts = stored.take_tensor(name, ("I64",), ("n_passes",))
        n_planes = stored.sizes["planes"]
        if not _are_counts(lengths) or len(lengths) != n_planes or sum(lengths) != counts.size:
            raise ValueError(f"{name} has other lengths than it says")
        if (counts < 0).any():
            raise ValueError(f"{name} has negative entries")
        arrays = np.split(counts, np.cumsum(lengths)[:-1])
        return arrays[0] if n_planes == 1 else arrays


class Starts(Attribute):
    """Where a run of every plane would go on, with the sums of the averages."""

    def pack(self, name: str, value: Any, parts: Parts) -> None:
        parts.tensors[f"{name}.w"] = np.array([start.w for start in value])
        parts.tensors[f"{name}.intercept"] = np.array([start.intercept for start in value])
        parts.tensors[f"{name}.seen"] = np.array([start.seen for start in value], dtype=np.int64)
        if all(start.average_w is not None for start in value):
            parts.tensors[f"{name}.average_w"] = np.array([start.average_w for start in value])
            parts.tensors[f"{name}.average_intercept"] = np.array([start.average_intercept for start in value])

    def unpack(self, name: str, stored: StoredParts) -> list[Start]:
        w = stored.take_tensor(f"{name}.w", FLOATS, ("planes", "d"))
        intercept = stored.take_tensor(f"{name}.intercept", FLOATS, ("planes",))
        seen = stored.take_tensor(f"{name}.seen", ("I64",), ("planes",))
        if (seen < 0).any():
            raise ValueError(f"{name}.seen has negative entries")
        average_w, average_intercept = [None] * len(w), np.zeros(len(w))
        if stored.has_tensor(f"{name}.average_w"):
            average_w = list(stored.take_tensor(f"{name}.average_w", FLOATS, ("planes", "d")))
            average_intercept = stored.take_tensor(f"{name}.average_intercept", FLOATS, ("planes",))
        return [
            Start(w[k], float(intercept[k]), average_w[k], float(average_intercept[k]), int(seen[k]))
            for k in range(len(w))
        ]


@dataclass(frozen=True, kw_only=True)
class Count(PlainAttribute):
    """A whole number that is not negative: the size that a symbol stands for, or at most such a size."""

    size: str | None = None
    at_most: str | None = None

    def checked(self, name: str, value: Any, stored: StoredParts) -> int:
        if not _are_counts([value]):
            raise ValueError(f"{name} is {value!r}, not a count")
        if self.size is not None:
            stored.sizes.agree(self.size, value, name)
        if self.at_most is not None and self.at_most in stored.sizes and value > stored.sizes[self.at_most]:
            raise ValueError(f"{name} is {value}, more than {stored.sizes[self.at_most]}")
        return value


class Flag(PlainAttribute):
    """True or false."""

    def checked(self, name: str, value: Any, stored: StoredParts) -> bool:  # noqa: ARG002
        if not isinstance(value, bool):
            raise ValueError(f"{name} is {value!r}, not a boolean")
        return value


class FitShape(PlainAttribute):
    """The shape of the data of the fit."""

    def checked(self, name: str, value: Any, stored: StoredParts) -> tuple[int, ...]:
        if not _are_counts(value) or len(value) != 2:
            raise ValueError(f"{name} is {value!r}, not a shape")
        for symbol, size in zip(("n", "d"), value, strict=True):
            stored.sizes.agree(symbol, size, name)
        return tuple(value)


@dataclass(frozen=True, kw_only=True)
class OneAPlane(PlainAttribute):
    """A number for one plane, a list or an array of them for more.

    ``or_one``: planes that were learned together may have one number in common. ``finite`` numbers are neither
    infinite nor below ``at_least``.
    """

    of: type = float
    as_array: bool = False
    or_one: bool = False
    finite: bool = False
    at_least: float = -math.inf

    def pack(self, name: str, value: Any, parts: Parts) -> None:
        numbers = list(value) if isinstance(value, (list, np.ndarray)) else [value]
        parts.values[name] = [self.of(number) for number in numbers]

    def checked(self, name: str, value: Any, stored: StoredParts) -> Any:
        n_planes = stored.sizes["planes"]
        right = isinstance(value, list) and all(isinstance(number, self.of) for number in value)
        if not right or (self.of is int and not _are_counts(value)):
            raise ValueError(f"{name} is not a list of numbers")
        if len(value) != n_planes and not (self.or_one and len(value) == 1):
            raise ValueError(f"{name} has {len(value)} numbers for {n_planes} planes")
        if any(number != number for number in value):
            raise ValueError(f"{name} is not a number")
        if self.finite and not all(math.isfinite(number) and number >= self.at_least for number in value):
            raise ValueError(f"{name} is infinite, or less than {self.at_least:g}")
        if len(value) == 1:
            return value[0]
        return np.array(value) if self.as_array else value


class Names(PlainAttribute):
    """The names of the columns."""

    def pack(self, name: str, value: Any, parts: Parts) -> None:
        parts.values[name] = [str(entry) for entry in value]

    def checked(self, name: str, value: Any, stored: StoredParts) -> np.ndarray:
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise ValueError(f"{name} is not a list of names")
        stored.sizes.agree("d", len(value), name)
        return np.array(value, dtype=object)


class Labels(Attribute):
    """The classes, with their type; they say how many planes and pairs there are."""

    # Types of labels that a file can name, besides text.
    NUMBERS = ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), "float32", "float64")

    # Text may have more room than its letters need, but not so much that a small file makes a large array.
    LETTERS = 64

    def pack(self, name: str, value: Any, parts: Parts) -> None:
        labels = value.tolist()
        kind = value.dtype.name
        if value.dtype.kind == "U":
            kind = f"text {min(value.dtype.itemsize // 4, self._room_for(labels))}"
        parts.values[f"{name}.type"] = kind
        parts.values[name] = labels

    def _room_for(self, labels: list[str]) -> int:
        return max(self.LETTERS, *(len(label) for label in labels))

    def unpack(self, name: str, stored: StoredParts) -> np.ndarray:
        kind, labels = stored.take_value(f"{name}.type"), stored.take_value(name)
        if not isinstance(labels, list) or len(labels) < 2:
            raise ValueError(f"{name} is not a list of two labels or more")
        text, _, letters = kind.partition(" ") if isinstance(kind, str) else ("", "", "")
        in_text = kind == "object" or (text == "text" and letters.isdecimal() and len(letters) < 10)
        if not in_text and kind not in self.NUMBERS:
            raise ValueError(f"{name} has the type {kind!r}: labels are numbers, booleans or text")
        expected = str if in_text else type(np.zeros(1, dtype=kind)[0].item())
        if not all(type(label) is expected for label in labels):
            raise ValueError(f"{name} has labels that are not of the type {kind}")
        if letters and int(letters) > self._room_for(labels):
            raise ValueError(f"{name} has room for {letters} letters in a label")
        classes = np.array(labels, dtype=f"U{letters}" if letters else kind)
        if classes.tolist() != labels or not all(first < second for first, second in pairwise(labels)):
            raise ValueError(f"{name} has labels that are not in order, or not of the type {kind}")
        n_classes = len(labels)
        for symbol, size in (
            ("n_classes", n_classes),
            ("n_classes - 1", n_classes - 1),
            ("n_pairs", n_classes * (n_classes - 1) // 2),
            ("planes", 1 if n_classes == 2 else n_classes),
        ):
            stored.sizes.agree(symbol, size, name)
        return classes


class KernelAttribute(PlainAttribute):
    """A kernel by its name and numbers; None where X is the gram matrix."""

    def pack(self, name: str, value: Any, parts: Parts) -> None:
        parts.values[name] = None
        if value is not None:
            known = next((kernel for kernel, kind in KERNELS.items() if type(value) is kind), None)
            if known is None:
                raise ValueError("kernel was a function, which a file cannot hold")
            numbers = {part.name: getattr(value, part.name) for part in fields(value)}
            parts.values[name] = {"name": known, **numbers}

    def checked(self, name: str, value: Any, stored: StoredParts) -> Any:
        if value is None:
            stored.sizes.agree("d", stored.sizes["n"], "the gram matrix")
            return None
        known = value.get("name") if isinstance(value, dict) else None
        if not isinstance(known, str) or known not in KERNELS:
            raise ValueError(f"{name} is no kernel that a file can hold")
        kind = KERNELS[known]
        numbers = {key: number for key, number in value.items() if key != "name"}
        if set(numbers) != {part.name for part in fields(kind)}:
            raise ValueError(f"{name} has the numbers {sorted(map(str, numbers))}")
        for key, number in numbers.items():
            whole = isinstance(number, int) and not isinstance(number, bool)
            if not whole and (key == "degree" or not isinstance(number, float) or not np.isfinite(number)):
                raise ValueError(f"{name} has {key} = {number!r}")
            if key in ("gamma", "degree") and number < 0:
                raise ValueError(f"{name} has {key} = {number!r}")
        return kind(**numbers)


class StatusAttribute(PlainAttribute):
    """How the fit ended."""

    def pack(self, name: str, value: Any, parts: Parts) -> None:
        parts.values[name] = str(value)

    def checked(self, name: str, value: Any, stored: StoredParts) -> Status:  # noqa: ARG002
        if not isinstance(value, str):
            raise ValueError(f"{name} is not text")
        return Status(value)


@dataclass(frozen=True, kw_only=True)
class Proof(PlainAttribute):
    """A certificate of one of some kinds; for more classes one for each class or, ``of_pairs``, for each pair.

    ``together`` is the kind that speaks of all classes at once.
    """

    kinds: tuple[type, ...]
    of_pairs: bool = False
    together: type | None = None

    def pack(self, name: str, value: Any, parts: Parts) -> None:
        parts.values[name] = plain_certificate(value)

    def checked(self, name: str, value: Any, stored: StoredParts) -> Any:
        proof = certificate_of(value)
        classes = stored.found["classes_"].tolist() if "classes_" in stored.found else []
        if len(classes) <= 2 or (self.together is not None and type(proof) is self.together):
            expected = self.kinds if len(classes) <= 2 else (self.together,)
            if type(proof) not in expected:
                raise ValueError(f"{name} is a {type(proof).__name__}")
            return proof
        labels = list(combinations(classes, 2)) if self.of_pairs else classes
        if type(proof) is not (PerPair if self.of_pairs else PerClass) or list(proof) != labels:
            raise ValueError(f"{name} does not speak of the classes, one by one")
        for one in proof.values():
            if type(one) not in self.kinds:
                raise ValueError(f"{name} has a {type(one).__name__}")
        return proof


def _are_counts(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)
