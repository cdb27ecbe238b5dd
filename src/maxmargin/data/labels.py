"""Labels: their classes, and every row's place among them."""

import numpy as np

from maxmargin.data import scikit_learn
from maxmargin.data.array_types import UserArray
from maxmargin.data.dataset import LabelledPoints


def validate_labels(labelled: LabelledPoints, *, may_lack_weight: bool = False) -> LabelledPoints:
    """Refuse labels of fewer than two classes, and weights that leave fewer than two of them.

    With ``may_lack_weight`` one class may be left, as by the weights of a bootstrap sample.
    """
    present = labelled.classes
    if labelled.weights is not None:
        present = labelled.classes[np.unique(labelled.codes[labelled.weights > 0])]
    if len(labelled.classes) < 2 or len(present) < (1 if may_lack_weight else 2):
        which = f"only one class, {present[0].item()!r}" if len(present) else "no row of positive weight"
        # scikit-learn's sentence, where it is the weights that leave one class.
        by_weights = len(labelled.classes) > 1 and len(present) == 1
        why = "Invalid input - all samples with positive weights belong to the same class: " if by_weights else ""
        raise ValueError(f"{why}y has {which}; give rows of at least two classes.")
    return labelled


def validate_classes(classes: UserArray, known: np.ndarray | None) -> np.ndarray:
    """Check the ``classes`` of ``partial_fit`` against those of the first call."""
    if classes is None:
        if known is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        return known
    labels = np.unique(classes)
    if known is not None and not np.array_equal(labels, known):
        raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known!r}")
    if len(labels) < 2:
        raise ValueError(f"classes has {len(labels)} label; give at least two classes.")
    return labels


def encode_labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted labels and each row's position among them."""
    if y.dtype.kind in "iufb" and y.size:
        # Two classes are the common case, and two comparisons cost less than a sort.
        low, high = y.min(), y.max()
        is_high = y == high
        whole = y.dtype.kind != "f" or (float(low).is_integer() and float(high).is_integer())
        n_extreme = np.count_nonzero(is_high) + np.count_nonzero(y == low)
        if low != high and whole and n_extreme == y.size:
            return np.array([low, high], dtype=y.dtype), is_high.view(np.int8)
        if y.dtype.kind in "iu" and int(high) - int(low) < y.size:
            found = _encode_by_counts(y, low)
            if found is not None:
                return found
        if y.dtype.kind != "f" or bool(np.all(y == np.floor(y))):
            classes, codes = np.unique(y, return_inverse=True)
            # scikit-learn's checks, which find nothing in such labels, warn where most rows have a label of their own.
            if 2 * classes.size <= y.size:
                return classes, codes
    elif y.dtype.kind == "U" and y.ndim == 1:
        classes, codes = np.unique(y, return_inverse=True)
        if 2 * classes.size <= y.size:
            return classes, codes
    scikit_learn.naming("y", scikit_learn.check_classification_targets, y)
    try:
        return np.unique(y, return_inverse=True)
    except TypeError as error:
        raise ValueError("y has labels of types that cannot be sorted together: use one type, and no None.") from error


def _encode_by_counts(y: np.ndarray, low: np.integer) -> tuple[np.ndarray, np.ndarray] | None:
    """The same of integers in a short range: no sort. None where that is left to scikit-learn's checks."""
    # Differences of short integers may leave their range.
    codes = (y - low).astype(np.intp) if y.dtype.itemsize == 8 else y.astype(np.intp) - int(low)
    counts = np.bincount(codes)
    n_classes = np.count_nonzero(counts)
    if 2 * n_classes > y.size:
        return None
    if n_classes == counts.size:
        return np.arange(n_classes, dtype=y.dtype) + low, codes
    present = counts > 0
    return np.flatnonzero(present).astype(y.dtype) + low, (np.cumsum(present) - 1)[codes]


def encode_as(classes: np.ndarray, y: np.ndarray) -> np.ndarray:
    whole = y.dtype.kind in "iub" or (y.dtype.kind == "f" and bool(np.all(y == np.floor(y))))
    if y.ndim != 1 or not (whole or y.dtype.kind == "U"):
        scikit_learn.check_classification_targets(y)
    unknown = np.setdiff1d(y, classes)
    if unknown.size:
        raise ValueError(f"y has labels {unknown[:5].tolist()} that are not among the classes {classes[:5].tolist()}.")
    return np.searchsorted(classes, y)
