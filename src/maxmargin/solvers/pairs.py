"""Kernel machines of all pairs of classes: small ones several at once, with kernel values they share."""

from maxmargin.data import ClassPair
from maxmargin.problems.pairs import PairProblems
from maxmargin.solvers import smo, whole_smo
from maxmargin.solvers.gap import GapPoint
from maxmargin.solvers.kernel_ascent import SMOSettings
from maxmargin.solvers.pair_grams import PairGrams, pairs_at_once
from maxmargin.solvers.watch import Watch


class PairSolver:
    """Solves pairs of classes.

    Parameters
    ----------
    problems : PairProblems
    settings : SMOSettings

    Attributes
    ----------
    at_once : int
        How many pairs may be solved at the same time. Large ones use all threads themselves, one after the other.
    """

    def __init__(self, problems: PairProblems, settings: SMOSettings) -> None:
        self._problems, self._settings = problems, settings
        self._grams: PairGrams | None = None
        pairs, whole = problems.pairs, problems.of_all_points
        self.at_once = pairs_at_once(pairs, whole, settings) if pairs.n_tasks > 1 else 0
        if self.at_once:
            self._grams = PairGrams(pairs, whole, settings)
        self.at_once = max(1, self.at_once)

    def solve(self, task: int, pair: ClassPair, watch: Watch, before: GapPoint | None) -> GapPoint:
        """Run until the pair's gap is small, from where a run ended before that fell short of it, if there was one."""
        problem = self._problems.problem(pair)
        if self._grams is None:
            return smo.solve(problem, self._settings, watch, before)
        gram = self._grams.of(*self._problems.pairs.pairs[task])
        return whole_smo.solve(problem, gram, self._settings, watch, before)
