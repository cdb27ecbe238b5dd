"""Model files written and forged by hand, after docs/proof-format.md, and readers of the checker's answers."""

import hashlib
import json
import math
import struct
from fractions import Fraction
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

import maxmargin_check


def plain(value):
    """A value as the content of a model file spells it."""
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, dict):
        return {"pairs": [[key, plain(entry)] for key, entry in value.items()]}
    return [plain(entry) for entry in value] if isinstance(value, (list, tuple)) else value


def pack(header, tensors, content):
    """Bytes of a model file, with the checksum that belongs to them."""
    content = {**content, "sha256": "0" * 64}
    header = {"__metadata__": {"maxmargin": json.dumps(content)}, **header}
    text = json.dumps(header).encode()
    file = struct.pack("<Q", len(text)) + text + tensors
    return file.replace(b"0" * 64, hashlib.sha256(file).hexdigest().encode(), 1)


def unpack(file):
    """Header, bytes of the tensors and content of a model file."""
    end = 8 + struct.unpack_from("<Q", file)[0]
    header = json.loads(file[8:end])
    return header, file[end:], json.loads(header.pop("__metadata__")["maxmargin"])


def write_model(path, name, problem, attributes, arrays, parameters=None):
    """A model file that claims what it is told to claim, without hashes of the data."""
    header, tensors = {}, b""
    for key, array in arrays.items():
        array = np.ascontiguousarray(array)
        end = len(tensors) + array.nbytes
        dtype = {"f": "F64", "i": "I64"}[array.dtype.kind]
        header[key] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(tensors), end]}
        tensors += array.tobytes()
    content = {"format": "maxmargin model", "version": 2, "class": name, "data": None, "column_major": []}
    objects = {"parameters": parameters or {}, "problem": problem, "attributes": attributes}
    objects = {key: {entry: plain(value) for entry, value in values.items()} for key, values in objects.items()}
    path.write_bytes(pack(header, tensors, {**content, **objects}))


def write_data(path, X, y):
    """Data as svmlight text; every number is written so that it is read back as it is."""
    X = sp.csr_array(X)
    with path.open("w") as file:
        for label, (start, end) in zip(np.asarray(y).tolist(), pairwise(X.indptr.tolist()), strict=True):
            entries = zip(X.indices[start:end].tolist(), X.data[start:end].tolist(), strict=True)
            file.write(" ".join([str(label), *(f"{column + 1}:{float(value)!r}" for column, value in entries)]) + "\n")


def forge(path, edit):
    """Change a model file and give it the checksum of its new content; ``edit`` gets content and arrays, both mutable."""
    header, tensors, content = unpack(path.read_bytes())
    kinds = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4"}
    arrays = {
        name: np.frombuffer(tensors[slice(*entry["data_offsets"])], kinds[entry["dtype"]])
        .reshape(entry["shape"])
        .copy()
        for name, entry in header.items()
    }
    edit(content, arrays)
    ordered = sorted(header.items(), key=lambda item: item[1]["data_offsets"])
    path.write_bytes(pack(header, b"".join(arrays[name].tobytes() for name, _ in ordered), content))


def verdicts(model, data, **options):
    """The verdict on every claim."""
    return {claim: verdict for claim, verdict, _ in maxmargin_check.Check(model, data, **options)}


def below(value):
    """The largest float that is not above a rational number."""
    nearest = value.numerator / value.denominator
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def above(value):
    """The smallest float that is not below a rational number."""
    return -below(-value)
