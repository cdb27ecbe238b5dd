"""Models without their proof, for predicting: the vectors with one entry a row of the fit stay in a file beside."""

from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.files.model import file_of
from maxmargin.files.schema import SCHEMA, Array

# What is appended to a model's name.
SUFFIX = ".proof"


def proof_path(model: str | Path) -> Path:
    """Where the proof of a stripped model lies: beside it."""
    return Path(f"{model}{SUFFIX}")


def stripped(model: Any) -> Any:
    """A fitted model with what predictions need, without the duals and the certificate that they prove.

    A linear model of 54 columns and 26 million rows then has a kilobyte in place of 200 megabytes. Its predictions are
    the same, bit for bit; :func:`maxmargin.certify` needs the whole model.

    Parameters
    ----------
    model : a fitted estimator of this package

    Returns
    -------
    a fitted estimator
    """
    stripped_model = model._as_fitted()
    for name, attribute in SCHEMA[type(model).__name__].attributes.items():
        if not isinstance(attribute, Array) or "n" not in attribute.shape or not hasattr(stripped_model, name):
            continue
        if attribute.optional and name.startswith("_"):
            del stripped_model.__dict__[name]
        elif getattr(stripped_model, name) is not None:
            shape = tuple(
                0 if size == "n" else have
                for size, have in zip(attribute.shape, np.shape(getattr(stripped_model, name)), strict=True)
            )
            stripped_model.__dict__[name] = np.zeros(shape)
    if not hasattr(stripped_model, "support_vectors_") and hasattr(stripped_model, "support_"):
        stripped_model.support_ = np.zeros(0, dtype=np.intp)
    stripped_model.__dict__.pop("certificate_", None)
    return stripped_model


def same_predictions(one: Any, other: Any) -> bool:
    """Whether two models are the same but for what is stripped: vectors of the rows, and the certificate.

    All that a file holds is compared, since nearly all of it is used for a prediction: kernels, the order of classes,
    the posterior, curves of a calibration, the preparation of columns.
    """
    return type(one) is type(other) and file_of(stripped(one)) == file_of(stripped(other))
