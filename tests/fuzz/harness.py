"""Runs a fuzzing target on numbered inputs: the seed, the target's name and the number determine an input.

A worker process makes and tries the inputs, so that a hard crash, a run without end and a request for all of the memory
are found, too. Whatever is not a result or a documented error is a fault.
"""

import multiprocessing
import re
import resource
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Protocol

import numpy as np

# Seconds of processor time that one input may take; a worker that is silent for ten times as long is ended.
CPU_LIMIT = 20.0
# More for every claim that the checker decides: a model of thousands of pairs of classes has tens of thousands.
SECONDS_PER_CLAIM = 2e-3
# Bytes of address space that a worker may take beside what it starts with.
MEMORY_LIMIT = 4 << 30
# Modules whose errors are checks of arguments; an error raised anywhere else was not thought of.
CHECKS = ("maxmargin", "maxmargin_check", "sklearn.utils", "sklearn.base", "joblib")


class Fault(Exception):  # noqa: N818
    """The package breaks a promise."""


@dataclass(frozen=True)
class Outcome:
    """What became of one input that broke no promise, and the verdicts on the claims of its model."""

    accepted: bool
    true: int = 0
    not_checked: int = 0
    false: int = 0


REFUSED, ACCEPTED = Outcome(False), Outcome(True)


class Target(Protocol):
    """One kind of input.

    Attributes
    ----------
    last : the input that was tried last, as bytes or as text, to report it
    """

    last: Any

    def prepare(self, folder: Path) -> None:
        """Make the sound inputs that are to be changed, and compile what the inputs use."""

    def try_input(self, random: Random, folder: Path) -> Outcome:
        """Make an input and try it; raises for a fault."""


@dataclass
class Figures:
    """Counts of a run, and its faults by their cause."""

    inputs: int = 0
    refused: int = 0
    true: int = 0
    not_checked: int = 0
    false: int = 0
    crashes: int = 0
    slowest: float = 0.0
    seconds: float = 0.0
    faults: dict[str, list[tuple[int, str, Any]]] = field(default_factory=dict)

    def add(self, number: int, found: Outcome | tuple[str, str, Any], seconds: float) -> None:
        """Count one input; a tuple is a fault: its cause, its text and the input."""
        self.inputs += 1
        self.seconds += seconds
        self.slowest = max(self.slowest, seconds)
        if isinstance(found, Outcome):
            self.refused += not found.accepted
            self.true, self.not_checked = self.true + found.true, self.not_checked + found.not_checked
            self.false += found.false
        else:
            cause, text, tried = found
            self.crashes += not cause.startswith("FALSE")
            self.faults.setdefault(cause, []).append((number, text, tried))

    def line(self) -> str:
        """All figures in one line."""
        return (
            f"{self.inputs} inputs: {self.refused} refused, {self.inputs - self.refused - self.crashes} accepted; "
            f"claims {self.true} TRUE, {self.not_checked} NOT CHECKED, {self.false} FALSE; {self.crashes} crashes; "
            f"{self.seconds:.0f} s of processor time, slowest {self.slowest:.2f} s"
        )


class FalseClaim(Fault):
    """A claim that the independent checker found to be false; the outcome is counted beside the fault."""

    def __init__(self, message: str, outcome: Outcome) -> None:
        super().__init__(message)
        self.outcome = outcome


def generator_of(random: Random) -> np.random.Generator:
    """A generator of NumPy whose numbers follow from ``random``."""
    return np.random.default_rng(random.getrandbits(64))


@contextmanager
def refusals(kinds: type[Exception] | tuple[type[Exception], ...], names: Iterable[str] = ()) -> Iterator[None]:
    """Pass on documented errors as ``Refusal``; all others, and those that name no argument, stay what they are."""
    try:
        yield
    except kinds as error:
        _refuse_undocumented(error, names)
        raise Refusal(str(error)) from error


class Refusal(Exception):  # noqa: N818
    """A documented error."""


def _refuse_undocumented(error: Exception, names: Iterable[str]) -> None:
    frames = list(traceback.walk_tb(error.__traceback__))
    module = frames[-1][0].f_globals.get("__name__", "")
    if isinstance(error, np.linalg.LinAlgError) or not module.startswith(CHECKS):
        raise Fault(f"undocumented {type(error).__name__} of {module}: {error}") from error
    words = set(re.findall(r"\w+", str(error)))
    if names and not words & set(names):
        raise Fault(f"{type(error).__name__} names no argument: {error}") from error


