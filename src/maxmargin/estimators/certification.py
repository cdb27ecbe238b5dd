"""Compute a fitted model's certificate anew, from data alone."""

import math
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.certificates import Certificate, CertificateError, DualityGap, MarginBracket, PerClass
from maxmargin.certificates.base import AGREEMENT
from maxmargin.estimators._base import CertifiedModel
from maxmargin.estimators._regularized import NEGLIGIBLE_LOSS, RegularizedModel
from maxmargin.estimators.linear_svc import objective_of
from maxmargin.solvers.core import Status


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
    return estimator._certify(estimator._data_to_certify(X, y, sample_weight))


def check_claims(estimator: CertifiedModel, proof: Certificate | PerClass) -> None:
    """Compare all that a model claims of itself with a proof: certificate, objective, margin, and that it is solved.

    Parameters
    ----------
    estimator : a fitted estimator of this package
    proof : Certificate or PerClass
        What ``certify`` computed for it.

    Raises
    ------
    CertificateError
        Names the attribute that claims more than what is proven.
    """
    claimed: Any = estimator.certificate_
    claimed.check(proof)
    proofs: list[Any] = list(proof.values()) if isinstance(proof, PerClass) else [proof]
    agreement = max(map(_agreement, proofs))
    if hasattr(estimator, "objective_"):
        _refuse_others("objective_", estimator.objective_, [objective_of(one) for one in proofs], agreement)
    # A kernel SVM derives its margin from the certificate, which is checked already.
    if "margin_" in vars(estimator):
        _refuse_others("margin_", estimator.margin_, _margins_of(estimator, proofs), agreement)
    says_solved = getattr(estimator, "status_", None) is Status.SOLVED or getattr(estimator, "fit_status_", 1) == 0
    if says_solved and not all(_is_solved(estimator, one) for one in proofs):
        raise CertificateError(f"status_ {str(Status.SOLVED)!r} is not proven")
    if getattr(estimator, "status_", None) is Status.SEPARABLE and not any(one.margin or one.freed for one in proofs):
        raise CertificateError(f"status_ {str(Status.SEPARABLE)!r} is not proven")


def _refuse_others(name: str, claimed: Any, proven: Any, agreement: float) -> None:
    values = np.ravel(claimed)
    if values.size != len(proven) or not np.allclose(values, proven, rtol=agreement, atol=0.0):
        raise CertificateError(f"{name} {values.tolist()!r} is not {np.ravel(proven).tolist()!r}")


def _agreement(proof: Any) -> float:
    """By which share two honest computations may differ: margins agree up to a share of the radius."""
    if isinstance(proof, MarginBracket) and proof.lower != 0.0 and math.isfinite(proof.lower):
        return 2.0 * AGREEMENT * max(1.0, proof.radius / abs(proof.lower))
    return AGREEMENT


def _margins_of(estimator: Any, proofs: list[Any]) -> Any:
    """Of a hard margin and of a margin perceptron what is proven, of a street half its width."""
    if not isinstance(estimator, RegularizedModel):
        return [one.lower for one in proofs]
    if math.isinf(estimator.C):
        return [max(0.0, one.lower) for one in proofs]
    lengths = np.linalg.norm(estimator.coef_, axis=1)
    return np.divide(1.0, lengths, out=np.full_like(lengths, np.inf), where=lengths > 0.0)


def _is_nothing(estimator: Any, proof: DualityGap) -> bool:
    """Whether the best objective may be zero, and rounding is all that is left of the model's."""
    C = estimator.C if isinstance(estimator, RegularizedModel) else 1.0
    return proof.dual <= 0.0 and proof.gap <= NEGLIGIBLE_LOSS * C


def _is_solved(estimator: Any, proof: Any) -> bool:
    """Whether a proof shows what the model was asked for: its gap, or a plane between the classes."""
    if isinstance(estimator, RegularizedModel) and isinstance(proof, MarginBracket):
        return proof.relative <= estimator.tol + AGREEMENT and proof.separates
    if isinstance(proof, DualityGap):
        # A closed form has no tolerance: what it claims is the gap itself.
        wanted = getattr(estimator, "tol", math.inf)
        return proof.relative <= wanted + AGREEMENT or _is_nothing(estimator, proof)
    if getattr(estimator, "average", False) or getattr(estimator, "early_stopping", False):
        # The run was without mistakes; the average of its planes, and rows that were held out, may have some.
        return True
    bracket = proof if isinstance(proof, MarginBracket) else proof.bracket
    return bracket.lower >= -AGREEMENT * bracket.radius
