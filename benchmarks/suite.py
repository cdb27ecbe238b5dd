"""What a suite is made of, and how its pieces are found.

A suite is a folder with ``objective.py`` and the folders ``datasets``, ``solvers`` and ``parts``. Every
module in them is imported, and every class in it that derives from one of the classes below is a piece
of the suite (unless its name begins with an underscore).
"""

import importlib
import inspect
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

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
        """Do what has to be done once before the first run: compile, load, find settings."""
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


class Part:
    """A question, answered by a table with one row a data set.

    ``text`` says what is measured and what is wanted, ``stop`` is handed to every solver's ``run``.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    text: ClassVar[str]
    stop: ClassVar[Any] = None
    shortest_total: ClassVar[float] = 0.5  # seconds: short runs are repeated until they add up to this
    most_repeats: ClassVar[int] = 50

    def row(self, dataset: Dataset, data: dict[str, Any], runs: Runs) -> dict[str, str]:
        """Return a row of the table, as text under the columns' heads."""
        raise NotImplementedError


@dataclass
class Findings:
    """What came out of a part: the runs behind the table, by the data set's name, and its rows."""

    part: Part
    runs: dict[str, Runs]
    rows: list[dict[str, str]]


class Objective:
    """The suite's title, the order of its parts, and its picture."""

    title: ClassVar[str]
    part_order: ClassVar[tuple[str, ...]]

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
