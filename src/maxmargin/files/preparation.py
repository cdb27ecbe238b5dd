"""What is done to the rows of a file before they reach a model: the columns of a table, and scaling.

A model that was trained on a file keeps it as ``preparation_``; :func:`maxmargin.files.read_data` with ``like=model``
repeats it on new rows, and model files store it.
"""

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.files.columns import KINDS, Column

STANDARD, MINMAX, MAXABS = "standard", "minmax", "maxabs"
SCALINGS = (STANDARD, MINMAX, MAXABS)
# Share of a column's size by which two computations of its scaling may differ.
AGREEMENT = 1e-9


@dataclass(frozen=True)
class Scaling:
    """Columns as (x - shift) / width.

    Attributes
    ----------
    kind : {"standard", "minmax", "maxabs"}
        Zero mean and unit variance (sparse rows are not centred); from 0 to 1; at most 1 in absolute value.
    shift, width : ndarray of shape (d,)
    """

    kind: str
    shift: np.ndarray
    width: np.ndarray

    @classmethod
    def of(cls, X: Any, kind: str) -> "Scaling":
        """The scaling of training rows; constant columns are only shifted."""
        from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

        if kind not in SCALINGS:
            raise ValueError(f"scale must be one of {', '.join(SCALINGS)}; it is {kind!r}.")
        is_sparse = sp.issparse(X)
        if kind == STANDARD:
            mean, variance = mean_variance_axis(X, axis=0) if is_sparse else (X.mean(axis=0), X.var(axis=0))
            # A constant column has a variance of rounding errors.
            width = np.sqrt(np.where(variance > 1e-20 * np.square(mean), variance, 0.0))
            shift = np.zeros(X.shape[1]) if is_sparse else mean
        elif kind == MINMAX:
            if is_sparse:
                raise ValueError("scale must be standard or maxabs for sparse rows: minmax would fill in their zeros.")
            shift = X.min(axis=0)
            width = X.max(axis=0) - shift
        else:
            least, most = min_max_axis(X, axis=0) if is_sparse else (X.min(axis=0), X.max(axis=0))
            shift, width = np.zeros(X.shape[1]), np.maximum(np.abs(least), np.abs(most))
        return cls(kind, shift.astype(np.float64), np.where(width > 0.0, width, 1.0).astype(np.float64))

    def is_of(self, X: Any) -> bool:
        """Whether rows that are not scaled yet have this scaling, up to rounding."""
        found = Scaling.of(X, self.kind)
        allowed = AGREEMENT * (np.abs(found.shift) + found.width)
        return all((np.abs(a - b) <= allowed).all() for a, b in ((self.shift, found.shift), (self.width, found.width)))

    def __call__(self, X: Any) -> Any:
        """Scaled rows."""
        if sp.issparse(X):
            scaled = sp.csr_matrix(X, copy=True)
            scaled.data = scaled.data / self.width[scaled.indices]
            return scaled
        return (X - self.shift) / self.width


@dataclass(frozen=True)
class Preparation:
    """What is done to rows of a file before they reach a model.

    Attributes
    ----------
    columns : tuple of Column or None
        The columns of a table, in the order of X; None for other files.
    target : str or None
        The column that is predicted.
    scaling : Scaling or None
    id : str or None
        The column that names the rows.

    See Also
    --------
    TableOptions : The options from which it is made.
    read_data : Reads new rows by it, with ``like=model``.
    """

    columns: tuple[Column, ...] | None = None
    target: str | None = None
    scaling: Scaling | None = None
    id: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether X is what the file holds, with categories as indicators."""
        return self.scaling is None and all(column.is_plain for column in self.columns or ())

    def plain(self) -> dict[str, Any]:
        """As plain values, for a file."""
        scaling = self.scaling
        return {
            "columns": None if self.columns is None else [asdict(column) for column in self.columns],
            "target": self.target,
            "scaling": None
            if scaling is None
            else {"kind": scaling.kind, "shift": scaling.shift.tolist(), "width": scaling.width.tolist()},
            **({} if self.id is None else {"id": self.id}),
        }


def read_preparation(stored: Any, n_features: int) -> Preparation:
    """The inverse of :meth:`Preparation.plain`; ValueError where a value does not fit."""
    if not isinstance(stored, dict) or set(stored) - {"id"} != {"columns", "target", "scaling"}:
        raise ValueError("its preparation is not an object of columns, target and scaling")
    target, id_column = stored["target"], stored.get("id")
    for what, name in (("target", target), ("id", id_column)):
        if name is not None and not isinstance(name, str):
            raise ValueError(f"the {what} of its preparation is not a name")
    columns = stored["columns"]
    if columns is not None:
        if not isinstance(columns, list):
            raise ValueError("the columns of its preparation are not a list")
        columns = tuple(map(_read_column, columns))
        if sum(len(column.features) for column in columns) != n_features:
            raise ValueError("its columns are not those of the model")
    scaling = stored["scaling"]
    scaling = None if scaling is None else _read_scaling(scaling, n_features)
    return Preparation(columns, target, scaling, id_column)


def _read_column(stored: Any) -> Column:
    names = {field.name for field in fields(Column)}
    if not isinstance(stored, dict) or set(stored) != names:
        raise ValueError("a column of its preparation is not described")
    values, fill, count = stored["values"], stored["fill"], stored["n_missing"]
    texts = (stored["name"], stored["note"], *(values if isinstance(values, list) else [None]))
    number = isinstance(count, int) and not isinstance(count, bool) and count >= 0
    filled = fill is None or isinstance(fill, str if stored["kind"] == "category" else float)
    if stored["kind"] not in KINDS or not all(isinstance(text, str) for text in texts) or not number or not filled:
        raise ValueError(f"the column {stored['name']!r} of its preparation is not described")
    return Column(**{**stored, "values": tuple(values)})


def _read_scaling(stored: Any, n_features: int) -> Scaling:
    if not isinstance(stored, dict) or set(stored) != {"kind", "shift", "width"} or stored["kind"] not in SCALINGS:
        raise ValueError("the scaling of its preparation is not described")
    shift, width = (np.array(stored[name], dtype=np.float64) for name in ("shift", "width"))
    if shift.shape != (n_features,) or width.shape != (n_features,) or not np.isfinite(shift).all():
        raise ValueError("the scaling of its preparation is not that of the columns")
    if not (np.isfinite(width) & (width > 0.0)).all():
        raise ValueError("the scaling of its preparation has a width that is not positive")
    return Scaling(stored["kind"], shift, width)
