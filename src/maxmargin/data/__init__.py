"""Rows, targets, tasks and validation: the lowest layer, which imports nothing of the package."""

from maxmargin.data.array_types import as_configured, in_namespace_of_rows
from maxmargin.data.centring import Centring, centred, centred_and_scaled, column_offsets, estimate_offsets
from maxmargin.data.dataset import (
    ClassPair,
    ClassPairs,
    Dataset,
    JointClasses,
    LabelledPoints,
    TargetColumns,
    TargetPoints,
    Tasks,
)
from maxmargin.data.exact_numbers import exact_numbers
from maxmargin.data.labels import validate_classes, validate_labels
from maxmargin.data.points import Points
from maxmargin.data.rows import DenseRows, SparseRows, as_dense
from maxmargin.data.validation import (
    validate_one_class,
    validate_points,
    validate_targets,
    validate_training_data,
    validate_two_classes,
)

__all__ = [
    "Centring",
    "ClassPair",
    "ClassPairs",
    "Dataset",
    "DenseRows",
    "JointClasses",
    "LabelledPoints",
    "Points",
    "SparseRows",
    "TargetColumns",
    "TargetPoints",
    "Tasks",
    "as_configured",
    "as_dense",
    "centred",
    "centred_and_scaled",
    "column_offsets",
    "estimate_offsets",
    "exact_numbers",
    "in_namespace_of_rows",
    "validate_classes",
    "validate_labels",
    "validate_one_class",
    "validate_points",
    "validate_targets",
    "validate_training_data",
    "validate_two_classes",
]
