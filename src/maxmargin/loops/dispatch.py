"""Functions selected at compile time by the class of their first argument.

One loop source serves all layouts of rows, update rules and losses: these are ``NamedTuple`` classes, and the compiler
selects the function that is registered for the class. Nothing is dispatched while the loop runs.
"""

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import overload


class Dispatched:
    """A function with one implementation for each class of its first argument.

    Parameters
    ----------
    stub : callable
        The function that loops call; Python never runs it.
    fastmath : bool
        Whether its sums may be reordered (for dot products only).
    """

    def __init__(self, stub: Callable[..., Any], *, fastmath: bool = False) -> None:
        self._bodies: dict[type, Callable[..., Any]] = {}

        def choose(piece: Any, *rest: Any) -> Callable[..., Any] | None:
            is_piece = isinstance(piece, types.BaseNamedTuple)
            return self._bodies.get(piece.instance_class) if is_piece else None

        # Inlined: passing arrays to a function counts references in every row.
        overload(stub, jit_options={"fastmath": fastmath, "forceinline": True}, strict=False)(choose)

    def on(self, piece_class: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register the decorated function as the implementation for ``piece_class``."""

        def register(body: Callable[..., Any]) -> Callable[..., Any]:
            self._bodies[piece_class] = body
            return body

        return register
