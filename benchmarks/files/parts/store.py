"""Training from a store that is larger than the memory."""

import json
import subprocess
import sys
import tempfile
import time

from files.memory_limit import forget_pages, memory_group
from measure import duration, yes_or_no
from suite import Finding, Part

MEGABYTE = 1e6
# Puts itself into a memory group, if one is named, and becomes the command.
ENTER = """
import os, sys
group, *command = sys.argv[1:]
if group:
    open(group, "w").write(str(os.getpid()))
os.execv(command[0], command)
"""


class Store(Part):
    """The command in a memory group of half the store's size, and without a limit."""

    name = "store"
    title = "store: training on twice the memory"
    text = (
        "`maxmargin train NAME.store -o MODEL -C 1`, once without a limit and once in a memory group (cgroup) whose "
        "limit, for the whole process and the pages of files that it has mapped, is half the size of the store. "
        "Wanted: the same proof."
    )

    def measure(self, dataset, _solvers, options):
        """Yield a row."""
        store = options.load(dataset)["X"]
        size = sum(path.stat().st_size for path in store.iterdir())
        free_seconds, free = train(store, "")
        forget_pages(store)
        with memory_group(size // 2) as group:
            if group is None:
                sys.exit("To limit memory takes the right to make a cgroup: leave out the part store.")
            seconds, limited = train(store, str(group))
        row = {
            "data": dataset.name,
            "store": f"{size / MEGABYTE:.0f} MB",
            "limit": f"{size / 2 / MEGABYTE:.0f} MB",
            "opened in": duration(limited["reading"]),
            "no limit": duration(free_seconds),
            "limited": duration(seconds),
            "same certificate": yes_or_no(free["certificate"] == limited["certificate"]),
            "certificate": limited["certificate"].split(";")[0],
        }
        yield Finding(dataset.name, {"free": free_seconds, "limited": seconds}, row)


def train(store, group):
    """Run the command; return its seconds and what it tells."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "maxmargin.cli.app", "train", str(store), "-o", f"{folder}/model", "-C", "1"]
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", ENTER, group, *command, "--json", "--seed", "0"],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return time.perf_counter() - began, json.loads(done.stdout)
