"""The kernel support vector machine as a scikit-learn classifier."""

import math
from collections.abc import Sequence
from itertools import combinations
from threading import Event
from typing import Any

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from maxmargin.certificates import (
    Certificate,
    MarginBracket,
    NotSeparableError,
    PerClass,
    PerPair,
    measure_kernel_gap,
    measure_pair_gaps,
)
from maxmargin.data import (
    ClassPair,
    ClassPairs,
    LabelledPoints,
    validate_labels,
    validate_points,
    validate_training_data,
)
from maxmargin.data.blas import one_blas_thread
from maxmargin.estimators._base import (
    CertifiedClassifier,
    kept_on_error,
    plain,
    refuse_other_rows,
)
from maxmargin.estimators._kernel_svm import Attempt, KernelSVM, shape_of
from maxmargin.estimators._kernels import make_kernel, refuse_bad_gram
from maxmargin.problems.kernel_svm import NO_MARGIN
from maxmargin.problems.one_vs_one import PairProblems
from maxmargin.solvers.core import Monitor, Status, interrupt_handler
from maxmargin.solvers.kernel.one_vs_one import PairSolver

# With C = inf, a margin that is proven to be below this share of the longest phi(x), or below this, is taken for none.
NOTHING_LEFT = 2.0 * NO_MARGIN
NOTHING = 1e-300


