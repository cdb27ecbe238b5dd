"""Whether the estimators of this process are scikit-learn's.

They are, but in a process of the command that trains a linear model: it needs nothing of scikit-learn, and importing it
would take as long as many fits. ``data/scikit_learn.py`` asks once, when the first estimator is imported.
"""

_needed = True


def do_without_scikit_learn() -> None:
    """Put the estimators that are imported from now on upon bases of the package's own."""
    global _needed
    _needed = False


def uses_scikit_learn() -> bool:
    """Whether estimators derive from scikit-learn's classes."""
    return _needed
