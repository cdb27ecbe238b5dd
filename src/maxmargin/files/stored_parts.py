"""The parts of a model file while a model is put together from them: each can be taken once, and sizes must agree."""

from typing import Any

import numpy as np

# Sizes that no tensor of the file bounds, such as the columns of sparse rows, must at least be numbers of a machine.
LARGEST_SIZE = 2**48


class Sizes:
    """What the symbols of shapes stand for: the first use sets a size, every later one has to agree."""

    def __init__(self) -> None:
        self._size_of: dict[str, int] = {}

    def __getitem__(self, symbol: str | int) -> int:
        if isinstance(symbol, int):
            return symbol
        if symbol not in self._size_of:
            raise ValueError(f"nothing says what {symbol} is")
        return self._size_of[symbol]

    def __contains__(self, symbol: object) -> bool:
        return symbol in self._size_of

    def agree(self, symbol: str | int, size: int, name: str) -> None:
        """Set a symbol's size, or compare it."""
        if not 0 <= size <= LARGEST_SIZE:
            raise ValueError(f"{name} has the size {size}")
        expected = symbol if isinstance(symbol, int) else self._size_of.setdefault(symbol, size)
        if size != expected:
            raise ValueError(f"{name} has {size} instead of {expected} for {symbol}")


class StoredParts:
    """Plain values and tensors by name.

    Parameters
    ----------
    values : dict of decoded values
    tensors : an open safetensors file
    column_major : names of the tensors that lay column by column in memory
        The sums of BLAS depend on that in their last bits.
    """

    def __init__(self, values: dict[str, Any], tensors: Any, column_major: frozenset[str]) -> None:
        self._values, self._tensors, self._column_major = dict(values), tensors, column_major
        self._tensor_names = set(tensors.keys())
        self.sizes = Sizes()
        # The attributes that were made so far.
        self.found: dict[str, Any] = {}
        if not column_major <= self._tensor_names:
            raise ValueError("there is no tensor for the layout of " + ", ".join(sorted(column_major)))

    def names(self) -> set[str]:
        """What was not taken yet."""
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

    def take_tensor(self, name: str, dtypes: tuple[str, ...], shape: tuple[str | int, ...]) -> np.ndarray:
        """A tensor, once; its dtype and shape are looked at before its numbers are read."""
        if name not in self._tensor_names:
            raise ValueError(f"{name} is missing")
        self._tensor_names.remove(name)
        header = self._tensors.get_slice(name)
        dtype, stored_shape = header.get_dtype(), header.get_shape()
        if dtype not in dtypes:
            raise ValueError(f"{name} has the type {dtype} instead of {' or '.join(dtypes)}")
        if len(stored_shape) != len(shape):
            raise ValueError(f"{name} has {len(stored_shape)} axes instead of {len(shape)}")
        for symbol, size in zip(shape, stored_shape, strict=True):
            self.sizes.agree(symbol, size, name)
        array = np.array(self._tensors.get_tensor(name), order="F" if name in self._column_major else "C")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{name} has entries that are not finite")
        return array
