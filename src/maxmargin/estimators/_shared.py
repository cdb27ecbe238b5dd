"""What estimators share beside the template: attributes of one or of several tasks, seeds, plain labels."""

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from maxmargin.certificates import Certificate, PerClass
from maxmargin.data import scikit_learn


def proof_or_per_class(classes: Iterable[Any], proofs: Sequence[Certificate]) -> Certificate | PerClass:
    """The one certificate of two classes, or one for each class."""
    if len(proofs) == 1:
        return proofs[0]
    return PerClass({plain(label): proof for label, proof in zip(classes, proofs, strict=True)})


def certificates_of(certificate: Certificate | PerClass, n_tasks: int) -> list[Certificate]:
    """The certificates of the tasks of a fit, in their order."""
    if isinstance(certificate, PerClass) and n_tasks > 1:
        return certificate.proofs
    return [certificate]  # type: ignore[list-item]


def seed_of(random_state: Any) -> int:
    """The seed that a user gave, or one drawn from the generator that was given instead."""
    if isinstance(random_state, Integral):
        return int(random_state)
    if random_state is None:
        # The generator that scikit-learn takes: asking it for that costs more than the draw.
        return int(np.random.randint(2**31 - 1))  # noqa: NPY002
    return int(scikit_learn.check_random_state(random_state).randint(2**31 - 1))


def generator_of(random_state: Any) -> np.random.Generator | np.random.RandomState:
    """The generator that a user gave, or one with the seed that a user gave."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    try:
        return scikit_learn.check_random_state(random_state)
    except ValueError as error:
        raise ValueError(
            "random_state must be a whole number from 0 to 2**32 - 1, a RandomState, a Generator or None; it is "
            f"{random_state!r}."
        ) from error


def one_or_all(values: list[Any]) -> Any:
    """The value itself for two classes, the list over the classes for more."""
    return values[0] if len(values) == 1 else values


def one_or_array(values: Sequence[float]) -> float | np.ndarray:
    """The number itself for one task, the array over the tasks for more."""
    return float(values[0]) if len(values) == 1 else np.asarray(values)


def refuse_other_rows(n_rows: int, n_fitted: int) -> None:
    """A certificate speaks of the rows that the model was fitted to."""
    if n_rows != n_fitted:
        raise ValueError(f"X has {n_rows} rows; the model was fitted to {n_fitted}.")


def as_list(value: Any, n_tasks: int) -> list[Any]:
    """The inverse of ``one_or_all``."""
    return [value] if n_tasks == 1 else value


def plain(label: Any) -> Any:
    """A label as a plain Python value."""
    return label.item() if isinstance(label, np.generic) else label
