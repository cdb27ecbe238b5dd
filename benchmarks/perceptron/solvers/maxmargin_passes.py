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
        self.result = online_perceptron.solve(problem, options, Start(), Monitor())

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
        self.seconds, self.outcomes = [], []
        # Threads that wait busily for more linear algebra would take time from the passes, at random.
        with lazy_passes(self.lazy), threadpool_limits(1, user_api="blas"):
            while len(self.outcomes) < stop.passes:
                started = time.perf_counter()
                outcome = run.make_pass(monitor)
                self.seconds.append(time.perf_counter() - started)
                self.outcomes.append(outcome)
                if outcome.updates == 0:
                    break
        self.w = run.plane.w

    def get_result(self):
        """Return the seconds, mistakes and looks of every pass."""
        return {
            "seconds": self.seconds,
            "mistakes": [outcome.updates for outcome in self.outcomes],
            "looks": [outcome.looks for outcome in self.outcomes],
            "w": self.w,
        }


class EagerPasses(LazyPasses):
    """Every pass timed by itself; every row is looked at."""

    name = "every row"
    lazy = False


@contextmanager
def lazy_passes(allowed):
    """Forbid lazy passes, unless they are allowed, while the context is open."""
    before = online_perceptron.OnlineRun.lazy
    if not allowed:
        online_perceptron.OnlineRun.lazy = False
    try:
        yield
    finally:
        online_perceptron.OnlineRun.lazy = before
