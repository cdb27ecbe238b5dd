"""Plain text files, made from the compressed ones in the user's cache folder."""

import lzma
import shutil
from pathlib import Path
from typing import ClassVar

from data import cache_folder, data_folder
from suite import Dataset


class _Text(Dataset):
    """A file as svmlight text, ``times`` over."""

    parts: ClassVar[tuple[str, ...]] = ("reading", "end_to_end")
    source: ClassVar[str]
    times: ClassVar[int] = 1

    def get_data(self):
        """Return the paths of the file in the formats of the tools; labels become -1 and 1."""
        folder = cache_folder() / "texts"
        folder.mkdir(parents=True, exist_ok=True)
        text, other = folder / f"{self.source}-{self.times}.svm", folder / f"{self.source}-{self.times}.vw"
        if not other.exists():
            self._write(text, other)
        return {"X": text, "y": other}

    def _write(self, text: Path, other: Path) -> None:
        with lzma.open(data_folder() / f"{self.source}.svm.xz", "rt") as lines, text.open("w") as plain:
            for line in lines:
                label, _, features = line.partition(" ")
                plain.write(f"{1 if float(label) == self.positive else -1} {features}")
        once = text.read_bytes()
        with text.open("ab") as file:
            for _ in range(self.times - 1):
                file.write(once)
        part = other.with_suffix(".part")
        with text.open() as lines, part.open("w") as file:
            for line in lines:
                label, _, features = line.partition(" ")
                file.write(f"{label} | {features}")
        shutil.move(part, other)


class Imdb(_Text):
    """25,000 film reviews."""

    name = "imdb.tfidf"
    source = "imdb.tfidf"
    positive = 1.0


class Covtype(_Text):
    """581,012 rows of forest cover, the second kind against the rest."""

    name = "covtype"
    source = "covtype"
    positive = 2.0


class CovtypeTenTimes(Covtype):
    """The same rows ten times over."""

    name = "covtype × 10"
    parts = ("end_to_end",)
    times = 10
