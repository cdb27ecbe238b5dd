"""Rounds of messages to a relative gap of 1e-3 on wide text, beside CoCoA+'s rule: a table and a picture.

    python benchmarks/scale/rounds.py [--out docs/pictures/rounds.png] [--partitions 2,4,8,16] [--collect-rows]

Ours is `LinearSVC(C, tol=1e-3)` on Dask partitions in this process; loading and certificate are counted. CoCoA+ makes
one epoch of dual coordinate ascent on every partition in a round, with the quadratic term times the number of
partitions, and adds up the changes (Ma, Smith, Jaggi, Jordan, Richtarik, Takac, "Adding vs. averaging in distributed
primal-dual optimization", 2015). It has no intercept here, which spares it the equality constraint.
"""

import argparse
import sys
from itertools import pairwise
from pathlib import Path

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from numba import njit

import dask

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from data import as_signs, load_text
from maxmargin import LinearSVC
from maxmargin.engine.executors import array_of_chunks
from measure import markdown_table

TOL, MOST_ROUNDS = 1e-3, 300


def main() -> None:
    """Measure, print the table and draw the picture."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("rounds.png"))
    parser.add_argument("--partitions", default="2,4,8,16")
    parser.add_argument("--rivals", default="imdb.tfidf", help="data on which CoCoA+ runs, too")
    parser.add_argument("--collect-rows", action="store_true", help="let fits send some rows to the client")
    arguments = parser.parse_args()
    dask.config.set({"maxmargin.collect-rows": arguments.collect_rows})
    partitions = [int(number) for number in arguments.partitions.split(",")]
    rows, curves = [], {}
    for name, (X, y) in data_sets().items():
        for C in (1.0, 10.0):
            for n_partitions in partitions:
                model = fit(X, y, C, n_partitions)
                row = {
                    "data": name,
                    "C": f"{C:g}",
                    "partitions": str(n_partitions),
                    "rounds": str(model.rounds_),
                    "Newton steps": str(model.n_iter_),
                    "MB": f"{model.megabytes:.0f}",
                }
                curves.setdefault((f"{name}, C = {C:g}", "ours"), []).append(model.rounds_)
                if name in arguments.rivals.split(","):
                    rounds, gap = cocoa_plus(X, y, C, n_partitions)
                    row["CoCoA+"] = str(rounds) if gap <= TOL else f"gap {gap:.1g} after {rounds}"
                    curves.setdefault((f"{name}, C = {C:g}", "CoCoA+"), []).append(rounds)
                rows.append(row)
                print(row, flush=True)
    print(markdown_table(rows))
    draw(partitions, curves, arguments.out)


def data_sets() -> dict[str, tuple[sp.csr_array, np.ndarray]]:
    """Two real sets of text, one class of another, and rows drawn by Zipf's law."""
    found = {}
    for name in ("imdb.tfidf", "sms-spam", "sector.scale"):
        X, y = load_text(name)
        found[name] = sp.csr_array(X), as_signs(y == y.max() if len(np.unique(y)) == 2 else y == y.min())
    found["drawn text"] = drawn_text()
    return found


def drawn_text(n_rows: int = 20_000, n_columns: int = 50_000, length: int = 100) -> tuple[sp.csr_array, np.ndarray]:
    """Words by Zipf's law, weighted by their rarity, rows of norm one; a tenth of the words tell the classes apart."""
    generator = np.random.default_rng(0)
    words = np.minimum(generator.zipf(1.2, (n_rows, length)), n_columns) - 1
    counts = sp.csr_array(
        (np.ones(words.size), words.ravel(), np.arange(0, words.size + 1, length)), shape=(n_rows, n_columns)
    )
    counts.sum_duplicates()
    rarity = np.log(n_rows / (1.0 + np.bincount(counts.indices, minlength=n_columns)))
    X = sp.csr_array(counts @ sp.diags_array(np.maximum(0.0, rarity)))
    X = sp.csr_array(sp.diags_array(1.0 / np.maximum(1e-12, sp.linalg.norm(X, axis=1))) @ X)
    w = generator.standard_normal(n_columns) * (generator.random(n_columns) < 0.1)
    scores = X @ w
    return X, np.where(scores + 0.5 * scores.std() * generator.standard_normal(n_rows) > 0.0, 1.0, -1.0)


