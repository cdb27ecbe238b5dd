"""When a run of a perceptron ends."""

from dataclasses import dataclass
from typing import Any

from scipy.sparse import issparse


@dataclass(frozen=True)
class Stop:
    """After so many passes, or with ``passes=None`` once nothing is misclassified.

    scikit-learn moves the intercept a hundred times more slowly on sparse rows than on dense ones,
    so that its hyperplanes there are those of the perceptron only where there is no intercept.
    """

    passes: int | None
    sparse_intercept: bool = True

    def fit_intercept(self, X: Any) -> bool:
        """Whether the run on these data has an intercept."""
        return self.sparse_intercept or not issparse(X)
