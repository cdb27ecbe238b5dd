"""Rows, labels and their validation: the lowest layer, which imports nothing of the package."""

from maxmargin.data.dataset import Dataset, LabelledPoints
from maxmargin.data.points import Points
from maxmargin.data.rows import DenseRows, SparseRows
from maxmargin.data.validation import (
    validate_classes,
    validate_labels,
    validate_points,
    validate_training_data,
    validate_two_classes,
)

__all__ = [
    "Dataset",
    "DenseRows",
    "LabelledPoints",
    "Points",
    "SparseRows",
    "validate_classes",
    "validate_labels",
    "validate_points",
    "validate_training_data",
    "validate_two_classes",
]
