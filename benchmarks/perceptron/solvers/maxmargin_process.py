"""The package in processes of its own: what the first fit costs."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix, save_npz

from suite import Solver

SCRIPT = Path(__file__).resolve().parents[1] / "first_fit.py"


class MaxmarginProcess(Solver):
    """Two processes, one after the other, with a cache of compiled loops that is empty at first."""

    name = "maxmargin process"
    parts = ("startup",)

    def set_data(self, X, y):
        """Write the data to a folder from which the processes load them."""
        self.folder = tempfile.TemporaryDirectory()
        home = Path(self.folder.name)
        if isinstance(X, np.ndarray):
            np.save(home / "X.npy", X)
        else:
            save_npz(home / "X.npz", csr_matrix(X), compressed=False)
        np.save(home / "y.npy", y)

    def warm_up(self, _stop):
        """Nothing: the cold start is what is measured."""

    def run(self, _stop):
        """Start both processes."""
        with tempfile.TemporaryDirectory() as cache:
            self.empty_cache, self.second_process = self._process(cache), self._process(cache)

    def get_result(self):
        """Return what both processes reported."""
        return {"empty cache": self.empty_cache, "second process": self.second_process}

    def _process(self, cache):
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        answer = subprocess.run(
            [sys.executable, SCRIPT, self.folder.name],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(answer.stdout)
