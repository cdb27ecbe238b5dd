"""Linear support vector machines for many values of C."""

from collections.abc import Iterable
from typing import Any

from maxmargin.estimators.linear_svc import LinearSVC


def svm_path(X: Any, y: Any, Cs: Iterable[float], *, sample_weight: Any = None, **parameters: Any) -> list[LinearSVC]:
    """Fit a LinearSVC for every C, each from where the one before ended.

    Duals that were at the upper end of their box are there for the next C, too, as a rule: so the next fit begins with
    the duals of the last one, scaled by the ratio of the two C.

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

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import svm_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> models = svm_path(scale(X), y, [0.01, 0.1, 1.0])
    >>> all(model.certificate_.relative <= 1e-4 for model in models)
    True
    """
    refused = {"C", "warm_start"} & set(parameters)
    if refused:
        raise ValueError(f"{', '.join(sorted(refused))} cannot be given: svm_path sets it from Cs.")
    models: list[LinearSVC] = []
    for C in Cs:
        model = LinearSVC(C=C, warm_start=True, **parameters)
        if models:
            last = models[-1]
            model.classes_ = last.classes_
            model.dual_coef_ = last.dual_coef_ * (C / last.C)
        models.append(model.fit(X, y, sample_weight=sample_weight).set_params(warm_start=False))
    if not models:
        raise ValueError("Cs is empty: give at least one value of C.")
    return models
