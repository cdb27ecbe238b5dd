"""Runs a suite of benchmarks and writes its table (Markdown) and its picture (PNG).

For example: python benchmarks/run.py perceptron --only covtype --repeats 5
"""

import argparse
import hashlib
import os
import platform
import sys
import warnings
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info

from data import DataMissingError, cache_folder
from measure import measure
from suite import HOME, Dataset, Findings, Objective, Part, Solver, load_suite, suite_names

PACKAGES = ("maxmargin", "scikit-learn", "river", "vowpalwabbit", "numpy", "scipy", "numba")


def main() -> None:
    """Run the suite that the command line names."""
    arguments = parse_arguments()
    keep_loops_apart()
    suite = load_suite(arguments.suite)
    out = arguments.out or HOME / arguments.suite / "results"
    out.mkdir(parents=True, exist_ok=True)
    # Runs are stopped on purpose after a few passes.
    warnings.simplefilter("ignore", ConvergenceWarning)
    machine = machine_text(arguments.repeats)
    findings = {}
    for part in suite.parts:
        datasets, solvers = suite.of_part(part)
        chosen = [dataset for dataset in datasets if arguments.only is None or arguments.only in dataset.name]
        if chosen and arguments.part in (None, part.name):
            findings[part.name] = run_part(part, chosen, solvers, arguments.repeats)
    if not findings:
        sys.exit("Nothing to run: no part has a data set of that name.")
    table = out / "table.md"
    table.write_text(report(suite.objective, machine, findings), encoding="utf-8")
    picture = out / "picture.png"
    suite.objective.draw(findings, picture)
    print(f"\n{table.read_text(encoding='utf-8')}\nWritten: {table} and {picture}")


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=suite_names())
    parser.add_argument("--only", metavar="DATASET", help="only the data sets with this in their name")
    parser.add_argument("--part", help="only this part of the suite")
    parser.add_argument("--repeats", type=int, default=5, help="rounds that each time is the median of, at least")
    parser.add_argument("--out", type=Path, help="folder to write to (benchmarks/SUITE/results)")
    return parser.parse_args()


def run_part(part: Part, datasets: list[Dataset], solvers: list[Solver], repeats: int) -> Findings:
    """Measure one part on its data sets."""
    found = Findings(part, {}, [])
    for dataset in datasets:
        print(f"{part.name}: {dataset.name}", file=sys.stderr, flush=True)
        data = dataset.get_data()
        runs = measure(part, data, solvers, repeats)
        found.runs[dataset.name] = runs
        found.rows.append(part.row(dataset, data, runs))
    return found


def report(objective: Objective, machine: str, findings: dict[str, Findings]) -> str:
    """Put everything into one Markdown page."""
    pieces = [f"# {objective.title}", machine]
    for found in findings.values():
        pieces += [f"## {found.part.title}", found.part.text, markdown_table(found.rows)]
    return "\n\n".join(pieces) + "\n"


def markdown_table(rows: list[dict[str, str]]) -> str:
    """Write rows as a Markdown table; a column that a row lacks stays empty."""
    heads = list(dict.fromkeys(head for row in rows for head in row))
    lines = [heads, ["---"] * len(heads), *([row.get(head, "") for head in heads] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


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


def machine_text(repeats: int) -> str:
    """Say when, on what and with which versions the times were taken."""
    day = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    return (
        f"{day}. {processor()}, {os.cpu_count()} cores{load}, {blas_threads()} BLAS threads. "
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {', '.join(versions())}. "
        f"Times are medians of at least {repeats} rounds, in each of which the rivals take turns; "
        "ratios are medians of the rounds' ratios."
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


def versions() -> list[str]:
    """Name and version of every package that matters to the times."""
    found = []
    for package in PACKAGES:
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
