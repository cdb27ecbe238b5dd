"""Starting fast: what scikit-learn imports and the command never uses is not imported.

scikit-learn takes about two seconds to import, more than half of it for ``scipy.stats`` and pandas. Of
the first it needs one function, in estimators that the command does not have; of the second nothing, since the command
makes no data frames. This is for the command's own process alone: the library leaves imports as they are.
"""

import gc
import importlib
import sys
from types import ModuleType
from typing import Any


def collect_garbage_rarely() -> None:
    """Imports make a hundred thousand objects that live to the end: to look through them again and again costs time."""
    gc.set_threshold(200_000, 50, 100)


def import_scikit_learn() -> None:
    """Import scikit-learn's core without pandas, and with ``scipy.stats`` to be loaded when it is first used."""
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
    """Stands for a module, and loads it when it is first asked for something."""

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
