"""Multinomial logistic regression with an L1 penalty, by proximal Newton steps.

    minimise l1 ||W||_1 + l2/2 ||W||² + C sum_i c_i (log sum_k exp(f_k(x_i)) - f_y(x_i))

A round computes the gap and screens out coefficients that are zero in every solution (Ndiaye, Fercoq, Gramfort, Salmon,
"Gap safe screening rules for sparsity enforcing penalties", 2017) and chooses a working set of columns for every class.
The quadratic model of the losses, with the penalties, is minimised over all of them by its Hessian, where it costs
little; else over those of one class after the other by coordinate descent (Friedman, Hastie, Tibshirani,
"Regularization paths for generalized linear models via coordinate descent", 2010). A step of a length is made that
lowers the objective enough. After every round the same number is subtracted from a column's coefficients in all
classes, which changes no probability, so that their penalty is smallest, and the free intercepts are minimised jointly.
"""

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np

from maxmargin.data import as_dense, centred
from maxmargin.data.blas import one_blas_thread
from maxmargin.data.interruption import InterruptedPassError, ending_when
from maxmargin.loops.sparse_linear import add_columns
from maxmargin.problems.multinomial import multinomial_losses, softmax
from maxmargin.problems.sparse_multinomial import MODULUS, SparseMultinomialProblem
from maxmargin.solvers.core import Monitor, Options, Result, Status, solver, stage
from maxmargin.solvers.linear.sparse_rounds import SHARE_OF_TOL, SparseRounds

# Coefficients of all classes that are minimised jointly, where no entry is zero, and products of a Hessian that takes
# some milliseconds in any case.
MOST_JOINT, FEW_PRODUCTS = 1000, 1 << 25
# Entries of the rows that are multiplied at a time.
PIECE_ENTRIES = 1 << 20
# Eigenvalues of the intercepts' Hessian below this share of its largest one are rounding errors.
NO_EIGENVALUE = 1e-12
# Coefficients of a class that are new in its first working set; the number doubles where others violate more.
FEW_COLUMNS = 64


@solver({"a positive penalty on the 1-norm": lambda problem, _: problem.l1 > 0.0})
def solve(
    problem: SparseMultinomialProblem, options: Options, monitor: Monitor, start: Result[np.ndarray] | None = None
) -> Result[np.ndarray]:
    """Make rounds until the relative gap is at most ``tol``, from the coefficients of ``start`` or from zero."""
    options = replace(options, tol=SHARE_OF_TOL * options.tol)
    with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"), one_blas_thread():
        run = SparseMultinomialRun(problem, options, monitor, start)
        run.best.status = run.run()
        return run.best


