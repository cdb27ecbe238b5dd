"""Parameters of estimators: keyword arguments only, with errors that say what to write."""

from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, dataclass_transform

EstimatorT = TypeVar("EstimatorT", bound=type)

# Names of parameters in other programs, and the names here, of which an estimator has one at most.
OTHER_NAMES = {
    "alpha": ("lam", "C"),
    "lam": ("alpha", "C"),
    "lambda_": ("lam", "alpha", "C"),
    "lamb": ("lam", "alpha", "C"),
    "reg_alpha": ("alpha", "C"),
    "reg_lambda": ("alpha", "C"),
    "regularizer": ("C", "alpha"),
    "cost": ("C",),
    "c": ("C",),
    "eta": ("eta0",),
    "learning_rate": ("step_size", "eta0"),
    "epochs": ("max_iter",),
    "n_iter": ("max_iter",),
    "num_iters": ("max_iter",),
    "eps": ("epsilon", "tol"),
    "seed": ("random_state",),
    "bias": ("fit_intercept",),
    "timeout": ("max_time",),
}


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def estimator(cls: EstimatorT) -> EstimatorT:
    """Make a dataclass whose fields are the parameters of an estimator, given by name.

    A parameter that does not exist, or one without its name, is refused by a TypeError that says what to write.
    """
    made: Any = dataclass(kw_only=True, eq=False, repr=False)(cls)
    accept = made.__init__
    names = list(signature(accept).parameters)[1:]

    @wraps(accept)
    def init(self: Any, *values: Any, **parameters: Any) -> None:
        if values:
            first = {"alpha", "C", "gamma", "kernel"}.intersection(names)
            hint = next((name for name in names if name in first), names[0])
            raise TypeError(f"{cls.__name__} takes parameters by name: write {cls.__name__}({hint}={values[0]!r}).")
        for name in parameters:
            if name not in names:
                raise TypeError(f"{cls.__name__} has no parameter {name!r}{suggestion(name, names)}")
        accept(self, **parameters)

    made.__init__ = init
    return made


def suggestion(name: str, names: list[str]) -> str:
    """The rest of a sentence about an unknown parameter: the nearest name, or all of them."""
    near = [other for other in OTHER_NAMES.get(name, ()) if other in names] or get_close_matches(name, names, 1, 0.6)
    return f": did you mean {near[0]!r}?" if near else f"; it has {', '.join(names)}"


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
