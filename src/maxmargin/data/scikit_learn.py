"""The names that estimators take from scikit-learn, in one place: its base classes, and its checks.

In a process of the command that needs nothing else of scikit-learn (``_process.py``) the classes of ``stand_ins.py``
take their place: the same estimators, with the same fit, on bases that are quickly imported. Checks accept what is
plainly right themselves, and leave everything else, and all errors, to scikit-learn.
"""

import re
import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from numbers import Integral
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from maxmargin._process import uses_scikit_learn

__all__ = [
    "UNUSED",
    "BaseEstimator",
    "CallbackSupportMixin",
    "ClassifierMixin",
    "ConvergenceWarning",
    "Interval",
    "OutlierMixin",
    "RegressorMixin",
    "StrOptions",
    "_fit_context",
    "available_if",
    "check_is_fitted",
    "check_random_state",
    "has_callbacks",
    "is_classifier",
    "is_outlier_detector",
    "is_regressor",
    "naming",
    "validate_parameter_constraints",
]

FitT = TypeVar("FitT", bound=Callable[..., Any])
Rest = ParamSpec("Rest")
ReturnT = TypeVar("ReturnT")

if TYPE_CHECKING or uses_scikit_learn() or "sklearn" in sys.modules:
    from sklearn import get_config
    from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin
    from sklearn.base import _fit_context as _in_contexts
    from sklearn.callback import CallbackSupportMixin
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints
    from sklearn.utils.metadata_routing import UNUSED
    from sklearn.utils.metaestimators import available_if

    def _fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[FitT], FitT]:
        """scikit-learn's decorator of this name, without its contexts where they have nothing to do.

        They end callbacks, and hold off checks of nested estimators, of which there are none; entering them takes as
        long as the certificate of a small fit's class.
        """

        def decorate(fit: FitT) -> FitT:
            in_contexts: Any = _in_contexts(prefer_skip_nested_validation=prefer_skip_nested_validation)(fit)
            if fit.__name__ != "fit":
                return in_contexts  # type: ignore[no-any-return]

            @wraps(fit)
            def checked(model: Any, *arguments: Any, **options: Any) -> Any:
                if has_callbacks(model) or get_config()["skip_parameter_validation"]:
                    return in_contexts(model, *arguments, **options)
                model._validate_params()
                return fit(model, *arguments, **options)

            return checked  # type: ignore[return-value]

        return decorate

else:
    from maxmargin.data.stand_ins import (
        UNUSED,
        BaseEstimator,
        CallbackSupportMixin,
        ClassifierMixin,
        ConvergenceWarning,
        Interval,
        OutlierMixin,
        RegressorMixin,
        StrOptions,
        _fit_context,
        available_if,
        validate_parameter_constraints,
    )


# Checks that are needed where an argument is not plainly right, imported on first use.
_HOME_OF = {
    "_check_sample_weight": "sklearn.utils.validation",
    "accuracy_score": "sklearn.metrics",
    "assert_all_finite": "sklearn.utils",
    "check_array": "sklearn.utils",
    "check_classification_targets": "sklearn.utils.multiclass",
    "check_consistent_length": "sklearn.utils",
    "clone": "sklearn.base",
    "column_or_1d": "sklearn.utils",
    "compute_class_weight": "sklearn.utils.class_weight",
    "get_tags": "sklearn.utils",
    "validate_data": "sklearn.utils.validation",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def check_random_state(seed: object) -> np.random.RandomState:
    """Return the generator that a user gave, or one with the seed that a user gave."""
    if isinstance(seed, Integral) and not isinstance(seed, bool):
        return np.random.RandomState(int(seed))
    from sklearn.utils import check_random_state as check

    generator: np.random.RandomState = check(seed)
    return generator


def check_is_fitted(model: object) -> None:
    """Raise scikit-learn's NotFittedError where a model has no fitted attribute."""
    if any(name.endswith("_") and not name.startswith("__") for name in vars(model)):
        return
    from sklearn.utils.validation import check_is_fitted as check

    check(model)


def naming(argument: str, check: Callable[Rest, ReturnT], *arguments: Rest.args, **options: Rest.kwargs) -> ReturnT:
    """Call a check of scikit-learn; an error that names no argument gets the name of this one."""
    try:
        return check(*arguments, **options)
    except (ValueError, TypeError) as error:
        message = str(error)
        if "inconsistent numbers of samples" in message:
            raise type(error)(f"X and y must have as many rows as each other: {message}") from error
        if "y should be a 1d array" in message:
            raise type(error)(f"y must have one value per row; fit one model for every column: {message}") from error
        if re.search(rf"\b({argument}|y)\b", message):
            raise
        raise type(error)(f"{argument} cannot be used: {message}") from error


def has_callbacks(estimator: object) -> bool:
    """Whether somebody listens to the tasks of a fit: callbacks of the estimator, or of a search that it is part of."""
    if getattr(estimator, "_skl_callbacks", None):
        return True
    parent = getattr(estimator, "_parent_callback_ctx", None)
    # A search without callbacks has a context, too; where it cannot be asked, it is taken to listen.
    return parent is not None and bool(getattr(parent, "_callbacks", True))


def is_classifier(model: object) -> bool:
    """Whether a model is a classifier, of this package or another."""
    return isinstance(model, ClassifierMixin) or _has_type(model, "classifier")


def is_regressor(model: object) -> bool:
    """Whether a model is a regression, of this package or another."""
    return isinstance(model, RegressorMixin) or _has_type(model, "regressor")


def is_outlier_detector(model: object) -> bool:
    """Whether a model finds outliers among rows without labels."""
    return isinstance(model, OutlierMixin) or _has_type(model, "outlier_detector")


def _has_type(model: object, name: str) -> bool:
    """Whether scikit-learn calls an estimator by this name, where it is one of another package."""
    if isinstance(model, (ClassifierMixin, RegressorMixin, OutlierMixin)):
        return False
    return bool(__getattr__("get_tags")(model).estimator_type == name)
