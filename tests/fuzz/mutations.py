"""Changes of sound files that keep most of their structure: bits, pieces, lines, numbers, keys, nodes of JSON."""

import re
from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any

# Numbers at the ends of their formats, and what is almost a number.
NUMBERS = (
    *("0", "-0", "1", "-1", "2", "3", "7", "255", "256", "65536", "2147483647", "2147483648", "-2147483649"),
    *("4294967295", "4294967296", "9007199254740993", "9223372036854775807", "9223372036854775808", "1e18", "1e19"),
    *("18446744073709551616", "0.1", "1e-5", "5e-324", "2.4703282292062327e-324", "1e-400", "2.2250738585072011e-308"),
    *("1.7976931348623157e308", "1.7976931348623159e308", "1e400", "-1e400", "nan", "inf", "-inf", "infinity", "1e"),
    *("1e+", "+", "-", "--1", "+-1", "1.", ".5", ".", "1..2", "0x10", "0x1p3", "1_000", "1,5", "٣", "1e99999999999"),
    *("0." + "3" * 40, "9" * 25, "1" + "0" * 400, "00012", "1e0001", "1d5", "true", "null", "None", ""),
)
SIGNS = (b"\0", b"\n", b"\r", b"\r\n", b"\t", b" ", b":", b"#", b'"', b",", b"{", b"}", b"\xff", b"\xc3", b"\xef\xbb")
NUMBER = re.compile(rb"[-+]?\d[\d.]*(?:[eE][-+]?\d+)?")
WORD = re.compile(rb"[A-Za-z_]{2,}")
KEYS = ("", "x", "coef_", "C", "sha256", "float", "pairs", "__metadata__", "\u2028", "a" * 300)


def flip_bit(data: bytearray, random: Random, _: list[bytes]) -> None:
    """One bit of one byte."""
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def set_byte(data: bytearray, random: Random, _: list[bytes]) -> None:
    """One byte anew."""
    data[random.randrange(len(data))] = random.randrange(256)


def truncate(data: bytearray, random: Random, _: list[bytes]) -> None:
    """The end or the beginning is lost."""
    at = random.randrange(len(data))
    data[:] = data[:at] if random.random() < 0.8 else data[at:]


def remove(data: bytearray, random: Random, _: list[bytes]) -> None:
    """A piece is lost."""
    at = random.randrange(len(data))
    del data[at : at + random.choice((1, 2, 8, 30))]


def repeat(data: bytearray, random: Random, _: list[bytes]) -> None:
    """A piece comes twice."""
    at = random.randrange(len(data))
    piece = data[at : at + random.choice((1, 4, 8, 40))]
    data[at:at] = piece * random.choice((1, 1, 1, 20))


def splice(data: bytearray, random: Random, others: list[bytes]) -> None:
    """A piece of another file is inserted, or takes the place of the end."""
    other = random.choice(others)
    start = random.randrange(len(other) + 1)
    at = random.randrange(len(data))
    if random.random() < 0.5:
        data[at:at] = other[start : start + random.choice((4, 16, 100))]
    else:
        data[at:] = other[start:]


def insert_sign(data: bytearray, random: Random, _: list[bytes]) -> None:
    """A byte that separates things stands where none was."""
    at = random.randrange(len(data) + 1)
    data[at:at] = random.choice(SIGNS)


def nest(data: bytearray, random: Random, _: list[bytes]) -> None:
    """Brackets far deeper than a parser of JSON goes."""
    at = random.randrange(len(data) + 1)
    data[at:at] = random.choice((b"[", b'{"a":', b"(")) * random.choice((3, 3000, 100_000))


def change_number(data: bytearray, random: Random, _: list[bytes]) -> None:
    """A number of a text is another one."""
    _replace(data, random, NUMBER, random.choice(NUMBERS).encode())


def change_word(data: bytearray, random: Random, others: list[bytes]) -> None:
    """A word of a text is another word."""
    words = WORD.findall(random.choice(others)) or [b"word"]
    _replace(data, random, WORD, random.choice(words))


def change_lines(data: bytearray, random: Random, others: list[bytes]) -> None:
    """A line is lost, comes twice, changes its place, or comes from another file."""
    lines = bytes(data).split(b"\n")
    at, kind = random.randrange(len(lines)), random.randrange(4)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, lines[at])
    elif kind == 2:
        lines.insert(random.randrange(len(lines)), lines.pop(at))
    else:
        lines.insert(at, random.choice(random.choice(others).split(b"\n")))
    data[:] = b"\n".join(lines)


Change = Callable[[bytearray, Random, list[bytes]], None]
BYTES: tuple[Change, ...] = (flip_bit, set_byte, truncate, remove, repeat, splice, insert_sign, nest)
TEXT: tuple[Change, ...] = (*BYTES, *[change_number] * 6, *[change_lines] * 3, change_word)


def mutated(random: Random, corpus: list[bytes], changes: tuple[Change, ...]) -> bytes:
    """A file of the corpus after a few changes; one in fifty is left as it is."""
    data = bytearray(random.choice(corpus))
    if random.random() < 0.02:
        return bytes(data)
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        if not data:
            data += random.choice(corpus)
        random.choice(changes)(data, random, corpus)
    return bytes(data)


def _replace(data: bytearray, random: Random, pattern: re.Pattern[bytes], text: bytes) -> None:
    # Found from a random place on: large files have many matches.
    start = random.randrange(len(data))
    found = pattern.search(data, start) or pattern.search(data)
    if found:
        data[found.start() : found.end()] = text


def json_value(random: Random) -> Any:
    """A value that is seldom the expected one."""
    simple = (None, True, False, 0, 1, -1, 2, 10**6, 2**31, 2**53 + 1, 2**63, 10**30, 0.5, -1.5e300, "", "0", "auto")
    floats = ("0x1p+0", "-0x0p+0", "nan", "inf", "-inf", "0x1p-1074", "0x1.fffffffffffffp+1023", "0x1p+2000", "one")
    kind = random.random()
    if kind < 0.5:
        return random.choice(simple)
    if kind < 0.8:
        return {"float": random.choice(floats)}
    if kind < 0.81:
        deep: Any = []
        for _ in range(200):
            deep = [deep]
        return deep
    pairs = {"pairs": []}, {"pairs": [[1]]}, {"pairs": [["a", 1], ["a", 2]]}
    return random.choice(([], {}, [[]], [None], [0] * 9, *pairs))


def change_json(node: Any, random: Random) -> Any:
    """A tree of JSON values with one node changed: another value or key, one key less, the value of another node."""
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            places.append((value, key))
            walk(value[key])

    walk(node)
    if not places:
        return json_value(random)
    holder, key = random.choice(places)
    kind = random.random()
    if kind < 0.45:
        holder[key] = json_value(random)
    elif kind < 0.6:
        del holder[key]
    elif kind < 0.7 and isinstance(holder, dict):
        holder[random.choice(KEYS)] = holder.pop(key)
    elif kind < 0.8 and isinstance(holder, list):
        holder.insert(key, holder[key])
    else:
        other, place = random.choice(places)
        holder[key] = deepcopy(other[place])
    return node
