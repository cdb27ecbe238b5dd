"""Fuzzing: tries N inputs of a target and prints one line of figures, and every fault with its number.

    python tests/fuzz/run.py estimators --seed 1 --inputs 10000
    python tests/fuzz/run.py svmlight --seed 1 --first 4711 --inputs 1     # one input again

The same seed gives the same inputs. ``all`` tries every target.
"""

import argparse
import os
import sys
from pathlib import Path

# One thread for each library: the inputs are small, and forks and threads do not mix.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.harness import Figures, run  # noqa: E402
from fuzz.targets import TARGETS  # noqa: E402


def print_faults(name: str, seed: int, figures: Figures, keep: Path | None) -> None:
    """Print the faults, one example of each cause; ``keep`` gets the inputs that are bytes."""
    for cause, found in figures.faults.items():
        number, text, tried = found[0]
        print(f"\n{len(found)} x {cause}\n  inputs {', '.join(str(n) for n, *_ in found[:12])}\n{text.rstrip()}")
        if isinstance(tried, bytes) and keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{name}-{seed}-{number}").write_bytes(tried)
        elif tried is not None:
            print(f"  {tried if len(str(tried)) < 4000 else str(tried)[:4000] + ' ...'}")


def main() -> int:
    """Run the target that the command line names; exit code 1 if there is a fault."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("target", choices=[*TARGETS, "all"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--inputs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--keep", type=Path, help="folder for the inputs of faults, where they are bytes")
    parser.add_argument("--progress", action="store_true", help="figures so far, every thousand inputs")
    options = parser.parse_args()
    faults = 0
    for name in TARGETS if options.target == "all" else [options.target]:
        numbers = range(options.first, options.first + options.inputs)

        def report(figures: Figures, name: str = name) -> None:
            if options.progress:
                print(f"... {name} seed {options.seed}: {figures.line()}", flush=True)
                for cause, found in figures.faults.items():
                    print(f"    {len(found)} x {cause}, inputs {[n for n, *_ in found[:5]]}", flush=True)

        figures = run(TARGETS[name], name, options.seed, numbers, report=report)
        print_faults(name, options.seed, figures, options.keep)
        print(f"{name} seed {options.seed} from {options.first}: {figures.line()}", flush=True)
        faults += len(figures.faults)
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
