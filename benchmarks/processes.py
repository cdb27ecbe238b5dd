"""Modules of the benchmarks that run in fresh processes, on data which they load from a folder."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix, load_npz, save_npz

from suite import HOME, Solver


class OwnProcess(Solver):
    """Starts ``module`` with the folder of the data as its argument; it prints its answer as JSON."""

    module: ClassVar[str]

    def set_data(self, X, y):
        """Write the data to a folder."""
        self.folder = tempfile.TemporaryDirectory()
        save_data(Path(self.folder.name), X, y)

    def warm_up(self, _stop):
        """Nothing: a process begins cold."""

    def answer(self, **environment: str) -> dict[str, Any]:
        """Run the module once and return what it prints."""
        process = subprocess.run(
            [sys.executable, "-m", self.module, self.folder.name],
            cwd=HOME,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return json.loads(process.stdout)


def save_data(folder: Path, X: Any, y: np.ndarray) -> None:
    """Write an array or sparse rows, and the labels."""
    if isinstance(X, np.ndarray):
        np.save(folder / "X.npy", X)
    else:
        save_npz(folder / "X.npz", csr_matrix(X), compressed=False)
    np.save(folder / "y.npy", y)


def load_data(folder: Path) -> tuple[Any, np.ndarray]:
    """Read what ``save_data`` wrote."""
    sparse = folder / "X.npz"
    return load_npz(sparse) if sparse.exists() else np.load(folder / "X.npy"), np.load(folder / "y.npy")
