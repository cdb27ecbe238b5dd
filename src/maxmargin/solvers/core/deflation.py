"""Conjugate gradients with a subspace that is kept from system to system, where every product costs a round.

The systems of successive Newton steps differ little, and so do the directions in which their matrices are large. These
are kept as an orthonormal basis W. Its images H W come with one message for all, the component of the solution in the
subspace is computed exactly, and conjugate gradients run in the rest.

Saad, Yeung, Erhel, Guyomarc'h, "A deflated version of the conjugate gradient algorithm", 2000.
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, eigh, qr

from maxmargin.solvers.core.conjugate_gradients import ConjugateGradients

# The dimension of the subspace.
LARGEST_SUBSPACE = 24
# Directions that hardly add to the subspace are left out: their images would be those of rounding errors.
INDEPENDENT = 1e-6


class DeflatedSystems:
    """Solves a sequence of systems H x = right with a subspace in common.

    Attributes
    ----------
    basis : ndarray of shape (k, d)
        Orthonormal rows.
    is_solved : bool
        Whether the residual of the last system has fallen as far as asked for.
    """

    def __init__(self, n_unknowns: int) -> None:
        self.basis = np.empty((0, n_unknowns))
        self.is_solved = True

    def solve(
        self,
        product: Callable[[np.ndarray], np.ndarray],
        images: np.ndarray,
        right: np.ndarray,
        inverse_diagonal: np.ndarray,
        forcing: float,
        max_steps: int,
    ) -> np.ndarray:
        """Run until the residual has fallen to the share ``forcing``; ``images`` are the rows H w of the basis."""
        basis = self.basis
        inner = basis @ images.T
        inverse = np.linalg.pinv(0.5 * (inner + inner.T), hermitian=True) if len(basis) else inner

        def outside(vector: np.ndarray) -> np.ndarray:
            """The vector without its part in the subspace, in the inner product of H."""
            found: np.ndarray = vector - (inverse @ (images @ vector)) @ basis
            return found

        coefficients = inverse @ (basis @ right)
        run = ConjugateGradients(
            product,
            right,
            inverse_diagonal,
            initial=(coefficients @ basis, right - coefficients @ images),
            project=outside,
            keeps_directions=True,
        )
        solution = run.run(forcing, max_steps)
        self.is_solved = run.is_solved
        self._keep(run.directions, images)
        return solution

    def _keep(self, found: list[tuple[np.ndarray, np.ndarray]], images: np.ndarray) -> None:
        """Keep the Ritz vectors of the largest values, of the subspace and the last directions together."""
        if not found:
            return
        directions, found_images = map(np.array, zip(*found, strict=True))
        lengths = np.linalg.norm(directions, axis=1)
        every = np.vstack([self.basis, directions / lengths[:, None]])
        every_image = np.vstack([images, found_images / lengths[:, None]])
        orthogonal, triangle, order = qr(every.T, mode="economic", pivoting=True, check_finite=False)
        sizes = np.abs(np.diag(triangle))
        rank = int(np.count_nonzero(sizes > INDEPENDENT * sizes[0])) if sizes.size else 0
        try:
            # H Q = (H E) R^-1 for E = Q R, both in the order of the pivots.
            mapped = np.linalg.solve(triangle[:rank, :rank].T, every_image[order[:rank]])
            inner = orthogonal[:, :rank].T @ mapped.T
            first = max(0, rank - LARGEST_SUBSPACE)
            vectors = eigh(0.5 * (inner + inner.T), check_finite=False, subset_by_index=(first, rank - 1))[1]
        except (LinAlgError, ValueError):
            return
        self.basis = np.ascontiguousarray((orthogonal[:, :rank] @ vectors).T)
