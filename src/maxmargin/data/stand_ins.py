"""Base classes and parameter checks in place of scikit-learn's, for processes of the command that do without it.

They do what the fit template calls, and hand on to scikit-learn what is asked beyond that: an estimator on these bases
has its tags, and a parameter that is not plainly right is judged by its checks, whose message the user reads.
"""

import inspect
import math
from collections.abc import Callable
from functools import wraps
from numbers import Integral
from typing import NamedTuple, Self, TypeVar

FitT = TypeVar("FitT", bound=Callable[..., object])

# An argument that nothing routes.
UNUSED = "$UNUSED$"


class ConvergenceWarning(UserWarning):
    """A limit was reached."""


class BaseEstimator:
    """Parameters by name, as the signature of the constructor lists them."""

    _parameter_constraints: dict[str, list[object]]

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(inspect.signature(cls).parameters)

    def get_params(self, deep: bool = True) -> dict[str, object]:  # noqa: ARG002
        """Return the parameters by name; none of them is an estimator."""
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **parameters: object) -> Self:
        """Set parameters by name."""
        known = self._get_param_names()
        for name, value in parameters.items():
            if name not in known:
                raise ValueError(f"Invalid parameter {name!r} for estimator {type(self).__name__}.")
            setattr(self, name, value)
        return self

    def _validate_params(self) -> None:
        validate_parameter_constraints(self._parameter_constraints, self.get_params(deep=False), type(self).__name__)

    def __sklearn_tags__(self) -> object:
        from sklearn.base import BaseEstimator as Original

        return Original.__sklearn_tags__(self)


class CallbackSupportMixin:
    """Nothing: the command has no callbacks of scikit-learn."""


class ClassifierMixin:
    """Marks classifiers."""

    def __sklearn_tags__(self) -> object:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.estimator_type, tags.classifier_tags, tags.target_tags.required = "classifier", ClassifierTags(), True
        return tags


class RegressorMixin:
    """Marks regressions."""

    def __sklearn_tags__(self) -> object:
        from sklearn.utils import RegressorTags

        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.estimator_type, tags.regressor_tags, tags.target_tags.required = "regressor", RegressorTags(), True
        return tags


class OutlierMixin:
    """Marks models that find outliers."""

    def __sklearn_tags__(self) -> object:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.estimator_type = "outlier_detector"
        return tags


def _fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[FitT], FitT]:  # noqa: ARG001
    """Decorate a fit, so that the parameters are checked before it."""

    def decorate(fit: FitT) -> FitT:
        @wraps(fit)
        def checked(model: BaseEstimator, *arguments: object, **options: object) -> object:
            model._validate_params()
            return fit(model, *arguments, **options)

        return checked  # type: ignore[return-value]

    return decorate


class available_if:  # noqa: N801
    """Decorate a method that some objects do not have: ``check`` raises AttributeError, or is false, for those."""

    def __init__(self, check: Callable[..., object]) -> None:
        self._check = check

    def __call__(self, method: Callable[..., object]) -> Self:
        """Take the method."""
        self._method = method
        return self

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def __get__(self, model: object, kind: type) -> object:
        if model is None:
            return self._method
        if not self._check(model):
            raise AttributeError(f"This {kind.__name__!r} has no attribute {self._name!r}")
        return self._method.__get__(model, kind)


class Interval(NamedTuple):
    """Numbers of a type between two bounds, as scikit-learn's constraint of this name."""

    type: type
    left: float | None
    right: float | None
    closed: str

    def accepts(self, value: object) -> bool:
        """Whether a number is plainly inside."""
        if not isinstance(value, self.type) or isinstance(value, bool):
            return False
        left, right = -math.inf if self.left is None else self.left, math.inf if self.right is None else self.right
        above = value > left or (value == left and self.closed in ("left", "both"))  # type: ignore[operator]
        return bool(above and (value < right or (value == right and self.closed in ("right", "both"))))  # type: ignore[operator]


class StrOptions(NamedTuple):
    """One of several texts, as scikit-learn's constraint of this name."""

    options: set[str]

    def accepts(self, value: object) -> bool:
        """Whether a text is one of them."""
        return isinstance(value, str) and value in self.options


def validate_parameter_constraints(
    constraints: dict[str, list[object]], parameters: dict[str, object], caller_name: str
) -> None:
    """Accept parameters that are plainly right; scikit-learn judges the others."""
    for name, value in parameters.items():
        if name in constraints and not any(_accepts(constraint, value) for constraint in constraints[name]):
            from sklearn.utils._param_validation import validate_parameter_constraints as validate

            originals = {name: [_original(constraint) for constraint in constraints[name]]}
            validate(originals, {name: value}, caller_name=caller_name)


def _accepts(constraint: object, value: object) -> bool:
    if isinstance(constraint, (Interval, StrOptions)):
        return constraint.accepts(value)
    if constraint is None:
        return value is None
    if constraint == "boolean":
        return isinstance(value, bool)
    if constraint in ("random_state", "verbose"):
        return isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) < 2**32
    return isinstance(constraint, type) and isinstance(value, constraint)


def _original(constraint: object) -> object:
    """scikit-learn's constraint."""
    from sklearn.utils import _param_validation

    if isinstance(constraint, Interval):
        return _param_validation.Interval(*constraint[:3], closed=constraint.closed)
    if isinstance(constraint, StrOptions):
        return _param_validation.StrOptions(constraint.options)
    return constraint
