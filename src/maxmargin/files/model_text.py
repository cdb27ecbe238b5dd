"""Text model files: a header of named entries, then lines of numbers; errors state the line."""

import math
import os
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from maxmargin.files.errors import ModelFileError

# Range of labels, indices and sizes: a C int.
LARGEST_INT = 2**31 - 1


class ModelText:
    """The lines of a file, read one after the other.

    Parameters
    ----------
    path : str or path
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        self.number = 0

    def refuse(self, reason: str, line: int | None = None) -> NoReturn:
        """Raise ModelFileError for the line that was read last, or for another."""
        raise ModelFileError(self.path, reason, self.number if line is None else line)

    def lines(self) -> Iterator[list[str]]:
        """Yield the words of every line; a last line without a newline was truncated."""
        with open(self.path, "rb") as file:
            for content in file:
                self.number += 1
                if not content.endswith(b"\n"):
                    self.refuse("the file ends in the middle of a line")
                if not content.isascii():
                    self.refuse("the line has characters that are not ASCII")
                yield content.decode("ascii").split()

    def real(self, word: str, line: int | None = None) -> float:
        """A finite number."""
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or "_" in word:
            self.refuse(f"{_shown(word)} is not a finite number", line)
        return value

    def whole(self, word: str, line: int | None = None, *, least: int = 0) -> int:
        """A C int that is at least ``least``."""
        if not word.removeprefix("-").isdigit() or len(word) > 11 or not least <= int(word) <= LARGEST_INT:
            self.refuse(f"{_shown(word)} is not a whole number from {least} on", line)
        return int(word)


class Head:
    """The header's named entries, each of which may occur once."""

    def __init__(self, text: ModelText, lines: Iterator[list[str]], known: Sequence[str], last: str) -> None:
        self.text = text
        self._entries: dict[str, tuple[int, list[str]]] = {}
        for words in lines:
            if words == [last]:
                break
            name = words[0] if words else ""
            if name not in known:
                text.refuse(f"{_shown(name)} is not an entry of the head")
            if name in self._entries:
                text.refuse(f"{name} occurs twice")
            self._entries[name] = text.number, words[1:]
        else:
            text.refuse(f"the file ends before {last!r}")

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def line(self, name: str) -> int:
        """The line of an entry."""
        return self._entries[name][0]

    def words(self, name: str, count: int) -> list[str]:
        """The words of an entry; their number must be ``count``."""
        if name not in self._entries:
            self.text.refuse(f"the head has no {name}")
        line, words = self._entries[name]
        if len(words) != count:
            self.text.refuse(f"{name} has {len(words)} values instead of {count}", line)
        return words

    def choice(self, name: str, choices: dict[str, Any]) -> Any:
        """The value of one of several possible words."""
        word = self.words(name, 1)[0]
        if word not in choices:
            self.text.refuse(f"{name} {_shown(word)} is not supported: only {', '.join(choices)} are", self.line(name))
        return choices[word]

    def reals(self, name: str, count: int) -> list[float]:
        """``count`` finite numbers."""
        return [self.text.real(word, self.line(name)) for word in self.words(name, count)]

    def wholes(self, name: str, count: int, *, least: int = 0) -> list[int]:
        """``count`` whole numbers."""
        return [self.text.whole(word, self.line(name), least=least) for word in self.words(name, count)]

    def labels(self) -> list[int]:
        """The labels of ``nr_class`` classes, in the file's order."""
        n_classes = self.wholes("nr_class", 1, least=2)[0]
        labels = self.wholes("label", n_classes, least=-LARGEST_INT - 1)
        if len(set(labels)) < n_classes:
            self.text.refuse("a label occurs twice", self.line("label"))
        return labels


def whole_labels(classes: np.ndarray, path: str | os.PathLike[str]) -> list[int]:
    """The labels as integers; the format has no others."""
    fits = classes.dtype.kind in "iufb" and bool((np.abs(classes.astype(np.float64)) <= LARGEST_INT).all())
    if not fits or any(int(label) != label for label in classes):
        raise ModelFileError(path, "labels must be whole numbers below 2**31 in this format: encode them first")
    return [int(label) for label in classes]


def exactly(value: float) -> str:
    """A number with 17 digits, which determine it exactly."""
    return format(float(value), ".17g")


def _shown(word: str) -> str:
    return repr(word if len(word) <= 40 else word[:40] + "...")
