"""What a model file holds of each estimator: attribute by attribute its kind, type and shape.

``d`` are the columns, ``n`` the rows of the fit, ``planes`` one for two classes and else one a class. Attributes stand
in the order in which they are read: those that say what a symbol means come first. Histories of the fit are left out;
``mistakes_per_pass_`` is kept where the certificate needs the number of passes.
"""

from dataclasses import dataclass
from typing import Any

import scipy.sparse as sp

from maxmargin.certificates import (
    ClassificationGap,
    LassoGap,
    LogisticGap,
    MarginBracket,
    MistakeBound,
    MulticlassGap,
    RegressionGap,
    RidgeGap,
)
from maxmargin.estimators import (
    SVC,
    SVR,
    BayesianRegression,
    KernelPerceptron,
    Lasso,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    MarginPerceptron,
    Perceptron,
    Ridge,
)
from maxmargin.files.attributes import (
    INDICES,
    Array,
    Attribute,
    Count,
    FitShape,
    Flag,
    KernelAttribute,
    Labels,
    Names,
    OneAPlane,
    Passes,
    Places,
    Proof,
    Starts,
    StatusAttribute,
    SupportRows,
    Tallies,
)

COLUMNS: dict[str, Attribute] = {"n_features_in_": Count(size="d"), "feature_names_in_": Names(optional=True)}
PLANES: dict[str, Attribute] = {
    **COLUMNS,
    "classes_": Labels(),
    "coef_": Array(shape=("planes", "d")),
    "intercept_": Array(shape=("planes",)),
}
# A model that was read from another package's file has no rows, and nothing is proven of it.
ENDED: dict[str, Attribute] = {"n_iter_": Count(optional=True), "status_": StatusAttribute(optional=True)}
OF_KERNEL_MACHINES: dict[str, Attribute] = {
    "_n_rows": Count(size="n"),
    "_kernel": KernelAttribute(),
    "support_": Places(shape=("n_support",), dtypes=("I32",), below="n"),
    "support_vectors_": SupportRows(),
    "fit_status_": Count(optional=True),
    "shape_fit_": FitShape(optional=True),
}
OF_LINEAR_REGRESSIONS: dict[str, Attribute] = {
    **COLUMNS,
    "coef_": Array(shape=("d",)),
    "intercept_": OneAPlane(finite=True),
}


@dataclass(frozen=True)
class Entry:
    """A class, its attributes, and sets of optional ones of which at least one set has to be complete."""

    kind: type[Any]
    attributes: dict[str, Attribute]
    one_of: tuple[frozenset[str], ...] = (frozenset(),)


