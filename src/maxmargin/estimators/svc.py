"""The kernel support vector machine as a scikit-learn classifier."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from maxmargin.certificates import Certificate, PerClass, PerPair, measure_kernel_gap
from maxmargin.data import (
    ClassPair,
    ClassPairs,
    LabelledPoints,
    validate_labels,
    validate_points,
    validate_training_data,
)
from maxmargin.estimators._base import (
    CertifiedClassifier,
    in_threads,
    kept_on_error,
    one_or_all,
    plain,
    refuse_other_rows,
)
from maxmargin.estimators._kernel_svm import KernelSVM
from maxmargin.estimators._kernels import make_kernel, refuse_bad_gram
from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.problems.linear_svm import hinge, weights_of
from maxmargin.solvers import Status, Watch, ctrl_c_asks, smo


class SVC(KernelSVM, CertifiedClassifier):
    r"""The support vector machine in the feature space of a kernel, solved to a proven gap.

    .. math:: \max_\alpha \sum_i \alpha_i - \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j\, k(x_i, x_j), \qquad
              0 \le \alpha_i \le C, \quad \sum_i \alpha_i y_i = 0

    More than two classes are learned one against one. Training time grows with the square of the number of rows: beyond
    some 100,000 of them put scikit-learn's ``Nystroem`` or ``RBFSampler`` before :class:`LinearSVC` in a pipeline. For
    probabilities wrap the model in scikit-learn's ``CalibratedClassifierCV``.

    Parameters
    ----------
    C : float, default=1.0
        The price of a point in the street or beyond it.
    kernel : {"rbf", "linear", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
        A callable takes two matrices and returns their gram matrix; with "precomputed", X is the gram matrix. "sigmoid"
        is not positive semidefinite in general, and nothing is proven for it.
    degree : int, default=3
        Of the polynomial kernel (gamma x·z + coef0)^degree.
    gamma : {"scale", "auto"} or float, default="scale"
        1/(d variance of X), 1/d, or a number.
    coef0 : float, default=0.0
        Of the polynomial and the sigmoid kernel.
    shrinking : bool, default=True
        Now and then go on without the duals that are firmly held at an end, and look at them again at the end.
    tol : float, default=1e-3
        The relative duality gap at which to stop.
    cache_size : float, default=200
        Megabytes for kernel rows; never exceeded.
    class_weight : dict, "balanced" or None, default=None
        Factors on C for each class.
    max_iter : int, default=-1
        The largest number of steps on pairs, checked between blocks of them; -1 for no limit.
    max_time : float or None, default=None
        The largest number of seconds to train.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        One score a class, or one a pair of classes.
    break_ties : bool, default=False
        For scikit-learn's sake: ties of votes are broken by confidences in any case, so that ``predict`` is the argmax
        of the decision function. True is refused together with ``decision_function_shape="ovo"``, as there.
    n_jobs : int or None, default=None
        Threads; None takes all cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Nothing is random: accepted for scikit-learn's sake.
    verbose : int, default=0
        Print a line a block.

    Attributes
    ----------
    support_ : ndarray of int
        Rows with a dual that is not zero in any pair, those of the first class first.
    support_vectors_ : array or sparse matrix of shape (n_support, d)
        Those rows; empty for a precomputed kernel.
    n_support_ : ndarray of int32, one entry a class
    dual_coef_ : ndarray of shape (n_classes - 1, n_support)
        y_i alpha_i in the pairs with every other class, laid out as scikit-learn's.
    coef_ : ndarray of shape (n_pairs, d), for the linear kernel
    intercept_ : ndarray of shape (n_pairs,)
    classes_ : ndarray of shape (n_classes,)
    class_weight_ : ndarray of shape (n_classes,)
    fit_status_ : 0 where every pair is solved to ``tol``, else 1
    n_iter_ : ndarray of int32 of shape (n_pairs,)
        Steps on pairs of duals.
    shape_fit_ : tuple
    status_ : Status
    history_ : list of (seconds, primal, dual), or one a pair
    certificate_ : StreetGap, or PerPair of them

    References
    ----------
    "Large Margin Classifiers. Linear Support Vector Machines", lecture 9: the dual, SMO, kernels. Platt, "Fast training
    of support vector machines using sequential minimal optimization", 1998; Fan, Chen, Lin, "Working set selection
    using second order information for training support vector machines", 2005.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from maxmargin import SVC
    >>> X, y = make_circles(200, noise=0.05, factor=0.4, random_state=0)
    >>> model = SVC().fit(X, y)
    >>> model.score(X, y), model.certificate_.relative <= 1e-3
    (1.0, True)
    """

    _parameter_constraints: dict = {
        **KernelSVM._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
    }

    def __init__(
        self,
        *,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        tol=1e-3,
        cache_size=200,
        class_weight=None,
        max_iter=-1,
        max_time=None,
        decision_function_shape="ovr",
        break_ties=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.max_time = max_time
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "SVC":
        """Learn until the relative duality gap of every pair of classes is at most ``tol``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or the gram matrix of shape (n, n)
        y : array of labels of shape (n,)
        sample_weight : array of shape (n,), optional
            Factors on C.

        Returns
        -------
        self
        """
        self._refuse_contradictions()
        with kept_on_error(self):
            labelled = validate_labels(
                validate_training_data(self, X, y, sample_weight=sample_weight, class_weight=self.class_weight)
            )
            self._refuse_extreme_prices(labelled)
            refuse_bad_gram(self, labelled.points)
            self._kernel = make_kernel(self, labelled.points)
            pairs, settings = ClassPairs(labelled), self._smo_settings()
            # Pairs of few rows run at the same time, for their kernel matrices are small; others one after the other.
            few = max(pair.rows.size for pair in pairs.tasks()) <= smo.WHOLE
            at_once = self._n_threads() if few else 1
            if few:
                settings = replace(settings, gap=replace(settings.gap, n_threads=1))

            def solve_pair(_task: int, pair: ClassPair, _seed: int, watch: Watch) -> Any:
                return smo.solve(self._problem(labelled, pair), settings, watch)

            with ctrl_c_asks() as stop_asked:
                solutions = self._solve_tasks(pairs, solve_pair, stop_asked, steps=None, at_once=at_once)
                self.classes_ = labelled.classes
                self.shape_fit_ = (
                    X.shape if hasattr(X, "shape") else (labelled.points.n_rows, labelled.points.n_columns)
                )
                per_class = compute_class_weight(self.class_weight, classes=labelled.classes, y=labelled.labels())
                self.class_weight_ = np.asarray(per_class, dtype=np.float64)
                self._keep(labelled, pairs, [solution.beta for solution in solutions])
                self.intercept_ = np.array([solution.intercept for solution in solutions])
                self.n_iter_ = np.array([solution.n_steps for solution in solutions], dtype=np.int32)
                self.history_ = one_or_all([solution.history for solution in solutions])
                self.certificate_ = self._prove(labelled)
                self._believe_only_proofs(solutions)
                self.fit_status_ = int(any(solution.status is not Status.SOLVED for solution in solutions))
                self._tell(solutions)
        return self

    @property
    def n_support_(self) -> np.ndarray:
        """Support vectors of each class."""
        check_is_fitted(self)
        return self._n_support

    @property
    def coef_(self) -> np.ndarray:
        """The planes of the linear kernel, one a pair of classes."""
        check_is_fitted(self)
        return self._coef_of(self._pair_coefficients().T)

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute scores, in blocks of rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or the gram matrix with the training rows, of shape (n, n_train)

        Returns
        -------
        ndarray of shape (n,) for two classes; else of shape (n, n_classes), or (n, n_pairs) for "ovo"
        """
        scores = self._pair_scores(X)
        if len(self.classes_) == 2:
            return scores[:, 0]
        return scores if self.decision_function_shape == "ovo" else self._class_scores(scores)

    def predict(self, X: Any) -> np.ndarray:
        """Predict labels: of two classes by the sign, of more by the pairs' votes, ties by their confidences.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or the gram matrix with the training rows

        Returns
        -------
        ndarray of shape (n,)
        """
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        scores = self._pair_scores(X)
        if len(self.classes_) == 2:
            return self.classes_[(scores[:, 0] > 0.0).astype(np.intp)]
        return self.classes_[self._class_scores(scores).argmax(axis=1)]

    def _pair_scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self._expansion(validate_points(self, X), self._pair_coefficients()) + self.intercept_

    def _class_scores(self, scores: np.ndarray) -> np.ndarray:
        return _ovr_decision_function(scores < 0.0, -scores, len(self.classes_))

    def _pair_coefficients(self) -> np.ndarray:
        """The coefficients of all support vectors in every pair, (n_support, n_pairs)."""
        n_classes = len(self.classes_)
        if n_classes == 2:
            return self.dual_coef_.T
        ends = np.cumsum(self._n_support)
        columns = np.zeros((self.support_.size, n_classes * (n_classes - 1) // 2))
        place = 0
        for first in range(n_classes):
            for second in range(first + 1, n_classes):
                for own, other in ((first, second), (second, first)):
                    part = slice(ends[own] - self._n_support[own], ends[own])
                    columns[part, place] = self.dual_coef_[other if other < own else other - 1, part]
                place += 1
        return columns

    def _keep(self, labelled: LabelledPoints, pairs: ClassPairs, betas: Sequence[np.ndarray]) -> None:
        """Lay the duals of all pairs out by class, as scikit-learn does."""
        n_classes, n_rows = len(labelled.classes), labelled.points.n_rows
        whole = np.zeros((n_classes - 1, n_rows))
        for (first, second), pair, beta in zip(pairs.pairs, pairs.tasks(), betas, strict=True):
            if n_classes == 2:
                whole[0, pair.rows] = beta
                continue
            own = labelled.codes[pair.rows] == first
            whole[second - 1, pair.rows[own]] = beta[own]
            whole[first, pair.rows[~own]] = beta[~own]
        used = np.flatnonzero(whole.any(axis=0))
        self.support_ = used[np.argsort(labelled.codes[used], kind="stable")].astype(np.int32)
        self._n_support = np.bincount(labelled.codes[used], minlength=n_classes).astype(np.int32)
        self.dual_coef_ = whole[:, self.support_]
        self.support_vectors_ = self._support_of(labelled.points, self.support_)
        self._n_rows = n_rows

    def _problem(self, labelled: LabelledPoints, pair: ClassPair) -> KernelSVMProblem:
        points, signs = labelled.points, np.empty(labelled.points.n_rows)
        signs[pair.rows] = pair.signs
        whole = KernelSVMProblem(points, self._kernel, hinge(signs, weights_of(points, labelled.weights), self.C))
        return whole if pair.rows.size == points.n_rows else whole.part(pair.rows)

    def _attributes_so_far(self, labelled: Any, results: Sequence[Any]) -> dict[str, Any]:
        betas = [
            np.zeros(pair.rows.size) if result is None else result[2]
            for pair, result in zip(labelled.tasks(), results, strict=True)
        ]
        so_far = type(self)(**self.get_params())
        so_far._kernel, so_far.classes_ = self._kernel, labelled.labelled.classes
        so_far._keep(labelled.labelled, labelled, betas)
        names = ("classes_", "support_", "support_vectors_", "dual_coef_", "_n_support", "_kernel")
        intercept = np.array([0.0 if result is None else result[1] for result in results])
        return {"intercept_": intercept, **{name: getattr(so_far, name) for name in names}}

    def _prove(self, labelled: LabelledPoints) -> Certificate | PerClass:
        refuse_other_rows(labelled.points.n_rows, self._n_rows)
        coefficients = np.zeros((labelled.points.n_rows, self.intercept_.size))
        coefficients[self.support_] = self._pair_coefficients()
        pairs = ClassPairs(labelled)
        tasks = list(pairs.tasks())

        def prove_pair(task: int) -> Certificate:
            beta, b = coefficients[tasks[task].rows, task], float(self.intercept_[task])
            return measure_kernel_gap(self._problem(labelled, tasks[task]), beta, b)

        if len(tasks) == 1:
            return prove_pair(0)
        few = max(pair.rows.size for pair in tasks) <= smo.WHOLE
        proofs = in_threads(self._n_threads() if few else 1, prove_pair, len(tasks))
        names = [(plain(labelled.classes[first]), plain(labelled.classes[second])) for first, second in pairs.pairs]
        return PerPair(dict(zip(names, proofs, strict=True)))
