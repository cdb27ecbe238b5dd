"""Certificates of models that other programs fitted: those of scikit-learn, and linear ones of its interface.

A model is translated into the problem that it solves, with its vectors; certificates are then measured as for the
package's own models. Where a model keeps no duals, they are recovered from its hyperplane.
"""

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any, NoReturn

import numpy as np

from maxmargin.certificates import (
    Certificate,
    PerClass,
    PerPair,
    PerTarget,
    measure_kernel_gap,
    measure_lasso_gap,
    measure_logistic_gap,
    measure_multiclass_gap,
    measure_multinomial_gap,
    measure_nu_gap,
    measure_ridge_gap,
    measure_sparse_gap,
    measure_sparse_multinomial_gap,
)
from maxmargin.certificates.recovered_duals import recovered_multiclass_duals
from maxmargin.data import (
    ClassPairs,
    Dataset,
    LabelledPoints,
    Points,
    TargetColumns,
    as_dense,
    validate_one_class,
    validate_targets,
    validate_training_data,
)
from maxmargin.estimators._coefficients import bracket_of_hyperplane, measure_svm
from maxmargin.estimators._kernels import make_kernel
from maxmargin.estimators._shared import plain, proof_or_per_class, refuse_other_rows
from maxmargin.estimators.nu_svc import nu_pair_proofs
from maxmargin.problems.crammer_singer import CrammerSingerProblem
from maxmargin.problems.hard_margin import HardMarginProblem
from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.problems.linear_svm import LOSSES, REGRESSION_LOSSES, hinge, weights_of
from maxmargin.problems.logistic import LogisticProblem
from maxmargin.problems.multinomial import MultinomialProblem
from maxmargin.problems.nu_svm import NuPairProblems, Offsets, one_class
from maxmargin.problems.sparse_linear import SparseLinearProblem
from maxmargin.problems.sparse_multinomial import SparseMultinomialProblem
from maxmargin.problems.squared_errors import LassoProblem, RidgeProblem, SquaredErrors

# Measure the certificate of one task, given its data and its number.
MeasureTask = Callable[[Dataset, int], Certificate]


def certify_foreign(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Certificate | PerClass:
    """Certify a fitted model of scikit-learn, or of a program with the same names of parameters and attributes."""
    for base in type(model).__mro__:
        if base.__name__ in _CERTIFIERS:
            return _CERTIFIERS[base.__name__](model, X, y, sample_weight)
        if base.__name__ in _NOT_COVERED:
            _refuse(model, _NOT_COVERED[base.__name__])
    if hasattr(model, "steps"):
        _refuse(model, "certify its last step, on the data that the steps before it return")
    if all(hasattr(model, name) for name in ("coef_", "intercept_", "classes_")):
        return _certify_hyperplanes(model, X, y, sample_weight)
    raise TypeError(
        f"estimator must be a linear or kernel model, or (coef, intercept, dual); got {type(model).__name__}."
    )


def _refuse(model: Any, why: str) -> NoReturn:
    raise TypeError(f"certify does not cover this {type(model).__name__} estimator: {why}.")


def _labelled(model: Any, X: Any, y: Any, sample_weight: Any) -> LabelledPoints:
    class_weight = getattr(model, "class_weight", None)
    if class_weight is not None and hasattr(model, "class_weight_"):
        class_weight = dict(zip(model.classes_, model.class_weight_, strict=True))
    return validate_training_data(
        model, X, y, sample_weight=sample_weight, class_weight=class_weight, classes=model.classes_, reset=False
    )


def _per_task(labelled: LabelledPoints, measure: MeasureTask) -> Certificate | PerClass:
    """One certificate for two classes, or one for each class against the rest."""
    return proof_or_per_class(labelled.classes, [measure(data, task) for task, data in enumerate(labelled.tasks())])


def _hyperplanes(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """One row of coefficients and one intercept per task, in double precision."""
    coef = as_dense(model.coef_)
    coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    return coef, np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64).ravel(), (coef.shape[0],))


def _liblinear_intercept_penalty(model: Any) -> float:
    """LIBLINEAR's intercept is the coefficient of a column of constants, and penalised with the others."""
    return float(model.intercept_scaling) ** -2.0 if model.fit_intercept else math.inf


