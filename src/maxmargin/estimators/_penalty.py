"""The penalty lambda: given itself, or by the variances and rates of the prior that it follows from."""

import math
from collections.abc import Callable
from typing import Any

# Outside of this range products with squared entries underflow or overflow.
SMALLEST_PENALTY, LARGEST_PENALTY = 1e-100, 1e200


def penalty_from_prior(model: Any, first: str, second: str, combine: Callable[[float, float], float]) -> float:
    """Return ``model.lam``, or the penalty that two parameters of the prior determine; one where none is given."""
    given = {name: getattr(model, name) for name in (first, second) if getattr(model, name) is not None}
    if model.lam is not None:
        if given:
            raise ValueError(f"lam is given, and so is {' and '.join(given)}: set lam, or {first} and {second}.")
        penalty = float(model.lam)
    elif not given:
        penalty = 1.0
    elif len(given) == 1:
        (name,) = given
        missing = second if name == first else first
        raise ValueError(f"{name} is given without {missing}: set both, or lam.")
    else:
        penalty = combine(float(given[first]), float(given[second]))
    if (penalty != 0.0 and not SMALLEST_PENALTY <= penalty <= LARGEST_PENALTY) or math.isnan(penalty):
        raise ValueError(
            f"lam, or what {first} and {second} make of it, must be between {SMALLEST_PENALTY:g} and "
            f"{LARGEST_PENALTY:g}; it is {penalty!r}."
        )
    return penalty
