"""Model files written and forged by hand, after docs/proof-format.md, and readers of the checker's answers."""

import hashlib
import json
import math
import struct
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import scipy.sparse as sp

import maxmargin_check

# Entries, or kernel values, times tasks up to which every model that a test saves is checked: some 20 ms.
SMALL = 4_000


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


def refuse_false_claims(content, data, sample_weight):
    """Raise AssertionError where the checker finds a claim of a model file false, or cannot read it; small data only.

    Parameters
    ----------
    content : bytes
        The model file.
    data : LabelledPoints or TargetPoints
        The checked data of the fit.
    sample_weight : array of shape (n,) or None
    """
    matrix, is_classifier = data.points.matrix, hasattr(data, "codes")
    header, _, values = unpack(content)
    support = header.get("support_", {"shape": [0]})["shape"][0] if "kernel" in values["problem"] else 0
    size = (support + 1) * matrix.shape[0] if "kernel" in values["problem"] else math.prod(matrix.shape)
    labels = data.labels().tolist() if is_classifier else (data.targets + 0.0).tolist()
    labels = [int(label) if isinstance(label, bool) else label for label in labels]
    is_text = any(str(label).split("#")[0].split() != [str(label)] for label in set(labels))
    of_class = values["parameters"].get("class_weight") is not None
    # A model that is resumed is written without the weights of its fit.
    other_weights = sample_weight is None and getattr(data, "weights", None) is not None and not of_class
    if size * max(1, len(set(labels)) if is_classifier else 1) > SMALL or is_text or other_weights:
        return
    with TemporaryDirectory() as folder:
        path, rows, weights = (Path(folder, name) for name in ("m", "d", "w"))
        path.write_bytes(content)
        write_data(rows, matrix, labels)
        if sample_weight is not None:
            weights.write_text("\n".join(map(repr, np.asarray(sample_weight, dtype=np.float64).ravel().tolist())))
        found = verdicts(path, rows, weights=None if sample_weight is None else weights)
    false = {claim for claim, verdict in found.items() if verdict == "FALSE"}
    assert not false, f"the checker finds false: {false}"
