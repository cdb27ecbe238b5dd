"""Compute a fitted model's certificate anew, from data alone."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.certificates import Certificate, CertificateError, KKTClass, MarginBracket, PerClass, kkt_classes
from maxmargin.certificates.base import AGREEMENT
from maxmargin.certificates.margin_bracket import MARGIN_ROUNDING
from maxmargin.data.blas import one_blas_thread
from maxmargin.data.scikit_learn import check_is_fitted
from maxmargin.estimators._base import CertifiedModel
from maxmargin.estimators._shared import refuse_other_rows
from maxmargin.reconciliation import CLAIMS, proven_claims
from maxmargin.solvers.core import Status


def certify(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None, **problem: Any) -> Certificate | PerClass:
    """Compute what a fitted model proves, from the data and the vectors that the model holds.

    Nothing that a solver measured is used. Compare with what a model of this package claims by
    ``model.certificate_.check(certify(model, X, y))``, which raises CertificateError where the claim is more.

    Models of scikit-learn are covered where their problem is one of this package: SVC, SVR, NuSVC, OneClassSVM,
    LinearSVC, LinearSVR, LogisticRegression, Ridge, Lasso, ElasticNet and LinearRegression, also of several targets; of
    any other linear classifier (Perceptron, SGDClassifier, ...) the margin is bracketed. Models that keep no duals
    are certified with duals recovered from their hyperplane, so that the gap may be larger than the true distance from
    the optimum, never smaller.

    Parameters
    ----------
    estimator : fitted estimator, or tuple (coef, intercept) or (coef, intercept, dual)
        An estimator of this package or of scikit-learn; or the coefficients of shape (d,), the intercept (None for a
        model without one) and the signed duals y_i alpha_i of shape (n,) of any program, for two classes or one target.
    X, y, sample_weight : the data it was fitted to
        The parameters of a model of this package are those of its fit, also where they were changed since; those of a
        model of scikit-learn must be those that it was fitted with.
    **problem
        The problem that a tuple solves: ``loss`` ("hinge", "squared_hinge", "epsilon_insensitive",
        "squared_epsilon_insensitive", "logistic" or "squared_error"), ``C``, ``epsilon``, ``intercept_penalty`` (the
        factor of b²/2), ``lam`` and ``penalty`` ("l2" or "l1", beside squared errors). Without a loss, the margin of
        the hyperplane is bracketed.

    Returns
    -------
    Certificate, or PerClass for more than two classes

    Raises
    ------
    TypeError
        The model's problem is not covered.

    See Also
    --------
    Certificate : What comes back, and ``check``.
    load : Reads a model whose claims can be checked so.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import LinearSVC
    >>> from maxmargin import Perceptron, certify
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Perceptron().fit(X, y == 0)
    >>> model.certificate_.check(certify(model, X, y == 0))

    How far from the optimum is scikit-learn's model? And is a hyperplane from elsewhere any good?

    >>> theirs = certify(LinearSVC(random_state=0).fit(X, y == 0), X, y == 0)
    >>> print(f"{theirs.dual:.3f} <= optimum <= {theirs.primal:.3f}")
    0.679 <= optimum <= 0.679
    >>> bracket = certify(([0.0, 1.0, -1.0, 0.0], 0.0), X, y == 0)
    >>> print(f"margin {bracket.lower:.3f}; the largest is at most {bracket.upper:.3f}")
    margin 0.354; the largest is at most 0.991
    """
    if not isinstance(estimator, CertifiedModel):
        # One thread for the same bits everywhere, and because least squares in busy BLAS threads slow each other down.
        with one_blas_thread():
            return _certify_other(estimator, X, y, sample_weight, problem)
    if problem:
        raise TypeError(f"{', '.join(problem)}: only a tuple of vectors takes these; a model has its parameters.")
    model = estimator._as_fitted()
    X, y = model._blocks_or_arrays(X, y)
    # As in the fit, so that the same data give the same bits.
    with one_blas_thread():
        tasks = model._tasks(model._data_to_certify(X, y, sample_weight))
        return model._certify(tasks, model._problems(tasks))


def _certify_other(model: Any, X: Any, y: Any, sample_weight: Any, problem: dict[str, Any]) -> Certificate | PerClass:
    # Imported here: it loads scipy.optimize, which fits and the command do without.
    from maxmargin.estimators._coefficients import CoefficientsProblem, certify_coefficients
    from maxmargin.estimators._foreign import certify_foreign

    if isinstance(model, tuple):
        return certify_coefficients(model, X, y, sample_weight, CoefficientsProblem(**problem))
    if problem:
        raise TypeError(f"{', '.join(problem)}: only a tuple of vectors takes these; a model has its parameters.")
    if hasattr(model, "fit"):
        check_is_fitted(model)
    return certify_foreign(model, X, y, sample_weight)


def kkt_classes_of(estimator: CertifiedModel, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
    """The KKT class of every training row of a fitted SVM with one task, as its certificate counts them.

    Parameters
    ----------
    estimator : LinearSVC, LinearSVR, SVC or SVR
    X, y, sample_weight : the data it was fitted to

    Returns
    -------
    ndarray of int8 of shape (n,)
        Values of :class:`KKTClass`; -1 for rows of weight zero. For C = inf, rows with a dual that is not zero are on
        the margin.
    """
    # As in the fit, so that the same data give the same bits.
    with one_blas_thread():
        return _kkt_classes(estimator._as_fitted(), X, y, sample_weight)


def _kkt_classes(model: Any, X: Any, y: Any, sample_weight: Any) -> np.ndarray:
    tasks = model._tasks(model._data_to_certify(X, y, sample_weight))
    problems = list(model._problems(tasks))
    if len(problems) != 1:
        raise ValueError(f"the model has {len(problems)} tasks; KKT classes of rows are those of one.")
    n_rows, is_kernel = tasks.points.n_rows, hasattr(model, "support_vectors_")
    refuse_other_rows(n_rows, model._n_rows if is_kernel else model.dual_coef_.shape[-1])
    beta = np.zeros(n_rows)
    if is_kernel:
        beta[model.support_] = np.ravel(model._duals)
    else:
        beta[:] = np.ravel(model.dual_coef_)
    if math.isinf(model.C):
        return np.where(beta != 0.0, KKTClass.ON_MARGIN, KKTClass.OUTSIDE).astype(np.int8)
    if is_kernel:
        scores = model._scores_of_points(tasks.points)[:, 0]
        return kkt_classes(problems[0].losses, scores, beta)
    scores = tasks.points.scores(np.ravel(model.coef_)) + np.ravel(model.intercept_)[0]
    return kkt_classes(problems[0], scores, beta)


def check_claims(
    estimator: CertifiedModel, proof: Certificate | PerClass, problems: Sequence[Any] | None = None
) -> None:
    """Compare the claims of a model with a proof: its certificate, objective, margin and status.

    Parameters
    ----------
    estimator : a fitted estimator of this package
    proof : Certificate or PerClass
        What ``certify`` computed for it.
    problems : sequence of problems, optional
        Those of the tasks, as in the fit. Without them the status is judged by the proof alone, which does not tell
        an objective that is a rounding error of the targets.

    Raises
    ------
    CertificateError
        Names the attribute that claims more than what is proven.
    """
    model: Any = estimator._as_fitted()
    model.certificate_.check(proof)
    proofs: list[Any] = list(proof.values()) if isinstance(proof, PerClass) else [proof]
    agreement = max(map(_agreement, proofs))
    if hasattr(model, "objective_"):
        _refuse_others("objective_", model.objective_, [one.objective for one in proofs], agreement)
    # A kernel SVM derives its margin from the certificate, which is checked already.
    if "margin_" in vars(model):
        _refuse_others("margin_", model.margin_, model._margins(proofs), agreement)
    _check_status(model, proofs, [None] * len(proofs) if problems is None else problems)


def _check_status(model: Any, proofs: list[Any], problems: Sequence[Any]) -> None:
    """Every task is solved where the status says so; other claims are about one task at least."""
    goals = [model._goal(k, problem) for k, problem in enumerate(problems)]
    proven = [
        proven_claims(proof, goal if goal.tol is None else replace(goal, tol=goal.tol + AGREEMENT))
        for proof, goal in zip(proofs, goals, strict=True)
    ]
    status = getattr(model, "status_", None)
    solved = all(Status.SOLVED in claims for claims in proven)
    if not solved and (status is Status.SOLVED or getattr(model, "fit_status_", 1) == 0):
        raise CertificateError(f"status_ {str(Status.SOLVED)!r} is not proven")
    if status in CLAIMS and status is not Status.SOLVED and not any(status in claims for claims in proven):
        raise CertificateError(f"status_ {str(status)!r} is not proven")


def _refuse_others(name: str, claimed: Any, proven: Any, agreement: float) -> None:
    values = np.ravel(claimed)
    if values.size != len(proven) or not np.allclose(values, proven, rtol=agreement, atol=0.0):
        raise CertificateError(f"{name} {values.tolist()!r} is not {np.ravel(proven).tolist()!r}")


def _agreement(proof: Any) -> float:
    """The relative difference allowed between two correct computations: margins agree up to a share of R."""
    if isinstance(proof, MarginBracket) and proof.lower != 0.0 and math.isfinite(proof.lower):
        return 2.0 * (AGREEMENT + MARGIN_ROUNDING * (proof.radius / abs(proof.lower)))
    return AGREEMENT
