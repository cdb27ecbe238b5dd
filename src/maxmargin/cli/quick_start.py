"""Fast start of the command: imports of scikit-learn that it does not need are skipped or postponed.

Importing scikit-learn takes about two seconds, more than half of it for ``scipy.stats`` and pandas. The command uses
neither: it has no estimator that needs ``scipy.stats``, and makes no data frames. Only the command does this in its own
process; the library leaves imports as they are.
"""

import gc
import importlib
import sys
from types import ModuleType
from typing import Any


def collect_garbage_rarely() -> None:
    """Collect garbage seldom: imports make a hundred thousand lasting objects, and each collection scans them."""
    gc.set_threshold(200_000, 50, 100)


def import_scikit_learn() -> None:
    """Import scikit-learn's core without pandas, and with ``scipy.stats`` loaded on first use."""
    if "sklearn" in sys.modules:
        return
    hidden = "pandas" not in sys.modules
    if hidden:
        sys.modules["pandas"] = None  # type: ignore[assignment]
    try:
        _postpone("scipy.stats")
        import sklearn.base
        import sklearn.callback
        import sklearn.utils.validation  # noqa: F401
    finally:
        if hidden:
            del sys.modules["pandas"]


class _Later(ModuleType):
    """Placeholder of a module that is imported on first access."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        module = importlib.import_module(self.__name__)
        vars(self).update(vars(module))
        return getattr(module, name)


def _postpone(name: str) -> None:
    package, _, own_name = name.rpartition(".")
    if name not in sys.modules:
        sys.modules[name] = _Later(name)
        setattr(importlib.import_module(package), own_name, sys.modules[name])
