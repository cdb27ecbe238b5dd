"""The Newton solver on small data: whole runs in a few compiled calls.

The calls are as long as the monitor allows: an outer step each where somebody listens, else twice as many as in the
call before, up to a few milliseconds.
"""

import numpy as np

from maxmargin.data.rows import DenseRows
from maxmargin.loops.newton import RowVectors
from maxmargin.loops.newton_run import DUAL, N_NEWTON_VALUES, PRIMAL, SIGMA, STEPS, NewtonState, newton_steps
from maxmargin.loops.termination import LIMIT, NO_PROGRESS, begin
from maxmargin.problems.linear_svm import LinearSVMProblem
from maxmargin.solvers.core import Monitor, Options, Result, Status
from maxmargin.solvers.core.monitor import ENTRIES_PER_SMALL_CALL
from maxmargin.solvers.linear.initial_point import InitialPoint

# Outer steps of the first call: many a run ends with it.
FIRST_OUTER_STEPS = 4.0


def run(
    problem: LinearSVMProblem,
    rows: DenseRows,
    options: Options,
    monitor: Monitor,
    first: InitialPoint,
    best: Result[float],
) -> Status | None:
    """Run from ``first`` until the gap is small or a limit is reached; None where there is no more progress.

    ``best`` is updated in place, and so is ``first``: the general solver continues from the point that was reached.
    """
    state = _state_at(first, best)
    steps_per_call = max(1, ENTRIES_PER_SMALL_CALL // max(1, rows.values.size))
    n_before, ended = best.n_iter, LIMIT
    n_outer = FIRST_OUTER_STEPS if monitor.on_step is None and monitor.max_time is None else 1.0
    while ended != NO_PROGRESS:
        n_steps = min(state.values[STEPS] + steps_per_call, options.max_iter - n_before)
        ended = newton_steps(
            rows,
            problem.loss,
            float(problem.C),
            float(problem.intercept_penalty),
            state,
            float(options.tol),
            float(n_steps),
            n_outer,
        )
        best.w, best.intercept, best.beta = state.best_w[:-1].copy(), float(state.best_w[-1]), state.best_duals
        best.primal, best.dual = float(state.values[PRIMAL]), float(state.values[DUAL])
        best.n_iter = n_before + int(state.values[STEPS])
        status = monitor.check_termination(best, options, "outer step")
        if status is not None:
            return status
        n_outer = 1.0 if monitor.on_step is not None else 2.0 * n_outer
    first.beta, first.scores, first.sigma = state.vectors.centers, state.vectors.scores, state.values[SIGMA]
    first.w, first.b = state.w[:-1].copy(), float(state.w[-1])
    return None


def _state_at(first: InitialPoint, best: Result[float]) -> NewtonState:
    n_rows, size = first.beta.size, first.w.size + 1
    changes, duals, best_duals = np.empty((3, n_rows))
    best_duals[:] = best.beta
    free, in_gram = np.zeros((2, n_rows), dtype=bool)
    values = np.zeros(N_NEWTON_VALUES)
    begin(values)
    values[SIGMA], values[PRIMAL], values[DUAL] = first.sigma, best.primal, best.dual
    return NewtonState(
        _with_intercept(first.w, first.b),
        _with_intercept(best.w, best.intercept),
        RowVectors(
            np.arange(n_rows, dtype=np.uint32), first.scores, changes, first.beta.copy(), duals, free, first.sigma
        ),
        best_duals,
        in_gram,
        np.zeros((size, size)),
        np.empty((size, size)),
        values,
    )


def _with_intercept(w: np.ndarray, b: float) -> np.ndarray:
    """The coefficients, and the intercept as the last entry."""
    both = np.empty(w.size + 1)
    both[:-1], both[-1] = w, b
    return both
