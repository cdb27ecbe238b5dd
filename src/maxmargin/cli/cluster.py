"""``maxmargin train --scheduler``: train on the workers of a Dask cluster."""

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import typer

from maxmargin.cli.console import Entry, Stopwatch, json_key, working
from maxmargin.cli.models import is_regression, model_entry, score_name

# Seconds in which a scheduler has to answer, and workers to join it.
CONNECT_SECONDS = 30.0
# Above this number workers only wait for each other, and hundreds do not even start.
WORKERS_PER_PROCESSOR = 8
# Seconds that a worker has to end by itself, before its process is killed.
END_SECONDS = 0.2
MISSING = "--scheduler needs the extra dask: pip install 'maxmargin[dask]'."


@contextmanager
def connected(scheduler: str) -> Iterator[Any]:
    """A client of the cluster at an address, or of one on this machine: ``local`` or ``local:N``, with N workers."""
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ValueError(MISSING) from error
    kind, _, number = scheduler.partition(":")
    if kind == "local":
        if number and not (number.isdecimal() and int(number) > 0):
            raise ValueError(f"--scheduler {scheduler!r}: the number of workers comes after the colon, as in local:4.")
        n_processors = os.cpu_count() or 1
        most = WORKERS_PER_PROCESSOR * n_processors
        if number and int(number) > most:
            raise ValueError(
                f"--scheduler {scheduler}: {int(number):,} workers are too many for the {n_processors} processors of "
                f"this machine: ask for at most {most}."
            )
        with ExitStack() as stack:
            try:
                cluster = LocalCluster(
                    n_workers=int(number) if number else None,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=None,
                    # Any free port: Dask warns where its own is taken, by another run of this command for example.
                    scheduler_kwargs={"dashboard_address": ":0"},
                    silence_logs=logging.ERROR,
                    preload=["maxmargin.engine.worker_signals", "maxmargin.engine.worker_memory"],
                )
                stack.callback(_close, cluster.close)
                client = Client(cluster, timeout=CONNECT_SECONDS)
            except (OSError, RuntimeError) as error:
                raise ValueError(f"--scheduler {scheduler}: the workers did not start; ask for fewer.") from error
            stack.callback(_close, partial(_end_workers, cluster))
            stack.callback(_close, client.close)
            with client.as_current(), _explained(scheduler):
                yield client
        return
    _refuse_address(scheduler)
    try:
        if scheduler.startswith("tcp://") or "://" not in scheduler:
            # A client waits for ever at a port where another program listens and says nothing.
            asyncio.run(asyncio.wait_for(_greet_scheduler(scheduler), CONNECT_SECONDS))
        client = Client(scheduler, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise ValueError(f"--scheduler {scheduler}: no scheduler answers there.") from error
    with ExitStack() as stack:
        stack.callback(_close, client.close)
        stack.enter_context(client.as_current())
        try:
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError as error:
            raise ValueError(f"--scheduler {scheduler}: the cluster has no workers.") from error
        with _explained(scheduler):
            yield client


def _close(close: Callable[[], object]) -> None:
    """Close a client or a cluster; a failure to do so takes the place of no model, and of no other error."""
    try:
        close()
    except (Exception, asyncio.CancelledError) as error:
        logging.getLogger(__name__).debug("closing failed", exc_info=error)


def _end_workers(cluster: Any) -> None:
    """End the workers' processes without waiting for what they compute: it is of no more use."""

    async def end() -> None:
        closing = (nanny.close(timeout=END_SECONDS) for nanny in cluster.workers.values())
        # One that does not end in time is killed, and nobody waits for it.
        await asyncio.gather(*closing, return_exceptions=True)

    cluster.sync(end)


def _refuse_address(scheduler: str) -> None:
    """Refuse what is no address of a scheduler at once, without waiting for an answer."""
    from distributed.comm import get_address_host_port
    from distributed.comm.registry import backends

    example = "an address is tcp://HOST:PORT, and local:4 is a cluster of 4 workers on this machine"
    address = scheduler if "://" in scheduler else f"tcp://{scheduler}"
    scheme = address.partition("://")[0]
    if scheme not in ("tcp", "tls"):
        if scheme not in backends:
            raise ValueError(f"--scheduler {scheduler!r} is no address: {example}.")
        return
    try:
        host, _ = get_address_host_port(address, strict=True)
    except ValueError as error:
        raise ValueError(f"--scheduler {scheduler!r} is no address: {example}.") from error
    try:
        socket.getaddrinfo(host, None)
    except OSError as error:
        raise ValueError(f"--scheduler {scheduler}: there is no host {host!r}; {example}.") from error


async def _greet_scheduler(address: str) -> None:
    """Ask a scheduler who it is; ValueError where something else answers."""
    from distributed.comm import connect

    comm = await connect(address, timeout=CONNECT_SECONDS)
    try:
        await comm.write({"op": "identity", "reply": True})
        kind = (await comm.read()).get("type")
    finally:
        comm.abort()
    if kind != "Scheduler":
        raise ValueError(f"{address} is a {kind}.")


@contextmanager
def _explained(scheduler: str) -> Iterator[None]:
    """Errors of a cluster that goes away as those of the option."""
    from concurrent.futures import CancelledError

    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    from maxmargin.engine.executors import ClusterError

    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"--scheduler {scheduler}: interrupted before there was a model.", err=True)
        raise
    except (ClusterError, CancelledError, CommClosedError, KilledWorker) as error:
        raise ValueError(f"--scheduler {scheduler}: {error or 'the computation was cancelled.'}") from error


