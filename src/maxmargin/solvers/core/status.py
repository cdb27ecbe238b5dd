"""How a solver run ended, and the warning that says so."""

from enum import StrEnum

from maxmargin.data.scikit_learn import ConvergenceWarning


class Status(StrEnum):
    """How a run ended. Whatever it says, the vectors it left and their certificate are true.

    See Also
    --------
    LimitWarning : Says in words what a limit left.
    Certificate : What is proven, whatever the status.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import LinearSVC, Status
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVC().fit(scale(X), y)
    >>> model.status_ is Status.SOLVED, str(model.status_)
    (True, 'solved')
    """

    RUNNING = "running"
    """The run has not ended yet: a stage of a solver leaves this to the next stage, and no fitted model has it."""
    SOLVED = "solved"
    """The goal is reached: no mistake left, or the margin or the duality gap that was asked for."""
    NOT_SEPARABLE = "not separable"
    """No hyperplane separates the classes, or none but with a margin that is tiny beside the points."""
    NO_SUCH_MARGIN = "no such margin"
    """No hyperplane has the margin that was asked for: the certificate's upper bound is below it."""
    SEPARABLE = "separable"
    """The classes are separable, so that an unregularised logistic loss has no minimum."""
    ITERATION_LIMIT = "iteration limit"
    """``max_iter`` was reached."""
    TIME_LIMIT = "time limit"
    """``max_time`` was reached."""
    STALLED = "stalled"
    """No more progress: the stall test of the run ended it above its tolerance."""
    INTERRUPTED = "interrupted"
    """Ctrl-C or a callback asked to stop."""


class LimitWarning(ConvergenceWarning):  # type: ignore[misc]
    """A limit was reached: says what is proven of the model as it is, and which limit to raise.

    See Also
    --------
    Status : How a run ended.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> import warnings
    >>> from maxmargin import LimitWarning, LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = LinearSVC(max_iter=1).fit(scale(X), y)
    >>> issubclass(caught[0].category, LimitWarning), str(model.status_)
    (True, 'iteration limit')
    """
