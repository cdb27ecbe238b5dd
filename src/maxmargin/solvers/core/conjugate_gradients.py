"""The preconditioned conjugate gradient method, for all solvers.

The one other loop is compiled: ``_solve_iteratively`` of :mod:`maxmargin.loops.logistic_run`, within a run on data so
small that calls from Python would take most of its time.

Hestenes, Stiefel, "Methods of conjugate gradients for solving linear systems", 1952.
"""

import math
from collections.abc import Callable

import numpy as np


class ConjugateGradients:
    """Solves M x = right for a symmetric positive definite matrix M, given as an operator.

    Parameters
    ----------
    product : callable
        Multiplies a vector by M.
    right : ndarray of shape (k,)
    preconditioner : ndarray of shape (k,) or callable, optional
        An approximation to the inverse of M's diagonal; or a function that multiplies a vector by an approximation to
        the inverse of M, symmetric and positive definite.
    initial : tuple of two ndarray, optional
        The first iterate and its residual; zero and ``right`` if None.
    project : callable, optional
        Applied to every preconditioned residual before it becomes a direction, for a search in a subspace.
    keeps_directions : bool
        Whether ``directions`` is filled.

    Attributes
    ----------
    solution : ndarray of shape (k,)
        The iterate x.
    residual : ndarray of shape (k,)
        right - M x, updated by recurrence.
    squared_residual, squared_right : float
        The squared norms of the residual and of the right side, weighted by the preconditioner.
    n_steps : int
    is_solved : bool
        Whether the last run ended because the residual was small.
    directions : list of tuple of two ndarray
        The directions of all steps and their images under M.
    """

    checkpointed = ("solution", "residual", "squared_residual", "n_steps", "_scaled", "_direction", "_previous")

    def __init__(
        self,
        product: Callable[[np.ndarray], np.ndarray],
        right: np.ndarray,
        preconditioner: np.ndarray | Callable[[np.ndarray], np.ndarray] | None = None,
        *,
        initial: tuple[np.ndarray, np.ndarray] | None = None,
        project: Callable[[np.ndarray], np.ndarray] | None = None,
        keeps_directions: bool = False,
    ) -> None:
        self._product, self._preconditioner, self._project = product, preconditioner, project
        self.solution, self.n_steps, self.is_solved = np.zeros_like(right), 0, False
        self._keeps_directions = keeps_directions
        self.directions: list[tuple[np.ndarray, np.ndarray]] = []
        self._direction, self._previous = np.zeros_like(right), math.inf
        self.replace_residual(right.copy())
        self.squared_right = self.squared_residual
        if initial is not None:
            self.solution, residual = initial
            self.replace_residual(residual)

    def replace_residual(self, residual: np.ndarray) -> None:
        """Set the residual, computed anew from the solution: the recurrence accumulates rounding errors."""
        self.residual = residual
        self._scaled = self._preconditioned(residual)
        self.squared_residual = float(residual @ self._scaled)

    def _preconditioned(self, residual: np.ndarray) -> np.ndarray:
        preconditioner = self._preconditioner
        if preconditioner is None:
            return residual
        return preconditioner(residual) if callable(preconditioner) else preconditioner * residual

    def step(self) -> float:
        """Make one step; return its length, or zero where M is not positive definite along the direction."""
        scaled = self._scaled if self._project is None else self._project(self._scaled)
        direction = scaled + (self.squared_residual / self._previous) * self._direction
        image = self._product(direction)
        curvature = float(direction @ image)
        if not curvature > 0.0:
            return 0.0
        length = self.squared_residual / curvature
        self.solution += length * direction
        self.residual -= length * image
        self._direction, self._previous = direction, self.squared_residual
        self.replace_residual(self.residual)
        self.n_steps += 1
        if self._keeps_directions:
            self.directions.append((direction, image))
        return length

    def run(self, forcing: float, max_steps: int, stopped: Callable[[], bool] = bool) -> np.ndarray:
        """Make steps until the residual has fallen to the share ``forcing`` of the right side; return the solution.

        Where ``stopped()`` becomes true on the way, the solution is as far as it has come, still one of descent.
        """
        goal = forcing * forcing * self.squared_right
        while self.n_steps < max_steps and goal < self.squared_residual < math.inf and self.step() > 0.0:
            if stopped():
                break
        self.is_solved = not goal < self.squared_residual
        return self.solution
