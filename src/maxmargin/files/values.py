"""Plain values and certificates as JSON text that is read back exactly.

Floats are written in hexadecimal, infinities and NaN included; keys of dictionaries may be of any plain type.
Certificates are stored field by field, as their dataclasses declare them, and rebuilt by their own constructors, which
refuse contradictions.
"""

import json
import math
from dataclasses import MISSING, fields
from typing import Any, NoReturn

import numpy as np

from maxmargin import certificates
from maxmargin.certificates import Certificate, PerClass, PerPair

# Labels, seeds, sizes and counts fit 64 bits; larger integers are refused.
LARGEST_INTEGER = 2**64 - 1
COLLECTIONS: dict[str, type[PerClass]] = {kind.__name__: kind for kind in (PerClass, PerPair)}


def encode(value: Any) -> Any:
    """Turn a plain value into JSON types; TypeError where it is none."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, (list, tuple)):
        return [encode(entry) for entry in value]
    if isinstance(value, dict):
        return {"pairs": [[encode(key), encode(entry)] for key, entry in value.items()]}
    raise TypeError(f"{type(value).__name__} is not a plain value")


def decode(stored: Any) -> Any:
    """The inverse of ``encode``; ValueError where the text does not come from it."""
    if isinstance(stored, int) and abs(stored) > LARGEST_INTEGER:
        raise ValueError("a whole number is too large")
    if isinstance(stored, float):
        raise ValueError(f"the number {stored!r} is not in hexadecimal")
    if isinstance(stored, list):
        return [decode(entry) for entry in stored]
    if isinstance(stored, dict):
        if set(stored) == {"float"}:
            return _decode_float(stored["float"])
        if set(stored) == {"pairs"}:
            return _decode_pairs(stored["pairs"])
        raise ValueError(f"a value has the keys {sorted(stored)}")
    return stored


def _decode_float(text: Any) -> float:
    value = float.fromhex(text) if isinstance(text, str) else math.nan
    if not isinstance(text, str) or value.hex() != text:
        raise ValueError(f"{text!r} is not a float in hexadecimal")
    return value


def _decode_pairs(pairs: Any) -> dict[Any, Any]:
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise ValueError("keys and values do not come in pairs")
    decoded = [(decode(key), decode(value)) for key, value in pairs]
    if any(isinstance(key, (list, dict)) for key, _ in decoded):
        raise ValueError("a key is not a plain value")
    return _without_repetition(decoded)


def to_text(content: dict[str, Any]) -> str:
    """JSON text of encoded values."""
    return json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def from_text(text: str) -> dict[str, Any]:
    """Read JSON text that holds one object; ValueError where it does not, or has a key twice."""
    content = json.loads(text, object_pairs_hook=_without_repetition, parse_constant=_refuse_constant)
    if not isinstance(content, dict):
        raise ValueError("the text is not a JSON object")
    return content


def _without_repetition(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a key occurs twice")
    return result


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def plain_certificate(certificate: Certificate | PerClass) -> dict[str, Any]:
    """The certificate's class and fields as plain values."""
    name = type(certificate).__name__
    if isinstance(certificate, PerClass):
        return {"kind": name, "of": [[label, plain_certificate(one)] for label, one in certificate.items()]}
    values: dict[str, Any] = {"kind": name}
    for field in fields(certificate):
        value = getattr(certificate, field.name)
        if isinstance(value, Certificate):
            value = plain_certificate(value)
        values[field.name] = float(value) if field.type is float else value
    return values


def certificate_of(stored: Any) -> Certificate | PerClass:
    """The inverse of ``plain_certificate``; ValueError where a field is wrong, or the constructor refuses them."""
    if not isinstance(stored, dict) or not isinstance(stored.get("kind"), str):
        raise ValueError("the certificate has no kind")
    name = stored["kind"]
    if name in COLLECTIONS:
        return _collection_of(COLLECTIONS[name], stored)
    # Its class is imported when a file names it.
    kind = getattr(certificates, name) if name in certificates.__all__ else None
    if not isinstance(kind, type) or not issubclass(kind, Certificate) or kind is Certificate:
        raise ValueError(f"there is no certificate {name!r}")
    return _single(kind, stored)


def _collection_of(kind: type[PerClass], stored: dict[str, Any]) -> PerClass:
    entries = stored.get("of")
    if set(stored) != {"kind", "of"} or not isinstance(entries, list):
        raise ValueError(f"the {kind.__name__} is not a list of certificates")
    found: dict[Any, Certificate] = {}
    for entry in entries:
        if not isinstance(entry, list) or len(entry) != 2:
            raise ValueError(f"the {kind.__name__} has an entry that is not a label and a certificate")
        certificate = certificate_of(entry[1])
        if isinstance(certificate, PerClass):
            raise ValueError(f"a {kind.__name__} cannot hold another")
        found[_key(entry[0])] = certificate
    if len(found) < len(entries):
        raise ValueError(f"the {kind.__name__} has a label twice")
    return kind(found)


def _key(label: Any) -> Any:
    """A label, or the two labels of a pair."""
    key = tuple(label) if isinstance(label, list) else label
    if any(isinstance(part, (list, dict)) for part in (key if isinstance(key, tuple) else (key,))):
        raise ValueError("the label of a certificate is not a plain value")
    return key


def _single(kind: type[Certificate], stored: dict[str, Any]) -> Certificate:
    declared: dict[str, Any] = {field.name: field.type for field in fields(kind)}
    # A field with a default may be missing: files of earlier versions do not have it.
    optional = {field.name for field in fields(kind) if field.default is not MISSING}
    if not {"kind", *declared} - optional <= set(stored) <= {"kind", *declared}:
        raise ValueError(f"the {kind.__name__} has the entries {sorted(map(str, set(stored) - {'kind'}))}")
    values = {}
    for name, of in declared.items():
        if name not in stored:
            continue
        nested = isinstance(of, type) and issubclass(of, Certificate)
        values[name] = value = certificate_of(stored[name]) if nested else stored[name]
        # A boolean counts as an int in Python.
        fits = isinstance(value, of) and isinstance(value, bool) == (of is bool)
        if not fits or (isinstance(value, int) and value < 0):
            raise ValueError(f"the {kind.__name__} has {name} = {value!r}")
    return kind(**values)
