"""Golden tests of the command: sessions in plain text, with what the command prints and its exit codes.

A case is one file, ``tests/command/golden/NAME.txt``. Its first lines say what it shows. A line ``@ width 60`` sets the
width (80 by default), ``@ terminal`` runs the commands on a pseudo-terminal, and keeps the screen as it is at the end.
Then steps, each followed by what it prints, indented; ``[2]`` is an exit code other than 0::

    $ data iris.csv                        copies a data set of ``DATA_SETS`` into the case's folder
    $ write rows.csv                       writes the lines that follow, each after ``> ``
    > a,b
    $ maxmargin info iris.csv < rows.csv   runs the command within the process; ``2| `` marks standard error
    $ quietly maxmargin train ...          the same, without its output, and it must succeed
    $ ls                                   lists the folder

To add a case, write its steps and run ``python tests/golden_cases.py NAME``, which fills in what the command prints;
without names all cases are recorded anew. Look at the difference before it is committed.

Numbers with a decimal point are compared within 2 %, since they may differ between machines and solvers, and those of
certificates not at all (other tests check them). Times, hashes, versions and dates are masked. Where lines are wrapped
is free, but a word that is broken is seen.
"""

import contextlib
import io
import json
import math
import os
import re
import shlex
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

FOLDER = Path(__file__).parent / "command" / "golden"
INDENT = "    "
MASKS = (
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)?( UTC)?"), "TIME"),
    (re.compile(r"\b\d+(\.\d+)?(e-\d+)? (ms|s|min|h)\b"), "SECONDS"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "HASH"),
    (re.compile(r"\bsha256 [0-9a-f]{8,}"), "sha256 HASH"),
    (re.compile(r"maxmargin \d+\.\d+(\.\w+)*"), "maxmargin VERSION"),
)
NUMBER = re.compile(r"[-+]?(?:\d[\d,]*)(?:\.\d+)?(?:e[-+]?\d+)?")
# Numbers of certificates, which depend on the solver's last step.
CERTIFICATES = (
    (re.compile(r"relative duality gap \S+ \(primal \S+ dual \S+"), "relative duality gap (...)"),
    (re.compile(r"[\d,]+ support vectors: .*? misclassified"), "SUPPORT VECTORS"),
    (re.compile(r"support vectors [\d,]+"), "support vectors COUNT"),
    (re.compile(r"worst [\d.e-]+, median [\d.e-]+"), "worst ..., median ..."),
    (re.compile(r"worst: .*? against the rest"), "worst: CLASS against the rest"),
    (re.compile(r'"(proof|claim)": \{.*?\}(, (?="(written|data|true|status|proof|maxmargin_check)")|\})'), ""),
)
# Keys of JSON whose values depend on the machine.
MACHINE_KEYS = re.compile(r"^(seconds.*|.*_seconds|version|time|sha256|size|bytes)$")


@dataclass
class Step:
    """A line after ``$``, the lines of a file after ``>``, and what was printed."""

    line: str
    body: list[str] = field(default_factory=list)
    output: list[str] = field(default_factory=list)


@dataclass
class Case:
    """A session with its settings."""

    about: list[str]
    width: int
    terminal: bool
    steps: list[Step]

    @classmethod
    def read(cls, path: Path) -> "Case":
        """Read a file."""
        about: list[str] = []
        steps: list[Step] = []
        width, terminal = 80, False
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("$ "):
                steps.append(Step(line[2:]))
            elif line.startswith(">") and steps:
                steps[-1].body.append(line[2:])
            elif line.startswith("@ width "):
                width = int(line.split()[2])
            elif line.startswith("@ terminal"):
                terminal = True
            elif steps:
                steps[-1].output.append(line.removeprefix(INDENT))
            else:
                about.append(line)
        return cls(about, width, terminal, steps)

    def text(self) -> str:
        """The file's text."""
        settings = [f"@ width {self.width}"] if self.width != 80 else []
        lines = [*"\n".join(self.about).strip().splitlines(), *settings, *(["@ terminal"] if self.terminal else []), ""]
        for step in self.steps:
            lines += [f"$ {step.line}", *(f"> {line}".rstrip() for line in step.body)]
            lines += [f"{INDENT}{line}".rstrip() for line in step.output]
        return "\n".join(lines) + "\n"

    def run(self, folder: Path) -> "Case":
        """Run all steps in a folder; returns the case with what they print now."""
        from data_sets_of_the_command import write_data_set

        steps = []
        with contextlib.chdir(folder), patch.dict(os.environ, self._environment()):
            for step in self.steps:
                kind, *words = shlex.split(step.line)
                output: list[str] = []
                if kind == "data":
                    write_data_set(words[0])
                elif kind == "write":
                    Path(words[0]).write_text("\n".join(step.body) + "\n", encoding="utf-8")
                elif kind == "ls":
                    output = sorted(path.name + "/" * path.is_dir() for path in Path().iterdir())
                elif kind == "quietly":
                    output, code = self._run(words[1:])
                    assert code == 0, (step.line, output)
                    output = []
                else:
                    assert kind == "maxmargin", step.line
                    output, code = self._run(words)
                    output = [_masked(line).rstrip() for line in output if not line.startswith("compiling ")]
                    output += [f"[{code}]"] if code else []
                steps.append(Step(step.line, step.body, output))
        return Case(self.about, self.width, self.terminal, steps)

    def _environment(self) -> dict[str, str]:
        shown = {"TERM": "xterm-256color"} if self.terminal else {"NO_COLOR": "1", "TERM": "dumb"}
        return {"COLUMNS": str(self.width), "LINES": "50", **shown}

    def _run(self, words: list[str]) -> tuple[list[str], int]:
        """Run the command with its arguments; ``< FILE`` and ``> FILE`` redirect."""
        given = b""
        target: Path | None = None
        for sign in ("<", ">"):
            if sign in words:
                place = words.index(sign)
                if sign == "<":
                    given = Path(words[place + 1]).read_bytes()
                else:
                    target = Path(words[place + 1])
                del words[place : place + 2]
        with patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), "utf-8")):
            if self.terminal:
                return _on_terminal(words, self.width)
            out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
            with patch.object(sys, "stdout", out), patch.object(sys, "stderr", err):
                code = _exit_code(words)
        printed = [stream.buffer.getvalue() for stream in (out, err)]
        if target is not None:
            target.write_bytes(printed[0])
            printed[0] = b""
        shown, errors = (text.decode().splitlines() for text in printed)
        return [*shown, *(f"2| {line}" for line in errors)], code


