"""Kernel machines of all pairs of classes: small ones several at once, with kernel values they share."""

from maxmargin.data import ClassPair
from maxmargin.problems.one_vs_one import PairProblems
from maxmargin.solvers.core import Monitor, Result
from maxmargin.solvers.kernel import smo
from maxmargin.solvers.kernel import smo_full_matrix as whole_smo
from maxmargin.solvers.kernel.base import SMOOptions
from maxmargin.solvers.kernel.pair_matrices import PairMatrices, pairs_at_once


class PairSolver:
    """Solves pairs of classes.

    Parameters
    ----------
    problems : PairProblems
    options : SMOOptions

    Attributes
    ----------
    at_once : int
        How many pairs may be solved at the same time. Large ones use all threads themselves, one after the other.
    """

    def __init__(self, problems: PairProblems, options: SMOOptions) -> None:
        self._problems, self._options = problems, options
        self._grams: PairMatrices | None = None
        pairs, whole = problems.pairs, problems.of_all_points
        self.at_once = pairs_at_once(pairs, whole, options) if pairs.n_tasks > 1 else 0
        if self.at_once:
            self._grams = PairMatrices(pairs, whole, options)
        self.at_once = max(1, self.at_once)

    def solve(self, task: int, pair: ClassPair, monitor: Monitor, before: Result[float] | None) -> Result[float]:
        """Run until the pair's gap is small, from where a run ended before that fell short of it, if there was one."""
        problem = self._problems.problem(pair)
        if self._grams is None:
            return smo.solve(problem, self._options, monitor, before)
        gram = self._grams.of(*self._problems.pairs.pairs[task])
        return whole_smo.solve(problem, gram, self._options, monitor, before)
