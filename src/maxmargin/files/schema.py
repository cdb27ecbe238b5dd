"""Schema of model files: for every estimator its fitted attributes with type, shape and range.

The symbols of shapes are ``n`` (rows of the fit), ``d`` (columns of X), ``k`` (decision functions: one for a regression
or for two classes, else one per class), ``n_classes``, ``n_classes - 1``, ``n_pairs``, ``n_support`` and ``n_runs``.
The first attribute that uses a symbol sets its size, and all later ones must agree: attributes are listed in the order
in which they are read. Histories of the fit are not stored, except ``mistakes_per_pass_``: the certificate needs its
length.

``model.py`` writes what this table lists, and ``reader.py`` checks and reads it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import scipy.sparse as sp

from maxmargin import estimators
from maxmargin.data import as_configured
from maxmargin.solvers.perceptron.result import Start

# Types of tensors, as safetensors names them.
FLOATS = ("F64",)
ROUNDED_FLOATS = ("F64", "F32")
INTEGERS = ("I32", "I64")

Shape = tuple[str | int, ...]


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """A fitted attribute; an ``optional`` one may be absent."""

    optional: bool = False


@dataclass(frozen=True, kw_only=True)
class Array(Attribute):
    """Array of finite numbers; with ``or_none`` the attribute may be None instead."""

    shape: Shape
    dtypes: tuple[str, ...] = FLOATS
    or_none: bool = False


@dataclass(frozen=True, kw_only=True)
class Indices(Array):
    """Array of distinct integers from 0 to ``below`` - 1."""

    below: str
    dtypes: tuple[str, ...] = INTEGERS


@dataclass(frozen=True, kw_only=True)
class Counts(Array):
    """Array of non-negative integers; with ``total`` they add up to that size."""

    dtypes: tuple[str, ...] = ("I32",)
    total: str | None = None


class CountsPerTask(Attribute):
    """One array of counts for each of the ``k`` decision functions, of any lengths; not a list where k is one."""


@dataclass(frozen=True, kw_only=True)
class Records(Attribute):
    """List of ``k`` records of one dataclass; every field is an array whose first axis is ``k``."""

    of: type[Any]
    fields: Mapping[str, Array]


@dataclass(frozen=True, kw_only=True)
class SupportVectors(Attribute):
    """Rows, (n_support, d), dense or made sparse by the given function; no rows where the kernel is precomputed."""

    sparse: Callable[[sp.csr_array], Any] = as_configured
    dtypes: tuple[str, ...] = ("F64", "F32")


@dataclass(frozen=True, kw_only=True)
class Count(Attribute):
    """Non-negative integer; it sets the symbol ``size``, or is at most the size ``at_most``."""

    size: str | None = None
    at_most: str | None = None


class Flag(Attribute):
    """Boolean."""


class FitShape(Attribute):
    """The pair (n, d)."""


@dataclass(frozen=True, kw_only=True)
class Numbers(Attribute):
    """One number for each of the ``k`` decision functions: a number where k is one, else a list or an array.

    With ``or_one`` decision functions that were learned jointly may share one number. ``finite`` numbers are neither
    infinite nor below ``at_least``.
    """

    of: type = float
    as_array: bool = False
    or_one: bool = False
    finite: bool = False
    at_least: float = -math.inf


class Names(Attribute):
    """Names of the ``d`` columns."""


class Labels(Attribute):
    """Sorted class labels with their type; they set ``k``, ``n_classes`` and ``n_pairs``."""


class KernelName(Attribute):
    """One of the kernels in ``problem.py`` with its parameters, or None where X is the Gram matrix."""


class StatusName(Attribute):
    """How the fit ended."""


@dataclass(frozen=True, kw_only=True)
class Certificates(Attribute):
    """Certificate of one of these kinds; for three or more classes one per class, or one per pair of classes.

    Kinds are named as their classes; ``joint`` are those that certify all classes at once.
    """

    kinds: tuple[str, ...]
    per_pair: bool = False
    joint: tuple[str, ...] = ()


Attributes = Mapping[str, Attribute]

COLUMNS: Attributes = {"n_features_in_": Count(size="d"), "feature_names_in_": Names(optional=True)}
LINEAR_CLASSIFIER: Attributes = {
    **COLUMNS,
    "classes_": Labels(),
    "coef_": Array(shape=("k", "d")),
    "intercept_": Array(shape=("k",)),
}
# Of models whose coefficients are float32 where X was.
ROUNDED_CLASSIFIER: Attributes = {
    **LINEAR_CLASSIFIER,
    "coef_": Array(shape=("k", "d"), dtypes=ROUNDED_FLOATS),
    "intercept_": Array(shape=("k",), dtypes=ROUNDED_FLOATS),
    "_has_float32_rows": Flag(optional=True),
}
LINEAR_REGRESSION: Attributes = {
    **COLUMNS,
    "coef_": Array(shape=("d",), dtypes=ROUNDED_FLOATS),
    "intercept_": Numbers(finite=True),
    "_has_float32_rows": Flag(optional=True),
    # Older files have none.
    "_dual_point": Array(shape=("n",), optional=True),
}
KERNEL_MACHINE: Attributes = {
    "_n_rows": Count(size="n"),
    "_kernel": KernelName(),
    "support_": Indices(shape=("n_support",), dtypes=("I32",), below="n"),
    "support_vectors_": SupportVectors(),
    "fit_status_": Count(optional=True),
    "shape_fit_": FitShape(optional=True),
}
KERNEL_CLASSIFIER: Attributes = {
    **COLUMNS,
    "classes_": Labels(),
    **KERNEL_MACHINE,
    "_n_support": Counts(shape=("n_classes",), total="n_support"),
    "_duals": Array(shape=("n_classes - 1", "n_support")),
    "_vote_order": Indices(shape=("n_classes",), below="n_classes", optional=True),
    "intercept_": Array(shape=("n_pairs",)),
    "class_weight_": Array(shape=("n_classes",), optional=True),
}
SINGLE_EXPANSION: Attributes = {
    **COLUMNS,
    **KERNEL_MACHINE,
    "_duals": Array(shape=(1, "n_support")),
    "intercept_": Array(shape=(1,)),
}
SUPPORT: Attributes = {"support_": Indices(shape=("n_support",), below="n")}
OBJECTIVE: Attributes = {"objective_": Numbers(optional=True)}


def _end(*kinds: str, per_pair: bool = False, joint: tuple[str, ...] = ()) -> dict[str, Attribute]:
    """How the fit ended. A model that was read from another program's file has no status and no certificate."""
    return {
        "n_iter_": Counts(shape=("n_pairs",), optional=True) if per_pair else Count(optional=True),
        "status_": StatusName(optional=True),
        "certificate_": Certificates(kinds=kinds, per_pair=per_pair, joint=joint, optional=True),
    }


