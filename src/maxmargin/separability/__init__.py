"""Separability of two classes, and the nearest points of their convex hulls."""

from maxmargin.separability.in_memory import hull_distance, separate
from maxmargin.separability.results import DistanceBracket, HullDistance, Separation

__all__ = ["DistanceBracket", "HullDistance", "Separation", "hull_distance", "separate"]
