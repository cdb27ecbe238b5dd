"""The penalty of the intercept, as all linear support vector machines have it."""

import math


class PenalizedIntercept:
    """A problem whose ``intercept_penalty`` is rho: zero leaves the intercept free, infinity holds it at zero."""

    intercept_penalty: float

    @property
    def has_intercept(self) -> bool:
        """Whether there is an intercept."""
        return not math.isinf(self.intercept_penalty)

    @property
    def has_free_intercept(self) -> bool:
        """Whether the intercept is not penalised, so that the duals sum to zero (for every class, if joint)."""
        return self.intercept_penalty == 0.0
