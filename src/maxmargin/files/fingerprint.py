"""What a model file says of its data: hashes of the rows, the targets and the weights, and sums of the model's scores.

See docs/proof-format.md, "What identifies the data". The hashes do not depend on how the rows are stored: dense, sparse
with or without explicit zeros, in float32 or float64.
"""

import hashlib
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.certificates.ridge_gap import NO_SPREAD
from maxmargin.certificates.squared_errors import spreads_between
from maxmargin.data import Points, as_dense, centred_and_scaled, scikit_learn
from maxmargin.data.blocks import BLOCK_ENTRIES, row_blocks
from maxmargin.data.scikit_learn import is_classifier
from maxmargin.files.problem import problem_of
from maxmargin.problems.exact_arithmetic import meeting_weights
from maxmargin.problems.hard_margin import HardMarginProblem
from maxmargin.problems.kernels import power

# Rows over which the scores of a kernel model are summed: each takes a kernel value for every support vector.
ROWS_OF_KERNEL_SUMS = 1000
# Relative difference allowed between two correct computations of a sum of scores.
SUM_AGREEMENT = 2.0**-36
# Products below this have lost their digits.
UNDERFLOW = 2.0**-1000
HASH = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class ScoreSums:
    """Weighted sums of scores, sum_i (1 + i mod 3) f(x_i) over the first rows from i = 0, one for each task.

    The objective near its optimum changes to second order only when a coefficient is changed; these sums change to
    first order.
    """

    rows: int
    sums: list[float]


@dataclass(frozen=True)
class Fingerprint:
    """What identifies the data of a fit.

    Attributes
    ----------
    rows, columns : int
    X, y : str
        SHA-256 of the rows; of the codes of the labels, or of the targets.
    weights : str or None
        SHA-256 of the sample weights; None where there were none.
    class_factors : list of float or None
        The factor of each class on the weights; None where there is no class weight.
    scores : ScoreSums
    """

    rows: int
    columns: int
    X: str
    y: str
    weights: str | None
    class_factors: list[float] | None
    scores: ScoreSums

    def plain(self) -> dict[str, Any]:
        """The values that a file holds."""
        return asdict(self)

    def differences(self, other: "Fingerprint") -> list[str]:
        """What of the data is not the same, in words; empty where they are the same."""
        if (self.rows, self.columns) != (other.rows, other.columns):
            return [f"{other.rows:,} rows of {other.columns:,} columns instead of {self.rows:,} of {self.columns:,}"]
        words = {"X": "other rows", "y": "other targets, or in another order", "weights": "other weights"}
        found = [text for name, text in words.items() if getattr(self, name) != getattr(other, name)]
        if self.class_factors != other.class_factors and not found:
            found.append("other class weights")
        return found


def fingerprint_of(model: Any, data: Any, sample_weight: Any) -> Fingerprint:
    """The fingerprint of checked data and of a model's scores on them."""
    n_rows, n_columns = data.points.n_rows, data.points.n_columns
    factors = None
    given = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64).ravel()
    if getattr(model, "class_weight", None) is not None:
        ones = np.ones(n_rows) if given is None else given
        factors = scikit_learn.compute_class_weight(
            model.class_weight,
            classes=data.classes,
            y=data.labels(),
            sample_weight=None if model._balances_rows else ones,
        ).tolist()
    targets = data.codes.astype("<u8") if is_classifier(model) else data.targets.astype("<f8") + 0.0
    return Fingerprint(
        rows=n_rows,
        columns=n_columns,
        X=hash_of_rows(data.points.matrix),
        y=hash_of([targets]),
        weights=None if given is None else hash_of([given.astype("<f8") + 0.0]),
        class_factors=factors,
        scores=score_sums(model, data.points),
    )


def hash_of_rows(matrix: Any) -> str:
    """SHA-256 of n, d, the numbers of nonzero entries of all rows, their columns and their values."""
    return hash_of(_stream_of(matrix))


def _stream_of(matrix: Any) -> Iterator[np.ndarray]:
    n_rows, n_columns = matrix.shape
    yield np.array([n_rows, n_columns], dtype="<u8")
    if sp.issparse(matrix):
        # In pieces: the arrays may be mapped from a disk, and larger than memory.
        for rows in row_blocks(n_rows, matrix.nnz / max(1, n_rows)):
            offsets = np.asarray(matrix.indptr[rows.start : rows.stop + 1], dtype=np.int64)
            used = np.append(0, np.cumsum(matrix.data[offsets[0] : offsets[-1]] != 0.0))
            yield np.diff(used[offsets - offsets[0]]).astype("<u8")
        for array, dtype in ((matrix.indices, "<u8"), (matrix.data, "<f8")):
            for start in range(0, matrix.nnz, BLOCK_ENTRIES):
                piece = slice(start, start + BLOCK_ENTRIES)
                yield array[piece][matrix.data[piece] != 0.0].astype(dtype)
        return
    blocks = list(row_blocks(n_rows, n_columns))
    full = [bool(np.all(matrix[rows])) for rows in blocks]
    for rows in blocks:
        yield np.count_nonzero(matrix[rows], axis=1).astype("<u8")
    for rows, is_full in zip(blocks, full, strict=True):
        block = matrix[rows]
        # Most dense blocks have no zero, and need no list of places.
        yield (np.tile(np.arange(n_columns), len(block)) if is_full else np.nonzero(block)[1]).astype("<u8")
    for rows, is_full in zip(blocks, full, strict=True):
        block = matrix[rows]
        yield (block.ravel() if is_full else block[block != 0.0]).astype("<f8")


