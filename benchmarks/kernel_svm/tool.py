"""What all tools that train kernel machines have in common."""

import ctypes
import sys
from typing import Any, ClassVar

import numpy as np

from kernel_svm.dual import classifier_value, regression_value
from kernel_svm.stops import Machine, Stop
from suite import Solver

CACHE_MEGABYTES = 1000
HELD_BYTES = 5 << 28
# Parameters of the C library's mallopt.
TRIM_THRESHOLD, MMAP_MAX = -1, -4


class Tool(Solver):
    """Trains with the RBF or the linear kernel.

    ``tolerances`` leads from coarse to fine; the first is the tool's default.
    """

    parts = ("fit", "regression")
    tolerances: ClassVar[tuple[float, ...]] = (1e-3,)
    classifier: ClassVar[Any]
    regression: ClassVar[Any]

    def set_data(self, X, y):
        """Take the data, and hold on to memory."""
        self.X, self.y = X, y
        hold_memory()

    def warm_up(self, _stop):
        """Compile and load with a small machine."""
        self.run(Stop(Machine(1.0, 0.1, 0.1 if self.y.dtype.kind == "f" else None), self.tolerances[0]))

    def run(self, stop):
        """Fit."""
        self.stop = stop
        self.model = self.make(stop).fit(self.X, self.y)

    def make(self, stop: Stop) -> Any:
        """Return the estimator, with a large cache."""
        machine = stop.machine
        return self.of_kind(machine, tol=stop.tolerance, cache_size=CACHE_MEGABYTES)

    def of_kind(self, machine: Machine, **options: Any) -> Any:
        """Return a classifier or a regression."""
        options["C"] = machine.C
        options |= {"kernel": "linear"} if machine.gamma is None else {"gamma": machine.gamma}
        if machine.epsilon is None:
            return self.classifier(**options)
        return self.regression(**options, epsilon=machine.epsilon)

    def get_result(self):
        """Return the dual value, computed outside, and what is proven."""
        machine = self.stop.machine
        if machine.epsilon is None:
            value = classifier_value(self.model, self.X, machine.gamma)
        else:
            value = regression_value(self.model, self.X, self.y, machine.gamma, machine.epsilon)
        return {"dual": value, "support": int(np.asarray(self.model.support_).size), **self.proof()}

    def proof(self) -> dict[str, float]:
        """What the tool proves of its answer: for most, nothing."""
        return {}


def hold_memory() -> None:
    """Touch memory once and keep what is freed, where the C library can be told so."""
    if sys.platform.startswith("linux"):
        library = ctypes.CDLL(None)
        library.mallopt(MMAP_MAX, 0)
        library.mallopt(TRIM_THRESHOLD, (1 << 31) - 1)
    touched = np.ones(HELD_BYTES // 8)
    del touched
