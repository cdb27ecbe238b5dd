"""Parameters of estimators: keyword arguments only, with errors that say what to write."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache, lru_cache, wraps
from inspect import Parameter, signature
from typing import Any, Self, TypeVar, dataclass_transform

import numpy as np

from maxmargin.data.scikit_learn import BaseEstimator, validate_parameter_constraints

EstimatorT = TypeVar("EstimatorT", bound=type)

# Names of the strength of a penalty in other programs, and here; an estimator has one of these at most, but for Ridge
# and Lasso.
_OF_LAMBDA = ("lam", "alpha", "C", "nu")
# Names of parameters in other programs, and the names here, the likeliest first.
OTHER_NAMES = {
    "C": ("alpha", "lam", "nu"),
    "c": ("C", "alpha", "nu"),
    "cost": ("C", "alpha", "nu"),
    "regularizer": ("C", "alpha", "nu"),
    "regularization": ("C", "alpha", "nu"),
    "alpha": ("lam", "C", "nu"),
    "reg_alpha": ("alpha", "C", "nu"),
    "reg_lambda": ("alpha", "C", "nu"),
    "lam": _OF_LAMBDA,
    "lamb": _OF_LAMBDA,
    "lambd": _OF_LAMBDA,
    "lambda": _OF_LAMBDA,
    "lambda_": _OF_LAMBDA,
    "lamda": _OF_LAMBDA,
    "nu": ("C", "alpha"),
    "eta": ("eta0",),
    "learning_rate": ("step_size", "eta0"),
    "epochs": ("max_iter",),
    "n_iter": ("max_iter",),
    "num_iters": ("max_iter",),
    "eps": ("epsilon", "tol"),
    "seed": ("random_state",),
    "bias": ("fit_intercept",),
    "timeout": ("max_time",),
    "weight": ("sample_weight", "class_weight"),
    "weights": ("sample_weight", "class_weight"),
}
# Parameters of these types are compared by value: what was found valid once need not be checked again.
PLAIN_TYPES = frozenset((bool, int, float, str, type(None), np.float64, np.int64))
# The likeliest parameters that a value without a name was meant for.
_FIRST = ("nu", "alpha", "C", "gamma", "penalty", "kernel", "loss")


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def estimator(cls: EstimatorT) -> EstimatorT:
    """Make a dataclass whose fields are the parameters of an estimator, given by name.

    A parameter that does not exist, or one without its name, is refused by a TypeError that says what to write.
    """
    made: Any = dataclass(kw_only=True, eq=False, repr=False)(cls)
    found: EstimatorT = by_name(made)
    return found


def by_name(cls: EstimatorT) -> EstimatorT:
    """Make the parameters of an estimator keyword arguments, with errors that say what to write."""
    made: Any = cls
    accept = made.__init__
    names = list(signature(accept).parameters)[1:]

    @wraps(accept)
    def init(self: Any, *values: Any, **parameters: Any) -> None:
        if values:
            raise TypeError(f"{cls.__name__} takes parameters by name: {_named(self, names, values)}.")
        for name in parameters:
            if name not in names:
                raise TypeError(f"{cls.__name__} has no parameter {name!r}{suggestion(name, names)}")
        accept(self, **parameters)

    made.__init__ = init
    return cls


def _named(model: Any, names: list[str], values: tuple[Any, ...]) -> str:
    """What to write in place of values without names: each with the likeliest parameter that may have it."""
    found: dict[str, Any] = {}
    for value in values:
        fitting = [name for name in names if name not in found and _may_be(model, name, value)]
        if not fitting:
            return f"{value!r} is no value of {', '.join(name for name in names if name not in found)}"
        first = [name for name in _FIRST if name in fitting]
        if isinstance(value, bool):
            first = [name for name in fitting if "boolean" in model._parameter_constraints[name]]
        found[(first or fitting)[0]] = value
    return f"write {type(model).__name__}({', '.join(f'{name}={value!r}' for name, value in found.items())})"


def _may_be(model: Any, name: str, value: Any) -> bool:
    """Whether a parameter may have a value."""
    constraints = model._parameter_constraints
    if name not in constraints:
        return False
    try:
        validate_parameter_constraints({name: constraints[name]}, {name: value}, caller_name=type(model).__name__)
    except ValueError:
        return False
    return True


class NamedArguments(BaseEstimator):
    """Parameters by name: errors of ``set_params`` and ``fit`` say what to write, and name the estimator."""

    fit: Any

    def __init_subclass__(cls, **options: Any) -> None:
        # Wherever it is defined.
        if "fit" in vars(cls):
            cls.fit = with_known_arguments(cls.fit)
        super().__init_subclass__(**options)

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name.

        Parameters
        ----------
        **parameters
            The values.

        Returns
        -------
        self
        """
        try:
            model: Self = super().set_params(**parameters)
        except ValueError as error:
            names = self._get_param_names()
            unknown = next((name for name in parameters if name.partition("__")[0] not in names), None)
            near = None if unknown is None else nearest(unknown, names)
            if near is None:
                raise
            raise ValueError(f"{error} Did you mean {near!r}?") from None
        return model

    # scikit-learn inspects and checks the parameters anew at every fit: that takes as long as a small fit.

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return list(cls._names_of_parameters())

    @classmethod
    @cache
    def _names_of_parameters(cls) -> tuple[str, ...]:
        return tuple(super()._get_param_names())

    def _validate_params(self) -> None:
        values = tuple([getattr(self, name) for name in self._names_of_parameters()])
        types = tuple(map(type, values))
        if PLAIN_TYPES.issuperset(types):
            kind: Any = type(self)
            # With their types, since 1, 1.0 and True are equal.
            _validate_plain(kind, values, types)
        else:
            super()._validate_params()