class SparseMultinomialRun(SparseRounds[np.ndarray]):
    """The state of a run: coefficients, intercepts, scores, the products of the duals with the columns, and the gap."""

    checkpointed: ClassVar[tuple[str, ...]] = ("W", "b", "alive", "best", "size", "stall")
    outcome: ClassVar[tuple[str, ...]] = ("best",)

    least_curvature = 1e-9
    patience = 50
    # On nearly equal columns the gap shrinks a little in every round, for ever.
    halving_patience = 2000
    modulus = MODULUS

    def __init__(
        self,
        problem: SparseMultinomialProblem,
        options: Options,
        monitor: Monitor,
        start: Result[np.ndarray] | None,
    ) -> None:
        losses = problem.losses
        self.centring = centred(losses.points, may_move=losses.fit_intercept, weights=losses.weights)
        self.problem = replace(problem, losses=replace(losses, points=self.centring.points))
        points, self.n_classes, self.l1, self.l2 = self.problem.points, losses.n_classes, problem.l1, problem.l2
        shape = self.n_classes, points.n_columns
        self.W = np.zeros(shape) if start is None else start.w.astype(np.float64)
        self.b = losses.initial_intercepts() if start is None else start.intercept + self.W @ self.centring.centre
        self.weights = losses.C * losses.weights
        self.deviations = np.sqrt(self.problem.columns.squared_deviations)
        self.alive = np.ones(shape, dtype=bool)
        self.size = FEW_COLUMNS
        super().__init__(points, options, monitor, Result(self.W.copy(), self.intercepts_there(), np.empty(0)))

    def intercepts_there(self) -> np.ndarray:
        """The intercepts for columns that are not centred."""
        found: np.ndarray = self.b - self.W @ self.centring.centre
        return found

    @stage
    def run(self) -> Status:
        """Make rounds until there is a reason to stop; a limit also ends an evaluation between two passes."""
        try:
            with ending_when(self.monitor.must_stop):
                return self._make_rounds()
        except InterruptedPassError:
            return self.monitor.status_when_stopped()

    def make_steps(self) -> None:
        """Make a joint step in the working sets of all classes, or one in that of each."""
        working_sets = self.choose()
        size = sum(chosen.size for chosen in working_sets)
        if not (self.joint_pays(size) and self.make_joint_step(working_sets)):
            for k, chosen in enumerate(working_sets):
                if self.monitor.must_stop():
                    break
                self.make_step(k, chosen)
        # All classes together: steps of one class do that slowly, as each of them alone would change the scores.
        self.W -= self.problem.best_shifts(self.W)

    def evaluate(self) -> None:
        """Compute scores, the best intercepts, duals and both values from the coefficients alone."""
        problem, losses, best = self.problem, self.problem.losses, self.best
        self.scores = self.points.scores(self.W.T)
        if losses.fit_intercept:
            self.b = losses.best_intercepts(self.scores, self.b)
        self.scores += self.b
        probabilities = softmax(self.scores)
        self.primal = self.loss_of(self.scores) + problem.penalty(self.W)
        duals = -self.weights[:, None] * probabilities
        duals[losses.own] += self.weights
        self.products = np.array([self.points.combination(np.ascontiguousarray(column)) for column in duals.T])
        inside = probabilities > 0.0
        logarithms = np.log(np.where(inside, probabilities, 1.0))
        entropies = -float(self.weights @ (probabilities * logarithms).sum(axis=1))
        self.multiple, self.dual = problem.dual_value(entropies, np.abs(self.products))
        if self.primal <= best.primal or self.primal - self.dual < best.primal - best.dual:
            best.w, best.intercept = self.W.copy(), self.intercepts_there()
            best.primal, best.dual = self.primal, self.dual

    def loss_of(self, scores: np.ndarray) -> float:
        """The losses of all rows."""
        return float(self.weights @ multinomial_losses(scores, self.problem.losses.own))

    def screen(self) -> None:
        """Screen out coefficients that are zero in every solution."""
        self.alive &= self.may_be_used(self.W, self.products, self.deviations)

    def choose(self) -> list[np.ndarray]:
        """The working set of every class: nonzero coefficients, and those that violate their KKT condition most."""
        used = self.W != 0.0
        violations = np.where(self.alive & ~used, np.abs(self.products) - self.problem.l1, -math.inf)
        n_violated = int((violations > 0.0).sum(axis=1).max(initial=0))
        if n_violated > self.size:
            self.size = min(2 * self.size, self.W.shape[1])
        chosen = []
        for k in range(self.n_classes):
            # Near zero some of those that are not violated will be when the others have changed.
            order = np.argsort(-violations[k], kind="stable")[: self.size]
            new = order[violations[k, order] > -0.1 * self.problem.l1]
            chosen.append(np.union1d(np.flatnonzero(used[k]), new))
        return chosen

    def joint_pays(self, size: int) -> bool:
        """Whether a Hessian in so many coefficients takes no longer than the epochs that it saves."""
        n_rows, density = self.scores.shape[0], self.points.entries_per_row / max(1, self.points.n_columns)
        is_cheap = size <= MOST_JOINT and n_rows * size * size <= FEW_PRODUCTS
        return size > 0 and (is_cheap or size <= MOST_JOINT * density)

    def make_joint_step(self, working_sets: list[np.ndarray]) -> bool:
        """Minimise the model of all classes by its Hessian, and make a step; return whether one lowers the objective.

        The free intercepts are eliminated from the model.
        """
        problem = self.problem
        classes = np.repeat(np.arange(self.n_classes), [chosen.size for chosen in working_sets])
        columns = np.concatenate(working_sets)
        hessian, drifts = self.joint_hessian(classes, columns)
        old = self.W[classes, columns]
        new, negative_gradient = old.copy(), self.products[classes, columns] - problem.l2 * old
        predicted = -negative_gradient.copy()
        if not self.monitor.must_stop():
            self.solve_given_hessian(hessian, negative_gradient, new)
        step = new - old
        direction = np.zeros_like(self.W)
        direction[classes, columns] = step
        drift = drifts @ step
        changes = self.points.scores(direction.T) + drift
        promise = float(predicted @ step) + problem.l1 * float(np.abs(new).sum() - np.abs(old).sum())
        before = self.loss_of(self.scores) + problem.penalty(old)

        def change_at(t: float) -> float:
            return self.loss_of(self.scores + t * changes) + problem.penalty(old + t * step) - before

        t = self.length_of_step(change_at, promise) if promise < 0.0 else 0.0
        if t == 0.0:
            return False
        self.W[classes, columns] = new if t == 1.0 else old + t * step
        self.b = self.b + t * drift
        return True

    def joint_hessian(self, classes: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The Hessian of the losses in some coefficients, at the best intercepts, and how these change with them.

        Its entries are sum_i C c_i p_ik (1[k = l] - p_il) x_ij x_im.
        """
        probabilities, K = softmax(self.scores), self.n_classes
        used, places = np.unique(columns, return_inverse=True)
        matrix, size = self.points.matrix, classes.size
        of_class = np.concatenate([classes, np.arange(K)])
        place = np.concatenate([places, np.full(K, used.size)])
        own = [np.flatnonzero(of_class == k) for k in range(K)]
        hessian = np.zeros((of_class.size, of_class.size))
        n_rows = max(1, PIECE_ENTRIES // of_class.size)
        for first in range(0, len(probabilities), n_rows):
            if self.monitor.must_stop():
                break
            piece = slice(first, first + n_rows)
            rows = as_dense(matrix[piece][:, used]).astype(np.float64, copy=False)
            rows = np.hstack([rows, np.ones((len(rows), 1))])
            shares, weights = probabilities[piece], self.weights[piece, None]
            outer = (np.sqrt(weights) * shares)[:, of_class] * rows[:, place]
            hessian -= outer.T @ outer
            for k in range(K):
                part = rows[:, place[own[k]]]
                hessian[np.ix_(own[k], own[k])] += part.T @ (weights * shares[:, k, None] * part)
        if not self.problem.losses.fit_intercept:
            return hessian[:size, :size].copy(), np.zeros((K, size))
        # The same constant in all intercepts changes nothing: the matrix is singular.
        drifts = -np.linalg.pinv(hessian[size:, size:], NO_EIGENVALUE, hermitian=True) @ hessian[size:, :size]
        return hessian[:size, :size] + hessian[:size, size:] @ drifts, drifts

    def make_step(self, k: int, chosen: np.ndarray) -> None:
        """Minimise the model of class k in these columns, and make a step that lowers the objective enough."""
        if not chosen.size:
            return
        problem, losses, columns = self.problem, self.problem.losses, self.points.columns
        shares = softmax(self.scores)[:, k]
        derivatives = self.weights * (shares - (losses.codes == k))
        curvatures = np.maximum(self.weights * shares * (1.0 - shares), self.least_curvature * self.weights)
        total = float(curvatures.sum())
        has_intercept = losses.fit_intercept and total > 0.0
        # The step of the intercept at which the model is smallest comes first.
        drift = -float(derivatives.sum()) / total if has_intercept else 0.0
        w, gradient_before = self.W[k].copy(), derivatives.copy()
        model = self.model_of(chosen, w, derivatives, curvatures, drift=drift, has_intercept=has_intercept)
        self.minimise_by_epochs(model, chosen)
        drift = float(model.drift[0])
        old, step = self.W[k, chosen], w[chosen] - self.W[k, chosen]
        changes = np.full(self.scores.shape[0], drift)
        moved = np.flatnonzero(step)
        add_columns(columns, chosen[moved], step[moved], changes)
        predicted = problem.l1 * float(np.abs(old + step).sum() - np.abs(old).sum()) + float(gradient_before @ changes)
        predicted += problem.l2 * float(old @ step)
        self.search(k, chosen, step, changes, drift, predicted)

    def search(
        self, k: int, chosen: np.ndarray, step: np.ndarray, changes: np.ndarray, drift: float, predicted: float
    ) -> None:
        """Take the longest step that lowers the objective by a share of what its derivative promises."""
        problem, old = self.problem, self.W[k, chosen]
        before, trial = self.loss_of(self.scores) + problem.penalty(old), self.scores.copy()

        def change_at(t: float) -> float:
            trial[:, k] = self.scores[:, k] + t * changes
            return self.loss_of(trial) + problem.penalty(old + t * step) - before

        t = self.length_of_step(change_at, predicted)
        self.W[k, chosen] = old + t * step
        self.b[k] += t * drift
        self.scores[:, k] += t * changes
