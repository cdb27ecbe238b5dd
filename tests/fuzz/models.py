"""Forged model files: bytes, values and tensors are changed, mostly with a checksum that belongs to the change.

The reader refuses a file or makes a model that predicts; the checker refuses it or answers. A file that predicts
something else than before is not verified.
"""

import struct
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import maxmargin as mm
import maxmargin_check
from checker_cases import pack, unpack, write_data
from fuzz.files import WIDE, predictions, sound_data
from fuzz.harness import REFUSED, Fault, Outcome, Refusal, generator_of, refusals
from fuzz.mutations import BYTES, change_json, mutated
from maxmargin.files import ModelFileError
from maxmargin.files.model import read_model_file
from maxmargin.files.verification import verify_file

MODELS: tuple[Any, ...] = (
    mm.LinearSVC(),
    mm.LinearSVC(loss="squared_hinge"),
    mm.LinearSVC(multi_class="crammer_singer"),
    mm.LinearSVC(C=np.inf),
    mm.LinearSVR(epsilon=0.1),
    mm.SVC(),
    mm.SVC(kernel="poly", coef0=1.0),
    mm.SVR(),
    mm.LogisticRegression(C=float("inf")),
    mm.LogisticRegression(C=1.0),
    mm.Ridge(),
    mm.Lasso(lam=0.1),
    mm.BayesianRegression(),
    mm.Perceptron(max_iter=20),
    mm.Perceptron(max_iter=20, rule="batch", normalize=True),
    mm.MarginPerceptron(),
    mm.KernelPerceptron(max_iter=20),
    mm.LinearSVC(penalty="l1", loss="squared_hinge", dual=False),
    mm.LogisticRegression(l1_ratio=0.5, multi_class="ovr"),
    mm.LogisticRegression(penalize_intercept=True, intercept_scaling=3.0),
    mm.ElasticNet(alpha=0.01),
    mm.Lasso(lam=0.1, positive=True),
    mm.NuSVC(nu=0.1),
    mm.NuSVR(),
    mm.OneClassSVM(nu=0.2),
    mm.Perceptron(max_iter=20, penalty="elasticnet"),
)
# Share of the sizes of predicted values that counts as the same prediction.
SAME = 1e-6


def separable_data(classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of classes, each of which a hyperplane separates from the rest."""
    X, y = sound_data(classes)
    X[:, 0] += 10.0 * y
    X[:, 1] += 10.0 * (y == 1)
    return X, y


def fitted_models(X: np.ndarray, y: np.ndarray) -> Iterator[Any]:
    """A model of every kind."""
    for model in MODELS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield model.fit(X, y)


class Models:
    """Model files of all estimators, of two and three classes."""

    def __init__(self) -> None:
        self.last: Any = None
        self.sound: list[tuple[bytes, Path, np.ndarray, np.ndarray, np.ndarray]] = []

    def prepare(self, folder: Path) -> None:
        """Fit and save the models."""
        for classes in (2, 3):
            X, y = separable_data(classes)
            data = folder / f"data{classes}.svm"
            write_data(data, X, y)
            for model in fitted_models(X, y):
                mm.save(model, folder / "sound", X, y)
                self.sound.append(((folder / "sound").read_bytes(), data, X, y, model.predict(X)))

    def try_input(self, random: Random, folder: Path) -> Outcome:
        """Forge a file, read it, check it, verify it."""
        number = random.randrange(len(self.sound))
        file, data, X, y, before = self.sound[number]
        forged = forge(file, random) if random.random() < 0.85 else mutated(random, [file], BYTES)
        self.last, path = forged, folder / "forged"
        path.write_bytes(forged)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            answers = self.check(path, data)
            try:
                with refusals(ModelFileError):
                    stored = read_model_file(path)
            except Refusal as refusal:
                if "forged" not in str(refusal):
                    raise Fault(f"the error does not name the file: {refusal}") from refusal.__cause__
                return REFUSED
            if stored.model.n_features_in_ < WIDE:
                predictions(stored.model, np.zeros((1, stored.model.n_features_in_)))
            if stored.model.n_features_in_ != X.shape[1] or not hasattr(stored.model, "certificate_"):
                return Outcome(True)
            try:
                with refusals((ValueError, TypeError)):
                    verdict = verify_file(stored, X, y)
            except Refusal:
                return Outcome(True)
            # As the command does: what is proven up to 1e-9 is decided exactly.
            verified = verdict.true and not any(answer == "FALSE" for _, answer, _ in answers)
            if verified and stored.fingerprint is not None:
                refuse_other_predictions(stored.model, X, before)
        found = [answer for _, answer, _ in answers]
        # False claims are what forgeries are for: they are counted as decided.
        return Outcome(True, found.count("TRUE"), found.count("NOT CHECKED"), 0)

    def check(self, path: Path, data: Path) -> list[tuple[str, str, str]]:
        """The checker's answers; it refuses files by the errors that its command reports only."""
        try:
            return list(maxmargin_check.Check(path, data))
        except maxmargin_check.Unreadable:
            return []


def refuse_other_predictions(model: Any, X: np.ndarray, before: np.ndarray) -> None:
    """Raise where a model that was verified predicts something else than the model that was saved."""
    found = predictions(model, X)
    if found is None:
        raise Fault("verify accepts a file whose predictions are not finite")
    if before.dtype.kind == "f":
        same = np.allclose(found, before, rtol=SAME, atol=SAME * float(np.abs(before).max()))
    else:
        same = np.array_equal(found, before)
    if not same:
        raise Fault(f"verify accepts a file that predicts {found.tolist()} instead of {before.tolist()}")


def forge(file: bytes, random: Random) -> bytes:
    """A model file with one to three changes of its content, header or tensors, and the checksum of the result."""
    header, tensors, content = unpack(file)
    changed = bytearray(tensors)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        kind = random.random()
        if kind < 0.55 and isinstance(content, dict):
            content = change_json(content, random)
        elif kind < 0.65 and isinstance(header, dict):
            header = change_json(header, random)
        elif changed:
            change_tensor(changed, random)
    if not (isinstance(content, dict) and isinstance(header, dict)):
        return file[: random.randrange(len(file))]
    return pack(header, bytes(changed), content)


def change_tensor(tensors: bytearray, random: Random) -> None:
    """One number of eight bytes is another one, or a bit of it."""
    at = 8 * random.randrange(max(1, len(tensors) // 8))
    kind = random.random()
    if kind < 0.4:
        tensors[min(at + random.randrange(8), len(tensors) - 1)] ^= 1 << random.randrange(8)
    elif len(tensors) >= at + 8:
        value = struct.unpack_from("<d", tensors, at)[0]
        others = (-value, 0.0, value * 2.0, value * (1.0 + 1e-9), float("nan"), float("inf"), 1e300, 5e-324)
        struct.pack_into("<d", tensors, at, random.choice(others))
    if kind > 0.95:
        del tensors[random.randrange(len(tensors)) :]
    elif kind > 0.9:
        tensors += generator_of(random).bytes(random.choice((1, 8, 24)))
