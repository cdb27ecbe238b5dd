"""Damaged files: readers of svmlight text, tables, stores and the models of other programs.

A file is read, or refused with the reader's own error; what is read is the same by every way of reading it.
"""

import gzip
import json
import lzma
import shutil
import warnings
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

import maxmargin_check
from fuzz.harness import ACCEPTED, REFUSED, Fault, Outcome, Refusal, generator_of, refusals
from fuzz.mutations import BYTES, TEXT, change_json, mutated
from maxmargin import SVC, SVR, LinearSVC, LinearSVR
from maxmargin.files import (
    ModelFileError,
    StoreError,
    SvmlightError,
    open_store,
    read_data,
    read_liblinear_model,
    read_libsvm_model,
    read_svmlight,
    read_svmlight_blocks,
    write_liblinear_model,
    write_libsvm_model,
    write_store,
    write_svmlight,
)
from maxmargin.files.store import MANIFEST

# Columns above which rows are not made dense.
WIDE = 1 << 16


def sound_data(classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a few classes."""
    return np.random.default_rng(0).standard_normal((20, 3)).round(3), np.arange(20) % classes


class Bytes:
    """Files that are changed byte by byte."""

    changes: ClassVar[tuple[Any, ...]] = TEXT
    suffixes: ClassVar[Sequence[str]] = ("",)

    def __init__(self) -> None:
        self.last: Any = None
        self.corpus: list[bytes] = []

    def try_input(self, random: Random, folder: Path) -> Outcome:
        """Change a file, and read it."""
        data = mutated(random, self.corpus, self.changes)
        suffix = random.choice(self.suffixes)
        self.last = data
        path = folder / f"input{suffix}"
        path.write_bytes(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return self.read(path, random)
            except Refusal as refusal:
                if "input" not in str(refusal):
                    raise Fault(f"the error does not name the file: {refusal}") from refusal.__cause__
                return REFUSED

    def prepare(self, folder: Path) -> None:
        """Make the corpus, and read it once."""
        raise NotImplementedError

    def read(self, path: Path, random: Random) -> Outcome:
        """Read the file and use what it holds."""
        raise NotImplementedError


class Svmlight(Bytes):
    """svmlight text: whole, in blocks and by the checker's own reader; written again and read again."""

    compressed: ClassVar[dict[str, Callable[[bytes], bytes]]] = {
        ".gz": lambda text: gzip.compress(text, mtime=0),
        ".xz": lzma.compress,
    }

    def prepare(self, folder: Path) -> None:
        """Texts with comments, query numbers, empty rows and every spelling of numbers."""
        X, y = sound_data()
        write_svmlight(folder / "sound", sp.csr_array(X), y)
        self.corpus = [
            (folder / "sound").read_bytes(),
            b"+1 1:0.5 3:-2e-3 # comment\n-1 qid:3 2:1\n\n1\r\n",
            b"# head\n1.5 1:1e300 2:1e-300 5:4.9e-324\n-0.0 2:0.1 7:123456789012345678\n3 1:0 2:00.50\n",
            b"0 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1\n1 8:9007199254740993\n",
        ]
        self.try_input(Random(0), folder)

    def try_input(self, random: Random, folder: Path) -> Outcome:
        """Sometimes compressed, and damaged after it."""
        if random.random() < 0.9:
            self.suffixes = ("",)
            return super().try_input(random, folder)
        suffix = random.choice(list(self.compressed))
        plain, self.suffixes = self.corpus, (suffix,)
        self.corpus = [self.compressed[suffix](text) for text in plain]
        try:
            return super().try_input(random, folder)
        finally:
            self.corpus = plain

    def read(self, path: Path, random: Random) -> Outcome:
        """Read it in all ways."""
        zero_based = random.random() < 0.2
        # Only a damaged compression is an error of another class.
        with refusals(ValueError if path.suffix else SvmlightError):
            X, y = read_svmlight(path, zero_based=zero_based)
        if not (X.shape[0] == y.size and np.isfinite(X.data).all() and X.has_canonical_format):
            raise Fault(f"{y.size} targets of rows of shape {X.shape}, entries finite and in order?")
        if random.random() < 0.3:
            blocks = list(read_svmlight_blocks(path, n_features=X.shape[1], rows_per_block=2, zero_based=zero_based))
            again = sp.vstack([block for block, _ in blocks], format="csr") if blocks else X[:0]
            same_rows(X, y, again, np.concatenate([block for _, block in blocks]) if blocks else y[:0])
        if random.random() < 0.3 and np.isfinite(y).all():
            other = path.with_name("again")
            write_svmlight(other, X, y)
            same_rows(X, y, *read_svmlight(other, n_features=X.shape[1]))
        if random.random() < 0.3:
            self.compare(path, X, y, zero_based)
        return ACCEPTED

    def compare(self, path: Path, X: Any, y: np.ndarray, zero_based: bool) -> None:
        """What the checker reads, too, is the same."""
        try:
            rows = list(maxmargin_check.read_rows(path, (), None, 0 if zero_based else 1))
            found = [(float(label), j, v) for label, j, v in rows]
        except (ValueError, OSError, EOFError, lzma.LZMAError):
            return
        if len(found) != y.size:
            raise Fault(f"{y.size} rows, the checker reads {len(found)}")
        for i, (label, j, v) in enumerate(found):
            row = slice(X.indptr[i], X.indptr[i + 1])
            entries = {a: b for a, b in zip(j, v, strict=True) if b}
            ours = {a: b for a, b in zip(X.indices[row].tolist(), X.data[row].tolist(), strict=True) if b}
            if ours != entries or not (label == y[i] or (label != label and np.isnan(y[i]))):
                raise Fault(f"row {i}: {y[i]} {ours}, the checker reads {label} {entries}")


def same_rows(X: Any, y: Any, other: Any, labels: Any) -> None:
    """Raise where rows were read in two ways with different results."""
    X, other = sp.csr_array(X), sp.csr_array(other)
    same = X.shape == other.shape and (other != X).nnz == 0 and np.array_equal(y, labels, equal_nan=True)
    if not same:
        raise Fault("the same rows read in two ways are different")


class Tables(Bytes):
    """CSV, with numbers, categories and missing values, and Parquet."""

    format = ".csv"
    texts: ClassVar[tuple[bytes, ...]] = (
        b"a,b,label\n1,2.5,0\n-3e2,0,1\n4,5,0\n1e-300,-0,1\n",
        b'town,"size, m",label\nRome,1,yes\nParis,2,no\nRome,3,yes\n',
        b"x,label\r\n1,1.5\r\n2,3\r\n3,2.5\r\n-7,1e3\r\n",
        b"x,label\n1,1.5\n2,NA\n,2.5\n",
    )

    def prepare(self, folder: Path) -> None:
        """The texts, or tables of pyarrow made of them."""
        self.suffixes, self.corpus = (self.format,), list(self.texts)
        if self.format == ".parquet":
            from pyarrow import csv, parquet

            self.corpus, self.changes = [], BYTES
            for number, text in enumerate(self.texts[:3]):
                (folder / "table.csv").write_bytes(text)
                table = csv.read_csv(folder / "table.csv")
                parquet.write_table(table, folder / "table", compression=("snappy", "none", "gzip")[number])
                self.corpus.append((folder / "table").read_bytes())
        self.try_input(Random(0), folder)

    def read(self, path: Path, random: Random) -> Outcome:
        """Read it, sometimes for a model that knows other columns."""
        with refusals(ValueError):
            found = read_data(path, target=random.choice(("label", "label", "label", "x", None)))
        if found.X.shape[0] != len(found.y) or found.X.shape[1] != len(found.names):
            raise Fault(f"rows {found.X.shape}, {len(found.y)} targets, {len(found.names)} names")
        values = found.X.data if sp.issparse(found.X) else found.X
        if values.dtype.kind != "f":
            raise Fault(f"numbers of type {values.dtype}")
        return ACCEPTED


class Parquet(Tables):
    """Parquet of the same tables."""

    format = ".parquet"


class Stores:
    """Stores of which one file is changed, also with checksums that belong to the change."""

    def __init__(self) -> None:
        self.last: Any = None
        self.contents: list[dict[str, bytes]] = []

    def prepare(self, folder: Path) -> None:
        """A sparse and a dense store."""
        X, y = sound_data()
        for number, rows in enumerate((sp.csr_array(X * (X > 0)), X)):
            write_store(folder / f"sound{number}.store", [(rows, y)], names=["a", "b", "c"] if number else None)
            files = sorted((folder / f"sound{number}.store").iterdir())
            self.contents.append({path.name: path.read_bytes() for path in files})

    def try_input(self, random: Random, folder: Path) -> Outcome:
        """Change a file or the manifest, and open the store with and without its checksums."""
        files = dict(random.choice(self.contents))
        name = random.choice(list(files))
        if name == MANIFEST and random.random() < 0.8:
            files[name] = json.dumps(change_json(json.loads(files[name]), random)).encode()
        elif random.random() < 0.05:
            del files[name]
        else:
            files[name] = mutated(random, list(files.values()) if random.random() < 0.1 else [files[name]], BYTES)
            if name != MANIFEST and random.random() < 0.6:
                # Damage with the checksum of its own, and with the size of its own, goes further.
                manifest = json.loads(files[MANIFEST])
                entry = manifest["arrays"][name.removesuffix(".bin")]
                entry["checksum"] = blake2b(files[name], digest_size=16).hexdigest()
                if random.random() < 0.5:
                    entry["size"] = len(files[name]) // np.dtype(entry["dtype"]).itemsize
                files[MANIFEST] = json.dumps(manifest).encode()
        self.last = files.get(name, b"")
        store = folder / "changed.store"
        shutil.rmtree(store, ignore_errors=True)
        store.mkdir()
        for file, data in files.items():
            (store / file).write_bytes(data)
        for check in (False, True):
            try:
                with refusals(StoreError):
                    found = open_store(store, check=check)
            except Refusal as refusal:
                if "changed.store" not in str(refusal):
                    raise Fault(f"the error does not name the store: {refusal}") from refusal.__cause__
                return REFUSED
            if found.X.shape[0] != found.y.size:
                raise Fault(f"{found.y.size} targets of rows of shape {found.X.shape}")
            if found.X.shape[1] < WIDE:
                with np.errstate(all="ignore"):
                    found.X @ np.ones(found.X.shape[1])
        return ACCEPTED


class OtherModels(Bytes):
    """Models of LIBSVM, or of LIBLINEAR: what is read predicts, and is written and read again as the same."""

    write: Any
    read_file: Any
    models: tuple[Any, ...]

    def prepare(self, folder: Path) -> None:
        """Models of two and three classes and regressions."""
        for model in self.models:
            for classes in (2, 3):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self.write(model.fit(*sound_data(classes)), folder / "sound")
                self.corpus.append((folder / "sound").read_bytes())
        self.try_input(Random(0), folder)

    def read(self, path: Path, random: Random) -> Outcome:
        """Read, predict, write, read again."""
        with refusals(ModelFileError):
            model = self.read_file(path)
        d = model.n_features_in_
        if d >= WIDE:
            return ACCEPTED
        rows = np.vstack([np.zeros(d), generator_of(random).standard_normal((3, d))])
        # Finite numbers of a file may overflow in products.
        with np.errstate(all="ignore"):
            found = predictions(model, rows)
            if found is None or random.random() < 0.7:
                return ACCEPTED
            try:
                with refusals(ModelFileError):
                    self.write(model, path.with_name("again-input"))
            except Refusal:
                return ACCEPTED
            again = self.read_file(path.with_name("again-input"))
            other = predictions(again, rows[:, : again.n_features_in_]) if again.n_features_in_ == d else found
        if not np.array_equal(found, other, equal_nan=found.dtype.kind == "f"):
            raise Fault(f"written and read again: {found.tolist()} became {other if other is None else other.tolist()}")
        return ACCEPTED


def predictions(model: Any, rows: np.ndarray) -> np.ndarray | None:
    """What a model predicts; None where its numbers overflow, which the error says."""
    try:
        with refusals(ValueError):
            return model.predict(rows)
    except Refusal as refusal:
        # A forged file may ask for zero threads.
        if not any(word in str(refusal) for word in ("finite", "n_jobs")):
            raise Fault(f"predict refuses rows: {refusal}") from refusal.__cause__
        return None


class Libsvm(OtherModels):
    """Models of LIBSVM."""

    write, read_file = staticmethod(write_libsvm_model), staticmethod(read_libsvm_model)
    models = (SVC(), SVR(), SVC(kernel="poly", coef0=1.0), SVC(kernel="linear"), SVC(kernel="sigmoid", gamma=0.1))


class Liblinear(OtherModels):
    """Models of LIBLINEAR."""

    write, read_file = staticmethod(write_liblinear_model), staticmethod(read_liblinear_model)
    models = (LinearSVC(), LinearSVR(), LinearSVC(fit_intercept=False), LinearSVC(multi_class="crammer_singer"))
