"""The coefficients of a linear model, as a table."""

from typing import Any

# The posterior probability that the intervals hold the coefficients with.
LEVEL = 0.95


def coefficients_of(machine: Any) -> list[list[Any]]:
    """A head, and a line for every column and the intercept whose numbers are not all zero."""
    import numpy as np

    if not hasattr(machine, "coef_") or hasattr(machine, "support_vectors_"):
        raise ValueError("--coefficients: a model with a kernel has none: leave it out.")
    numbers = np.atleast_2d(machine.coef_).T
    names = _names(machine)
    head = ["column", *(map(str, machine.classes_) if numbers.shape[1] > 1 else ["coefficient"])]
    if machine.fit_intercept:
        numbers = np.vstack([numbers, np.atleast_1d(machine.intercept_)])
        names.append("intercept")
    if hasattr(machine, "credible_interval"):
        numbers = np.hstack([numbers, machine.credible_interval(LEVEL)])
        head += [f"{100 * LEVEL:g} % from", "to"]
    return [head, *([names[k], *numbers[k].tolist()] for k in np.flatnonzero(numbers.any(axis=1)))]


def _names(machine: Any) -> list[str]:
    """Those of a table's columns; else their numbers, counted from 1 as svmlight text does."""
    if hasattr(machine, "feature_names_in_"):
        return list(map(str, machine.feature_names_in_))
    return [str(number + 1) for number in range(machine.n_features_in_)]
