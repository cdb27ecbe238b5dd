"""The linear system of a Newton step of the SVM: H = diag(1, rho) + factor sum weights_i (x_i, 1)(x_i, 1)^T.

The sum is over the free rows, those whose duals are not at a bound. The system is solved by Cholesky's factorisation in
the space of the columns, whose Gram matrix is kept and updated by the rows that became free or ceased to be; in the
space of the rows, where few are free; or by conjugate gradients.
"""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from maxmargin.data import Points
from maxmargin.data.points import HasPoints, RowsAlone
from maxmargin.data.rows import Matrix, is_sparse
from maxmargin.engine import Answer, Block, Engine, MemoryEngine, Threads, row_task
from maxmargin.engine.threads import CALLING_THREAD
from maxmargin.loops.products import hessian_diagonal, hessian_product
from maxmargin.problems.linear_svm import LinearSVMProblem
from maxmargin.solvers.core.conjugate_gradients import ConjugateGradients
from maxmargin.solvers.core.deflation import LARGEST_SUBSPACE, DeflatedSystems
from maxmargin.solvers.core.hessian import (
    BLAS_SPEEDUP,
    INTERCEPT_SHIFT,
    LARGEST_DIRECT,
    MAX_CONJUGATE_STEPS,
    HessianOperator,
    fill_scores,
    gram_matrix,
    signed_gram,
    solve_positive,
)
from maxmargin.solvers.linear.sparse_gram import SparseGram, solve_sparse

# Conjugate gradients end when the residual has fallen to this share: a Newton step need not be exact. In the space of
# the rows it has to fall much further, because the step of w is a difference of two vectors.
FORCING, ROW_SPACE_FORCING = 1e-2, 1e-8
# The same where every product costs a round: fewer digits of a step, and a few more steps, take fewer rounds.
FORCING_IN_ROUNDS, MAX_STEPS_IN_ROUNDS = 0.3, 20
# Entries of the free rows, the factor of the matrix, that are collected to solve a system where every product would
# cost a round and rows may be collected: at most 100 MB. Over a network they have no more entries than the vectors that
# conjugate gradients would send to one partition.
SENT_ENTRIES, SENT_VECTORS = 1 << 23, LARGEST_SUBSPACE + MAX_STEPS_IN_ROUNDS
# Above this factor, times the squared length of a row, the system is ill-conditioned in the space of the columns.
LARGE_FACTOR = 100.0
# Free rows are made dense for their Gram matrix where more than this share of their entries is stored: BLAS is faster.
DENSE_GRAM_SHARE = 0.1
# The number of conjugate gradient steps that is expected at least.
EXPECTED_CONJUGATE_STEPS = 15


