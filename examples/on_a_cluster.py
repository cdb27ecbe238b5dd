"""A linear SVM on a cluster, with a lost worker.

    python examples/on_a_cluster.py [--rows 10_000_000]

The rows are drawn lazily by two worker processes, and are never in one process. In the middle of the fit a worker is
killed: the scheduler starts another one, its partitions are computed anew, and model and certificate are those of a run
without the loss, bit for bit. Ten million rows take 1.6 GB. Needs the extra dask.
"""

import argparse
import logging
import os
import signal
import time

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from maxmargin import LinearSVC, certify
from maxmargin.solvers.core import step_listener

N_COLUMNS, ROWS_PER_PARTITION = 20, 500_000


def build(n_rows: int) -> tuple[da.Array, da.Array]:
    """Two classes that overlap, in partitions that the workers draw themselves."""
    chunk = min(ROWS_PER_PARTITION, -(-n_rows // 4))
    X = da.random.default_rng(0).standard_normal((n_rows, N_COLUMNS), chunks=(chunk, N_COLUMNS))
    hyperplane = np.random.default_rng(1).standard_normal(N_COLUMNS)
    noise = da.random.default_rng(2).standard_normal(n_rows, chunks=chunk)
    return X, da.where(X @ hyperplane + noise > 0.0, 1, -1)


def main(n_rows: int) -> None:
    """Fit, kill a worker on the way, and show what is proven."""
    # The workers' own report of the loss is not shown.
    silent = {"dashboard_address": None, "silence_logs": logging.CRITICAL}
    with LocalCluster(n_workers=2, threads_per_worker=1, **silent) as cluster, Client(cluster) as client:
        X, y = build(n_rows)
        print(f"{n_rows:,} rows of {N_COLUMNS} columns in {X.numblocks[0]} partitions, {X.nbytes / 1e9:.2g} GB")
        workers = list(client.run(os.getpid).values())
        steps: list[float] = []

        def kill_one(share: float, summary: str) -> None:
            steps.append(share)
            if len(steps) == 3:
                os.kill(workers[0], signal.SIGKILL)
                print(f"step 3{summary and f' ({summary})'}: killed worker process {workers[0]}")

        token, began = step_listener.set(kill_one), time.perf_counter()
        model = LinearSVC(C=1e-4, tol=1e-4).fit(X, y)
        step_listener.reset(token)
        print(
            f"{model.status_} after {time.perf_counter() - began:.1f} s, {model.rounds_} rounds: {model.certificate_}"
        )
        again = certify(model, X, y)
        model.certificate_.check(again)
        print(f"computed again from the data: {again}")
        print(f"accuracy {float(model.score(X, y).compute()):.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    main(parser.parse_args().rows)