def cause_of(error: BaseException) -> str:
    """The kind of a fault and the innermost place of the package, without numbers."""
    chain = [error, *([error.__cause__] if error.__cause__ else [])]
    frames = [frame for one in chain[::-1] for frame, _ in traceback.walk_tb(one.__traceback__)]
    places = [f for f in frames if f.f_globals.get("__name__", "").startswith("maxmargin")] or frames[-1:]
    place = f"{places[-1].f_globals.get('__name__')}.{places[-1].f_code.co_name}" if places else ""
    message = re.sub(r"[-+]?\d[\w.+-]*", "#", str(error).splitlines()[0] if str(error) else "")[:90]
    kind = "FALSE" if isinstance(error, FalseClaim) else type(error).__name__
    return f"{kind} in {place}: {message}"


def outcomes(
    target: Target, name: str, seed: int, numbers: Iterable[int], folder: Path
) -> Iterator[tuple[int, Outcome | None, tuple[str, str, Any] | None, float]]:
    """Try the inputs of these numbers, in this process: yields number, outcome, fault and processor time."""
    for number in numbers:
        began, outcome, fault = time.process_time(), None, None
        try:
            outcome = target.try_input(Random(f"{name} {seed} {number}"), folder)
        except FalseClaim as error:
            outcome, fault = error.outcome, (cause_of(error), str(error), target.last)
        except Exception as error:
            fault = cause_of(error), "".join(traceback.format_exception(error)), target.last
        seconds = time.process_time() - began
        claims = outcome.true + outcome.not_checked + outcome.false if outcome is not None else 0
        if seconds > CPU_LIMIT + SECONDS_PER_CLAIM * claims and fault is None:
            fault = "Fault: beyond the time limit", f"{seconds:.1f} s", target.last
        yield number, outcome, fault, seconds


def _work(
    pipe: Any, make: Callable[[], Target], name: str, seed: int, numbers: range, folder: Path, memory: int
) -> None:
    target = make()
    target.prepare(folder)
    if memory:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
    pipe.send("ready")
    for answer in outcomes(target, name, seed, numbers, folder):
        pipe.send(answer)
    pipe.close()


def run(
    make: Callable[[], Target],
    name: str,
    seed: int,
    numbers: range,
    *,
    report: Callable[[Figures], None] = lambda _: None,
) -> Figures:
    """Try the inputs in worker processes, a new one after each that crashed or did not answer.

    Parameters
    ----------
    make : callable
        Makes the target.
    name : str
    seed : int
    numbers : range
        The inputs' numbers.
    report : callable
        Is told the figures now and then.

    Returns
    -------
    Figures
    """
    figures, processes = Figures(), multiprocessing.get_context("fork")
    following = numbers.start
    with tempfile.TemporaryDirectory() as folder:
        while following < numbers.stop:
            ours, theirs = processes.Pipe(duplex=False)
            rest = range(following, numbers.stop)
            worker = processes.Process(
                target=_work, args=(theirs, make, name, seed, rest, Path(folder), MEMORY_LIMIT), daemon=True
            )
            worker.start()
            theirs.close()
            ready, why = False, "did not answer in time"
            try:
                # Compilation comes before the first answer.
                ready = ours.poll(600) and ours.recv() == "ready"
                while ready and following < numbers.stop and ours.poll(10 * CPU_LIMIT):
                    number, outcome, fault, seconds = ours.recv()
                    count(figures, number, outcome, fault, seconds)
                    following = number + 1
                    if figures.inputs % 1000 == 0:
                        report(figures)
            except EOFError:
                worker.join()
                why = f"the process ended with code {worker.exitcode}"
            if not ready:
                raise RuntimeError(f"{name}: the target cannot be prepared: {why}")
            if following < numbers.stop:
                figures.add(following, (f"Crash: {why}", why, None), 0.0)
                following += 1
            worker.kill()
            worker.join()
            ours.close()
    return figures


def count(figures: Figures, number: int, outcome: Any, fault: Any, seconds: float) -> None:
    """Add one answer of :func:`outcomes` to the figures."""
    figures.add(number, fault if outcome is None else outcome, seconds)
    if outcome is not None and fault is not None:
        figures.faults.setdefault(fault[0], []).append((number, *fault[1:]))
        figures.crashes += not fault[0].startswith("FALSE")
