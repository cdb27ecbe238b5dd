"""The attributes of a fit: which they are, and how a model takes them over."""

from collections.abc import Iterable
from copy import copy
from functools import cache
from typing import Any, ClassVar, Self

from maxmargin.data.scikit_learn import check_is_fitted
from maxmargin.estimators._finite import refuse_not_finite


class FittedModel:
    """A model that is fitted on a copy, whose attributes it takes over in one assignment.

    With them it takes over the parameters of the fit: whatever a fitted model computes later is about these
    (``_as_fitted``).
    """

    _fit_params: dict[str, Any]

    # Attributes of a fit whose names do not end with an underscore.
    _private_attributes: ClassVar[tuple[str, ...]] = ()
    # Parameters that say how predictions are given, not what was fitted: they may change after the fit.
    _prediction_parameters: ClassVar[tuple[str, ...]] = ()

    def _without_fit(self) -> Self:
        """A copy without the attributes of a fit."""
        model, is_fitted = type(self).__new__(type(self)), self._fitted_attributes()
        model.__dict__ = {name: value for name, value in vars(self).items() if not is_fitted[name]}
        return model

    def _freeze_parameters(self) -> None:
        """Keep the parameters as those of the fit."""
        # Not by get_params, which takes as long as the rest of a small fit's validation.
        is_fitted = self._fitted_attributes()
        self._fit_params = {
            name: dict(value) if isinstance(value, dict) else value
            for name, value in vars(self).items()
            if not (name[0] == "_" or is_fitted[name] or name in self._prediction_parameters)
        }

    def _as_fitted(self) -> Self:
        """The fitted model with the parameters of its fit, which may have changed since."""
        check_is_fitted(self)
        model = copy(self)
        model.__dict__.update(getattr(self, "_fit_params", {}))
        return model

    def _refuse_not_finite(self, checked: frozenset[str] = frozenset()) -> frozenset[str]:
        """Check all fitted attributes but those that were checked before; return the names of all."""
        is_fitted = self._fitted_attributes()
        names = frozenset([name for name in vars(self) if is_fitted[name] and name != "_fit_params"])
        refuse_not_finite(self, names - checked)
        return names

    def _take_over(self, model: Self) -> None:
        """Replace the attributes of the last fit by those of another model, in one assignment."""
        is_fitted = self._fitted_attributes()
        new = {name: value for name, value in vars(self).items() if not is_fitted[name]}
        new |= {name: value for name, value in vars(model).items() if is_fitted[name]}
        self.__dict__ = new

    @classmethod
    @cache
    def _fitted_attributes(cls) -> "FittedAttributes":
        return FittedAttributes(cls._private_attributes)

    @classmethod
    def _is_fitted_attribute(cls, name: str) -> bool:
        return cls._fitted_attributes()[name]


class FittedAttributes(dict[str, bool]):
    """Whether attributes of these names are those of a fit: those with an underscore at the end, and private ones."""

    def __init__(self, private: Iterable[str]) -> None:
        super().__init__(dict.fromkeys((*private, "_fit_params", "_has_float32_rows"), True))

    def __missing__(self, name: str) -> bool:
        self[name] = name.endswith("_") and not name.endswith("__")
        return self[name]