class SVC(KernelSVM, CertifiedClassifier):
    r"""The support vector machine in the feature space of a kernel, solved to a proven gap.

    .. math:: \max_\alpha \sum_i \alpha_i - \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j\, k(x_i, x_j), \qquad
              0 \le \alpha_i \le C, \quad \sum_i \alpha_i y_i = 0

    More than two classes are learned one against one; pairs whose kernel matrices fit into the cache share the values
    within a class. Training time grows with the square of the number of rows: beyond some 100,000 of them put
    scikit-learn's ``Nystroem`` or ``RBFSampler`` before :class:`LinearSVC` in a pipeline, as
    ``examples/approximate_kernels.py`` does. For probabilities wrap the model in scikit-learn's
    ``CalibratedClassifierCV``.

    Kernel values are kept in single precision where that is enough for ``tol``; the proof is computed in double, and
    where it falls short the solver goes on in double, too.

    Parameters
    ----------
    C : float, default=1.0
        The price of a point in the street or beyond it. ``inf`` is the hard margin in feature space: the widest street
        without a point in it, or :class:`NotSeparableError` with the proof that no street is worth the name.
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
        The relative duality gap at which to stop; for C = inf, the relative width of the bracket around the margin.
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
        Whether ``predict`` is the argmax of the decision function also where the votes of more than two classes tie;
        else the first of these classes is predicted. True is refused together with ``decision_function_shape="ovo"``.
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
    dual_coef_ : ndarray of shape (n_classes - 1, n_support), or csr_matrix after a fit to sparse rows
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
    certificate_ : ClassificationGap, or PerPair of them; MarginBracket for C = inf

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

    Probabilities, from the scores of models that did not see the rows:

    >>> from sklearn.calibration import CalibratedClassifierCV
    >>> calibrated = CalibratedClassifierCV(SVC(), cv=3).fit(X, y)
    >>> calibrated.predict_proba(X).shape
    (200, 2)

    The hard margin in feature space, with its bracket:

    >>> hard = SVC(C=float("inf"), gamma=2.0).fit(X, y)
    >>> hard.certificate_.separates, hard.certificate_.relative <= 1e-3
    (True, True)
    """

    _takes_hard_margin = True

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
        self._check_parameters()
        with kept_on_error(self):
            labelled = validate_labels(
                validate_training_data(self, X, y, sample_weight=sample_weight, class_weight=self.class_weight)
            )
            self._refuse_extreme_weights(labelled)
            refuse_bad_gram(self, labelled.points)
            self._kernel = make_kernel(self, labelled.points)
            self._refuse_weightless_classes(labelled)
            pairs = ClassPairs(labelled)
            problems = PairProblems(pairs, self._kernel, self.C)
            per_class = compute_class_weight(self.class_weight, classes=labelled.classes, y=labelled.labels())
            with interrupt_handler() as stop_requested:

                def solve(attempt: Attempt) -> list[Any]:
                    results = self._solve_pairs(problems, attempt, stop_requested)
                    self._refuse_outcomes(problems, results)
                    self.classes_ = labelled.classes
                    self.__dict__.pop("_vote_order", None)
                    self._keep(labelled, pairs, [result.beta for result in results])
                    return results

                results = self._solve_proven(labelled, problems.of_all_points, solve)
                self.shape_fit_ = shape_of(X, labelled.points)
                self.class_weight_ = np.asarray(per_class, dtype=np.float64)
                self.n_iter_ = np.array([result.n_iter for result in results], dtype=np.int32)
                self._report(results)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if math.isinf(self.C) and self.kernel == "sigmoid":
            raise ValueError("C=inf, the hard margin, needs a feature space, and kernel='sigmoid' has none: give C.")

    @property
    def n_support_(self) -> np.ndarray:
        """Support vectors of each class."""
        check_is_fitted(self)
        return self._n_support

    @property
    def coef_(self) -> Any:
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
        """Predict labels: of two classes the second where f(x) >= 0, of more by votes of pairs, as LIBSVM does.

        Of classes with the same number of votes it is the first one, or with ``break_ties`` the one with the greatest
        score. A model that was read from a file of LIBSVM has the order of the classes in that file.

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
        if self.break_ties and len(self.classes_) > 2:
            return self.classes_[self._class_scores(scores).argmax(axis=1)]
        return self.classes_[self._voted(scores)]

    def _pair_scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self._expansion(validate_points(self, X), self._pair_coefficients()) + self.intercept_

    def _class_scores(self, scores: np.ndarray) -> np.ndarray:
        return _ovr_decision_function(scores < 0.0, -scores, len(self.classes_))

    def _order_of_votes(self) -> np.ndarray:
        """The classes in the order in which ties are decided: rising, but for a model file with another order."""
        return getattr(self, "_vote_order", np.arange(len(self.classes_)))

    def _voted(self, scores: np.ndarray) -> np.ndarray:
        """The places of the classes with the most votes, the first of them in order; zero is a vote for the later."""
        order = self._order_of_votes()
        ranks, votes = np.argsort(order), np.zeros((scores.shape[0], order.size), dtype=np.int32)
        if order.size == 2:
            # Of only two classes, the second is the positive one.
            scores = -scores
        for pair, (first, second) in enumerate(combinations(range(order.size), 2)):
            is_first = scores[:, pair] > 0.0 if ranks[first] < ranks[second] else scores[:, pair] >= 0.0
            votes[:, first] += is_first
            votes[:, second] += ~is_first
        return order[votes[:, order].argmax(axis=1)]

    def _pair_coefficients(self) -> np.ndarray:
        """The coefficients of all support vectors in every pair, (n_support, n_pairs)."""
        n_classes = len(self.classes_)
        if n_classes == 2:
            return self._duals.T
        ends = np.cumsum(self._n_support)
        columns = np.zeros((self.support_.size, n_classes * (n_classes - 1) // 2))
        place = 0
        for first in range(n_classes):
            for second in range(first + 1, n_classes):
                for own, other in ((first, second), (second, first)):
                    part = slice(ends[own] - self._n_support[own], ends[own])
                    columns[part, place] = self._duals[other if other < own else other - 1, part]
                place += 1
        return columns

    def _refuse_weightless_classes(self, labelled: LabelledPoints) -> None:
        """A street has two sides."""
        if math.isinf(self.C) and labelled.weights is not None:
            total = np.bincount(labelled.codes, labelled.weights, minlength=len(labelled.classes))
            if not total.all():
                name = labelled.classes[int(np.argmin(total))]
                raise ValueError(f"sample_weight is zero for all rows of class {name}: C=inf needs rows on both sides.")

    def _solve_pairs(self, problems: PairProblems, attempt: Attempt, stop_requested: Event) -> list[Any]:
        with one_blas_thread():
            solver = PairSolver(problems, attempt.options)

            def solve_pair(task: int, pair: ClassPair, _seed: int, monitor: Monitor) -> Any:
                before = attempt.before_of(task)
                if before is not None and before.status is Status.SOLVED:
                    return before
                return solver.solve(task, pair, monitor, before)

            return self._solve_tasks(
                problems.pairs, solve_pair, stop_requested, steps=None, at_once=solver.at_once, seconds=attempt.seconds
            )

    def _refuse_outcomes(self, problems: PairProblems, results: Sequence[Any]) -> None:
        """Raise where C = inf has no solution, before anything of the last fit is lost."""
        for name, pair, result in zip(problems.pairs.names(), problems.pairs.tasks(), results, strict=True):
            if result.status is not Status.NOT_SEPARABLE:
                continue
            proof = measure_kernel_gap(problems.problem(pair), result.beta, result.intercept)
            assert isinstance(proof, MarginBracket)
            if proof.separates or math.isinf(proof.upper) or proof.upper > max(NOTHING_LEFT * proof.radius, NOTHING):
                result.status = Status.STALLED
                continue
            which = "" if len(results) == 1 else f"{name}: "
            raise NotSeparableError(
                f"{which}{proof}. For C=inf that is no margin to work with: use a soft one, for example SVC(C=1.0), or "
                "a kernel that tells the points apart, for example a larger gamma.",
                proof,
            )

    def _keep(self, labelled: LabelledPoints, pairs: ClassPairs, betas: Sequence[np.ndarray]) -> None:
        """Lay the duals of all pairs out by class, as scikit-learn does."""
        n_classes, n_rows = len(labelled.classes), labelled.points.n_rows
        whole = np.zeros((n_classes - 1, n_rows))
        if n_classes == 2:
            whole[0] = betas[0]
        else:
            for (first, second), beta in zip(pairs.pairs, betas, strict=True):
                own, other = pairs.rows_of_class[first], pairs.rows_of_class[second]
                whole[second - 1, own], whole[first, other] = np.split(beta, [own.size])
        used = np.flatnonzero(whole.any(axis=0))
        self.support_ = used[np.argsort(labelled.codes[used], kind="stable")].astype(np.int32)
        self._n_support = np.bincount(labelled.codes[used], minlength=n_classes).astype(np.int32)
        self._duals = whole[:, self.support_]
        self.support_vectors_ = self._support_of(labelled.points, self.support_)
        self._n_rows = n_rows

    def _attributes_so_far(self, labelled: Any, results: Sequence[Any]) -> dict[str, Any]:
        betas = [
            np.zeros(pair.signs.size) if result is None else result[2]
            for pair, result in zip(labelled.tasks(), results, strict=True)
        ]
        so_far = type(self)(**self.get_params())
        so_far._kernel, so_far.classes_ = self._kernel, labelled.labelled.classes
        so_far._keep(labelled.labelled, labelled, betas)
        names = ("classes_", "support_", "support_vectors_", "_duals", "_n_support", "_kernel")
        intercept = np.array([0.0 if result is None else result[1] for result in results])
        return {"intercept_": intercept, **{name: getattr(so_far, name) for name in names}}

    def _certify(self, labelled: LabelledPoints) -> Certificate | PerClass:
        refuse_other_rows(labelled.points.n_rows, self._n_rows)
        coefficients = np.zeros((labelled.points.n_rows, self.intercept_.size))
        coefficients[self.support_] = self._pair_coefficients()
        pairs = ClassPairs(labelled)
        betas = [
            coefficients[:, task] if pair.rows is None else coefficients[pair.rows, task]
            for task, pair in enumerate(pairs.tasks())
        ]
        proofs = measure_pair_gaps(PairProblems(pairs, self._kernel, self.C), betas, self.intercept_)
        if len(proofs) == 1:
            return proofs[0]
        names = [(plain(labelled.classes[first]), plain(labelled.classes[second])) for first, second in pairs.pairs]
        return PerPair(dict(zip(names, proofs, strict=True)))