class NewtonSystem:
    """Solves H step = -gradient for changing sets of free rows.

    Parameters
    ----------
    problem : LinearSVMProblem
    engine : Engine
        That of all rows.
    stopped : callable
        Whether the run is to end; a step is then undefined.
    """

    def __init__(
        self, problem: LinearSVMProblem, engine: Engine[LinearSVMProblem], stopped: Callable[[], bool] = bool
    ) -> None:
        # Before the first working set is chosen, the free rows are counted.
        engine.allocate("in_gram", dtype=bool)
        self._problem, self._points, self._stopped = problem, problem.points, stopped
        self._by_columns = self._points.n_columns <= LARGEST_DIRECT
        # Where answers cost rounds, the Gram matrix, or its change, comes with the evaluation before.
        self._asks_early = engine.has_rounds and self._by_columns
        self._asked: tuple[Answer[np.ndarray], bool] | None = None
        self._rows: Answer[list[tuple[Matrix, np.ndarray]]] | None = None
        self._gram: np.ndarray | None = None
        self._engine = engine
        # Whether products with the matrix cost rounds, unless few free rows may be collected here.
        self._in_rounds = engine.has_rounds and not self._by_columns
        few = min(SENT_ENTRIES, SENT_VECTORS * (self._points.n_columns + 1))
        may_collect, is_near = engine.may_collect_rows, engine.vectors_are_near
        self._most_sent = (SENT_ENTRIES if is_near else few) if may_collect else 0
        # Far from the solution many rows are free.
        self.sends_rows = may_collect and is_near
        self.n_conjugate = EXPECTED_CONJUGATE_STEPS
        # Where no row may be sent, the Gram matrix of few of them may be.
        adds_gram = self.is_far and not may_collect and self._points.is_sparse
        self.sparse_gram = SparseGram(SENT_VECTORS * (self._points.n_columns + 1)) if adds_gram else None
        self.systems = DeflatedSystems(self._points.n_columns + 1)
        # Whether every system of the working set was solved as far as asked for, where products cost rounds.
        self.all_solved = True

    @property
    def takes_rounds(self) -> bool:
        """Whether every product with the matrix costs a round."""
        return self._in_rounds and not (self.sends_rows or (self.sparse_gram and self.sparse_gram.is_small))

    @property
    def is_far(self) -> bool:
        """Whether answers cost rounds of messages and columns are too many for a matrix: rounds count, not work."""
        return self._in_rounds and not self._engine.vectors_are_near

    def choose(self, engine: Engine[LinearSVMProblem]) -> None:
        """Set the working set: the rows that can be free from now on; the vector ``free`` says which of them are."""
        self.all_solved = True
        if self._asks_early:
            if engine is self._engine:
                return
            engine.allocate("in_gram", dtype=bool)
        else:
            engine.allocate("weights")
            engine.allocate("in_gram", "changed", dtype=bool)
            engine.do(_begin, writes=("weights", "in_gram"))
        self._engine, self._gram, self._asked = engine, None, None

    def ask_gram(self, engine: Engine[LinearSVMProblem], *, afresh: bool) -> None:
        """Ask for the Gram matrix of the free rows, or for its change, where that costs no round of its own."""
        if self._asks_early and engine is self._engine:
            self._take_gram()
            self._asked = engine.ask(_gram_of_changes, afresh, writes=("in_gram",)), afresh

    def _take_gram(self) -> np.ndarray | None:
        """The Gram matrix, with the change that was requested last."""
        if self._asked is not None:
            answer, afresh = self._asked
            self._gram = answer.value if afresh or self._gram is None else self._gram + answer.value
            self._asked = None
        return self._gram

    def ask_images(self, engine: Engine[LinearSVMProblem]) -> Answer[np.ndarray] | None:
        """Ask for the images of the subspace that successive systems share, where products cost rounds."""
        if not self.takes_rounds:
            return None
        return engine.ask(_images_of_block, self.systems.basis)

    def ask_rows(self, engine: Engine[LinearSVMProblem]) -> None:
        """Ask for the free rows, or their Gram matrix, where those of the step before were few enough to be sent."""
        if self.sparse_gram is not None:
            self.sparse_gram.ask(engine)
        self._rows = engine.ask_all(_free_rows) if self.is_far and self.sends_rows else None

    def solve(
        self,
        counts: np.ndarray,
        images: Answer[np.ndarray] | None,
        factor: float,
        gradient: np.ndarray,
        gradient_b: float,
    ) -> tuple[np.ndarray, float]:
        """Return the steps of w and b, given what ``count_free`` has counted and ``ask_images`` was answered."""
        n_free, n_changed = counts
        if self._asks_early:
            if self._asked is None:
                self.ask_gram(self._engine, afresh=True)
            gram = self._take_gram()
            assert gram is not None
            return self._split(
                self._hessian(self._engine, factor).solve_direct(self._whole(gradient, gradient_b), gram)
            )
        if self._gram is None:
            n_changed = n_free
        if self._by_columns and self._matrix_pays(n_free, n_changed):
            gram = self._updated_gram(n_free, n_changed)
            step = self._hessian(self._engine, factor).solve_direct(self._whole(gradient, gradient_b), gram)
            return self._split(step)
        lower = None if self.sparse_gram is None else self.sparse_gram.find(self._engine)
        if lower is not None:
            hessian = self._hessian(self._engine, factor)
            return self._split(solve_sparse(hessian, lower, -self._whole(gradient, gradient_b), self._stopped))
        rows, self._rows = self._rows, None
        if self._in_rounds:
            self.sends_rows = bool(n_free * self._points.entries_per_row < self._most_sent)
        free: Engine[HasPoints]
        if self._in_rounds and self.sends_rows:
            free = _collected((rows or self._engine.ask_all(_free_rows)).value)
        else:
            free = self._engine.subset("free", "weights")
        if not free.is_local:
            return self._solve_in_rounds(free, images, factor, gradient, gradient_b)
        few = n_free <= min(LARGEST_DIRECT, self._points.n_columns) // 2
        if few or self._rows_pay(n_free, factor):
            assert isinstance(free, MemoryEngine)
            return self._through_rows(free, factor, gradient, gradient_b)
        step, n_steps = self._hessian(free, factor).solve_iteratively(self._whole(gradient, gradient_b), FORCING)
        self.n_conjugate = max(EXPECTED_CONJUGATE_STEPS, n_steps)
        return self._split(step)

    def _solve_in_rounds(
        self,
        free: Engine[HasPoints],
        images: Answer[np.ndarray] | None,
        factor: float,
        gradient: np.ndarray,
        gradient_b: float,
    ) -> tuple[np.ndarray, float]:
        """Conjugate gradients, one product a round, outside of the subspace that is known from the systems before."""
        if images is None:
            images = self.ask_images(self._engine)
        assert images is not None
        hessian = self._hessian(free, factor)
        *of_basis, diagonal = images.value
        step = self.systems.solve(
            hessian.image,
            np.array(
                [
                    hessian.image_of_sum(vector, image)
                    for vector, image in zip(self.systems.basis, of_basis, strict=True)
                ]
            )
            if of_basis
            else np.empty_like(self.systems.basis),
            -self._whole(gradient, gradient_b),
            hessian.inverse_diagonal(diagonal),
            FORCING_IN_ROUNDS,
            MAX_STEPS_IN_ROUNDS,
        )
        self.all_solved &= self.systems.is_solved
        return self._split(step)

    def _rows_pay(self, n_free: int, factor: float) -> bool:
        """Whether conjugate gradients converge faster in the space of the rows, where a large factor does no harm."""
        return (
            self._points.is_sparse
            and n_free < self._points.n_columns
            and factor * self._points.typical_norm**2 > LARGE_FACTOR
        )

    def _matrix_pays(self, n_free: int, n_changed: int) -> bool:
        """Whether to update and factorise the matrix is less work than conjugate gradients."""
        n_new, size = min(n_free, n_changed), self._points.n_columns + 1
        per_row = size if not self._points.is_sparse else self._points.entries_per_row * BLAS_SPEEDUP
        update = n_new * min(size, per_row) * self._points.entries_per_row / 2 + size**3 / 6
        answer: bool = update / BLAS_SPEEDUP <= 2 * n_free * self._points.entries_per_row * self.n_conjugate
        return answer

    def _whole(self, gradient: np.ndarray, gradient_b: float) -> np.ndarray:
        return np.append(gradient, gradient_b if self._problem.has_intercept else 0.0)

    def _split(self, step: np.ndarray) -> tuple[np.ndarray, float]:
        return step[:-1].copy(), float(step[-1]) if self._problem.has_intercept else 0.0

    def _hessian(self, engine: Engine[HasPoints], factor: float) -> HessianOperator:
        problem = self._problem
        return HessianOperator(
            engine,
            "weights",
            factor,
            True,
            problem.has_intercept,
            problem.intercept_penalty,
            stopped=self._stopped,
        )

    def _updated_gram(self, n_free: int, n_changed: int) -> np.ndarray:
        """The lower triangle of sum weights_i (x_i, 1)(x_i, 1)^T over the free rows."""
        afresh = self._gram is None or 2 * n_changed > n_free
        self._engine.do(_mark_changed, afresh, writes=("changed", "in_gram"))
        changed = self._engine.subset("changed", "weights", "free")
        changes = gram_matrix(changed, "weights", added="free", stopped=self._stopped)
        if afresh:
            self._gram = changes
        else:
            assert self._gram is not None
            self._gram += changes
        return self._gram

    def _through_rows(
        self, free: MemoryEngine[HasPoints], factor: float, gradient: np.ndarray, gradient_b: float
    ) -> tuple[np.ndarray, float]:
        """Solve by Woodbury's identity for w, with the intercept eliminated."""
        chosen = free.index
        root = np.sqrt(factor * free["weights"])
        rows = free.problem.points.matrix[chosen]
        if is_sparse(rows) and rows.nnz > DENSE_GRAM_SHARE * chosen.size * rows.shape[1]:
            rows = rows.toarray()
        rows = sp.diags_array(root) @ rows if is_sparse(rows) else rows * root[:, None]
        solve = self._inverse_of_gram(rows, free.threads)

        def inverse_times(right: np.ndarray) -> np.ndarray:
            return right - rows.T @ solve(rows @ right) if chosen.size else right

        step = -inverse_times(gradient)
        if not self._problem.has_intercept:
            return step, 0.0
        # The Schur complement of the intercept, root·root - border·(inverse border), without the cancellation.
        held = solve(root) if chosen.size else root
        border, column = rows.T @ root, rows.T @ held
        curvature = max(float(root @ held) + self._problem.intercept_penalty, INTERCEPT_SHIFT * (1.0 + factor))
        step_b = -(gradient_b + float(border @ step)) / curvature
        return step - step_b * column, step_b

    def _inverse_of_gram(self, rows: Matrix, threads: Threads) -> Callable[[np.ndarray], np.ndarray]:
        """Return the product with the inverse of 1 + rows rows^T: by Cholesky, or conjugate gradients for many rows."""
        if rows.shape[0] <= LARGEST_DIRECT // 2:
            product = (rows @ rows.T).toarray() if is_sparse(rows) else rows @ rows.T
            product[np.diag_indices_from(product)] += 1.0
            return lambda right: solve_positive(product, right)
        own, transposed = (MemoryEngine(RowsAlone(Points(sp.csr_array(side))), threads) for side in (rows, rows.T))
        own.allocate("scores")
        transposed.allocate("scores")

        def times(direction: np.ndarray) -> np.ndarray:
            transposed.map(fill_scores, direction, 0.0, "scores")
            own.map(fill_scores, transposed["scores"], 0.0, "scores")
            found: np.ndarray = direction + own["scores"]
            return found

        return lambda right: ConjugateGradients(times, right).run(ROW_SPACE_FORCING, MAX_CONJUGATE_STEPS)


