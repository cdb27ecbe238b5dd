"""Container of model files: a safetensors file whose metadata hold one JSON text, with a checksum of all its bytes.

See docs/proof-format.md, "The container". A key that occurs twice is refused in the header, too: two readers could take
different ones.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from safetensors import deserialize
from safetensors.numpy import save as serialize

from maxmargin.files.values import from_text, to_text

# The one key of the safetensors file's metadata.
KEY = "maxmargin"
CHECKSUM = "sha256"
# What stands in place of the checksum while it is computed.
BLANK = "0" * 64
DIGITS = re.compile("[0-9a-f]{64}")
# Bytes of the header's length, which begins a file.
LENGTH = 8
# Types of tensors, as safetensors names them.
DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4"}


@dataclass(frozen=True)
class Tensor:
    """A stored tensor: its type as safetensors names it, its shape, and its bytes."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    def array(self, dtypes: Mapping[str, str] = DTYPES) -> np.ndarray:
        """The numbers; ValueError for a type that such files do not have."""
        if self.dtype not in dtypes:
            raise ValueError(f"a tensor has the type {self.dtype}")
        return np.frombuffer(self.data, dtype=dtypes[self.dtype]).reshape(self.shape)


def pack(tensors: dict[str, np.ndarray], content: dict[str, Any]) -> bytes:
    """The bytes of a file; the checksum becomes the first entry of the content."""
    # safetensors writes the bytes in the order of memory.
    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    data = bytearray(serialize(arrays, {KEY: to_text({CHECKSUM: BLANK, **content})}))
    begin = data.index(f'\\"{CHECKSUM}\\":\\"{BLANK}'.encode()) + len(CHECKSUM) + 7
    data[begin : begin + len(BLANK)] = hashlib.sha256(data).hexdigest().encode()
    return bytes(data)


def header_of(data: bytes) -> dict[str, Any]:
    """The JSON object at the beginning of a file."""
    length = int.from_bytes(data[:LENGTH], "little")
    if len(data) < LENGTH or length > len(data) - LENGTH:
        raise ValueError("the file ends within its header")
    return from_text(data[LENGTH : LENGTH + length].decode())


def content_of(data: bytes) -> dict[str, Any]:
    """The JSON object in the metadata of a file; ValueError where it is another program's."""
    metadata = header_of(data).get("__metadata__")
    if not isinstance(metadata, dict) or set(metadata) != {KEY} or not isinstance(metadata[KEY], str):
        raise ValueError("it is a safetensors file, but not one of maxmargin's")
    return from_text(metadata[KEY])


def tensors_of(data: bytes) -> dict[str, Tensor]:
    """The tensors by name; safetensors refuses those that overlap or leave bytes unused."""
    return {name: Tensor(part["dtype"], tuple(part["shape"]), part["data"]) for name, part in deserialize(data)}


def check_sum(data: bytes, digits: Any) -> None:
    """Raise ValueError where the checksum is not that of the file."""
    end = LENGTH + int.from_bytes(data[:LENGTH], "little")
    if not isinstance(digits, str) or not DIGITS.fullmatch(digits) or data.count(digits.encode(), 0, end) != 1:
        raise ValueError("it does not state its checksum once")
    begin = data.index(digits.encode())
    computed = hashlib.sha256(data[:begin])
    computed.update(BLANK.encode())
    computed.update(memoryview(data)[begin + len(BLANK) :])
    if computed.hexdigest() != digits:
        raise ValueError("its checksum is not that of its bytes: the file was damaged or changed")
