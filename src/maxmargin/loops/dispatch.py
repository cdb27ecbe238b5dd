"""Small functions chosen at compile time by the class of their first argument.

One loop source then serves every kind of rows, rule and bookkeeping: the pieces are ``NamedTuple`` classes,
and the compiler picks the function of the class that it sees. Nothing is looked up while the loop runs.
"""

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import overload


class Dispatched:
    """A function with one body for each class of its first argument.

    Parameters
    ----------
    stub : callable
        The function that loops call; it is never run by Python.
    fastmath : bool
        Whether sums in it may be reordered (dot products only).
    """

    def __init__(self, stub: Callable[..., Any], *, fastmath: bool = False) -> None:
        self._bodies: dict[type, Callable[..., Any]] = {}

        def choose(piece: Any, *rest: Any) -> Callable[..., Any] | None:
            is_piece = isinstance(piece, types.BaseNamedTuple)
            return self._bodies.get(piece.instance_class) if is_piece else None

        # Inlined, so that the loop holds the arrays itself: passing them on would count references at every row.
        overload(stub, jit_options={"fastmath": fastmath, "forceinline": True}, strict=False)(choose)

    def on(self, piece_class: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register the decorated function as the body for ``piece_class``."""

        def register(body: Callable[..., Any]) -> Callable[..., Any]:
            self._bodies[piece_class] = body
            return body

        return register
