"""Feeds mutated bytes to the readers and to the command: only a result or a documented error may come out.

    pip install atheris && python tests/fuzz/fuzz_files.py svmlight -runs=100000
    python tests/fuzz/fuzz_files.py command -max_total_time=60

Targets are svmlight, model, libsvm, liblinear, store and command. Options behind the name are those of libFuzzer, for
example -max_total_time=60 or -rss_limit_mb=1024.
"""

import contextlib
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import atheris
import numpy as np

# Compiled loops cannot be instrumented: they are imported before the rest is.
import maxmargin.loops.svmlight  # noqa: F401
from maxmargin import SVC, SVR, LinearSVC, LinearSVR

with atheris.instrument_imports(include=["maxmargin.files", "maxmargin.cli"]):
    from maxmargin.cli.app import EXPLAINED, app
    from maxmargin.files import (
        ModelFileError,
        SvmlightError,
        load,
        open_store,
        read_liblinear_model,
        read_libsvm_model,
        read_svmlight,
        save,
        write_liblinear_model,
        write_libsvm_model,
        write_store,
    )
    from maxmargin.files.store import StoreError

FOLDER = Path(tempfile.mkdtemp())
LINEAR = (("linear", LinearSVC()), ("line", LinearSVR()))
KERNEL = (("kernel", SVC()), ("curve", SVR()))
SUBCOMMANDS = ("train", "predict", "evaluate", "verify", "info", "separate", "convert")


def sound_data() -> tuple[Any, Any]:
    """Rows of three classes."""
    return np.random.default_rng(0).standard_normal((20, 3)), np.arange(20) % 3


def seed_with(write: Callable[[Any, Path], None], models: Any) -> Callable[[Path], None]:
    """Sound model files to begin with."""

    def seed(folder: Path) -> None:
        X, y = sound_data()
        for name, model in models:
            write(model.fit(X, y), folder / name)

    return seed


def model_target(read: Callable[[Path], Any]) -> Callable[[bytes], None]:
    """A model file is one, or is refused."""

    def target(data: bytes) -> None:
        path = FOLDER / "model"
        path.write_bytes(data)
        try:
            model = read(path)
        except ModelFileError:
            return
        if model.n_features_in_ < 1 << 20:
            model.predict(np.zeros((1, model.n_features_in_)))

    return target


def read_text(data: bytes) -> None:
    """Text that is not svmlight has a line that says so."""
    path = FOLDER / "rows.svm"
    path.write_bytes(data)
    try:
        X, y = read_svmlight(path)
    except SvmlightError:
        return
    assert X.shape[0] == y.size
    assert np.isfinite(X.data).all()


def seed_texts(folder: Path) -> None:
    """Sound text to begin with."""
    (folder / "text").write_bytes(b"+1 1:0.5 3:-2e-3 # comment\n-1 qid:3 2:1\n\n1\r\n")


def read_store(data: bytes) -> None:
    """The first byte says which file of a sound store the others replace."""
    sound, changed = FOLDER / "sound.store", FOLDER / "changed.store"
    if not sound.exists():
        write_store(sound, [sound_data()])
    shutil.rmtree(changed, ignore_errors=True)
    shutil.copytree(sound, changed)
    names = sorted(path.name for path in sound.iterdir())
    (changed / names[data[0] % len(names) if data else 0]).write_bytes(data[1:])
    try:
        found = open_store(changed, check=True)
    except StoreError:
        return
    assert found.X.shape[0] == found.y.size


def seed_stores(folder: Path) -> None:
    """The files of a sound store."""
    write_store(FOLDER / "seed.store", [sound_data()])
    for number, path in enumerate(sorted((FOLDER / "seed.store").iterdir())):
        (folder / path.name).write_bytes(bytes([number]) + path.read_bytes())


def run_command(data: bytes) -> None:
    """The first line is a subcommand, a sound model and options; the others are the rows, or replace the model."""
    line, _, content = data.partition(b"\n")
    name, model, *options = [*line.decode(errors="replace").split(), "", ""]
    # Nothing is written outside of the folder, and nobody waits.
    if name not in SUBCOMMANDS or any(sign in word for word in (model, *options) for sign in ("/", "..", "\0")):
        return
    Path("rows.svm").write_bytes(content)
    used = model if model in dict(LINEAR + KERNEL) else "rows.svm"
    arguments = {
        "train": ["rows.svm", "-o", "out", "--max-time", "0.2", "--jobs", "1"],
        "separate": ["rows.svm", "--max-time", "0.2"],
        "convert": ["rows.svm", "out.svm"],
        "info": [used],
    }.get(name, [used, "rows.svm"])
    sys.stdin = io.TextIOWrapper(io.BytesIO(content))
    silence = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with silence[0], silence[1]:
        try:
            app([name, *arguments, *filter(None, options)], standalone_mode=False)
        except EXPLAINED:
            return
        except Exception as error:
            if not hasattr(error, "format_message"):
                raise


def seed_commands(folder: Path) -> None:
    """Sound models and lines for the command."""
    os.chdir(FOLDER)
    seed_with(save, LINEAR + KERNEL)(FOLDER)
    rows = "1 1:0.5 3:-2e-3\n0 2:1\n2 1:1\n1 2:3\n0 1:-1\n2 3:4\n"
    lines = ["train - -C 1 --model svc --kernel poly --degree 2 --json", "train - --cv 2 --test rows.svm"]
    lines += [f"{name} {model} --json" for name in SUBCOMMANDS for model in ("linear", "curve", "none")]
    for number, line in enumerate(lines):
        (folder / f"line{number}").write_text(f"{line}\n{rows}")


TARGETS = {
    "svmlight": (read_text, seed_texts),
    "model": (model_target(load), seed_with(save, LINEAR + KERNEL)),
    "libsvm": (model_target(read_libsvm_model), seed_with(write_libsvm_model, KERNEL)),
    "liblinear": (model_target(read_liblinear_model), seed_with(write_liblinear_model, LINEAR)),
    "store": (read_store, seed_stores),
    "command": (run_command, seed_commands),
}


def main() -> None:
    """Fuzz what the first argument names."""
    target, seed = TARGETS[sys.argv.pop(1)]
    corpus = FOLDER / "corpus"
    corpus.mkdir()
    seed(corpus)
    atheris.Setup([*sys.argv, str(corpus)], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
