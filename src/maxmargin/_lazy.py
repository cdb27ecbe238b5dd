"""Public names of a package that are imported on first use (PEP 562)."""

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, home_of: Mapping[str, str], submodules: Collection[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the functions ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        The package's ``__name__``.
    home_of : mapping
        For every public name the module of the package that defines it.
    submodules : collection of str
        Public modules of the package, which are attributes of it without an import of their own.

    Returns
    -------
    get_attribute, list_names : callable
    """

    def get_attribute(name: str) -> Any:
        if name in submodules:
            return import_module(f"{package}.{name}")
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{home_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return [*sys.modules[package].__all__, *submodules]

    return get_attribute, list_names
