"""Products and Cholesky's factorisation of large symmetric matrices by panels, in threads.

The panels depend on the size alone, so that the bits do not depend on the number of threads, and a run can stop between
panels. BLAS has to be limited to one thread.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotrs

from maxmargin.engine import Threads

# Rows of a panel: BLAS is nearly as fast on so many as on a whole matrix, and one step on a matrix of 10,000 rows takes
# a fraction of a second.
PANEL = 256
# Columns of a product's block: with PANEL rows, the block of a matrix of 10,000 rows takes some tenths of a second.
BLOCK = 2048
# Rows: matrices up to this size are factorised by LAPACK in one call, of some hundredths of a second.
ONE_CALL = 1024

Inverse = Callable[[np.ndarray], np.ndarray]


def panels(size: int) -> list[slice]:
    """Cut rows into panels."""
    return [slice(first, min(first + PANEL, size)) for first in range(0, size, PANEL)]


def symmetric_product(rows: np.ndarray, threads: Threads, stopped: Callable[[], bool]) -> np.ndarray:
    """Compute rows rows^T; where ``stopped()`` becomes true on the way, the rest is undefined."""
    product = np.empty((len(rows),) * 2)

    def fill(part: slice) -> None:
        for first in range(0, part.stop, BLOCK):
            if stopped():
                return
            others = slice(first, min(first + BLOCK, part.stop))
            np.matmul(rows[part], rows[others].T, out=product[part, others])
        product[: part.start, part] = product[part, : part.start].T

    threads.run(_dealt([partial(fill, part) for part in panels(len(rows))], threads.n_threads))
    return product


def positive_inverse(system: np.ndarray, threads: Threads, stopped: Callable[[], bool]) -> Inverse:
    """Return the product with the inverse of a positive definite matrix; raise LinAlgError where it is not definite.

    Where ``stopped()`` becomes true on the way, the product is undefined.
    """
    if len(system) <= ONE_CALL:
        factor, order = dpotrf(system, lower=True, clean=False)
        if order > 0:
            raise LinAlgError(f"the leading minor of order {order} is not positive definite")
        return partial(_solve, factor, True)
    # Only the lower triangle is read.
    factor, parts = np.empty_like(system), panels(len(system))
    for part in parts:
        if not stopped():
            factor[part, : part.stop] = system[part, : part.stop]
    for k, part in enumerate(parts):
        if stopped():
            return partial(np.full_like, fill_value=np.nan)
        own = cholesky(factor[part, part], lower=True, check_finite=False)
        factor[part, part] = own
        below = solve_triangular(own, factor[part.stop :, part].T, lower=True, check_finite=False).T
        factor[part.stop :, part] = below
        jobs = [partial(_subtract, factor, below, part.stop, other, stopped) for other in parts[k + 1 :]]
        threads.run(_dealt(jobs, threads.n_threads))
    # LAPACK reads by columns: the lower triangle is the upper one to it.
    return partial(_solve, factor.T, False)


def _solve(factor: np.ndarray, lower: bool, right: np.ndarray) -> np.ndarray:
    # LAPACK itself: SciPy's functions around it take as long as a small fit's whole factorisation.
    solution: np.ndarray = dpotrs(factor, right, lower=lower)[0]
    return solution


def _subtract(factor: np.ndarray, below: np.ndarray, first: int, part: slice, stopped: Callable[[], bool]) -> None:
    """Subtract the product of a panel of columns from a later panel; ``below`` begins with the row ``first``."""
    if stopped():
        return
    after = below[part.start - first :]
    factor[part.start :, part] -= after @ after[: part.stop - part.start].T


def _dealt(jobs: Sequence[Callable[[], None]], n_threads: int) -> list[Callable[[], None]]:
    """Deal jobs, whose work grows or falls steadily, to the threads in turn, so that all have as much to do."""
    return [job for number in range(n_threads) for job in jobs[number::n_threads]]
