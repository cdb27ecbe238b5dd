"""Warnings that point at the user's own line."""

import sys
import warnings
from pathlib import Path

import joblib
import sklearn

import maxmargin

# Frames of these packages are not the user's.
_PACKAGES = tuple(str(Path(str(package.__file__)).parent) for package in (maxmargin, sklearn, joblib))


def warn_user(message: str, category: type[Warning]) -> None:
    """Issue a warning at the innermost frame outside this package, scikit-learn and joblib."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGES):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
