"""What a suite is made of, and how its pieces are found.

A suite is a folder with ``objective.py`` and the folders ``datasets``, ``solvers`` and ``parts``. Every
module in them is imported, and every class in it that derives from one of the classes below is a piece
of the suite (unless its name begins with an underscore).
"""

import importlib
import inspect
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from data import thin_out

HOME = Path(__file__).resolve().parent


class Dataset:
    """Data that parts are run on. ``parts`` names them."""

    name: ClassVar[str]
    parts: ClassVar[tuple[str, ...]]

    def get_data(self) -> dict[str, Any]:
        """Return the arguments of a solver's ``set_data``."""
        raise NotImplementedError


class Solver:
    """A thing to be timed. ``parts`` names the parts in which it takes part.

    Only ``run`` is timed.
    """

    name: ClassVar[str]
    parts: ClassVar[tuple[str, ...]]

    def set_data(self, X: Any, y: Any) -> None:
        """Take the data and bring them into the form that the solver likes."""
        self.X, self.y = X, y

    def warm_up(self, stop: Any) -> None:
        """Do what has to be done once before the first run: compile, load, find options."""
        self.before_run(stop)
        self.run(stop)

    def before_run(self, stop: Any) -> None:
        """Do what has to be done before every run."""

    def run(self, stop: Any) -> None:
        """Solve until ``stop``, which the part defines."""
        raise NotImplementedError

    def get_result(self) -> dict[str, Any]:
        """Return what the part needs to know of the last run."""
        raise NotImplementedError


class Run(NamedTuple):
    """One timed run."""

    seconds: float
    result: dict[str, Any]


Runs = dict[str, list[Run]]  # the name of a solver -> its runs, in the order of the rounds


@dataclass(frozen=True)
class Settings:
    """What the command line asks for."""

    repeats: int = 5  # rounds that each time is the median of
    cap: float = 30.0  # seconds after which a rival's run is given up, in parts that can do that
    quick: bool = False  # few rows: a trial of the suite itself

    def load(self, dataset: Dataset) -> dict[str, Any]:
        """Return the data, or in a quick run a few evenly spaced rows of them."""
        data = dataset.get_data()
        return thin_out(data) if self.quick else data


class Finding(NamedTuple):
    """A row of a part's table: its name, the runs behind it, and its text under the columns' heads."""

    name: str
    runs: Any
    row: dict[str, str]


class Part:
    """A question, answered by a table. ``text`` says what is measured and what is wanted."""

    name: ClassVar[str]
    title: ClassVar[str]
    text: ClassVar[str]

    def measure(self, dataset: Dataset, solvers: Sequence[Solver], options: Settings) -> Iterator[Finding]:
        """Yield the rows of one data set."""
        raise NotImplementedError

    def conclusion(self, _runs: dict[str, Any]) -> str:
        """Return what is to be said below the table, of the runs behind all of its rows."""
        return ""


@dataclass
class Findings:
    """What came out of a part: the runs behind the table, by the row's name, and its rows."""

    part: Part
    runs: dict[str, Any]
    rows: list[dict[str, str]]


class Objective:
    """The suite's title, the order of its parts, the packages whose versions matter, and its picture."""

    title: ClassVar[str]
    part_order: ClassVar[tuple[str, ...]]
    packages: ClassVar[tuple[str, ...]]
    picture_text: ClassVar[str]

    def timing(self, options: Settings) -> str:
        """Say how the times are taken."""
        raise NotImplementedError

    def draw(self, findings: dict[str, Findings], path: Path) -> None:
        """Draw the suite's picture into a file."""
        raise NotImplementedError


@dataclass
class Suite:
    """All pieces of one suite."""

    objective: Objective
    parts: list[Part]
    datasets: list[Dataset]
    solvers: list[Solver]

    def of_part(self, part: Part) -> tuple[list[Dataset], list[Solver]]:
        """Return the data sets and the solvers of a part."""
        datasets = [dataset for dataset in self.datasets if part.name in dataset.parts]
        return datasets, [solver for solver in self.solvers if part.name in solver.parts]


def suite_names() -> list[str]:
    """Return the names of all suites."""
    return sorted(path.parent.name for path in HOME.glob("*/objective.py"))


def load_suite(name: str) -> Suite:
    """Import a suite's modules and gather its pieces."""
    objective = _pieces(f"{name}.objective", Objective)[0]
    parts = sorted(_discover(name, "parts", Part), key=lambda part: objective.part_order.index(part.name))
    return Suite(objective, parts, _discover(name, "datasets", Dataset), _discover(name, "solvers", Solver))


def _discover(suite: str, folder: str, kind: type) -> list[Any]:
    modules = sorted(path.stem for path in (HOME / suite / folder).glob("*.py"))
    found = []
    for module in modules:
        try:
            found += _pieces(f"{suite}.{folder}.{module}", kind)
        except ModuleNotFoundError as error:
            # A rival that is not installed does not take part.
            print(f"left out {suite}/{folder}/{module}.py: {error}", file=sys.stderr)
    return found


def _pieces(module_name: str, kind: type) -> list[Any]:
    module = importlib.import_module(module_name)
    classes = [
        value
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, kind) and value.__module__ == module_name
    ]
    return [found() for found in classes if not found.__name__.startswith("_")]