def refuse_with_scheduler(machine: Any, **given: Any) -> None:
    """Refuse models that do not learn from partitions, and options that need all rows in one process."""
    if not machine._takes_collections:
        raise ValueError(
            f"--scheduler: {type(machine).__name__} does not learn on a cluster; linear-svc, linear-svr, "
            "logistic-regression, ridge and bayesian-regression do."
        )
    for name, value in given.items():
        if value:
            raise ValueError(f"--{name} reads all rows into one process, and --scheduler does not: leave one out.")


def fit_on_cluster(
    client: Any,
    machine: Any,
    paths: Sequence[str],
    target: str | None,
    zero_based: bool,
    clock: Any,
) -> tuple[dict[str, Any], bool]:
    """Let the workers read the files, and fit; return the entries of the report, and whether Ctrl-C ended the fit."""
    from maxmargin.files.data_file import DataFile
    from maxmargin.files.partitions import read_partitions

    watch = Stopwatch()
    with working(f"reading {len(paths)} files" if len(paths) > 1 else f"reading {paths[0]}"):
        rows = read_partitions(client, paths, target=target, values=is_regression(machine), zero_based=zero_based)
    (n_rows, n_columns), n_partitions = rows.X.shape, len(rows.X.chunks[0])
    answer: dict[str, Any] = {
        "data": Entry(
            f"{', '.join(paths[:3])}{', ...' if len(paths) > 3 else ''}: {n_rows:,} rows of {n_columns:,} columns in "
            f"{n_partitions} partitions",
            {"data": list(paths), "rows": int(n_rows), "columns": int(n_columns), "partitions": n_partitions},
        ),
        "reading": watch.entry("reading"),
    }
    watch, interrupted = Stopwatch(), False
    with working("training"):
        try:
            with clock.limit(machine):
                machine.fit(rows.X, rows.y)
        except KeyboardInterrupt:
            if not hasattr(machine, "status_"):
                raise
            interrupted = True
    answer["training"] = watch.entry("training")
    answer["model"] = model_entry(machine)
    answer["rounds"] = Entry(
        f"{machine.rounds_}, with {machine.bytes_per_round_:,.0f} bytes of messages and answers in each",
        {"rounds": machine.rounds_, "bytes_per_round": machine.bytes_per_round_},
    )
    name, value = score_name(machine), float(machine.score(rows.X, rows.y).compute())
    answer[name] = Entry(f"{value:.6g} on the {n_rows:,} training rows", {f"{json_key(name)}_train": value})
    # After the score: the partitions themselves have no names.
    DataFile(None, None, rows.names).name_features(machine)
    return answer, interrupted
