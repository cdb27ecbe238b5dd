"""Model files that a forger changes: every part can be replaced, and the checksum is that of the changed file."""

import hashlib
import json
import struct

import numpy as np
from safetensors.numpy import load_file
from safetensors.numpy import save as serialize

BLANK = "0" * 64


def content_of(path):
    """The tensors and the JSON of a file."""
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])
    return load_file(path), json.loads(header["__metadata__"]["maxmargin"])


def with_checksum(data, digits):
    """The bytes of a file with the checksum in place of these digits."""
    place = data.find(digits.encode())
    if place < 0:
        return data
    data = data[:place] + BLANK.encode() + data[place + 64 :]
    return data[:place] + hashlib.sha256(data).hexdigest().encode() + data[place + 64 :]


def write_content(path, tensors, content):
    """Write tensors and JSON, or a text in its place, with the checksum of the file."""
    text = content
    if isinstance(content, dict):
        text = json.dumps({**content, "sha256": BLANK} if "sha256" in content else content)
    arrays = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    path.write_bytes(with_checksum(serialize(arrays, {"maxmargin": text}), BLANK))


def flipped(path, place, bit):
    """The bytes of a file with one bit flipped, and the checksum of the result."""
    data = bytearray(path.read_bytes())
    digits = content_of(path)[1]["sha256"]
    data[place] ^= 1 << bit
    return with_checksum(bytes(data), digits)