def _collected(parts: list[tuple[Matrix, np.ndarray]]) -> Engine[HasPoints]:
    """An engine in memory of rows that lie elsewhere, with their weights."""
    rows, weights = zip(*parts, strict=True)
    matrix = sp.csr_array(sp.vstack(rows)) if is_sparse(rows[0]) else np.concatenate(rows)
    engine = MemoryEngine(RowsAlone(Points(matrix)), CALLING_THREAD)
    engine["weights"] = np.concatenate(weights)
    return engine


def _free_rows(block: Block[LinearSVMProblem]) -> tuple[Matrix, np.ndarray]:
    """The free rows of a block, and their weights."""
    free = block.index[block["free"]]
    return block.problem.points.matrix[free], block.problem.loss.weights[free]


@row_task
def _begin(block: Block[LinearSVMProblem]) -> None:
    """No row is in the Gram matrix."""
    block["weights"][:] = block.problem.loss.weights[block.index]
    block["in_gram"][:] = False


@row_task
def count_free(block: Block[LinearSVMProblem]) -> np.ndarray:
    """The number of free rows, and of those that are not as the Gram matrix has them."""
    free = block["free"]
    return np.array([np.count_nonzero(free), np.count_nonzero(free != block["in_gram"])])


def _images_of_block(block: Block[LinearSVMProblem], basis: np.ndarray) -> np.ndarray:
    """The sums over the free rows of weights_i (x_i, 1)(x_i, 1)·v for every v of a basis; at last, their diagonal."""
    free = block.index[block["free"]]
    rows, weights = block.problem.points.rows, block.problem.loss.weights[free]
    images = np.zeros((len(basis) + 1, block.problem.points.n_columns + 1))
    for vector, image in zip(basis, images, strict=False):
        hessian_product(rows, free, weights, vector[:-1], float(vector[-1]), image)
    hessian_diagonal(rows, free, weights, images[-1])
    return images


def _gram_of_changes(block: Block[LinearSVMProblem], afresh: bool) -> np.ndarray:
    """The Gram matrix of the free rows, or what the rows that became free or ceased to be change in it."""
    free, in_gram = block["free"], block["in_gram"]
    changed = np.flatnonzero(free if afresh else free != in_gram)
    rows, added = block.index[changed], free[changed]
    in_gram[:] = free
    return signed_gram(block.problem.points, rows, block.problem.loss.weights[rows], added)


@row_task
def _mark_changed(block: Block[LinearSVMProblem], afresh: bool) -> None:
    free, in_gram, changed = block["free"], block["in_gram"], block["changed"]
    changed[:] = free if afresh else free != in_gram
    in_gram[:] = free
