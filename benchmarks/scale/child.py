"""One fit in a process of its own: ``python -m scale.child TOOL TIMES [GOAL]`` prints JSON.

The linear SVM with the hinge loss and a free intercept, C = 1/TIMES (so that every size has about the same problem), to
a relative gap of 1e-3; a rival without a gap runs until its objective is at most GOAL. Data are made before the clock
starts, in memory, by the workers, or in files that Spark reads and caches.
"""

import json
import os
import resource
import sys
import time
from pathlib import Path

import numpy as np

from scale.covtype_times import block, pieces

TOL = 1e-3
# Iterations of Spark's L-BFGS, tried one after the other until the objective is low enough.
ITERATIONS = (10, 20, 40, 80, 160, 320)


def main() -> None:
    """Run the tool that is named."""
    tool, times = sys.argv[1], int(sys.argv[2])
    goal = float(sys.argv[3]) if len(sys.argv) > 3 else None
    print(json.dumps(TOOLS[tool](times, goal)))


def peak_mb() -> float:
    """The largest memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_memory(times: int, _goal: float | None) -> dict:
    """One process, two threads."""
    from maxmargin import LinearSVC

    parts = [block(*piece) for piece in pieces(times)]
    X, y = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    del parts
    LinearSVC(tol=TOL).fit(X[::500], y[::500])
    before, began = peak_mb(), time.perf_counter()
    model = LinearSVC(C=1.0 / times, tol=TOL, n_jobs=2).fit(X, y)
    seconds = time.perf_counter() - began
    return {
        "seconds": seconds,
        "objective": model.objective_,
        "lower": model.certificate_.dual,
        "peak": {"data": before, "process": peak_mb()},
    }


def in_store(times: int, _goal: float | None) -> dict:
    """A store on disk, in a memory group of a quarter of its size, with nothing of it in the system's cache."""
    import tempfile

    from files.memory_limit import forget_pages, memory_group
    from maxmargin import LinearSVC
    from maxmargin.files import open_store, write_store

    X, y = block(0, slice(0, 2000))
    with tempfile.TemporaryDirectory(dir=os.environ.get("MAXMARGIN_SCRATCH")) as folder:
        write_store(Path(folder, "few"), [(X, y)])
        LinearSVC(tol=TOL).fit(open_store(Path(folder, "few")))
        path = Path(folder, "rows.store")
        write_store(path, (block(*piece) for piece in pieces(times)))
        forget_pages(path)
        limit = sum(file.stat().st_size for file in path.iterdir()) // 4
        with memory_group(limit) as group:
            if group is None:
                sys.exit("To limit memory takes the right to make a cgroup.")
            group.write_text(str(os.getpid()))
            try:
                began = time.perf_counter()
                model = LinearSVC(C=1.0 / times, tol=TOL, n_jobs=2).fit(open_store(path))
                seconds = time.perf_counter() - began
                peak = group.with_name("memory.max_usage_in_bytes")
                peak = peak if peak.exists() else group.with_name("memory.peak")
                used = int(peak.read_text()) / 2**20
            finally:
                (group.parents[1] / "cgroup.procs").write_text(str(os.getpid()))
    return {
        "seconds": seconds,
        "objective": model.objective_,
        "lower": model.certificate_.dual,
        "rounds": model.rounds_,
        "peak": {"group": used},
    }


def on_dask(times: int, _goal: float | None) -> dict:
    """Two worker processes with one thread each."""
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    import dask
    from maxmargin import LinearSVC

    # As docs/guide/cluster.md advises, unless told otherwise.
    preload = [] if os.environ.get("MAXMARGIN_PLAIN_WORKERS") else ["maxmargin.engine.worker_memory"]
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "preload": preload}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        parts = [dask.delayed(block, nout=2)(*piece) for piece in pieces(times)]
        sizes = [rows.stop - rows.start for _, rows in pieces(times)]
        X = da.concatenate([da.from_delayed(x, (n, 54), float) for (x, _), n in zip(parts, sizes, strict=True)])
        y = da.concatenate([da.from_delayed(t, (n,), float) for (_, t), n in zip(parts, sizes, strict=True)])
        X, y = client.persist([X, y])
        wait([X, y])
        few = X.blocks[:2], y.blocks[:2]
        # Twice: each worker compiles, or loads, what it runs.
        for _ in range(2):
            LinearSVC(C=0.01, tol=1e-2).fit(*few)
        began = time.perf_counter()
        model = LinearSVC(C=1.0 / times, tol=TOL, n_jobs=2).fit(X, y)
        seconds = time.perf_counter() - began
        return {
            "seconds": seconds,
            "objective": model.objective_,
            "lower": model.certificate_.dual,
            "rounds": model.rounds_,
            "bytes": model.rounds_ * model.bytes_per_round_,
            "peak": {"client": peak_mb(), "worker": max(client.run(peak_mb).values())},
        }


def spark(times: int, goal: float | None) -> dict:
    """Spark MLlib's LinearSVC in local mode with two threads, on cached rows."""
    import tempfile

    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.ml.classification import LinearSVC
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory() as folder:
        for number, piece in enumerate(pieces(times)):
            X, y = block(*piece)
            rows = pa.FixedSizeListArray.from_arrays(X.ravel(), X.shape[1]).cast(pa.list_(pa.float64()))
            pq.write_table(pa.table({"x": rows, "label": (y > 0).astype(float)}), Path(folder, f"{number}.parquet"))
        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.driver.memory", "8g")
            .config("spark.ui.enabled", "false")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("ERROR")
        frame = session.read.parquet(folder)
        frame = frame.select(array_to_vector("x").alias("features"), "label").cache()
        n_rows, tried = frame.count(), []
        for n_iterations in ITERATIONS:
            tool = LinearSVC(maxIter=n_iterations, regParam=times / n_rows, tol=0.0, standardization=False)
            began = time.perf_counter()
            model = tool.fit(frame)
            seconds = time.perf_counter() - began
            value = objective_of(times, np.array(model.coefficients), model.intercept)
            tried.append((n_iterations, seconds, value))
            if goal is not None and value <= goal:
                break
        jvm = session.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
        peak = int(Path(f"/proc/{jvm}/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
        session.stop()
    return {
        "seconds": seconds,
        "objective": value,
        "reached": goal is not None and value <= goal,
        "tried": tried,
        "peak": {"JVM": peak, "Python": peak_mb()},
    }


def objective_of(times: int, w: np.ndarray, b: float) -> float:
    """1/2||w||² + C sum of the hinge losses."""
    lost = 0.0
    for piece in pieces(times):
        X, y = block(*piece)
        lost += float(np.maximum(0.0, 1.0 - y * (X @ w + b)).sum())
    return 0.5 * float(w @ w) + lost / times


TOOLS = {"memory": in_memory, "store": in_store, "dask": on_dask, "spark": spark}

if __name__ == "__main__":
    main()
