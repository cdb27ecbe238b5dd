"""The price lambda of a penalty: given itself, or by the variances and rates of which it is made."""

import math
from collections.abc import Callable
from typing import Any

SMALLEST_PRICE, LARGEST_PRICE = 1e-100, 1e200


def penalty_from_prior(model: Any, first: str, second: str, combine: Callable[[float, float], float]) -> float:
    """``model.lam``, or what the two parameters of the prior make of it; one where nothing is given."""
    given = {name: getattr(model, name) for name in (first, second) if getattr(model, name) is not None}
    if model.lam is not None:
        if given:
            raise ValueError(f"lam is given, and so is {' and '.join(given)}: give lam, or {first} and {second}.")
        price = float(model.lam)
    elif not given:
        price = 1.0
    elif len(given) == 1:
        (name,) = given
        missing = second if name == first else first
        raise ValueError(f"{name} is given without {missing}: give both, or lam.")
    else:
        price = combine(float(given[first]), float(given[second]))
    if (price != 0.0 and not SMALLEST_PRICE <= price <= LARGEST_PRICE) or math.isnan(price):
        raise ValueError(
            f"lam, or what {first} and {second} make of it, must be between {SMALLEST_PRICE:g} and "
            f"{LARGEST_PRICE:g}; it is {price!r}."
        )
    return price