ENTRIES = (
    Entry(
        Perceptron,
        {
            **PLANES,
            "coef_init_": Array(shape=("planes", "d")),
            "intercept_init_": Array(shape=("planes",)),
            "mistakes_per_pass_": Passes(),
            "n_updates_": OneAPlane(of=int),
            "_ends": Starts(),
            "dual_coef_": Array(shape=("planes", "n"), optional=True),
            "hull_weights_": Array(shape=("planes", "n"), or_none=True, optional=True),
            "_n_held_out": Count(at_most="n", optional=True),
            "_rows_of_stream": Count(optional=True),
            **ENDED,
            "certificate_": Proof(kinds=(MistakeBound,), optional=True),
        },
        # A fit, or a stream.
        one_of=(frozenset({"dual_coef_", "hull_weights_", "_n_held_out"}), frozenset({"_rows_of_stream"})),
    ),
    Entry(
        MarginPerceptron,
        {
            **PLANES,
            "dual_coef_": Array(shape=("planes", "n")),
            "n_updates_": OneAPlane(of=int),
            "n_rounds_": OneAPlane(of=int),
            "gamma_guess_": OneAPlane(),
            "margin_": OneAPlane(as_array=True),
            **ENDED,
            "certificate_": Proof(kinds=(MarginBracket,), optional=True),
        },
    ),
    Entry(
        KernelPerceptron,
        {
            **COLUMNS,
            "classes_": Labels(),
            "_n_seen": Count(size="n"),
            "_kernel": KernelAttribute(),
            "support_": Places(shape=("n_support",), dtypes=INDICES, below="n"),
            "support_vectors_": SupportRows(sparse=sp.csr_array),
            "dual_coef_": Array(shape=("planes", "n_support")),
            "intercept_": Array(shape=("planes",)),
            "n_updates_": OneAPlane(of=int),
            "n_iter_": Count(),
            "_one_run": Flag(),
            "status_": StatusAttribute(optional=True),
            "certificate_": Proof(kinds=(MistakeBound,), optional=True),
        },
    ),
    Entry(
        LinearSVC,
        {
            **PLANES,
            "dual_coef_": Array(shape=("planes", "n")),
            "support_": Places(shape=("n_support",), dtypes=INDICES, below="n"),
            "margin_": OneAPlane(as_array=True, optional=True),
            "objective_": OneAPlane(or_one=True, optional=True),
            **ENDED,
            "certificate_": Proof(kinds=(ClassificationGap, MarginBracket), together=MulticlassGap, optional=True),
        },
    ),
    Entry(
        LogisticRegression,
        {
            **PLANES,
            "separating_coef_": Array(shape=("planes", "d"), optional=True),
            "separating_intercept_": Array(shape=("planes",), optional=True),
            "objective_": OneAPlane(optional=True),
            **ENDED,
            "certificate_": Proof(kinds=(LogisticGap,), optional=True),
        },
    ),
    Entry(
        LinearSVR,
        {
            **COLUMNS,
            "coef_": Array(shape=("d",)),
            "intercept_": Array(shape=(1,)),
            "dual_coef_": Array(shape=(1, "n")),
            "support_": Places(shape=("n_support",), dtypes=INDICES, below="n"),
            "objective_": OneAPlane(optional=True),
            **ENDED,
            "certificate_": Proof(kinds=(RegressionGap,), optional=True),
        },
    ),
    Entry(
        SVC,
        {
            **COLUMNS,
            "classes_": Labels(),
            **OF_KERNEL_MACHINES,
            "_n_support": Tallies(shape=("n_classes",), parts_of="n_support"),
            "_duals": Array(shape=("n_classes - 1", "n_support")),
            "_vote_order": Places(shape=("n_classes",), dtypes=INDICES, below="n_classes", optional=True),
            "intercept_": Array(shape=("n_pairs",)),
            "class_weight_": Array(shape=("n_classes",), optional=True),
            "n_iter_": Tallies(shape=("n_pairs",), optional=True),
            "status_": StatusAttribute(optional=True),
            "certificate_": Proof(kinds=(ClassificationGap, MarginBracket), of_pairs=True, optional=True),
        },
    ),
    Entry(
        SVR,
        {
            **COLUMNS,
            **OF_KERNEL_MACHINES,
            "_duals": Array(shape=(1, "n_support")),
            "intercept_": Array(shape=(1,)),
            **ENDED,
            "certificate_": Proof(kinds=(RegressionGap,), optional=True),
        },
    ),
    Entry(
        Ridge,
        {
            **OF_LINEAR_REGRESSIONS,
            "objective_": OneAPlane(optional=True),
            **ENDED,
            "certificate_": Proof(kinds=(RidgeGap,), optional=True),
        },
    ),
    Entry(
        Lasso,
        {
            **OF_LINEAR_REGRESSIONS,
            "objective_": OneAPlane(optional=True),
            **ENDED,
            "certificate_": Proof(kinds=(LassoGap,), optional=True),
        },
    ),
    Entry(
        BayesianRegression,
        {
            **OF_LINEAR_REGRESSIONS,
            "column_means_": Array(shape=("d",)),
            "coef_factor_": Array(shape=("d", "d")),
            "s2_": OneAPlane(finite=True, at_least=0.0),
            "degrees_of_freedom_": OneAPlane(finite=True, at_least=0.0),
            "total_weight_": OneAPlane(finite=True, at_least=0.0),
            "objective_": OneAPlane(optional=True),
            **ENDED,
            "certificate_": Proof(kinds=(RidgeGap,), optional=True),
        },
    ),
)

ENTRY_OF = {entry.kind.__name__: entry for entry in ENTRIES}