def cuts_of(n_rows: int, n_partitions: int) -> list[int]:
    """Where partitions of equal size end."""
    return [n_rows * k // n_partitions for k in range(n_partitions + 1)]


def fit(X: sp.csr_array, y: np.ndarray, C: float, n_partitions: int) -> LinearSVC:
    """Fit on partitions in this process."""
    cuts = cuts_of(y.size, n_partitions)
    sizes = tuple(last - first for first, last in pairwise(cuts))
    parts = [dask.delayed(X[first:last]) for first, last in pairwise(cuts)]
    dX = array_of_chunks(parts, (sizes, (X.shape[1],)), 0, X.dtype)
    model = LinearSVC(C=C, tol=TOL).fit(dX, da.from_array(y, chunks=(sizes,)))
    model.megabytes = model.rounds_ * model.bytes_per_round_ / 1e6
    return model


def cocoa_plus(X: sp.csr_array, y: np.ndarray, C: float, n_partitions: int) -> tuple[int, float]:
    """Rounds to the gap, or the gap after the most rounds; it is measured every tenth round."""
    cuts, alpha, w = cuts_of(y.size, n_partitions), np.zeros(y.size), np.zeros(X.shape[1])
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    generator, gap = np.random.default_rng(0), np.inf
    for number in range(1, MOST_ROUNDS + 1):
        change = np.zeros_like(w)
        for first, last in pairwise(cuts):
            order = first + generator.permutation(last - first)
            change += local_epoch(X.data, X.indices, X.indptr, y, alpha, w, squares, C, float(n_partitions), order)
        w = w + change
        if number % 10 == 0:
            primal = 0.5 * w @ w + C * np.maximum(0.0, 1.0 - y * (X @ w)).sum()
            gap = float(1.0 - (alpha.sum() - 0.5 * w @ w) / primal)
            if gap <= TOL:
                break
    return number, gap


@njit(cache=True)
def local_epoch(data, indices, indptr, y, alpha, w, squares, C, sigma, order):
    """One epoch on the rows of a partition, whose own change of w counts sigma times; returns that change."""
    change = np.zeros_like(w)
    for i in order:
        if squares[i] == 0.0:
            continue
        score = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            score += data[k] * (w[indices[k]] + sigma * change[indices[k]])
        new = min(C, max(0.0, alpha[i] + (1.0 - y[i] * score) / (sigma * squares[i])))
        step = y[i] * (new - alpha[i])
        alpha[i] = new
        if step != 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                change[indices[k]] += step * data[k]
    return change


def draw(partitions: list[int], curves: dict[tuple[str, str], list[int]], path: Path) -> None:
    """Rounds against the number of partitions."""
    figure, axes = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
    colours = {name: f"C{k}" for k, name in enumerate(dict.fromkeys(name for name, _ in curves))}
    for (name, tool), rounds in curves.items():
        style = "o-" if tool == "ours" else "x--"
        reached = "" if min(rounds) < MOST_ROUNDS else f", not reached after {MOST_ROUNDS:,}"
        label = name if tool == "ours" else f"{name}: CoCoA+{reached}"
        axes.plot(partitions, rounds, style, color=colours[name], label=label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(partitions, list(map(str, partitions)))
    axes.set_xlabel("partitions")
    axes.set_ylabel(f"rounds to a relative gap of {TOL:g}")
    axes.legend(frameon=False, fontsize="small", ncols=2, loc="upper left", bbox_to_anchor=(0.0, -0.15))
    figure.savefig(path, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main()
