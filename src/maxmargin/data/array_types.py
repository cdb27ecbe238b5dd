"""Arrays of other libraries (the array API standard) and the kind of sparse results, as scikit-learn is configured."""

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp

# What a user gives as rows, targets or weights, or an entry of it: an array or a frame of any library, a sparse matrix,
# nested lists, a Dask collection, a block source. No static type covers them; validation turns them into ours.
UserArray: TypeAlias = Any

MethodT = TypeVar("MethodT", bound=Callable[..., object])


def _configured(option: str, default: object) -> object:
    """An option of scikit-learn; where it is not imported, nobody has changed the default."""
    return sys.modules["sklearn"].get_config()[option] if "sklearn" in sys.modules else default


def as_configured(matrix: UserArray) -> UserArray:
    """A sparse matrix or a sparse array, as the option ``sparse_interface`` of scikit-learn says, in CSR format."""
    return sp.csr_array(matrix) if _configured("sparse_interface", "spmatrix") == "sparray" else sp.csr_matrix(matrix)


def is_foreign(value: object) -> bool:
    """Whether a value is an array of another library, where ``array_api_dispatch`` is on."""
    if isinstance(value, np.ndarray) or not _configured("array_api_dispatch", False):
        return False
    return hasattr(value, "__array_namespace__") or hasattr(value, "__dlpack__")


def to_numpy(value: UserArray) -> UserArray:
    """An array of another library as NumPy's, in the memory of this process; anything else as it is."""
    if not is_foreign(value):
        return value
    from sklearn.utils._array_api import move_to

    return move_to(value, xp=np, device="cpu")


def in_namespace_of_rows(method: MethodT) -> MethodT:
    """Let a method of a fitted model, given rows of another library, return arrays of that library and device."""

    @wraps(method)
    def call(self: object, X: UserArray, *arguments: object, **options: object) -> UserArray:
        if not is_foreign(X):
            return method(self, X, *arguments, **options)
        from sklearn.utils._array_api import get_namespace_and_device, move_to

        namespace, _, device = get_namespace_and_device(X)
        found = method(self, to_numpy(X), *arguments, **options)
        return move_to(found, xp=namespace, device=device)

    return call  # type: ignore[return-value]
