"""Check of a model file against data: every claim of the certificate, and everything that a prediction uses.

See docs/proof-format.md. A tensor that a prediction uses is either part of a proven bound (coefficients, duals,
intercepts, the numbers of a kernel) or is compared with the data (support vectors, the posterior). The sums of scores
bind coefficients to the file to first order, where an objective changes to second order only.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.class_weight import compute_class_weight

from maxmargin.certificates import Certificate, CertificateError, MistakeBound, PerClass
from maxmargin.data import Points, as_dense
from maxmargin.data.blas import one_blas_thread
from maxmargin.data.exact_numbers import SMALLEST, UNIT
from maxmargin.data.rows import is_sparse
from maxmargin.estimators.calibration import fit_again
from maxmargin.estimators.certification import certify, check_claims
from maxmargin.files.columns import TableOptions
from maxmargin.files.data_file import DataFile, table_format
from maxmargin.files.fingerprint import UNDERFLOW, ScoreSums, fingerprint_of, proof_tensors, sum_tolerances
from maxmargin.files.model import StoredModel
from maxmargin.files.preparation import Preparation
from maxmargin.problems.crammer_singer import CrammerSingerProblem
from maxmargin.problems.linear_svm import LinearSVMProblem
from maxmargin.problems.nu_svm import NuSVMProblem
from maxmargin.problems.squared_errors import SquaredErrors

# Share of its bound by which a dual may exceed it.
OUTSIDE_BOX = 2.0**-40
# Share of the sum of absolute duals that their sum may have, where it is zero in exact arithmetic.
IMBALANCE = 1e-9
# Share by which numbers of the posterior may differ from those computed anew in float64.
MEAN_AGREEMENT, SQUARES_AGREEMENT, FACTOR_AGREEMENT = 1e-9, 1e-6, 1e-6
# Rounding error of the posterior's factor, in units of the root of its condition number.
FACTOR_ROUNDING = 2.0**-40
# Share of the squares of all terms below which a sum of squared residuals is a rounding error.
NO_RESIDUAL = 1e-24
# Share of the root of the squares of all terms by which the residuals of rounded coefficients may differ.
RESIDUAL_ROUNDING = 2.0**-50
# Share of the sizes of the terms by which a perceptron's coefficients may differ from the sum of its updates.
UPDATE_AGREEMENT = 1e-9
# How far probabilities of curves that are fitted again may differ: the same fits have the same bits, on rows that are
# stored as in the fit; two fits with a gap of tol differ by a share of its root.
PROBABILITY_AGREEMENT, PROBABILITY_SHARE, MOST_DIFFERENCE = 1e-6, 0.25, 0.01
# Entries up to which sparse rows are made dense for that.
MOST_DENSE_ENTRIES = 10_000_000


@dataclass(frozen=True)
class Verdict:
    """Whether data prove what a file claims.

    Attributes
    ----------
    proof : Certificate, PerClass or None
        What is proven; None where the data are not those of the fit.
    why : str or None
        What is not proven; None where all is.
    calibration : str or None
        What was compared of the curves from scores to probabilities, or why nothing was; None where there are none.
    """

    proof: Certificate | PerClass | None
    why: str | None
    calibration: str | None = None

    @property
    def true(self) -> bool:
        """Whether everything that the file claims is proven."""
        return self.why is None


def verify_file(stored: StoredModel, X: Any, y: Any, sample_weight: Any = None) -> Verdict:
    """Compute what data prove of a stored model, and compare it with everything that the file claims.

    Parameters
    ----------
    stored : StoredModel
        With a certificate.
    X, y, sample_weight : the data of the fit

    Returns
    -------
    Verdict
    """
    proof = calibration = None
    data = stored.model._data_to_certify(X, y, sample_weight)
    try:
        # As in the fit, so that the same data give the same bits.
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            check_identity(stored, data, sample_weight)
            proof = certify(stored.model, X, y, sample_weight)
            check_model(stored.model, data, proof)
            if hasattr(stored.model, "calibration_"):
                calibration = check_calibration(stored.model, X, y, data, sample_weight)
    except (CertificateError, OverflowError) as error:
        return Verdict(proof, str(error))
    return Verdict(proof, None, calibration)


def check_preparation(
    preparation: Preparation, rows: DataFile, path: str | Path, table: TableOptions | None = None
) -> str:
    """Prepare the columns anew, from the file; CertificateError where they become others than a model's.

    What the prepared rows do not show is compared, too: the width of a constant column, the order of categories.

    Parameters
    ----------
    preparation : Preparation
        Of the model.
    rows : DataFile
        The rows of the file, prepared but for the scaling.
    path : str or Path
        The file.
    table : TableOptions, optional
        How a table is read.

    Returns
    -------
    str
        What was compared, or why nothing was.
    """
    if preparation.scaling is not None and not preparation.scaling.is_of(rows.X):
        raise CertificateError("preparation: the scaling is not that of the data")
    if preparation.columns is None:
        return "the scaling is that of the data"
    if table_format(path) is None:
        return "not checked: the columns of this file are prepared already, or it can be read only once"
    # Imported here: it loads pyarrow's readers.
    from maxmargin.files.tables import understood_so

    if not understood_so(path, preparation.columns, table):
        raise CertificateError("preparation: the columns are not what the data make of them")
    return "categories, fills and scaling are those of the data"


def check_identity(stored: StoredModel, data: Any, sample_weight: Any) -> None:
    """Raise CertificateError where data are not those that a file identifies.

    Parameters
    ----------
    stored : StoredModel
    data : LabelledPoints or TargetPoints
    sample_weight : ndarray of shape (n,) or None
    """
    claimed = stored.fingerprint
    if claimed is None:
        return
    found = fingerprint_of(stored.model, data, sample_weight)
    different = claimed.differences(found)
    if different:
        raise CertificateError(f"data: the model was fitted to {'; '.join(different)}")
    _check_scores(claimed.scores, found.scores, sum_tolerances(stored.model, data.points, found.scores.rows))
    for name, vector in proof_tensors(stored.model, data).items():
        given = stored.proof_tensors.get(name)
        if given is None or not np.allclose(given, vector, rtol=MEAN_AGREEMENT, atol=0.0):
            raise CertificateError(f"{name} is not that of the data")


def _check_scores(claimed: ScoreSums, found: ScoreSums, allowed: np.ndarray) -> None:
    same = claimed.rows == found.rows and len(claimed.sums) == len(found.sums) and np.isfinite(found.sums).all()
    if not same or not _within(np.subtract(claimed.sums, found.sums), allowed):
        raise CertificateError(f"scores: the sums over {claimed.rows:,} rows {claimed.sums!r} are not {found.sums!r}")


def _within(difference: Any, allowed: Any) -> bool:
    """Whether differences are at most as large as allowed, and zero where that overflows; NaN is refused."""
    return bool((np.abs(difference) <= np.where(np.isfinite(allowed), allowed, 0.0)).all())


def check_model(model: Any, data: Any, proof: Certificate | PerClass) -> None:
    """Raise CertificateError where a model claims more than a proof, or holds vectors that are not of the data.

    Parameters
    ----------
    model : a fitted estimator with a certificate
    data : LabelledPoints or TargetPoints
        The data, checked by the model.
    proof : Certificate or PerClass
        What ``certify`` computed for them.
    """
    problems = model._problems(model._tasks(data))
    check_claims(model, proof, problems)
    if not getattr(model, "fit_intercept", True) and np.any(model.intercept_):
        raise CertificateError("intercept_ is not zero, but fit_intercept is False")
    for k, problem in enumerate(problems):
        if isinstance(problem, LinearSVMProblem):
            _check_box(problem, np.asarray(model.dual_coef_[k]))
        elif isinstance(problem, CrammerSingerProblem):
            _check_multiclass_duals(problem, np.asarray(model.dual_coef_).T)
    if hasattr(model, "class_weight_"):
        weights = compute_class_weight(model.class_weight, classes=data.classes, y=data.labels())
        if not _within(model.class_weight_ - weights, MEAN_AGREEMENT * weights):
            raise CertificateError("class_weight_ is not that of the data")
    if hasattr(model, "support_vectors_"):
        _check_support_vectors(model, data.points)
    if hasattr(model, "_duals"):
        _check_kernel_duals(model, data)
    elif hasattr(model, "support_") and not hasattr(model, "support_vectors_"):
        _check_support(model)
    if hasattr(model, "coef_init_") and hasattr(model, "dual_coef_") and not (model.average or model._is_penalised):
        _check_updates(model, data)
    proofs = list(proof.values()) if isinstance(proof, PerClass) else [proof]
    if hasattr(model, "dual_coef_") and isinstance(proofs[0], MistakeBound):
        _check_mistakes(model, problems)
    if hasattr(model, "coef_factor_"):
        _check_posterior(model, model._problem(data))


def check_calibration(model: Any, X: Any, y: Any, data: Any, sample_weight: Any) -> str:
    """Fit the curves from scores to probabilities again; CertificateError where they give other probabilities.

    Parameters
    ----------
    model : calibrated classifier
    X, y, sample_weight : the data of the fit
    data : LabelledPoints
        The same, checked by the model.

    Returns
    -------
    str
        What was compared, or why nothing was.
    """
    folds = model.calibration_.folds
    if folds is None:
        return "not checked: the file does not name folds that curves can be fitted to again"
    if folds.weighted and sample_weight is None:
        return "not checked: its rows had sample weights, and the fit had none"
    of_fits = PROBABILITY_SHARE * (getattr(model, "tol", None) or 0.0) ** 0.5
    allowed = min(max(PROBABILITY_AGREEMENT, of_fits), MOST_DIFFERENCE)
    difference = np.inf
    for rows in [X] if getattr(model, "kernel", None) == "precomputed" else _ways_to_hold(X):
        with warnings.catch_warnings():
            # Of the fits on folds, which were given at the first time.
            warnings.simplefilter("ignore")
            try:
                found = fit_again(model, rows, y, data, sample_weight)
            except ValueError as error:
                raise CertificateError(f"calibration: the data have no such curves: {error}") from error
        pairs = zip(model.calibration_.curves, found.curves, found.scores, strict=True)
        difference = max(float(np.abs(old(scores) - new(scores)).max(initial=0.0)) for old, new, scores in pairs)
        if difference <= allowed:
            return f"fitted again: probabilities differ by at most {difference:.2g}"
    raise CertificateError(f"calibration: probabilities differ by up to {difference:.2g} from those of the data")


def _ways_to_hold(X: Any) -> Iterator[Any]:
    """Rows as they are, and then dense or sparse: what the fit had may have summed products in another order."""
    yield X
    if sp.issparse(X):
        if X.shape[0] * X.shape[1] <= MOST_DENSE_ENTRIES:
            yield as_dense(X)
    elif isinstance(X, np.ndarray) and X.dtype.kind == "f":
        yield sp.csr_array(X)


def _check_support(model: Any) -> None:
    if not np.array_equal(model.support_, np.flatnonzero(model.dual_coef_.any(axis=0))):
        raise CertificateError("support_ is not the list of rows with a dual")


def _check_support_vectors(model: Any, points: Points) -> None:
    """The support vectors are rows of the data, value by value."""
    if model._kernel is None:
        return
    support = model.support_
    if support.size and int(support.max()) >= points.n_rows:
        raise CertificateError(f"support_ has rows beyond the {points.n_rows:,} of the data")
    if support.size and not _equal(model.support_vectors_, points.matrix[support]):
        raise CertificateError("support_vectors_ are not the rows support_ of the data")


def _equal(one: Any, other: Any) -> bool:
    if one.shape != other.shape:
        return False
    if not sp.issparse(one) and not sp.issparse(other):
        return bool(np.array_equal(one, other))
    return (sp.csr_array(one) != sp.csr_array(other)).nnz == 0


def _check_kernel_duals(model: Any, data: Any) -> None:
    """Duals that predict are dual feasible as they are: the certificate would project others silently."""
    order = getattr(model, "_vote_order", None)
    if order is not None and not np.array_equal(order, np.arange(order.size)):
        raise CertificateError("_vote_order is not that of a fit")
    coefficients = np.zeros((data.points.n_rows, model.intercept_.size))
    coefficients[model.support_] = model._task_coefficients()
    tasks = model._tasks(data)
    for task, (part, problem) in enumerate(zip(tasks.tasks(), model._problems(tasks), strict=True)):
        rows = getattr(part, "rows", None)
        beta = coefficients[:, task] if rows is None else coefficients[rows, task]
        if rows is not None and np.count_nonzero(beta) != np.count_nonzero(coefficients[:, task]):
            raise CertificateError("dual_coef_ has duals of rows that are not of the pair")
        if isinstance(problem, NuSVMProblem):
            _check_nu_duals(problem, beta, scaled=hasattr(model, "classes_"))
            continue
        _check_box(problem.losses, beta)
        if not _within(beta.sum(), IMBALANCE * np.abs(beta).sum()):
            raise CertificateError("dual_coef_ does not sum to zero")


def _check_nu_duals(problem: NuSVMProblem, beta: np.ndarray, *, scaled: bool) -> None:
    """The same of a machine with nu; the duals of a classifier are divided by rho, which follows from their sum."""
    total = float(np.abs(beta).sum())
    if scaled and total > 0.0:
        beta = beta * ((problem.sum_above + problem.sum_below) / total)
    if not _within(np.abs(beta - problem.feasible(beta)).sum(), OUTSIDE_BOX * np.abs(beta).sum()):
        raise CertificateError("dual_coef_ is outside of its box, or has not the sums that nu prescribes")


def _check_box(problem: LinearSVMProblem, beta: np.ndarray) -> None:
    uppers, lowers = problem.uppers(), problem.lowers()
    ends = np.maximum(uppers, -lowers)
    slack = OUTSIDE_BOX * np.where(np.isfinite(ends), ends, np.abs(beta).max(initial=0.0))
    if (beta > uppers + slack).any() or (beta < lowers - slack).any():
        raise CertificateError("dual_coef_ has a dual outside of its box")


def _check_multiclass_duals(problem: CrammerSingerProblem, B: np.ndarray) -> None:
    """Duals of other classes are not positive and sum to at most C in a row; those of a class sum to zero."""
    slack, others = OUTSIDE_BOX * problem.box_bounds(), B.copy()
    others[problem.own] = 0.0
    own = -others.sum(axis=1)
    if (others > slack[:, None]).any() or (own > problem.box_bounds() + slack).any():
        raise CertificateError("dual_coef_ has a dual outside of its box")
    others[problem.own] = own
    # docs/proof-format.md takes what the duals of a class sum to off the dual value.
    if problem.has_free_intercept and not _within(others.sum(axis=0), OUTSIDE_BOX * np.abs(others).sum(axis=0)):
        raise CertificateError("dual_coef_ does not sum to zero")


def _check_updates(model: Any, data: Any) -> None:
    """The coefficients of a perceptron are its start plus the sum of its updates."""
    points, rounding = data.points, 0.0
    if model.coef_.dtype == np.float32:
        # Half a unit in the last place, or of the smallest numbers.
        rounding = float(np.finfo(np.float32).eps)
    for w, b, start, offset, beta in zip(
        model.coef_, model.intercept_, model.coef_init_, model.intercept_init_, model.dual_coef_, strict=True
    ):
        sizes = np.abs(start) + Points(abs(points.matrix)).combination(np.abs(beta))
        if not _within(w - start - points.combination(beta), UPDATE_AGREEMENT * sizes + rounding * np.abs(w)):
            raise CertificateError("coef_ is not the sum of the updates")
        total = float(beta.sum()) if model.fit_intercept else 0.0
        of_intercept = UPDATE_AGREEMENT * (abs(offset) + np.abs(beta).sum()) + rounding * abs(b)
        if not _within(b - offset - total, of_intercept):
            raise CertificateError("intercept_ is not the sum of the updates")


def _check_mistakes(model: Any, problems: Sequence[Any]) -> None:
    """A perceptron made at least the mistakes whose steps are in its duals."""
    for problem, beta, updates in zip(problems, model.dual_coef_, np.atleast_1d(model.n_updates_), strict=True):
        steps = problem.steps if beta.size == problem.steps.size else problem.steps[model.support_]
        # Smaller duals have lost their digits, and steps may be zero where rows have no weight.
        used = np.abs(beta) > UNDERFLOW
        with np.errstate(divide="ignore"):
            shown = float((np.abs(beta[used]) / steps[used]).sum())
        if not shown * (1.0 - UPDATE_AGREEMENT) <= updates:
            raise CertificateError(f"n_updates_ {updates} is less than the {shown:g} mistakes that dual_coef_ shows")


def _check_posterior(model: Any, errors: SquaredErrors) -> None:
    """The posterior of the data, computed anew up to the tolerances of docs/proof-format.md."""
    total, d = errors.total_weight, model.coef_.size
    freedom = total - d - model.fit_intercept
    for name, found in (("total_weight_", total), ("degrees_of_freedom_", freedom)):
        if not _within(getattr(model, name) - found, MEAN_AGREEMENT * total):
            raise CertificateError(f"{name} {getattr(model, name)!r} is not {found!r}")
    rows, ones = errors.points.matrix, np.ones(errors.points.n_rows)
    weights = ones if errors.weights is None else errors.weights
    sizes = Points(abs(rows) if is_sparse(rows) else np.abs(rows)).combination(weights)
    if not _within((model.column_means_ - errors.column_means) * total, MEAN_AGREEMENT * sizes):
        raise CertificateError("column_means_ are not those of the data")
    residuals = errors.centred.residuals(
        model.coef_, errors.centring.intercept_here(model.coef_, float(model.intercept_))
    )
    squares, claimed = float(weights @ np.square(residuals)), model.s2_ * freedom
    of_columns = model.coef_ * np.sqrt(errors.squares_of_columns)
    terms = float(weights @ np.square(errors.targets)) + float(of_columns @ of_columns)
    nothing = model.s2_ == 0.0 and squares <= NO_RESIDUAL * d * terms
    # The intercept is rounded, which shows in the residuals where targets are far from zero.
    rounding = RESIDUAL_ROUNDING * ((d + 1) * terms) ** 0.5
    allowed = SQUARES_AGREEMENT * squares + 2.0 * squares**0.5 * rounding + rounding * rounding + UNDERFLOW
    # s2_ itself may be subnormal.
    allowed += freedom * SMALLEST
    if not nothing and not _within(claimed - squares, allowed):
        raise CertificateError(f"s2_ {model.s2_!r} is not {squares / freedom!r}")
    dense = as_dense(rows).astype(np.float64)
    centred = (dense - errors.column_means) @ model.coef_factor_
    gram = centred.T @ (weights[:, None] * centred)
    # Not the squares of the factor, which may overflow.
    inflation = float(np.linalg.norm(np.sqrt(errors.squared_deviations)[:, None] * model.coef_factor_))
    # Means are rounded, which shows where a column's spread is small beside its mean.
    of_means = total**0.5 * UNIT * float((np.abs(errors.column_means) @ np.abs(model.coef_factor_)).max(initial=0.0))
    allowed = FACTOR_AGREEMENT + FACTOR_ROUNDING * inflation + 4.0 * of_means * of_means
    if not _within(gram - np.eye(d), allowed):
        raise CertificateError("coef_factor_ is not a factor of the inverse of X'X")
