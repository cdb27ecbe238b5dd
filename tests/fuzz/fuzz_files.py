"""Feeds mutated bytes to the readers: only a result or a documented error may come out.

    pip install atheris && python tests/fuzz/fuzz_files.py svmlight -runs=100000
    python tests/fuzz/fuzz_files.py model -runs=20000

Options behind the name are those of libFuzzer, for example -max_total_time=60 or -rss_limit_mb=1024.
"""

import sys
import tempfile
from pathlib import Path

import atheris
import numpy as np

# Compiled loops cannot be instrumented: they are imported before the rest is.
import maxmargin.loops.svmlight  # noqa: F401
from maxmargin import SVC, LinearSVC

with atheris.instrument_imports(include=["maxmargin.files"]):
    from maxmargin.files import ModelFileError, SvmlightError, load, read_svmlight, save

FOLDER = Path(tempfile.mkdtemp())


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


def read_model(data: bytes) -> None:
    """A model file is one, or is refused."""
    path = FOLDER / "model"
    path.write_bytes(data)
    try:
        model = load(path)
    except ModelFileError:
        return
    model.predict(np.zeros((1, model.n_features_in_)))


def seed_models(folder: Path) -> None:
    """Sound files to begin with."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 3)), np.arange(20) % 3
    for name, model in (("plane", LinearSVC()), ("kernel", SVC())):
        save(model.fit(X, y), folder / name)


def seed_texts(folder: Path) -> None:
    """Sound text to begin with."""
    (folder / "text").write_bytes(b"+1 1:0.5 3:-2e-3 # comment\n-1 qid:3 2:1\n\n1\r\n")


def main() -> None:
    """Fuzz what the first argument names."""
    targets = {"svmlight": (read_text, seed_texts), "model": (read_model, seed_models)}
    name = sys.argv.pop(1)
    target, seed = targets[name]
    corpus = FOLDER / "corpus"
    corpus.mkdir()
    seed(corpus)
    atheris.Setup([*sys.argv, str(corpus)], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
