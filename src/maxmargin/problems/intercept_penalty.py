"""The price of an intercept, as all linear machines have it."""

import math


class PenalizedIntercept:
    """A problem whose ``intercept_penalty`` is rho: zero leaves the intercept free, infinity holds it at zero."""

    intercept_penalty: float

    @property
    def has_intercept(self) -> bool:
        """Whether the intercept may move."""
        return not math.isinf(self.intercept_penalty)

    @property
    def balanced(self) -> bool:
        """Whether the duals have to sum to zero, for every class where there are more than two."""
        return self.intercept_penalty == 0.0
