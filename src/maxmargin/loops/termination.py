"""How a call of a compiled run ends, and the stall rule of these runs.

Whole runs on small data count progress as :class:`maxmargin.solvers.core.StallTest` does, in an array of values that
outlives the call: a solver's own values follow after those of the rule.
"""

import math
from typing import NamedTuple

import numpy as np

from maxmargin.loops.jit import inlined

# How a call ends: after as many steps as were requested, within the tolerance, or without progress, where the solver
# continues by its general loop. A factorisation that fails, or a value that is not finite, is no progress either.
LIMIT, REACHED, NO_PROGRESS = range(3)

# Places in the array: the values that counted as progress last, and the work at that time.
COUNTED_GAP, COUNTED_PRIMAL, COUNTED_DUAL, COUNTED_WORK = range(4)
N_COUNTED = 4


class StallRule(NamedTuple):
    """What counts as progress: the parameters of :class:`maxmargin.solvers.core.StallTest` of these names."""

    patience: float
    gap_factor: float = 0.9
    dual_factor: float = math.inf
    primal_factor: float = 0.0


def begin(values: np.ndarray) -> None:
    """Prepare an array for a run: nothing has counted yet."""
    values[COUNTED_GAP] = values[COUNTED_PRIMAL] = math.inf
    values[COUNTED_DUAL], values[COUNTED_WORK] = -math.inf, 0.0


@inlined
def has_stalled(values, gap, primal, dual, work, rule):
    """Take a gap and the values after so much work in all; return whether the run has stalled."""
    # Values below zero fall by the same share of their size.
    primal_factor = rule.primal_factor if values[COUNTED_PRIMAL] > 0.0 else 2.0 - rule.primal_factor
    if (
        gap < rule.gap_factor * values[COUNTED_GAP]
        or primal < primal_factor * values[COUNTED_PRIMAL]
        or dual > rule.dual_factor * max(0.0, values[COUNTED_DUAL])
    ):
        values[COUNTED_GAP] = min(gap, values[COUNTED_GAP])
        values[COUNTED_PRIMAL] = min(primal, values[COUNTED_PRIMAL])
        values[COUNTED_DUAL] = max(dual, values[COUNTED_DUAL])
        values[COUNTED_WORK] = work
        return False
    return work >= values[COUNTED_WORK] + rule.patience
