"""Linear support vector machines for many values of C."""

from collections.abc import Iterable
from typing import Any

from maxmargin.data.validation import LARGEST_FACTOR, SMALLEST_FACTOR
from maxmargin.estimators.linear_svc import LinearSVC


def svm_path(X: Any, y: Any, Cs: Iterable[float], *, sample_weight: Any = None, **parameters: Any) -> list[LinearSVC]:
    """Fit a LinearSVC for every C, each from where the one before ended.

    Duals at their upper bound mostly stay there for the next C: so the next fit starts from the duals of the last one,
    scaled by the ratio of the two C.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of labels of shape (n,)
    Cs : iterable of float
        Taken in the order given; a rising order is fastest.
    sample_weight : array of shape (n,), optional
    **parameters
        The other parameters of LinearSVC; ``C`` and ``warm_start`` are set here.

    Returns
    -------
    list of LinearSVC
        One fitted model for each C, with its own ``certificate_``.

    See Also
    --------
    LinearSVC : One of these fits.
    C_from_lambda : C of the lecture's lambda.
    maxmargin.plots.RegularisationPathDisplay : The path as a picture.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import svm_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> models = svm_path(scale(X), y, [0.01, 0.1, 1.0])
    >>> [f"C={model.C:g}: margin {model.margin_:.2f}" for model in models]
    ['C=0.01: margin 1.38', 'C=0.1: margin 0.67', 'C=1: margin 0.33']
    """
    refused = {"C", "warm_start"} & set(parameters)
    if refused:
        raise ValueError(f"{', '.join(sorted(refused))} cannot be given: svm_path sets them itself, C from Cs.")
    values = _validate_values(Cs)
    models: list[LinearSVC] = []
    for C in values:
        model = LinearSVC(C=C, warm_start=True, **parameters)
        if models:
            last = models[-1]
            model.classes_ = last.classes_
            ratio = C / last.C
            # Duals of so different a C say nothing of this one.
            model.dual_coef_ = last.dual_coef_ * (ratio if 1e-6 <= ratio <= 1e6 else 0.0)
        model.fit(X, y, sample_weight=sample_weight).set_params(warm_start=False)
        model._freeze_parameters()
        models.append(model)
    return models


def _validate_values(Cs: Any) -> list[float]:
    """All values of C, or an error before any work is done."""
    try:
        values = [float(C) for C in Cs]
    except TypeError as error:
        raise ValueError(f"Cs must be a list of numbers; it is {Cs!r}.") from error
    if not values:
        raise ValueError("Cs is empty: give at least one value of C.")
    for C in values:
        if not SMALLEST_FACTOR <= C <= LARGEST_FACTOR:
            raise ValueError(
                f"Cs must be between {SMALLEST_FACTOR:g} and {LARGEST_FACTOR:g}; it has {C!r}. The hard margin is "
                "LinearSVC(C=inf)."
            )
    return values
