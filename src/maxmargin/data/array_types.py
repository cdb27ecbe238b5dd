"""Arrays of other libraries (the array API standard) and the kind of sparse results, as scikit-learn is configured."""

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

import numpy as np
import scipy.sparse as sp

Rest = ParamSpec("Rest")


def _configured(option: str, default: Any) -> Any:
    """An option of scikit-learn; where it is not imported, nobody has changed the default."""
    return sys.modules["sklearn"].get_config()[option] if "sklearn" in sys.modules else default


def as_configured(matrix: Any) -> Any:
    """A sparse matrix or a sparse array, as the option ``sparse_interface`` of scikit-learn says, in CSR format."""
    return sp.csr_array(matrix) if _configured("sparse_interface", "spmatrix") == "sparray" else sp.csr_matrix(matrix)


def is_foreign(value: Any) -> bool:
    """Whether a value is an array of another library, where ``array_api_dispatch`` is on."""
    if isinstance(value, np.ndarray) or not _configured("array_api_dispatch", False):
        return False
    return hasattr(value, "__array_namespace__") or hasattr(value, "__dlpack__")


def to_numpy(value: Any) -> Any:
    """An array of another library as NumPy's, in the memory of this process; anything else as it is."""
    if not is_foreign(value):
        return value
    from sklearn.utils._array_api import move_to

    return move_to(value, xp=np, device="cpu")


def in_namespace_of_rows(method: Callable[Concatenate[Any, Any, Rest], Any]) -> Callable[..., Any]:
    """Let a method of a fitted model, given rows of another library, return arrays of that library and device."""

    @wraps(method)
    def call(self: Any, X: Any, *arguments: Rest.args, **options: Rest.kwargs) -> Any:
        if not is_foreign(X):
            return method(self, X, *arguments, **options)
        from sklearn.utils._array_api import get_namespace_and_device, move_to

        namespace, _, device = get_namespace_and_device(X)
        found = method(self, to_numpy(X), *arguments, **options)
        return move_to(found, xp=namespace, device=device)

    return call
