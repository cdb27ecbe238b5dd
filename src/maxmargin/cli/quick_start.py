"""Fast start of the command: imports that it does not need are skipped or postponed.

Importing scikit-learn takes about two seconds, more than half of it for ``scipy.stats`` and pandas. The command uses
neither: it has no estimator that needs ``scipy.stats``, and makes no data frames. A linear model is trained without
scikit-learn at all. Only the command does this in its own process; the library leaves imports as they are.
"""

import gc
import importlib
import sys
from types import ModuleType
from typing import Any

from maxmargin import _process


def collect_garbage_rarely() -> None:
    """Collect garbage seldom: imports make a hundred thousand lasting objects, and each collection scans them."""
    gc.set_threshold(200_000, 50, 100)


def do_without_scikit_learn() -> None:
    """Put the estimators of this process on bases of their own, and import scikit-learn where something asks for it.

    Without effect where it, or an estimator, is imported already.
    """
    if "sklearn" not in sys.modules and "maxmargin.data" not in sys.modules:
        _process.do_without_scikit_learn()
        _prepare_imports()


def import_scikit_learn() -> None:
    """Import scikit-learn's core without pandas, and with ``scipy.stats`` loaded on first use."""
    if "sklearn" in sys.modules:
        return
    hidden = "pandas" not in sys.modules
    if hidden:
        sys.modules["pandas"] = None  # type: ignore[assignment]
    try:
        _prepare_imports()
        import sklearn.base
        import sklearn.callback
        import sklearn.utils.validation  # noqa: F401
    finally:
        if hidden:
            del sys.modules["pandas"]


def _prepare_imports() -> None:
    """Postpone modules that SciPy and scikit-learn import, and the command does not use."""
    for name in ("numpy.f2py", "scipy.stats"):
        _postpone(name)


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
