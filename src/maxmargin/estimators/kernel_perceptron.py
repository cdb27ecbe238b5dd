"""The kernel perceptron as a scikit-learn classifier."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import field, replace
from functools import cache, partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from maxmargin.certificates import Certificate, CertificateError, PerClass, UpdateRule, bound_mistakes
from maxmargin.certificates.geometry import feature_space_scores, kernel_geometry
from maxmargin.data import Dataset, LabelledPoints, Points, Tasks, validate_points
from maxmargin.data.objects import are_objects
from maxmargin.data.scikit_learn import Interval, _fit_context, available_if
from maxmargin.estimators._kernels import KERNEL_CONSTRAINTS, KernelModel
from maxmargin.estimators._parameters import estimator
from maxmargin.estimators._perceptrons import STALLED_ADVICE, OnlineClassifier, set_passes
from maxmargin.estimators._regularized import all_cores_unless
from maxmargin.estimators._shared import one_or_all, proof_or_per_class, refuse_other_rows
from maxmargin.estimators._solvers import Solve, SolverTable
from maxmargin.problems.kernel_perceptron import KernelPerceptronProblem
from maxmargin.reconciliation import Goal
from maxmargin.solvers.perceptron.kernel import KernelOptions, kernel_columns
from maxmargin.solvers.perceptron.result import PerceptronResult, Start

# The difference allowed between intercept_ and the sum of the duals, in shares of the sum of their sizes: that of sums
# in another order, and less than what the sums of scores in a model file allow.
SAME_INTERCEPT = 2.0**-37


@estimator
class KernelPerceptron(KernelModel, OnlineClassifier):
    r"""The perceptron in the feature space of a kernel, with its mistake bound as certificate.

    .. math:: f(x) = \sum_j \alpha_j y_j\, k(x_j, x) + b

    On a mistake at row i, ``alpha_i += eta0`` (and ``b += eta0 * y_i``: b is the weight of a feature that is always 1).
    The fit ends as soon as a whole pass makes no mistake, or at a limit, with a warning. More than two classes are
    learned one against the rest.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable takes two matrices, or two sequences of objects such as texts, and returns the matrix of kernel
        values between them, dense or sparse. For ``"precomputed"``, X is that matrix, symmetric up to rounding. The
        bounds hold for positive semidefinite kernels. ``"sigmoid"``, and ``"poly"`` with a negative ``coef0``, are none
        in general, and nothing is proven. Callables and matrices are tested, and the certificate states the assumption;
        nothing is proven where the test fails.
    degree : int, default=3
        For ``"poly"``.
    gamma : {"scale", "auto"} or float, default="scale"
        For ``"rbf"``, ``"poly"``, ``"sigmoid"``: 1 / (d Var(X)), 1 / d, or the number.
    coef0 : float, default=0.0
        For ``"poly"`` and ``"sigmoid"``.
    fit_intercept : bool, default=True
    eta0 : float, default=1.0
        The step size.
    shuffle : bool, default=True
        Draw a new random order of the rows for every pass of ``fit``.
    max_iter : int, default=1000
        The largest number of passes.
    tol, n_iter_no_change :
        As for :class:`Perceptron`.
    max_time : float or None, default=None
        The largest number of seconds to train.
    cache_size : float, default=200
        Megabytes for kernel columns.
    random_state : int, RandomState instance or None, default=0
        Seeds the order.
    n_jobs : int or None, default=None
        Threads of predictions; -1 takes all cores, and so does None, unlike in scikit-learn: threads need no copy of
        the data. The result does not depend on it. Classes share the kernel columns, and are learned one after the
        other.
    verbose : int, default=0
        Print a line a pass.

    Attributes
    ----------
    support_ : ndarray of int
        The rows on which an update was made (counted from the first ``partial_fit``).
    support_vectors_ : array or sparse matrix of shape (n_support, d)
        Those rows; empty for a precomputed kernel.
    dual_coef_ : ndarray of shape (1, n_support) or (n_classes, n_support)
        y_j alpha_j.
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_, n_iter_, n_updates_, mistakes_per_pass_, online_loss_per_pass_, criterion_per_pass_, status_ :
        As for :class:`Perceptron`.
    certificate_ : MistakeBound, or PerClass of them

    See Also
    --------
    Perceptron : The same without a kernel.
    SVC : The largest margin in the same feature space.
    maxmargin.lectures.kernel_perceptron : The algorithm step by step.

    References
    ----------
    "The Perceptron Algorithm", lecture 8, section 1.4; Freund and Schapire, "Large margin classification using the
    perceptron algorithm", 1999.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from maxmargin import KernelPerceptron
    >>> X, y = make_circles(200, noise=0.05, factor=0.4, random_state=0)
    >>> model = KernelPerceptron().fit(X, y)
    >>> model.score(X, y), str(model.status_)
    (1.0, 'solved')
    """

    kernel: str | Callable[..., Any] = "rbf"
    degree: int = 3
    gamma: str | float = "scale"
    coef0: float = 0.0
    fit_intercept: bool = True
    eta0: float = 1.0
    shuffle: bool = True
    max_iter: int = 1000
    tol: float | None = None
    n_iter_no_change: int = 5
    max_time: float | None = None
    cache_size: float = 200
    random_state: Any = 0
    n_jobs: int | None = None
    verbose: int = 0

    support_: np.ndarray = field(init=False)
    support_vectors_: Any = field(init=False)
    dual_coef_: np.ndarray = field(init=False)
    intercept_: np.ndarray = field(init=False)
    n_iter_: int = field(init=False)
    _one_run: bool = field(init=False)

    _advice_when_stalled = STALLED_ADVICE
    _private_attributes = ("_kernel", "_n_seen", "_one_run", "_objects")
    _rule_of_model = ("kernel", "degree", "gamma", "coef0", "fit_intercept")

    # The work is that of the kernel matrix.
    _entries_worth_a_thread: ClassVar[int] = 0

    _solvers: ClassVar[SolverTable] = {
        KernelPerceptronProblem: "perceptron.kernel",
    }
    _parameter_constraints: ClassVar[dict] = {
        **KERNEL_CONSTRAINTS,
        "fit_intercept": ["boolean"],
        "eta0": [Interval(Real, 1e-100, 1e100, closed="both")],
        "shuffle": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="left"), None],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "max_time": [Interval(Real, 0.0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> "KernelPerceptron":
        """Learn until a pass makes no mistake, or until a limit.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or the Gram matrix of shape (n, n)
        y : array of labels of shape (n,)

        Returns
        -------
        self
        """
        return self._fit(X, y)

    @available_if(lambda self: self.kernel != "precomputed")
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> "KernelPerceptron":
        """Learn from more rows, once and in the order given: the online protocol.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of labels of shape (n,)
        classes : array of all labels that can occur; needed in the first call

        Returns
        -------
        self
        """
        if callable(self.kernel) and (hasattr(self, "_objects") or are_objects(X)):
            raise TypeError("partial_fit takes rows of numbers: give fit the whole sequence of objects at once.")
        return self._partial_fit(X, y, classes)

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute f(x), in blocks of rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or the Gram matrix with the training rows, of shape (n, n_train)

        Returns
        -------
        ndarray of shape (n,), or (n, n_classes) for more than two classes
        """
        scores = self._scores_of_points(validate_points(self._as_fitted(), X))
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _attributes_so_far(self, labelled: LabelledPoints, results: Sequence[Any]) -> dict[str, Any]:
        signed = np.zeros((labelled.n_tasks, labelled.points.n_rows))
        changes = np.zeros(labelled.n_tasks)
        for task, (dataset, result) in enumerate(zip(labelled.tasks(), results, strict=True)):
            if result is not None:
                signed[task], changes[task] = dataset.signs * result[2], result[1]
        so_far = copy(self)
        so_far.classes_ = labelled.classes
        so_far._add_support(labelled.points, signed)
        intercept = changes + getattr(self, "intercept_", 0.0)
        names = ("classes_", "support_", "support_vectors_", "dual_coef_", "_kernel")
        return {"intercept_": intercept, **{name: getattr(so_far, name) for name in names}}

    def _prepare(self, data: LabelledPoints) -> None:
        super()._prepare(data)
        self._n_seen = 0
        self._one_run = True

    def _problem(self, data: Dataset) -> KernelPerceptronProblem:
        data = replace(data, points=self._points_of_kernel(data.points))
        return KernelPerceptronProblem(data, self._kernel, self.fit_intercept, self.eta0)

    @contextmanager
    def _solving(
        self, problems: Sequence[KernelPerceptronProblem], options: KernelOptions
    ) -> Iterator[tuple[Solve, int]]:
        # All tasks have the same rows, and so the same kernel columns: one after the other takes them from the cache.
        shared = replace(options, columns=cache(partial(kernel_columns, problems[0], self.cache_size)))
        solve = self._solver(problems[0])
        yield lambda problem, _, monitor, start: solve(problem, shared, monitor, start), 1

    def _options(self, tasks: Tasks) -> KernelOptions:
        return KernelOptions(
            tol=self.tol,
            max_iter=self.max_iter,
            n_iter_no_change=self.n_iter_no_change,
            shuffle=self.shuffle,
            **self._seed_and_threads(tasks),
        )

    def _continue_stream(self, labelled: LabelledPoints, first: bool) -> Sequence[Start | None]:
        if first:
            self._prepare(labelled)
            return [None] * labelled.n_tasks
        # The updates since a fit are not those of one run.
        self._one_run = self._one_run and not hasattr(self, "status_")
        return [Start(scores=scores) for scores in self._scores_of_points(labelled.points).T]

    def _add_results(self, labelled: LabelledPoints, results: Sequence[PerceptronResult]) -> None:
        self._set_attributes(labelled, results)

    def _set_attributes(self, tasks: LabelledPoints, results: Sequence[PerceptronResult]) -> None:
        """Add the updates of the results to the expansion so far."""
        self.classes_ = tasks.classes
        self._add_support(tasks.points, np.array([result.beta for result in results]))
        self.intercept_ = np.array([result.intercept for result in results]) + getattr(self, "intercept_", 0.0)
        updates = np.array([result.n_updates for result in results]) + np.atleast_1d(getattr(self, "n_updates_", 0))
        self.n_updates_ = one_or_all([int(count) for count in updates])
        set_passes(self, results)

    def _add_support(self, points: Points, signed: np.ndarray) -> None:
        used = np.flatnonzero(signed.any(axis=0))
        vectors: Any = points.matrix[used] if self._kernel is not None else np.empty((0, points.n_columns))
        support, dual_coef = used + self._n_seen, signed[:, used]
        if hasattr(self, "dual_coef_"):
            stack = sp.vstack if sp.issparse(vectors) or sp.issparse(self.support_vectors_) else np.vstack
            vectors = stack([self.support_vectors_, vectors])
            vectors = sp.csr_array(vectors) if sp.issparse(vectors) else vectors
            support = np.concatenate([self.support_, support])
            dual_coef = np.hstack([self.dual_coef_, dual_coef])
        self.support_vectors_, self.support_, self.dual_coef_ = vectors, support, dual_coef
        self._n_seen += points.n_rows

    def _n_threads(self) -> int:
        return all_cores_unless(self.n_jobs)

    def _task_coefficients(self) -> np.ndarray:
        return self.dual_coef_.T

    def _certify(self, tasks: Any, problems: Sequence[Any]) -> Certificate | PerClass:
        if not self._one_run:
            raise ValueError("estimator was continued by partial_fit: there is no one sequence to certify.")
        refuse_other_rows(tasks.points.n_rows, self._n_seen)
        of_duals = self.dual_coef_.sum(axis=1) * problems[0].intercept_step
        sizes = np.abs(self.dual_coef_).sum(axis=1)
        if not (np.abs(self.intercept_ - of_duals) <= SAME_INTERCEPT * sizes).all():
            raise CertificateError("intercept_ is not the sum of the duals: the model was changed after its fit.")
        scores = feature_space_scores(problems[0], self.support_, self.dual_coef_)
        rule = UpdateRule(tasks.points.n_rows, self.n_iter_, smallest_step=self.eta0, largest_step=self.eta0)
        updates = np.atleast_1d(self.n_updates_)
        proofs: list[Certificate] = []
        for task, problem in enumerate(problems):
            geometry = kernel_geometry(
                problem, scores[:, task], self.support_, self.dual_coef_[task], problems[0].kernel_facts
            )
            proofs.append(bound_mistakes(geometry, rule, int(updates[task])))
        return proof_or_per_class(tasks.classes, proofs)

    def _goal(self, k: int, problem: Any | None = None) -> Goal:  # noqa: ARG002
        return Goal(None)