LASSO: Attributes = {
    **LINEAR_REGRESSION,
    "_total_weight": Numbers(finite=True, at_least=0.0, optional=True),
    **OBJECTIVE,
    **_end("LassoGap", "RidgeGap"),
}


@dataclass(frozen=True)
class Entry:
    """An estimator's class and attributes.

    Attributes
    ----------
    name : str
        The name of the class, which is imported when it is first used.
    attributes : mapping from name to Attribute
    one_of : tuple of sets of names
        Of these sets of optional attributes at least one is complete.
    """

    name: str
    attributes: Attributes
    one_of: tuple[frozenset[str], ...] = (frozenset(),)

    @property
    def kind(self) -> type[Any]:
        """The class."""
        return getattr(estimators, self.name)


_ENTRIES = (
    Entry(
        "Perceptron",
        {
            **ROUNDED_CLASSIFIER,
            "coef_init_": Array(shape=("k", "d")),
            "intercept_init_": Array(shape=("k",)),
            "mistakes_per_pass_": CountsPerTask(),
            "n_updates_": Numbers(of=int),
            "_ends": Records(
                of=Start,
                fields={
                    "w": Array(shape=("k", "d")),
                    "intercept": Array(shape=("k",)),
                    "average_w": Array(shape=("k", "d"), optional=True),
                    "average_intercept": Array(shape=("k",)),
                    "seen": Counts(shape=("k",), dtypes=("I64",)),
                },
            ),
            "dual_coef_": Array(shape=("k", "n"), optional=True),
            "hull_weights_": Array(shape=("k", "n"), or_none=True, optional=True),
            "_n_held_out": Count(at_most="n", optional=True),
            "_rows_of_stream": Count(optional=True),
            **_end("MistakeBound", "MarginBracket"),
        },
        # ``fit`` sets the first ones, ``partial_fit`` the last one.
        one_of=(frozenset({"dual_coef_", "hull_weights_", "_n_held_out"}), frozenset({"_rows_of_stream"})),
    ),
    Entry(
        "MarginPerceptron",
        {
            **LINEAR_CLASSIFIER,
            "dual_coef_": Array(shape=("k", "n")),
            "n_updates_": Numbers(of=int),
            "n_rounds_": Numbers(of=int),
            "gamma_guess_": Numbers(),
            "margin_": Numbers(as_array=True, optional=True),
            **_end("MarginBracket"),
        },
    ),
    Entry(
        "KernelPerceptron",
        {
            **COLUMNS,
            "classes_": Labels(),
            "_n_seen": Count(size="n"),
            "_kernel": KernelName(),
            **SUPPORT,
            "support_vectors_": SupportVectors(sparse=sp.csr_array),
            "dual_coef_": Array(shape=("k", "n_support")),
            "intercept_": Array(shape=("k",)),
            "n_updates_": Numbers(of=int),
            "_one_run": Flag(),
            **_end("MistakeBound"),
            "n_iter_": Count(),
        },
    ),
    Entry(
        "LinearSVC",
        {
            **LINEAR_CLASSIFIER,
            "dual_coef_": Array(shape=("k", "n")),
            **SUPPORT,
            "margin_": Numbers(as_array=True, optional=True),
            "objective_": Numbers(or_one=True, optional=True),
            **_end("ClassificationGap", "MarginBracket", "SparseGap", joint=("MulticlassGap",)),
        },
    ),
    Entry(
        "LogisticRegression",
        {
            **ROUNDED_CLASSIFIER,
            "separating_coef_": Array(shape=("k", "d"), optional=True),
            "separating_intercept_": Array(shape=("k",), optional=True),
            # Older files have none.
            "_dual_point": Array(shape=("k", "n"), optional=True),
            "objective_": Numbers(or_one=True, optional=True),
            **_end("LogisticGap", "SparseGap", joint=("MultinomialGap", "SparseGap")),
            "n_iter_": Counts(shape=("n_runs",), optional=True),
        },
    ),
    Entry(
        "LinearSVR",
        {
            **COLUMNS,
            "coef_": Array(shape=("d",)),
            "intercept_": Array(shape=(1,)),
            "dual_coef_": Array(shape=(1, "n")),
            **SUPPORT,
            **OBJECTIVE,
            **_end("RegressionGap"),
        },
    ),
    Entry("SVC", {**KERNEL_CLASSIFIER, **_end("ClassificationGap", "MarginBracket", per_pair=True)}),
    Entry("NuSVC", {**KERNEL_CLASSIFIER, **_end("NuGap", per_pair=True)}),
    Entry(
        "SVR",
        {**SINGLE_EXPANSION, "C_": Numbers(finite=True, at_least=0.0, optional=True), **_end("RegressionGap")},
    ),
    Entry(
        "NuSVR",
        {**SINGLE_EXPANSION, "epsilon_": Numbers(finite=True, at_least=0.0, optional=True), **_end("NuGap")},
    ),
    Entry("OneClassSVM", {**SINGLE_EXPANSION, **_end("NuGap")}),
    Entry("Ridge", {**LINEAR_REGRESSION, **OBJECTIVE, **_end("RidgeGap", "LassoGap")}),
    Entry("Lasso", LASSO),
    Entry("ElasticNet", LASSO),
    Entry(
        "BayesianRegression",
        {
            **LINEAR_REGRESSION,
            "coef_": Array(shape=("d",)),
            "column_means_": Array(shape=("d",)),
            "coef_factor_": Array(shape=("d", "d")),
            "s2_": Numbers(finite=True, at_least=0.0),
            "degrees_of_freedom_": Numbers(finite=True, at_least=0.0),
            "total_weight_": Numbers(finite=True, at_least=0.0),
            **OBJECTIVE,
            **_end("RidgeGap"),
        },
    ),
)

SCHEMA = {entry.name: entry for entry in _ENTRIES}
