"""Plain values as JSON text that comes back exactly: floats in hexadecimal, inf and nan, keys of any plain type."""

import json
import math
from typing import Any, NoReturn

import numpy as np

# Whole numbers beyond this are no label, seed, size or count of ours.
LARGEST_INTEGER = 2**64 - 1


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
    result = dict(decoded)
    if len(result) < len(decoded):
        raise ValueError("a key occurs twice")
    return result


def to_text(content: dict[str, Any]) -> str:
    """JSON text of encoded values."""
    return json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def from_text(text: str) -> dict[str, Any]:
    """Read JSON text that holds one object; ValueError where it does not, or has a key twice."""
    content = json.loads(text, object_pairs_hook=_without_repetition, parse_constant=_refuse_constant)
    if not isinstance(content, dict):
        raise ValueError("the text is not a JSON object")
    return content


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a key occurs twice")
    return result


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