def _exit_code(words: list[str]) -> int:
    from maxmargin.cli.app import main

    try:
        with patch.object(sys, "argv", ["maxmargin", *words]):
            main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def _on_terminal(words: list[str], width: int) -> tuple[list[str], int]:
    """The screen of a terminal after the command, as an emulator of terminals shows it."""
    import pyte

    screen = pyte.Screen(width, 200)
    # A line feed also returns the carriage, as the driver of a terminal does.
    screen.set_mode(pyte.modes.LNM)
    stream = pyte.ByteStream(screen)
    master, slave = os.openpty()
    received: list[bytes] = []

    def receive() -> None:
        with contextlib.suppress(OSError):
            while piece := os.read(master, 1 << 16):
                received.append(piece)

    reader = threading.Thread(target=receive)
    reader.start()
    with open(slave, "w", encoding="utf-8", buffering=1) as terminal:
        with patch.object(sys, "stdout", terminal), patch.object(sys, "stderr", terminal):
            code = _exit_code(words)
        terminal.flush()
    reader.join(timeout=30)
    os.close(master)
    stream.feed(b"".join(received))
    lines = [line.rstrip() for line in screen.display]
    while lines and not lines[-1]:
        lines.pop()
    return lines, code


def _masked(line: str) -> str:
    mark, text = ("2| ", line[3:]) if line.startswith("2| ") else ("", line)
    if text.startswith("{") and text.endswith("}"):
        with contextlib.suppress(ValueError):
            return mark + json.dumps(_masked_json(json.loads(text)), ensure_ascii=False)
    text = text.replace(os.getcwd(), "FOLDER")
    for pattern, word in MASKS:
        text = pattern.sub(word, text)
    return mark + text


def _masked_json(value: object) -> object:
    if isinstance(value, dict):
        return {
            key: f"<{key}>" if MACHINE_KEYS.match(key) and not isinstance(entry, (dict, list)) else _masked_json(entry)
            for key, entry in value.items()
            if key != "compiling_seconds"
        }
    if isinstance(value, list):
        return [_masked_json(entry) for entry in value]
    return value


def differences(expected: Case, found: Case) -> list[str]:
    """What differs between two runs of a case, for a person."""
    answer = []
    for old, new in zip(expected.steps, found.steps, strict=True):
        if not _same(_words(old.output), _words(new.output)):
            answer += [f"$ {new.line}", "expected:", *old.output, "found:", *new.output, ""]
    return answer


def _words(lines: list[str]) -> list[str]:
    """The words of an output: where lines are wrapped is free, but not within a word."""
    text = re.sub(r"[─━═]+", "─", " ".join(" ".join(lines).split()))
    for pattern, word in CERTIFICATES:
        text = pattern.sub(word, text)
    return text.split()


def _same(expected: list[str], found: list[str]) -> bool:
    return len(expected) == len(found) and all(map(_same_word, expected, found))


def _same_word(expected: str, found: str) -> bool:
    """Whether two words are the same, and numbers with a decimal point in them nearly."""
    if expected == found:
        return True
    if NUMBER.sub("#", expected) != NUMBER.sub("#", found):
        return False
    return all(map(_close, NUMBER.findall(expected), NUMBER.findall(found)))


def _close(expected: str, found: str) -> bool:
    values = [float(number.replace(",", "")) for number in (expected, found)]
    if not any(sign in expected + found for sign in ".e"):
        return values[0] == values[1]
    return math.isclose(*values, rel_tol=0.02, abs_tol=1e-3)


def cases() -> list[str]:
    """The names of all cases."""
    return sorted(path.stem for path in FOLDER.glob("*.txt"))


def record(names: list[str]) -> None:
    """Write what the command prints now into the files of cases."""
    for name in names or cases():
        path = FOLDER / f"{name}.txt"
        case = Case.read(path)
        with tempfile.TemporaryDirectory() as folder:
            path.write_text(case.run(Path(folder)).text(), encoding="utf-8")
        print(path.name)


if __name__ == "__main__":
    record(sys.argv[1:])
