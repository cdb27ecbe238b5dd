"""No fitted attribute is nan, and none is infinite but for bounds."""

import math
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np

from maxmargin.certificates import PerClass
from maxmargin.data.rows import all_finite

# Attributes in which an infinite number is the right answer. History: the bounds of a run before it has any. Margin:
# 1/||w|| of w = 0, and the smallest distance of a point to a hyperplane that does not exist. Objective: the hard margin
# of a hyperplane that does not separate. Certificate: a bound that is not known.
MAY_BE_INFINITE = frozenset({"history_", "margin_", "objective_", "certificate_"})
# Attributes that hold the user's own rows, which validation has checked.
ROWS = frozenset({"support_vectors_", "_objects"})
# Types whose values are never nan.
EXACT_TYPES = frozenset({bool, int, str, type(None)})
# The public names of private attributes.
PUBLIC = {"_duals": "dual_coef_", "_ends": "coef_"}


def refuse_not_finite(model: Any, names: Iterable[str]) -> None:
    """Raise ValueError where a fitted attribute has nan, or an infinite number that is no bound."""
    bad = [
        name
        for name in names
        if name not in ROWS and not is_finite(getattr(model, name), may_be_infinite=name in MAY_BE_INFINITE)
    ]
    if bad:
        # Public names first: they are those that an error should name.
        name = min(bad, key=lambda name: (name.startswith("_"), name))
        raise ValueError(
            f"{type(model).__name__}: {PUBLIC.get(name, name)} is not finite: numbers overflow or cancel on these "
            "data, so there is no model. Centre and rescale the columns of X (for example StandardScaler), y and "
            "the weights, use less extreme parameters, or a kernel that is positive semidefinite."
        )


def refuse_bad_starts(starts: Iterable[Any]) -> None:
    """Raise ValueError where the start of a run is not finite."""
    for start in filter(None, starts):
        for name in ("w", "intercept", "beta", "scores"):
            if not is_finite(getattr(start, name, None)):
                raise ValueError(
                    "warm_start=True: the attributes of the last fit have entries that are not finite; set "
                    "warm_start=False, or fit anew."
                )


def is_finite(value: Any, *, may_be_infinite: bool = False) -> bool:
    """Whether all numbers in a value, also in containers and records, are finite; nan never is."""
    kind = type(value)
    if kind in EXACT_TYPES:
        return True
    if kind is float or isinstance(value, (float, np.floating)):
        return not math.isnan(value) if may_be_infinite else math.isfinite(value)
    if isinstance(value, np.ndarray):
        if value.dtype.kind != "f":
            return True
        return all_finite(value) or (may_be_infinite and np.count_nonzero(np.isnan(value)) == 0)
    if isinstance(value, (int, str)):
        # A status, for example.
        return True
    if isinstance(value, list) and value and isinstance(value[0], list):
        # The histories of several tasks.
        value = list(chain.from_iterable(value))
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        # A history may be long.
        return is_finite(np.fromiter(chain.from_iterable(value), dtype=np.float64), may_be_infinite=may_be_infinite)
    for entry in _entries_of(value):
        # Most entries of certificates are numbers: a call for each would take longer than the test.
        is_bad = math.isnan if may_be_infinite else _is_not_finite
        if is_bad(entry) if type(entry) is float else not is_finite(entry, may_be_infinite=may_be_infinite):
            return False
    return True


def _is_not_finite(number: float) -> bool:
    return not math.isfinite(number)


def _entries_of(value: Any) -> Iterable[Any]:
    """The entries of a container or a record; none of other objects."""
    if isinstance(value, (list, tuple)):
        return value
    if hasattr(type(value), "__dataclass_fields__"):
        return vars(value).values()
    if isinstance(value, PerClass):
        return value.proofs
    return value.values() if isinstance(value, Mapping) else ()
