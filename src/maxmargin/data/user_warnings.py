"""Warnings that name the user's own line."""

import contextlib
import os
import sys
import warnings
from functools import cache
from pathlib import Path

# Frames of these packages are not the user's.
_PACKAGES = ("maxmargin", "sklearn", "joblib", "numba")


@cache
def _folder_of(package: str) -> str:
    """The folder of an imported package, with the separator: a user's may be named maxmargin_experiments."""
    return f"{Path(str(sys.modules[package].__file__)).parent}{os.sep}"


def warn_user(message: str, category: type[Warning]) -> None:
    """Issue a warning at the innermost frame outside this package, scikit-learn, joblib, numba and ``with`` itself."""
    level, frame = 1, sys._getframe()
    files = (*(_folder_of(name) for name in _PACKAGES if name in sys.modules), contextlib.__file__)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(files):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