def hash_of(arrays: Iterable[np.ndarray]) -> str:
    """SHA-256 of the bytes of arrays, one after the other."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def score_sums(model: Any, points: Points) -> ScoreSums:
    """Sums of the model's scores, over all rows; of a kernel model over a limited number."""
    scores = scores_of(model, points)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.sum(_factors(len(scores))[:, None] * scores, axis=0)
    return ScoreSums(len(scores), sums.tolist())


def _factors(n_rows: int) -> np.ndarray:
    """The weights of the rows: not all equal, or centred columns would not count; not of sum zero, or b would not."""
    return 1.0 + np.arange(n_rows) % 3


def scores_of(model: Any, points: Points) -> np.ndarray:
    """f(x) of every task at the first rows, of shape (rows, tasks)."""
    if not hasattr(model, "support_vectors_"):
        return points.scores(np.atleast_2d(model.coef_).T) + model.intercept_
    return model._scores_of_points(Points(points.matrix[:ROWS_OF_KERNEL_SUMS]))


def sum_tolerances(model: Any, points: Points, rows: int) -> np.ndarray:
    """How far two correct computations of the sums of scores may differ, one for each task."""
    intercepts, factors = np.abs(np.ravel(model.intercept_)), _factors(rows)
    if not hasattr(model, "support_vectors_"):
        sizes = np.array([factors @ points.absolute_scores(w) for w in np.atleast_2d(model.coef_)])
        return SUM_AGREEMENT * (sizes + factors.sum() * intercepts) + UNDERFLOW
    totals = np.abs(model._task_coefficients()).sum(axis=0)
    return SUM_AGREEMENT * factors.sum() * (intercepts + largest_kernel_value(model, points) * totals) + UNDERFLOW


def largest_kernel_value(model: Any, points: Points) -> float:
    """A size to which the rounding errors of kernel values are relative."""
    kernel, square = model._kernel, points.largest_norm**2
    if kernel is None:
        return float(np.abs(as_dense(points.matrix)).max(initial=0.0))
    gamma, coef0 = getattr(kernel, "gamma", 1.0), abs(getattr(kernel, "coef0", 0.0))
    if hasattr(kernel, "degree"):
        return power(gamma * square + coef0, kernel.degree)
    return float(square if model.kernel == "linear" else 1.0 + gamma * square + coef0)


def hull_witnesses(model: Any, data: Any) -> dict[str, Any]:
    """What proves that hulls meet, the entry ``hulls`` of a file's data: for each task None, or rows and integers."""
    if getattr(model, "hull_weights_", None) is None or not hasattr(model, "certificate_"):
        return {}
    found: list[Any] = []
    for problem, weights in zip(model._problems(model._tasks(data)), model.hull_weights_, strict=True):
        hard = HardMarginProblem(problem.dataset, model.fit_intercept)
        integers = meeting_weights(hard, weights) if weights.any() else None
        # Hexadecimal: Python reads no decimal numbers of more than 4,300 digits.
        found.append(None if integers is None else [[row, f"{value:x}"] for row, value in integers.items()])
    return {"hulls": found} if any(found) else {}


def read_fingerprint(stored: Any) -> Fingerprint | None:
    """The fingerprint of a file's decoded values; ValueError where they are none."""
    if stored is None:
        return None
    if isinstance(stored, dict) and "hulls" in stored:
        # Information for other programs: ``verify`` proves anew that hulls meet.
        stored = {name: value for name, value in stored.items() if name != "hulls"}
    if not isinstance(stored, dict) or set(stored) != set(Fingerprint.__dataclass_fields__):
        raise ValueError("its data have other entries than they should")
    scores = stored["scores"]
    if not isinstance(scores, dict) or set(scores) != {"rows", "sums"} or not _are_floats(scores["sums"]):
        raise ValueError("its data have no sums of scores")
    counts = stored["rows"], stored["columns"], scores["rows"]
    if not all(type(count) is int and count >= 0 for count in counts):
        raise ValueError("its data have sizes that are no counts")
    for name in ("X", "y", "weights"):
        text = stored[name]
        if not (isinstance(text, str) and HASH.fullmatch(text)) and not (name == "weights" and text is None):
            raise ValueError(f"its data have no hash of {name}")
    if stored["class_factors"] is not None and not _are_floats(stored["class_factors"]):
        raise ValueError("its data have class factors that are no numbers")
    return Fingerprint(**{**stored, "scores": ScoreSums(**scores)})


def _are_floats(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, float) and math.isfinite(value) for value in values)


def proof_tensors(model: Any, data: Any) -> dict[str, np.ndarray]:
    """Vectors of float64 that a claim depends on: the scales of columns, and the centre behind a radius."""
    name = type(model).__name__
    unpenalised = name == "LogisticRegression" and math.isinf(model._inverse_strength)
    least_squares = problem_of(model) | {"intercept": None} == {"loss": "squared_error", "lam": 0.0, "intercept": None}
    hard = name == "LinearSVC" and math.isinf(model.C) and model.fit_intercept
    if not (unpenalised or least_squares or hard):
        return {}
    problem = model._problem(next(iter(model._tasks(data).tasks())))
    if unpenalised:
        return {"proof.scales": problem.columns.deviations}
    if hard:
        centre = centred_and_scaled(data.points, may_move=True).centre
        return {"proof.centre": centre} if centre.any() else {}
    errors = getattr(problem, "errors", problem).centred
    return {"proof.scales": np.maximum(spreads_between(errors)[0], NO_SPREAD)}
