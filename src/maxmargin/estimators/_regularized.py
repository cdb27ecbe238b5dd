"""What models with a regularisation parameter C share: the range of C, and how their status is reconciled."""

import math
import os
from functools import cache
from typing import Any

from joblib import cpu_count, effective_n_jobs

from maxmargin.certificates import Certificate
from maxmargin.estimators._base import CertifiedModel
from maxmargin.estimators._progress import Tasks
from maxmargin.reconciliation import reconcile
from maxmargin.solvers.core import Status

# Parameters outside this range make squares overflow, or lose digits to underflow.
SMALLEST_FACTOR, LARGEST_FACTOR = 1e-100, 1e100
# A gap of at most C times this slack counts as none where the optimum may be zero.
NEGLIGIBLE_LOSS = 1e-9


@cache
def n_cores(limit: str | None) -> int:  # noqa: ARG001
    """The cores that joblib may use; reading the system's limits takes as long as a small fit's validation."""
    return cpu_count()


class RegularizedModel(CertifiedModel):
    """A model with a regularisation parameter C that is solved to a relative gap ``tol``."""

    C: float
    tol: float
    n_jobs: int | None

    _advice_when_stalled = "the gap stopped shrinking above tol: rescale the columns of X, lower C, or raise tol"

    def _n_threads(self) -> int:
        # Not scikit-learn's meaning of None, one thread: these fits run in threads without a copy of the data, and the
        # default would be slower by the number of cores.
        return n_cores(os.environ.get("LOKY_MAX_CPU_COUNT")) if self.n_jobs is None else effective_n_jobs(self.n_jobs)

    def _prepare(self, data: Any) -> None:
        self._refuse_extreme_weights(data)

    def _reconcile_task(self, status: Status, certificate: Certificate, problem: Any) -> Status:  # noqa: ARG002
        negligible = NEGLIGIBLE_LOSS * self.C if math.isfinite(self.C) else 0.0
        return reconcile(status, certificate, self.tol, negligible)

    def _refuse_extreme(self, *names: str) -> None:
        """Refuse parameters whose squares would overflow."""
        for name in names:
            if not SMALLEST_FACTOR <= getattr(self, name) <= LARGEST_FACTOR:
                raise ValueError(
                    f"{name} must be between {SMALLEST_FACTOR:g} and {LARGEST_FACTOR:g}, or squares overflow; it is "
                    f"{getattr(self, name)!r}."
                )

    def _refuse_extreme_weights(self, data: Tasks) -> None:
        """C times a weight is the loss factor of a row: it has to be in the range of C itself."""
        if data.weights is None or math.isinf(self.C) or not data.weights.any():
            return
        factors = self.C * data.weights[data.weights > 0.0]
        if not SMALLEST_FACTOR <= factors.min() <= factors.max() <= LARGEST_FACTOR:
            raise ValueError(
                f"C times sample_weight (and class_weight) must be between {SMALLEST_FACTOR:g} and "
                f"{LARGEST_FACTOR:g}; it goes from {factors.min():g} to {factors.max():g}."
            )