@lru_cache(maxsize=1024)
def _validate_plain(kind: Any, values: tuple[Any, ...], types: tuple[type, ...]) -> None:  # noqa: ARG001
    parameters = dict(zip(kind._names_of_parameters(), values, strict=True))
    validate_parameter_constraints(kind._parameter_constraints, parameters, caller_name=kind.__name__)


def with_known_arguments(fit: Any) -> Any:
    """A method whose errors about its arguments name the class of the model, and the nearest argument."""
    accepted = signature(fit)
    parameters = list(accepted.parameters.values())[1:]
    if any(one.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD) for one in parameters):
        return fit
    names = [one.name for one in parameters]
    required = [one.name for one in parameters if one.default is Parameter.empty]
    left = [frozenset(names[count:]) for count in range(len(names) + 1)]

    @wraps(fit)
    def checked(self: Any, *arguments: Any, **options: Any) -> Any:
        count = len(arguments)
        fits = count < len(left) and left[count].issuperset(options)
        if not fits or not all(name in options for name in required[count:]):
            _refuse_arguments(self, fit.__name__, accepted, arguments, options)
        return fit(self, *arguments, **options)

    return checked


def _refuse_arguments(model: Any, method: str, accepted: Any, arguments: Any, options: Any) -> None:
    """Raise the TypeError about arguments that a method does not accept."""
    try:
        accepted.bind(model, *arguments, **options)
    except TypeError as error:
        names = list(accepted.parameters)[1:]
        unknown = next((name for name in options if name not in names), None)
        hint = "" if unknown is None else suggestion(unknown, names)
        raise TypeError(f"{type(model).__name__}.{method}() {error}{hint}") from None


def suggestion(name: str, names: Collection[str]) -> str:
    """The rest of a sentence about an unknown parameter: the nearest name, or all of them."""
    near = nearest(name, names)
    return f"; it has {', '.join(names)}" if near is None else f": did you mean {near!r}?"


def nearest(name: str, names: Collection[str]) -> str | None:
    """The name that was meant: by what other programs call it, or the most similar one."""
    for known in (name, name.lower()):
        for other in OTHER_NAMES.get(known, ()):
            if other in names:
                return other
    similar = get_close_matches(name, [*names, *OTHER_NAMES], 3, 0.6)
    for known in similar:
        for other in (known, *OTHER_NAMES.get(known, ())):
            if other in names:
                return other
    return None


def with_blocks(**blocks: str) -> Callable[[EstimatorT], EstimatorT]:
    """Replace a docstring's lines ``{name}`` by the block of that name, so that ``help()`` is complete everywhere.

    Estimators with the same parameters or attributes describe them once. The lines of a block are indented as the line
    that they replace.
    """

    def fill(cls: EstimatorT) -> EstimatorT:
        lines: list[str] = []
        for line in (cls.__doc__ or "").split("\n"):
            block = blocks.get(line.strip().strip("{}")) if line.strip().startswith("{") else None
            indent = line[: len(line) - len(line.lstrip())]
            lines += [line] if block is None else [(indent + one).rstrip() for one in block.strip("\n").split("\n")]
        if cls.__doc__ is not None:  # python -OO has none
            cls.__doc__ = "\n".join(lines)
        return cls

    return fill
