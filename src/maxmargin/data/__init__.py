"""Rows, labels and their validation: the lowest layer, which imports nothing of the package."""

from maxmargin.data.dataset import ClassPair, ClassPairs, Dataset, JointClasses, LabelledPoints, TargetPoints
from maxmargin.data.placement import Placement, far_part, far_place, near_zero, well_placed
from maxmargin.data.points import Points
from maxmargin.data.rows import DenseRows, SparseRows
from maxmargin.data.validation import (
    validate_classes,
    validate_labels,
    validate_points,
    validate_targets,
    validate_training_data,
    validate_two_classes,
)

__all__ = [
    "ClassPair",
    "ClassPairs",
    "Dataset",
    "DenseRows",
    "JointClasses",
    "LabelledPoints",
    "Placement",
    "Points",
    "SparseRows",
    "TargetPoints",
    "far_part",
    "far_place",
    "near_zero",
    "validate_classes",
    "validate_labels",
    "validate_points",
    "validate_targets",
    "validate_training_data",
    "validate_two_classes",
    "well_placed",
]
