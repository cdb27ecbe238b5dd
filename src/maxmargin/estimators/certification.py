"""Compute a fitted model's certificate anew, from data alone."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from maxmargin.certificates import Certificate, PerClass
from maxmargin.estimators._base import CertifiedModel


def certify(estimator: CertifiedModel, X: Any, y: Any, sample_weight: Any = None) -> Certificate | PerClass:
    """Compute what a fitted model proves, from the data and the vectors that the model holds.

    Nothing that the solver measured is used, and none of its loops. Compare with what the model claims by
    ``model.certificate_.check(certify(model, X, y))``, which raises CertificateError where the claim is more.

    Parameters
    ----------
    estimator : a fitted estimator of this package
    X, y, sample_weight : the data it was fitted to
        The model's parameters must be those that it was fitted with.

    Returns
    -------
    Certificate, or PerClass for more than two classes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import Perceptron, certify
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Perceptron().fit(X, y == 0)
    >>> model.certificate_.check(certify(model, X, y == 0))
    """
    if not isinstance(estimator, CertifiedModel):
        raise TypeError(f"estimator must be one of maxmargin's, got {type(estimator).__name__}.")
    check_is_fitted(estimator)
    return estimator._prove(estimator._data_to_certify(X, y, sample_weight))
