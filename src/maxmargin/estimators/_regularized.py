"""What models with a price C share: the range of prices, and how a fit is judged."""

import math
from collections.abc import Sequence
from typing import Any

from joblib import cpu_count, effective_n_jobs

from maxmargin.certificates import MarginBracket, SVMGap
from maxmargin.estimators._base import CertifiedModel, TrainingData
from maxmargin.solvers.core import Status

# Factors outside this range make squares overflow, or lose digits to underflow.
SMALLEST_FACTOR, LARGEST_FACTOR = 1e-100, 1e100
# An objective that may be zero, and is no more than the price of this slack, counts as zero.
NEGLIGIBLE_LOSS = 1e-9


class RegularizedModel(CertifiedModel):
    """A model with a price C that is solved to a proven gap ``tol``."""

    C: float
    tol: float
    n_jobs: int | None

    _advice_when_stalled = "the gap stopped shrinking above tol: rescale the columns of X, lower C, or raise tol"

    def _n_threads(self) -> int:
        return cpu_count() if self.n_jobs is None else effective_n_jobs(self.n_jobs)

    def _refuse_extreme(self, *names: str) -> None:
        """Refuse parameters whose squares would overflow."""
        for name in names:
            if not SMALLEST_FACTOR <= getattr(self, name) <= LARGEST_FACTOR:
                raise ValueError(
                    f"{name} must be between {SMALLEST_FACTOR:g} and {LARGEST_FACTOR:g}, or squares overflow; it is "
                    f"{getattr(self, name)!r}."
                )

    def _refuse_extreme_prices(self, data: TrainingData) -> None:
        """C times a weight is what a row's slack costs: that has to be in the range of C itself."""
        if data.weights is None or math.isinf(self.C) or not data.weights.any():
            return
        prices = self.C * data.weights[data.weights > 0.0]
        if not SMALLEST_FACTOR <= prices.min() <= prices.max() <= LARGEST_FACTOR:
            raise ValueError(
                f"C times sample_weight (and class_weight) must be between {SMALLEST_FACTOR:g} and "
                f"{LARGEST_FACTOR:g}; it goes from {prices.min():g} to {prices.max():g}."
            )

    def _reconcile(self, results: Sequence[Any]) -> None:
        """A run that saw a gap which the certificate, with all rounding errors counted, does not confirm has stalled.

        Where the best objective is zero, as for a regression whose tube holds all points, rounding is all there is.
        """
        proof: Any = self.certificate_
        proofs = [proof] if len(results) == 1 else list(proof.values())
        for result, one in zip(results, proofs, strict=True):
            nothing_lost = isinstance(one, SVMGap) and one.dual <= 0.0 and one.gap <= NEGLIGIBLE_LOSS * self.C
            unproven = one.relative > self.tol or (isinstance(one, MarginBracket) and not one.separates)
            if nothing_lost and result.status is Status.STALLED:
                result.status = Status.SOLVED
            elif result.status is Status.SOLVED and unproven and not nothing_lost:
                result.status = Status.STALLED