def _certify_linear_svc(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate | PerClass:
    labelled, penalty = _labelled(model, X, y, sample_weight), _liblinear_intercept_penalty(model)
    coef, intercept = _hyperplanes(model)
    C, joint = float(model.C), model.multi_class == "crammer_singer"
    weights = weights_of(labelled.points, labelled.weights)
    if joint and len(labelled.classes) > 2:
        problem = CrammerSingerProblem(labelled.points, labelled.codes, weights, len(labelled.classes), C, penalty)
        duals = recovered_multiclass_duals(problem, coef, intercept)
        return measure_multiclass_gap(problem, coef, intercept, duals)
    of_rest = weights
    if len(labelled.classes) > 2 and model.class_weight is not None:
        # LIBLINEAR weights a class where it stands against the rest, and not where it is of the rest.
        plain = validate_training_data(model, X, y, sample_weight=sample_weight, classes=model.classes_, reset=False)
        of_rest = weights_of(plain.points, plain.weights)
    # Crammer and Singer's problem of two classes is half the two-class problem with 2C and the hinge loss, whatever
    # penalty is named.
    name, C = ("hinge", 2.0 * C) if joint else (model.loss, C)
    is_sparse = model.penalty == "l1" and not joint

    def measure(dataset: Dataset, task: int) -> Certificate:
        points, signs, w, b = dataset.points, dataset.signs, coef[task], float(intercept[task])
        of_task = np.where(signs > 0.0, weights, of_rest)
        if is_sparse:
            points, w, b = _with_intercept_column(model, points, w, b)
            return measure_sparse_gap(
                SparseLinearProblem.of(points, signs, of_task, name, C, fit_intercept=False), w, b
            )
        return measure_svm(points, LOSSES[name](signs, of_task, C), penalty, w, b)

    return _per_task(labelled, measure)


def _with_intercept_column(model: Any, points: Points, w: np.ndarray, b: float) -> tuple[Points, np.ndarray, float]:
    """Points and vectors of a model whose intercept, if there is one, is the coefficient of a column of constants."""
    if not model.fit_intercept:
        return points, w, 0.0
    scaling = float(model.intercept_scaling)
    return points.with_column(scaling), np.append(w, b / scaling), 0.0


def _certify_linear_svr(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    data = validate_targets(model, X, y, sample_weight=sample_weight, reset=False)
    weights = weights_of(data.points, data.weights)
    loss = REGRESSION_LOSSES[model.loss](data.targets, weights, float(model.C), float(model.epsilon))
    coef, intercept = _hyperplanes(model)
    return measure_svm(data.points, loss, _liblinear_intercept_penalty(model), coef[0], float(intercept[0]))


def _certify_svc(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate | PerClass:
    labelled = _labelled(model, X, y, sample_weight)
    points, codes, classes = labelled.points, labelled.codes, labelled.classes
    kernel, weights = make_kernel(model, points), weights_of(points, labelled.weights)
    duals = _on_all_rows(model, points.n_rows)
    intercept = np.asarray(model.intercept_, dtype=np.float64)

    def measure(rows: np.ndarray, signs: np.ndarray, beta: np.ndarray, b: float) -> Certificate:
        matrix = points.matrix[rows]
        chosen = Points(matrix if kernel is not None else np.ascontiguousarray(matrix[:, rows]))
        loss = hinge(signs, weights[rows], float(model.C))
        return measure_kernel_gap(KernelSVMProblem(chosen, kernel, loss), beta, b)

    if len(classes) == 2:
        signs = np.where(codes == 1, 1.0, -1.0)
        return measure(np.arange(points.n_rows), signs, duals[0], float(intercept[0]))
    proofs = {}
    for pair, (first, second) in enumerate(combinations(range(len(classes)), 2)):
        rows = np.flatnonzero((codes == first) | (codes == second))
        positive = codes[rows] == first
        # LIBSVM's layout: the duals of a row against class k are in row k, or k - 1 for classes after its own.
        beta = np.where(positive, duals[second - 1, rows], duals[first, rows])
        proof = measure(rows, np.where(positive, 1.0, -1.0), beta, float(intercept[pair]))
        proofs[plain(classes[first]), plain(classes[second])] = proof
    return PerPair(proofs)


def _certify_svr(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    data = validate_targets(model, X, y, sample_weight=sample_weight, reset=False)
    weights = weights_of(data.points, data.weights)
    loss = REGRESSION_LOSSES["epsilon_insensitive"](data.targets, weights, float(model.C), float(model.epsilon))
    problem = KernelSVMProblem(data.points, make_kernel(model, data.points), loss)
    return measure_kernel_gap(problem, _on_all_rows(model, data.points.n_rows)[0], float(model.intercept_[0]))


def _certify_nu_svc(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate | PerClass:
    # scikit-learn's NuSVC ignores its class_weight.
    labelled = validate_training_data(model, X, y, sample_weight=sample_weight, classes=model.classes_, reset=False)
    duals, pairs = _on_all_rows(model, labelled.points.n_rows), ClassPairs(labelled)
    problems = NuPairProblems(pairs, make_kernel(model, labelled.points), float(model.nu))
    n_classes, betas = len(labelled.classes), [duals[0]]
    if n_classes > 2:
        betas = [
            np.concatenate([duals[second - 1, pairs.rows_of_class[first]], duals[first, pairs.rows_of_class[second]]])
            for first, second in pairs.pairs
        ]
    proofs = nu_pair_proofs(problems, betas, np.asarray(model.intercept_, dtype=np.float64))
    if n_classes == 2:
        return proofs[0]
    names = [(plain(labelled.classes[first]), plain(labelled.classes[second])) for first, second in pairs.pairs]
    return PerPair(dict(zip(names, proofs, strict=True)))


def _certify_one_class_svm(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:  # noqa: ARG001
    data = validate_one_class(model, X, sample_weight=sample_weight, reset=False)
    weights = weights_of(data.points, data.weights)
    problem = one_class(data.points, make_kernel(model, data.points), weights, float(model.nu), None)
    above = float(model.intercept_[0])
    return measure_nu_gap(problem, _on_all_rows(model, data.points.n_rows)[0], Offsets(above, above))


def _on_all_rows(model: Any, n_rows: int) -> np.ndarray:
    """The duals of a LIBSVM model, with zeros for the rows that are not in its support."""
    refuse_other_rows(n_rows, model.shape_fit_[0])
    dual_coef = as_dense(model.dual_coef_)
    duals = np.zeros((dual_coef.shape[0], n_rows))
    duals[:, model.support_] = dual_coef
    return duals


def _certify_logistic(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    # "elasticnet" with an l1_ratio of zero is the same as "l2".
    penalty = getattr(model, "penalty", "deprecated")
    # LogisticRegressionCV keeps the one that it chose.
    ratio = float(np.ravel(getattr(model, "l1_ratio_", getattr(model, "l1_ratio", None) or 0.0))[0] or 0.0)
    ratio = {"l1": 1.0, "l2": 0.0, None: 0.0}.get(penalty, ratio)
    labelled = _labelled(model, X, y, sample_weight)
    coef, intercept = _hyperplanes(model)
    C = math.inf if penalty is None else float(np.ravel(getattr(model, "C_", getattr(model, "C", 1.0)))[0])
    if len(model.classes_) > 2:
        weights = weights_of(labelled.points, labelled.weights)
        sizes = len(model.classes_), C, bool(model.fit_intercept)
        joint = MultinomialProblem(labelled.points, labelled.codes, weights, *sizes)
        if ratio > 0.0:
            of_ratio = SparseMultinomialProblem(joint, ratio, 1.0 - ratio)
            return measure_sparse_multinomial_gap(of_ratio, coef, np.array(intercept))
        return measure_multinomial_gap(joint, coef, np.array(intercept))
    dataset = next(labelled.tasks())
    points, w, b, has_intercept = dataset.points, coef[0], float(intercept[0]), bool(model.fit_intercept)
    if has_intercept and model.solver == "liblinear":
        points, w, b = _with_intercept_column(model, points, w, b)
        has_intercept = False
    weights = weights_of(points, dataset.weights)
    if ratio > 0.0:
        penalties = {"l1": ratio, "l2": 1.0 - ratio}
        sparse = SparseLinearProblem.of(
            points, dataset.signs, weights, "logistic", C, fit_intercept=has_intercept, **penalties
        )
        return measure_sparse_gap(sparse, w, b)
    return measure_logistic_gap(LogisticProblem(points, dataset.signs, weights, C, has_intercept), w, b)


def _certify_ridge(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate | PerClass:
    return _certify_squared_errors(model, X, y, sample_weight, None)


def _certify_lasso(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate | PerClass:
    ratio = float(getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 1.0)))
    return _certify_squared_errors(model, X, y, sample_weight, ratio)


def _certify_squared_errors(
    model: Any, X: Any, y: Any, sample_weight: Any, l1_ratio: float | None
) -> Certificate | PerClass:
    """One certificate for each target, or that of the only one; without ``l1_ratio`` of a ridge regression."""
    data: Any = validate_targets(model, X, y, sample_weight=sample_weight, reset=False, several=True)
    tasks = list(data.tasks()) if isinstance(data, TargetColumns) else [data]
    coef, intercept = _hyperplanes(model)
    if len(coef) != len(tasks):
        _refuse(model, f"it has {len(coef)} targets, and y has {len(tasks)}")
    # Of all targets, or one for each; none for least squares.
    alphas = np.broadcast_to(np.ravel(getattr(model, "alpha_", getattr(model, "alpha", 0.0))), len(tasks))
    positive = bool(getattr(model, "positive", False))
    if positive and not alphas.all():
        _refuse(model, "positive=True without a penalty is another problem; with alpha > 0 it is covered")
    proofs: list[Certificate] = []
    for k, task in enumerate(tasks):
        errors, lam = SquaredErrors.of(task, bool(model.fit_intercept)), float(alphas[k])
        vectors = coef[k], float(intercept[k])
        if not positive and (l1_ratio is None or lam == 0.0):
            proofs.append(measure_ridge_gap(RidgeProblem(errors, lam), *vectors))
            continue
        # scikit-learn divides the squared errors by twice the number, or total weight, of the rows.
        penalties = (0.0, lam)
        if l1_ratio is not None:
            penalties = l1_ratio * lam * errors.total_weight, (1.0 - l1_ratio) * lam * errors.total_weight
        proofs.append(measure_lasso_gap(LassoProblem(errors, *penalties, positive), *vectors))
    return proofs[0] if len(proofs) == 1 else PerTarget(dict(enumerate(proofs)))


def _certify_hyperplanes(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate | PerClass:
    """Bracket the largest margin by the hyperplanes of any linear classifier."""
    labelled = _labelled(model, X, y, sample_weight)
    coef, intercept = _hyperplanes(model)
    if coef.shape != (labelled.n_tasks, labelled.points.n_columns):
        _refuse(model, f"its coef_ has shape {coef.shape}, not one row for each class against the rest")
    has_intercept = bool(getattr(model, "fit_intercept", True))
    return _per_task(
        labelled,
        lambda dataset, task: bracket_of_hyperplane(
            HardMarginProblem(dataset, has_intercept), coef[task], float(intercept[task])
        ),
    )


_CERTIFIERS: dict[str, Callable[[Any, Any, Any, Any], Certificate | PerClass]] = {
    "SVC": _certify_svc,
    "SVR": _certify_svr,
    "NuSVC": _certify_nu_svc,
    "OneClassSVM": _certify_one_class_svm,
    "LinearSVC": _certify_linear_svc,
    "LinearSVR": _certify_linear_svr,
    "LogisticRegression": _certify_logistic,
    "Ridge": _certify_ridge,
    "RidgeCV": _certify_ridge,
    "LinearRegression": _certify_ridge,
    "Lasso": _certify_lasso,
    "ElasticNet": _certify_lasso,
    "ElasticNetCV": _certify_lasso,
    "LassoCV": _certify_lasso,
}
_NOT_COVERED = {
    "NuSVR": "it keeps no epsilon; maxmargin.NuSVR does",
    "MultiTaskLasso": "its penalty joins the targets; Lasso, which has one for each, is covered",
    "MultiTaskElasticNet": "its penalty joins the targets; ElasticNet, which has one for each, is covered",
    "SGDOneClassSVM": "it keeps no duals; OneClassSVM is covered",
}
