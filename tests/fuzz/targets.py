"""The targets by their names."""

from collections.abc import Callable

from fuzz.estimators import Estimators
from fuzz.harness import Target

TARGETS: dict[str, Callable[[], Target]] = {
    "estimators": Estimators,
}
