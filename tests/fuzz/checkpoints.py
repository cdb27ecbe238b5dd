"""Forged checkpoints: bytes, values and tensors are changed, mostly with a checksum that belongs to the change.

A fit refuses such a file by its own error, or goes on from it and ends; whatever the file held, what the model then
claims is true. From a file that was not changed it ends with the same bits.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor

import maxmargin as mm
from fuzz.estimators import check_file
from fuzz.harness import REFUSED, Fault, Outcome, Refusal, refusals
from fuzz.models import forge
from fuzz.mutations import BYTES, mutated
from maxmargin.files.checkpoint import FileRecord

# Runs end by themselves, also from states that are far from what they would have reached.
MODELS: tuple[Any, ...] = (
    mm.LinearSVC(solver="coordinate", max_iter=60, random_state=0),
    mm.LinearSVC(solver="newton", tol=1e-8, max_iter=60),
    mm.LinearSVC(C=np.inf, max_iter=60),
    mm.LinearSVC(multi_class="crammer_singer", max_iter=60, random_state=0),
    mm.LinearSVR(max_iter=60, random_state=0),
    mm.SVC(max_iter=2000),
    mm.SVR(max_iter=2000),
    mm.LogisticRegression(C=1.0, max_iter=60, multi_class="ovr"),
    mm.LogisticRegression(C=1.0, solver="gradient", multi_class="ovr", max_iter=60),
    mm.Lasso(lam=0.1, max_iter=60),
    mm.ElasticNet(alpha=0.01, max_iter=60),
    mm.LinearSVC(penalty="l1", loss="squared_hinge", dual=False, max_iter=60),
    mm.LogisticRegression(C=1.0, max_iter=60),
    mm.NuSVC(nu=0.1, max_iter=2000),
    mm.NuSVR(max_iter=2000),
    mm.OneClassSVM(max_iter=2000),
    mm.Perceptron(max_iter=20, average=True, tol=None, random_state=0),
    mm.Perceptron(rule="batch", max_iter=20, tol=None),
    mm.KernelPerceptron(max_iter=6, random_state=0),
    mm.MarginPerceptron(max_iter=20, random_state=0),
)
# With more columns than this, data are not small: runs on small data are one compiled call, without checkpoints.
N_COLUMNS = 101


@contextmanager
def kept_files(kept: list[bytes]) -> Iterator[None]:
    """Keep the bytes of every checkpoint that is written."""
    write = FileRecord._write

    def write_and_keep(record: Any, **arguments: Any) -> None:
        write(record, **arguments)
        kept.append(Path(record._path).read_bytes())

    FileRecord._write = write_and_keep  # type: ignore[method-assign]
    try:
        yield
    finally:
        FileRecord._write = write  # type: ignore[method-assign]


class Checkpoints:
    """Checkpoints at the beginning, in the middle and at the end of fits of every solver."""

    def __init__(self) -> None:
        self.last: Any = None
        generator = np.random.default_rng(0)
        self.X = generator.standard_normal((24, N_COLUMNS)).round(3)
        self.labels = np.arange(24) % 3
        self.targets = (self.X[:, 0] + generator.standard_normal(24)).round(3)
        self.sound: list[tuple[bytes, Any, bytes]] = []

    def _y(self, model: Any) -> np.ndarray:
        return self.targets if is_regressor(model) else self.labels

    def _fitted(self, model: Any, path: Path, *, resume: bool) -> Any:
        with warnings.catch_warnings(), np.errstate(all="ignore"), mm.checkpoints(path, every=0, resume=resume):
            warnings.simplefilter("ignore")
            return clone(model).fit(self.X, self._y(model))

    def _bits(self, model: Any, folder: Path) -> bytes:
        mm.save(model, folder / "bits", self.X, self._y(model))
        return (folder / "bits").read_bytes()

    def prepare(self, folder: Path) -> None:
        """Fit the models, and keep some of their checkpoints."""
        for number, model in enumerate(MODELS):
            kept: list[bytes] = []
            with kept_files(kept):
                found = self._fitted(model, folder / f"sound{number}", resume=False)
            places = {0, len(kept) // 3, 2 * len(kept) // 3, len(kept) - 1}
            self.sound += [(kept[place], model, self._bits(found, folder)) for place in sorted(places)]

    def try_input(self, random: Random, folder: Path) -> Outcome:
        """Forge a checkpoint and go on from it."""
        sound, model, bits = self.sound[random.randrange(len(self.sound))]
        forged = forge(sound, random) if random.random() < 0.9 else mutated(random, [sound], BYTES)
        self.last, path = forged, folder / "forged"
        path.write_bytes(forged)
        try:
            with refusals(mm.CheckpointError):
                found = self._fitted(model, path, resume=True)
        except mm.NotSeparableError:
            return Outcome(True)
        except Refusal as refusal:
            if "forged" not in str(refusal):
                raise Fault(f"the error does not name the file: {refusal}") from refusal.__cause__
            return REFUSED
        if forged == sound and self._bits(found, folder) != bits:
            raise Fault(f"{type(model).__name__} goes on from its own checkpoint with other bits")
        return check_file(found, self.X, self._y(model), None, folder)
