"""The command: random options, sound and damaged files; only the documented exit codes come out.

Errors are one line, ``--json`` prints JSON, a model that was trained can be verified.
"""

import contextlib
import io
import json
import os
import sys
import warnings
from pathlib import Path
from random import Random
from typing import Any

from checker_cases import write_data
from fuzz.files import Svmlight, Tables
from fuzz.harness import REFUSED, Fault, Outcome
from fuzz.models import fitted_models, separable_data
from fuzz.mutations import BYTES, NUMBERS, TEXT, mutated
from maxmargin.cli.app import main
from maxmargin.cli.models import MODELS as NAMES
from maxmargin.files import save, write_liblinear_model, write_libsvm_model, write_store

# Exit codes by subcommand, beside 0 and 2, an error.
CODES = {"verify": {1}, "separate": {3}}
SOMETIMES = {
    "-C": ("1", "0.1", "100", "inf", "1e-10", "1e10"),
    "--loss": ("hinge", "squared_hinge", "epsilon_insensitive", "logistic"),
    "--kernel": ("rbf", "linear", "poly", "sigmoid", "cubic"),
    "--gamma": ("scale", "auto", "0.5", "1e5", "x"),
    "--degree": ("2", "3", "0", "50"),
    "--coef0": ("0", "1", "-1"),
    "--epsilon": ("0", "0.1", "5"),
    "--lam": ("0", "1", "1e-6", "1e6"),
    "--sigma2": ("1",),
    "--tau2": ("1", "0.1"),
    "--rate": ("1",),
    "--no-intercept": (),
    "--solver": ("auto", "newton", "coordinate", "gradient"),
    "--step-size": ("0.1",),
    "--tol": ("1e-3", "1e-8", "1"),
    "--class-weight": ("balanced", "fair"),
    "--cache-size": ("1", "1e-5"),
    "--max-iter": ("1", "100"),
    "--seed": ("0", "7"),
    "--target": ("label", "x", "a"),
    "--test": ("rows.svm", "sound2.svm", "none"),
    "--cv": ("2", "3"),
    "--zero-based": (),
    "--json": (),
    "--store": (),
}
OPTIONS = {
    "predict": {"--scores": (), "--proba": (), "--std": (), "--interval": ("0.5", "0.95", "1"), "-o": ("labels",)},
    "evaluate": {},
    "verify": {"--weights": ("weights", "rows.svm", "none")},
    "info": {"--coefficients": ()},
    "separate": {"--tol": ("1", "1e-3", "0"), "--exact": (), "--output": ("witness.npz",)},
    "convert": {"--to": ("maxmargin", "libsvm", "liblinear", "onnx", "pickle")},
}
COMMON = {"--target": ("label", "x"), "--zero-based": (), "--json": ()}


