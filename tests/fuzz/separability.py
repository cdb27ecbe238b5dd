"""Hostile decisions: ``separate`` against an oracle in fractions, on data on which rounding hides the answer."""

import warnings
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from fuzz.containers import in_a_container
from fuzz.estimators import ARGUMENTS, hostile_rows
from fuzz.harness import REFUSED, Fault, Outcome, Refusal, generator_of, refusals
from hostile_sets import hostile_set, is_separable
from maxmargin import separate

# Entries above which the oracle takes long.
LARGEST = 60


class Separability:
    """Decisions with and without intercept; the claim is the decision."""

    def __init__(self) -> None:
        self.last: Any = None

    def prepare(self, folder: Path) -> None:  # noqa: ARG002
        """Compile what decisions use."""
        separate(*hostile_set(8))

    def try_input(self, random: Random, folder: Path) -> Outcome:  # noqa: ARG002
        """Decide, and compare with the oracle; an answer of None is no claim."""
        if random.random() < 0.4:
            X, y = hostile_set(random.randrange(10**6))
        else:
            rows = hostile_rows(random)
            y = np.where(generator_of(random).random(len(rows)) < 0.5, 1, -1)
            y[0], y[-1] = 1, -1
            X = in_a_container(rows, random)
            if isinstance(X, list):
                X = rows
        fit_intercept = random.random() < 0.7
        dense = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        self.last = f"separate({dense.tolist()}, {y.tolist()}, fit_intercept={fit_intercept})  # {type(X).__name__}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                with refusals((ValueError, TypeError), ARGUMENTS):
                    found = separate(X, y, fit_intercept=fit_intercept, exact=random.random() < 0.2)
            except Refusal:
                return REFUSED
        if found.separable is None or dense.size > LARGEST:
            return Outcome(True, not_checked=1)
        # float32 and integers are the user's own numbers.
        truth = is_separable(dense.astype(object) if dense.dtype.kind in "iu" else dense, y, fit_intercept)
        if found.separable is not truth:
            raise Fault(f"separable is {found.separable}, the oracle says {truth}")
        return Outcome(True, true=1)
