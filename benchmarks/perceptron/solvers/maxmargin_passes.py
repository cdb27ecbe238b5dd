"""The package's passes alone, without validation and certificate."""

import time
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

from maxmargin.data import validate_two_classes
from maxmargin.problems import PerceptronProblem
from maxmargin.solvers.core import Monitor
from maxmargin.solvers.perceptron import online as online_perceptron
from maxmargin.solvers.perceptron.result import EpochOptions, Start
from suite import Solver


class MaxmarginPasses(Solver):
    """The online solver on a problem that has been set up beforehand."""

    name = "maxmargin, passes only"
    parts = ("passes",)

    def set_data(self, X, y):
        """Validate, once."""
        self.X = X
        self.dataset = validate_two_classes(X, y, caller="the benchmark")

    def run(self, stop):
        """Make the passes."""
        problem = PerceptronProblem(self.dataset, stop.fit_intercept(self.X))
        options = EpochOptions(max_iter=stop.passes, tol=None, shuffle=False)
        self.result = online_perceptron.solve(problem, options, Monitor())

    def get_result(self):
        """Return the number of passes."""
        return {"passes": self.result.n_iter}


class LazyPasses(Solver):
    """Every pass timed by itself, lazy where the solver wants to be."""

    name = "lazy"
    parts = ("lazy",)
    lazy = True

    def set_data(self, X, y):
        """Validate, once, and compute the lengths of the rows, which a fit's certificate needs anyway."""
        self.problem = PerceptronProblem(validate_two_classes(X, y, caller="the benchmark"))

    def run(self, stop):
        """Make passes until one is without a mistake, or ``stop.passes`` of them."""
        options = EpochOptions(max_iter=stop.passes, tol=None, shuffle=False)
        run, monitor = online_perceptron.OnlineRun(self.problem, options, Start()), Monitor()
        self.seconds, self.epochs = [], []
        # Threads that wait busily for more linear algebra would take time from the passes, at random.
        with lazy_passes(self.lazy), threadpool_limits(1, user_api="blas"):
            while len(self.epochs) < stop.passes:
                started = time.perf_counter()
                epoch = run.epoch(monitor)
                self.seconds.append(time.perf_counter() - started)
                self.epochs.append(epoch)
                if epoch.updates == 0:
                    break
        self.w = run.coefficients.w

    def get_result(self):
        """Return the seconds, mistakes and evaluated rows of every pass."""
        return {
            "seconds": self.seconds,
            "mistakes": [epoch.updates for epoch in self.epochs],
            "rows_evaluated": [epoch.rows_evaluated for epoch in self.epochs],
            "w": self.w,
        }


class EagerPasses(LazyPasses):
    """Every pass timed by itself; every row is looked at."""

    name = "every row"
    lazy = False


@contextmanager
def lazy_passes(allowed):
    """Forbid lazy passes, unless they are allowed, while the context is open."""
    before = online_perceptron.OnlineRun.allow_screening
    if not allowed:
        online_perceptron.OnlineRun.allow_screening = False
    try:
        yield
    finally:
        online_perceptron.OnlineRun.allow_screening = before
