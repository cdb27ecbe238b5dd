"""Runs a suite of benchmarks and writes its page (Markdown) and its picture (PNG).

For example: python benchmarks/run.py linear_svm --rows a9a,ijcnn1 --parts race
"""

import argparse
import hashlib
import os
import platform
import sys
import time
import warnings
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info

from data import DataMissingError, cache_folder
from measure import markdown_table
from suite import HOME, Dataset, Findings, Objective, Part, Settings, Solver, load_suite, suite_names

STARTED = time.perf_counter()
QUICK = Settings(repeats=1, cap=0.5, quick=True)
PAGES = HOME.parent / "docs" / "benchmarks"


def main() -> None:
    """Run the suite that the command line names."""
    arguments = parse_arguments()
    keep_loops_apart()
    suite = load_suite(arguments.suite)
    out = arguments.out or (PAGES if is_complete(arguments) else HOME / arguments.suite / "results")
    out.mkdir(parents=True, exist_ok=True)
    # Runs are stopped on purpose, by a tolerance or after a few passes.
    warnings.simplefilter("ignore", ConvergenceWarning)
    options = options_of(arguments)
    machine = machine_text(suite.objective, options)
    findings = {}
    for part in suite.parts:
        datasets, solvers = suite.of_part(part)
        chosen = [dataset for dataset in datasets if arguments.rows is None or is_named(dataset, arguments.rows)]
        if arguments.rows is not None:
            # A whole name means that data set alone, not others whose names begin so.
            chosen = [dataset for dataset in chosen if dataset.name in arguments.rows] or chosen
        if chosen and (arguments.parts is None or part.name in arguments.parts):
            findings[part.name] = run_part(part, chosen, solvers, options)
    if not findings:
        sys.exit("Nothing to run: no part of that name has a data set of that name.")
    page, picture = out / f"{arguments.suite}.md", out / f"{arguments.suite}.png"
    page.write_text(report(suite.objective, machine, findings, picture.name), encoding="utf-8")
    suite.objective.draw(findings, picture)
    print(f"\n{page.read_text(encoding='utf-8')}\nWritten: {page} and {picture}")


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=suite_names())
    parser.add_argument("--rows", type=names, metavar="NAME,...", help="only data sets with one of these in their name")
    parser.add_argument("--parts", type=names, metavar="PART,...", help="only these parts of the suite")
    parser.add_argument("--quick", action="store_true", help="few rows, one round: a trial of the suite itself")
    parser.add_argument("--repeats", type=int, help=f"rounds that a time is the median of ({Settings.repeats})")
    parser.add_argument("--cap", type=float, help=f"seconds after which a rival is given up ({Settings.cap:g})")
    parser.add_argument("--out", type=Path, help="folder to write to")
    return parser.parse_args()


def options_of(arguments: argparse.Namespace) -> Settings:
    """Fill in what the command line leaves open."""
    usual = QUICK if arguments.quick else Settings()
    return replace(
        usual,
        repeats=usual.repeats if arguments.repeats is None else arguments.repeats,
        cap=usual.cap if arguments.cap is None else arguments.cap,
    )


def names(text: str) -> list[str]:
    """Cut a list at its commas."""
    return text.split(",")


def is_complete(arguments: argparse.Namespace) -> bool:
    """Whether nothing is left out, so that the outcome may replace the kept one."""
    return arguments.rows is None and arguments.parts is None and not arguments.quick


def is_named(dataset: Dataset, wanted: list[str]) -> bool:
    """Whether one of the words is in the data set's name."""
    return any(word in dataset.name for word in wanted)


def run_part(part: Part, datasets: list[Dataset], solvers: list[Solver], options: Settings) -> Findings:
    """Measure one part on its data sets."""
    found = Findings(part, {}, [])
    for dataset in datasets:
        print(f"{time.perf_counter() - STARTED:5.0f} s  {part.name}: {dataset.name}", file=sys.stderr, flush=True)
        for name, runs, row in part.measure(dataset, solvers, options):
            found.runs[name] = runs
            found.rows.append(row)
    return found


def report(objective: Objective, machine: str, findings: dict[str, Findings], picture: str) -> str:
    """Put everything into one Markdown page."""
    pieces = [f"# {objective.title}", machine]
    for found in findings.values():
        part = found.part
        pieces += [f"## {part.title}", part.text, markdown_table(found.rows), part.conclusion(found.runs)]
    pieces.append(f"![{objective.picture_text}]({picture})")
    return "\n\n".join(piece for piece in pieces if piece) + "\n"


def keep_loops_apart() -> None:
    """Give every state of the package's sources a cache of compiled loops of its own.

    The compiler looks at the file of a loop only, and would serve a stale one where the change is in another file.
    """
    spec = find_spec("maxmargin")
    sources = sorted(Path(folder) for folder in spec.submodule_search_locations)
    digest = hashlib.sha256()
    for path in sorted(path for folder in sources for path in folder.rglob("*.py")):
        digest.update(path.read_bytes())
    os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder() / "loops" / digest.hexdigest()[:16]))


def machine_text(objective: Objective, options: Settings) -> str:
    """Say when, on what, how and with which versions the times were taken."""
    day = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    packages = ", ".join(versions("maxmargin", *objective.packages, "numpy", "scipy", "numba"))
    return (
        f"{day}. {processor()}, {os.cpu_count()} cores{load}, {blas_threads()} BLAS threads. "
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {packages}. "
        f"{objective.timing(options)}"
    )


def blas_threads() -> int:
    """The largest number of threads that a linear algebra library of this process uses."""
    return max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)


def processor() -> str:
    """The processor's model, as far as the system tells."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown processor"


def versions(*packages: str) -> list[str]:
    """Name and version of every package that matters to the times."""
    found = []
    for package in packages:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} not installed")
    return found


if __name__ == "__main__":
    try:
        main()
    except DataMissingError as error:
        sys.exit(str(error))