class Commands:
    """The subcommands but for the demo."""

    def __init__(self) -> None:
        self.last: Any = None
        self.texts: list[bytes] = []
        self.models: dict[str, bytes] = {}

    def prepare(self, folder: Path) -> None:
        """Data and models in every format, in the folder in which the command runs."""
        for variable in ("COLUMNS", "NO_COLOR"):
            os.environ[variable] = "200"
        os.chdir(folder)
        reader = Svmlight()
        reader.prepare(folder)
        for classes in (2, 3):
            X, y = separable_data(classes)
            write_data(folder / f"sound{classes}.svm", X, y)
            write_store(folder / f"sound{classes}.store", [(X, y)])
            for number, model in enumerate(fitted_models(X, y)):
                name = f"model{classes}-{number}"
                save(model, name, X, y)
                writer = {"SVC": write_libsvm_model, "SVR": write_libsvm_model, "LinearSVC": write_liblinear_model}
                with contextlib.suppress(ValueError):
                    writer.get(type(model).__name__, write_liblinear_model)(model, f"other{classes}-{number}")
        self.texts = [*reader.corpus, *((folder / f"sound{k}.svm").read_bytes() for k in (2, 3))]
        self.models = {path.name: path.read_bytes() for path in folder.glob("model*")}
        self.models |= {path.name: path.read_bytes() for path in folder.glob("other*")}
        (folder / "weights").write_text("1\n" * 20)

    def try_input(self, random: Random, folder: Path) -> Outcome:
        """Run the command once, and ``verify`` after ``train``."""
        os.chdir(folder)
        data = self.data(random)
        name = random.choice((*["train"] * 3, "predict", "evaluate", "verify", "info", "separate", "convert"))
        words = [name, *getattr(self, f"arguments_of_{name}", self.arguments_of_model)(name, data, random)]
        words = [word if random.random() < 0.98 else random.choice((*NUMBERS, "-", "--", "none")) for word in words]
        # Nothing is written but what is named above: a word that was changed is no path of another folder.
        self.last = f"{words}\n{data}: {Path(data).read_bytes()[:2000]!r}" if Path(data).is_file() else str(words)
        code, output = self.call(words)
        if name == "train" and code == 0 and random.random() < 0.5:
            again = [*(["--target", words[words.index("--target") + 1]] if "--target" in words else [])]
            again += ["--zero-based"] if "--zero-based" in words else []
            source = f"{data}.store" if "--store" in words else data
            if words[1] == data and Path("out").exists():
                code, output = self.call(["verify", "out", source, *([] if "--store" in words else again)])
                if code != 0:
                    raise Fault(f"verify after {' '.join(words)}: exit code {code}: {output}")
        return REFUSED if code == 2 else Outcome(True)

    def data(self, random: Random) -> str:
        """The name of sound data, or of data that were changed just now."""
        kind = random.random()
        if kind < 0.3:
            return random.choice(("sound2.svm", "sound3.svm", "sound2.store", "sound3.store"))
        if kind < 0.85:
            name, corpus = "rows.svm", self.texts
        else:
            name, corpus = "rows.csv", list(Tables.texts)
        Path(name).write_bytes(mutated(random, corpus, TEXT) if random.random() < 0.5 else random.choice(corpus))
        return name

    def model(self, random: Random) -> str:
        """The name of a sound model, or of one that was changed."""
        name = random.choice(list(self.models))
        if random.random() < 0.7:
            return name
        changes = BYTES if name.startswith("model") else TEXT
        Path("changed").write_bytes(mutated(random, [self.models[name]], changes))
        return "changed"

    def arguments_of_train(self, _: str, data: str, random: Random) -> list[str]:
        """Any model with any options."""
        Path("out").unlink(missing_ok=True)
        chosen = ["-m", random.choice(list(NAMES))] if random.random() < 0.9 else []
        share = random.choice((0.0, 0.05, 0.05, 0.15))
        limits = ["--max-time", "0.3", "--jobs", "1"] if chosen[-1:] != ["bayesian-regression"] else []
        if chosen[-1:] and chosen[-1] in ("kernel-perceptron", "ridge", "lasso"):
            limits = limits[:2]
        searched = ["--search"] if random.random() < 0.02 else []
        target = ["--target", "label"] if data.endswith(".csv") else []
        return [data, "-o", "out", *chosen, *limits, *searched, *target, *some_of(SOMETIMES, share, random)]

    def arguments_of_separate(self, name: str, data: str, random: Random) -> list[str]:
        """With a time limit."""
        target = ["--target", "label"] if data.endswith(".csv") else []
        return [data, "--max-time", "0.3", *target, *some_of(OPTIONS[name] | COMMON, 0.15, random)]

    def arguments_of_info(self, name: str, _: str, random: Random) -> list[str]:
        """One model."""
        return [self.model(random), *some_of(OPTIONS[name] | {"--json": ()}, 0.3, random)]

    def arguments_of_convert(self, name: str, data: str, random: Random) -> list[str]:
        """Data or a model, to any format."""
        if random.random() < 0.5:
            output = random.choice(("new.svm", "new.csv", "new.parquet", "new.store", "new.svm.gz"))
            target = ["--target", "label"] if data.endswith(".csv") else []
            return [data, output, *target, *some_of({"--zero-based": ()}, 0.1, random)]
        return [self.model(random), random.choice(("new", "new.onnx")), *some_of(OPTIONS[name], 0.7, random)]

    def arguments_of_model(self, name: str, data: str, random: Random) -> list[str]:
        """A model and data."""
        target = ["--target", "label"] if data.endswith(".csv") else []
        return [self.model(random), data, *target, *some_of(OPTIONS[name] | COMMON, 0.15, random)]

    def call(self, words: list[str]) -> tuple[int, str]:
        """Run the command in this process: its exit code and what it prints."""
        output, errors = io.StringIO(), io.StringIO()
        arguments, stdin = sys.argv, sys.stdin
        sys.argv, sys.stdin = ["maxmargin", *words], io.TextIOWrapper(io.BytesIO(b"1 1:1\n0 2:1\n"))
        try:
            with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors), warnings.catch_warnings():
                main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        finally:
            sys.argv, sys.stdin = arguments, stdin
        printed, said = output.getvalue(), errors.getvalue()
        if code not in {0, 2, *CODES.get(words[0], ())}:
            raise Fault(f"exit code {code}: {said}")
        lines = [line for line in said.splitlines() if line.startswith("error: ")]
        if code == 2 and (len(lines) != 1 or len(lines[0]) < 12) and "Usage" not in said + printed:
            raise Fault(f"an error of {len(lines)} lines: {said!r}")
        if code == 0 and "--json" in words and "-h" not in words:
            for line in printed.splitlines() if words[0] == "predict" else [printed]:
                json.loads(line, parse_constant=_no_json)
        return code, printed + said


def _no_json(word: str) -> None:
    raise Fault(f"--json prints {word}, which is no JSON")


def some_of(options: dict[str, tuple[str, ...]], share: float, random: Random) -> list[str]:
    """Some options with their values."""
    words = []
    for name, values in options.items():
        if random.random() < share:
            words += [name, *([random.choice(values)] if values else [])]
    return words
