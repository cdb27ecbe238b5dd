"""The perceptron as a scikit-learn classifier."""

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from maxmargin.certificates import (
    Certificate,
    MarginBracket,
    bound_mistakes,
    bracket_hard_margin,
    bracket_margin,
    has_no_margin,
    linear_geometry,
)
from maxmargin.certificates.base import AGREEMENT
from maxmargin.data import Dataset, LabelledPoints, Tasks, as_dense, scikit_learn
from maxmargin.data.scikit_learn import Interval, StrOptions, _fit_context, available_if
from maxmargin.data.validation import validate_factors
from maxmargin.estimators._block_fits import fit_blocks
from maxmargin.estimators._parameters import estimator, with_known_arguments
from maxmargin.estimators._perceptrons import (
    STALLED_ADVICE,
    OnlineClassifier,
    n_to_hold_out,
    rows_to_hold_out,
    set_linear_model,
    start_array,
    update_rule,
)
from maxmargin.estimators._predictors import LinearClassifier
from maxmargin.estimators._shared import as_list, one_or_all, refuse_other_rows
from maxmargin.estimators._solvers import SolverTable
from maxmargin.problems import PerceptronProblem
from maxmargin.problems.hard_margin import HardMarginProblem
from maxmargin.reconciliation import Goal
from maxmargin.solvers.perceptron.result import EpochOptions, PerceptronResult, Start

# Without tol, a run stalls only where its proof of inseparability is not confirmed.
UNCONFIRMED_ADVICE = (
    "the convex hulls of the classes seem to meet, but rounding errors are too large to prove it: rescale the columns "
    "of X, or use LinearSVC"
)


def _learns_online(model: "Perceptron") -> bool:
    if model.rule != "online":
        raise AttributeError("partial_fit is the online protocol: it needs rule='online'.")
    if model.early_stopping:
        raise AttributeError("partial_fit sees no rows that it could hold out: it needs early_stopping=False.")
    return True


@estimator
class Perceptron(LinearClassifier, OnlineClassifier):
    r"""The perceptron, with its mistake bound as certificate.

    Find a hyperplane without mistakes, that is with zero perceptron criterion

    .. math:: J(w, b) = \sum_i \max(0, -y_i (w \cdot x_i + b))

    by adding ``eta0 * y_i * x_i`` to w (and ``eta0 * y_i`` to b) on every mistake. The fit ends as soon as a whole pass
    makes no mistake: on separable data after at most :math:`(R/\gamma)^2` mistakes (Novikoff's bound). On inseparable
    data it ends with the proof that no hyperplane separates the classes, or at a limit; either is said in a warning.
    More than two classes are learned one against the rest.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet"} or None, default=None
        scikit-learn's: the coefficients shrink with every row, by stochastic gradient steps. No mistake bound holds
        then, and the fit ends by ``tol`` or at a limit: the certificate is a bracket around the largest margin. For the
        online rule, without ``average`` and ``normalize``.
    alpha : float, default=0.0001
        The factor of the penalty.
    l1_ratio : float, default=0.15
        The share of the 1-norm in "elasticnet".
    fit_intercept : bool, default=True
        Learn b, as the weight of a feature that is always 1.
    rule : {"online", "batch"}, default="online"
        Correct each mistake when it is met, or all mistakes of a pass at once.
    eta0 : float, default=1.0
        The step size.
    init : {"zeros", "random"}, default="zeros"
        The coefficients to start from; ``"random"`` draws each from a standard normal distribution.
    normalize : bool, default=False
        Take steps on points divided by their length, so that R = 1 in the theorems. The coefficients are those for the
        data as they are: a point's length does not change its side.
    shuffle : bool, default=True
        Draw a new random order of the rows for every pass of ``fit``; else keep theirs. The batch rule does not depend
        on it.
    max_iter : int, default=1000
        The largest number of passes.
    tol : float or None, default=None
        Stop, with status ``STALLED`` and a warning, after ``n_iter_no_change`` passes in a row whose online loss,
        divided by n, was not smaller by ``tol`` than the best before. On separable data that can be long before the
        last mistake. With None only a pass without a mistake, the proof that the classes are not separable, or a limit
        ends the fit.
    n_iter_no_change : int, default=5
        See ``tol`` and ``early_stopping``.
    early_stopping : bool, default=False
        Hold rows out, and judge progress by their accuracy instead of the criterion.
    validation_fraction : float, default=0.1
        The share of rows to hold out.
    max_time : float or None, default=None
        The largest number of seconds to train.
    average : bool or int, default=False
        Return the average of the coefficients after every example (from the given number of examples on; 0 is False),
        for the online rule.
    class_weight : dict, "balanced" or None, default=None
        Factors on the steps of each class.
    random_state : int, RandomState instance or None, default=0
        Seeds the order and the start.
    n_jobs : int or None, default=None
        Threads, for more than two classes; None is one, as in scikit-learn, unless a joblib context says otherwise. The
        result does not depend on it.
    record_criterion : bool, default=False
        Compute ``criterion_per_pass_`` for the online rule, too. It takes another pass over the rows after every pass
        with an update.
    warm_start : bool, default=False
        Start from the coefficients of the last fit.
    verbose : int, default=0
        Print a line a pass.

    Attributes
    ----------
    coef_ : ndarray of shape (1, d) or (n_classes, d)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Passes made (by the class that took most).
    t_ : float
        The number of rows that were read in all passes, plus one, as scikit-learn counts it.
    n_updates_ : int, or a list with one entry a class
    mistakes_per_pass_ : ndarray, or a list with one a class
        Mistakes made in each pass.
    online_loss_per_pass_ : ndarray, or a list with one a class
        The sum over each pass of max(0, -y_i f(x_i)), with f as it was when row i was evaluated. For the online rule,
        whose f changes during a pass, it is not the criterion of any hyperplane.
    criterion_per_pass_ : ndarray, or a list with one a class, or None
        J(w, b) of the coefficients at the end of each pass (before averaging). None for the online rule, unless
        ``record_criterion=True``.
    rows_evaluated_per_pass_ : ndarray, or a list with one a class
        Rows evaluated in each pass: late passes skip rows that cannot have become mistakes.
    dual_coef_ : ndarray of shape (1, n) or (n_classes, n)
        y_i alpha_i, alpha_i being the sum of the steps taken on row i: from zeros, ``coef_ = dual_coef_ @ X`` (not so
        with a penalty).
    coef_init_, intercept_init_ : ndarray
        The coefficients that the fit started from.
    hull_weights_ : ndarray of shape (1, n) or (n_classes, n), or None
        Where the proof that no hyperplane separates the classes ended a run (status NOT_SEPARABLE): weights of the rows
        for which the classes' convex hulls meet. Zeros for other classes.
    status_ : Status
    certificate_ : MistakeBound, or PerClass of them; MarginBracket with a penalty
    n_features_in_ : int
    feature_names_in_ : ndarray, where X had names

    See Also
    --------
    MarginPerceptron : Also keeps a distance from the points.
    KernelPerceptron : The same in a feature space.

    References
    ----------
    "Perceptron and Linear SVM", lecture 10; A. Zhang, "Perceptron and Support Vector Machine (SVM)", lecture 17; "The
    Perceptron Algorithm", lecture 8, section 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import Perceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Perceptron(shuffle=False).fit(X, y == 0)
    >>> model.score(X, y == 0), str(model.status_)
    (1.0, 'solved')
    >>> model.n_updates_, model.mistakes_per_pass_.tolist()
    (5, [2, 2, 1, 0])
    >>> proof = model.certificate_
    >>> print(f"at most {proof.bound:.0f} updates; the hyperplane has margin {proof.bracket.lower:.3f}")
    at most 254 updates; the hyperplane has margin 0.020
    """

    penalty: str | None = None
    alpha: float = 0.0001
    l1_ratio: float = 0.15
    fit_intercept: bool = True
    rule: str = "online"
    eta0: float = 1.0
    init: str = "zeros"
    normalize: bool = False
    shuffle: bool = True
    max_iter: int = 1000
    tol: float | None = None
    n_iter_no_change: int = 5
    early_stopping: bool = False
    validation_fraction: float = 0.1
    max_time: float | None = None
    average: bool | int = False
    class_weight: Any = None
    random_state: Any = 0
    n_jobs: int | None = None
    record_criterion: bool = False
    warm_start: bool = False
    verbose: int = 0

    _advice_when_not_separable = "no hyperplane separates the classes, so updates would never end: use LinearSVC"
    _private_attributes = ("_ends", "_n_held_out", "_rows_of_stream")
    _in_precision_of_rows: ClassVar[tuple[str, ...]] = ("coef_", "intercept_")
    _rule_of_stream = ("penalty", "alpha", "eta0", "normalize", "class_weight")
    _not_of_stream = ("dual_coef_", "hull_weights_", "certificate_", "status_")

    @property
    def t_(self) -> float:
        """The number of rows that were read in all passes, plus one."""
        scikit_learn.check_is_fitted(self)
        n_rows = self.dual_coef_.shape[1] if hasattr(self, "dual_coef_") else self._rows_of_stream
        return 1.0 + self.n_iter_ * n_rows

    @property
    def _advice_when_stalled(self) -> str:  # type: ignore[override]
        return UNCONFIRMED_ADVICE if self.tol is None else STALLED_ADVICE

    _solvers: ClassVar[SolverTable] = {
        PerceptronProblem: {
            "online": "perceptron.online",
            "batch": "perceptron.batch",
            "penalised": "perceptron.penalised",
        },
    }
    _parameter_constraints: ClassVar[dict] = {
        "penalty": [StrOptions({"l1", "l2", "elasticnet"}), None],
        "alpha": [Interval(Real, 0.0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0.0, 1.0, closed="both")],
        "fit_intercept": ["boolean"],
        "rule": [StrOptions({"online", "batch"})],
        "eta0": [Interval(Real, 1e-100, 1e100, closed="both")],
        "init": [StrOptions({"zeros", "random"})],
        "normalize": ["boolean"],
        "shuffle": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="left"), None],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
        "max_time": [Interval(Real, 0.0, None, closed="neither"), None],
        "average": ["boolean", Interval(Integral, 0, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "record_criterion": ["boolean"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # On inseparable data the batch rule oscillates: each pass over-corrects the mistakes of the one before.
        tags.classifier_tags.poor_score = self.rule == "batch"
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any = None, coef_init: Any = None, intercept_init: Any = None, sample_weight: Any = None
    ) -> "Perceptron":
        """Learn until a pass makes no mistake, or until a limit.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of labels of shape (n,)
        coef_init, intercept_init : arrays of the shapes of ``coef_`` and ``intercept_``, optional
            The coefficients to start from, instead of ``init``.
        sample_weight : array of shape (n,), optional
            Factors on the steps; a row of weight zero is left out. For the batch rule a weight of 2 is the same as
            the row given twice.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, coef_init=coef_init, intercept_init=intercept_init)

    @available_if(_learns_online)
    @with_known_arguments
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> "Perceptron":
        """Learn from more rows, once and in the order given: the online protocol.

        Each row is predicted before its label is used; ``n_updates_`` counts the mistakes since the first call after
        a fit, or since the first one. ``dual_coef_``, ``status_`` and ``certificate_`` belong to one data set, and are
        removed; ``certify(model, X, y)`` on all rows of the stream, in one piece, gives their bound.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of labels of shape (n,)
        classes : array of all labels that can occur; needed in the first call
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self
        """
        if self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' needs all rows at once: give partial_fit a dict instead.")
        return self._partial_fit(X, y, classes, sample_weight)

    @available_if(_learns_online)
    @_fit_context(prefer_skip_nested_validation=True)
    def fit_blocks(self, blocks: Any, passes: int = 1) -> "Perceptron":
        """Learn from blocks of rows, in their order and in a few passes: the online protocol, in the memory of a block.

        Each row is predicted before its label is used. The fit ends after a pass without a mistake, or after the last
        pass; two more passes give the mistake bound. Rows are never shuffled, and no vector over all rows is kept:
        there is no ``dual_coef_``, and no proof that the classes are not separable.

        Parameters
        ----------
        blocks : Store, FileBlocks, or iterable of pairs (X, y) that can be read several times
            See :func:`maxmargin.files.open_store` and :func:`maxmargin.files.read_blocks`.
        passes : int, default=1
            The largest number of passes.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from maxmargin import Perceptron
        >>> X, y = load_iris(return_X_y=True)
        >>> blocks = [(X[k : k + 50], y[k : k + 50] == 0) for k in range(0, 150, 50)]
        >>> model = Perceptron().fit_blocks(blocks, passes=10)
        >>> model.mistakes_per_pass_.tolist(), int(model.certificate_.bound)
        ([2, 2, 1, 0], 253)
        """
        if self._is_penalised:
            raise ValueError(
                "fit_blocks gives the mistake bound, which does not hold with a penalty: set penalty=None."
            )
        return fit_blocks(self, blocks, passes)

    def _check_parameters(self) -> None:
        if self._is_penalised:
            for name, only in (("rule", "online"), ("average", False), ("normalize", False)):
                if getattr(self, name) != only:
                    raise ValueError(f"penalty={self.penalty!r} takes {name}={only!r}; it is {getattr(self, name)!r}.")
        if self._average_since() is not None and self.rule != "online":
            raise ValueError(f"average={self.average!r} needs rule='online', got rule={self.rule!r}.")

    def _problem(self, data: Dataset) -> PerceptronProblem:
        validate_factors("eta0", self.eta0, data.weights)
        penalty = (self.alpha, self._l1_ratio) if self._is_penalised else ()
        return PerceptronProblem(data, self.fit_intercept, self.eta0, self.normalize, *penalty)

    @property
    def _is_penalised(self) -> bool:
        return self.penalty is not None and self.alpha > 0.0

    @property
    def _l1_ratio(self) -> float:
        return {"l1": 1.0, "l2": 0.0}.get(str(self.penalty), self.l1_ratio)

    def _options(self, tasks: Tasks) -> EpochOptions:
        return EpochOptions(
            tol=self.tol,
            max_iter=self.max_iter,
            n_iter_no_change=self.n_iter_no_change,
            shuffle=self.shuffle,
            held_out=self._held_out(tasks),
            average_since=self._average_since(),
            record_criterion=self.record_criterion,
            **self._seed_and_threads(tasks),
        )

    def _name_of_solver(self, problem: PerceptronProblem) -> str:
        return "penalised" if problem.is_penalised else self.rule

    def _average_since(self) -> int | None:
        if isinstance(self.average, (bool, np.bool_)):
            return 0 if self.average else None
        return int(self.average) or None

    def _held_out(self, labelled: Any) -> np.ndarray | None:
        if not self.early_stopping:
            return None
        return rows_to_hold_out(labelled, self.validation_fraction, self.random_state)

    def _starts(self, tasks: Any, coef_init: Any = None, intercept_init: Any = None) -> list[Start]:
        n_tasks = tasks.n_tasks
        shape = (n_tasks, tasks.points.n_columns)
        coef = intercept = None
        if self.warm_start and hasattr(self, "coef_"):
            coef, intercept = as_dense(self.coef_).astype(np.float64), self.intercept_.astype(np.float64)
            if coef.shape != shape or not np.array_equal(self.classes_, tasks.classes):
                raise ValueError("warm_start=True needs the classes and columns of the last fit; y or X has others.")
        elif self.init == "random":
            generator = scikit_learn.check_random_state(self.random_state)
            coef = generator.standard_normal(shape)
            intercept = generator.standard_normal(n_tasks) * self.fit_intercept
        coef = start_array("coef_init", coef_init, shape, coef)
        intercept = start_array("intercept_init", intercept_init, (n_tasks,), intercept)
        if not self.fit_intercept and intercept is not None and intercept.any():
            origin = "intercept_init" if intercept_init is not None else "warm_start=True: the last fit's intercept"
            raise ValueError(f"{origin} is not zero, but fit_intercept=False.")
        return [
            Start(None if coef is None else coef[task], 0.0 if intercept is None else float(intercept[task]))
            for task in range(n_tasks)
        ]

    def _set_starts(self, labelled: LabelledPoints, starts: Sequence[Start]) -> None:
        zero = np.zeros(labelled.points.n_columns)
        self.coef_init_ = np.array([zero if start.w is None else start.w for start in starts])
        self.intercept_init_ = np.array([start.intercept for start in starts])

    def _set_attributes(self, tasks: LabelledPoints, results: Sequence[PerceptronResult]) -> None:
        set_linear_model(self, tasks, results)
        self.dual_coef_ = np.array([result.beta for result in results])
        self._set_starts(tasks, [result.start for result in results])
        self._ends = [result.end for result in results]
        counted = tasks.codes.size if tasks.weights is None else np.count_nonzero(tasks.weights)
        self._n_held_out = n_to_hold_out(int(counted), self.validation_fraction) if self.early_stopping else 0
        self.hull_weights_ = None
        if any(result.witness is not None for result in results):
            zero = np.zeros(tasks.points.n_rows)
            self.hull_weights_ = np.array([zero if result.witness is None else result.witness for result in results])

    def _continue_stream(self, labelled: LabelledPoints, first: bool) -> Sequence[Start]:
        starts = self._starts(labelled) if first else self._ends
        if first or hasattr(self, "status_"):
            # A stream begins, at the coefficients of the last fit if there was one.
            self._set_starts(labelled, starts)
            self._rows_of_stream = 0
            self.n_updates_ = one_or_all([0] * labelled.n_tasks)
        return starts

    def _add_results(self, labelled: LabelledPoints, results: Sequence[PerceptronResult]) -> None:
        before = np.atleast_1d(self.n_updates_)
        set_linear_model(self, labelled, results)
        self._ends = [result.end for result in results]
        self.n_updates_ = one_or_all([int(old) + run.n_updates for old, run in zip(before, results, strict=True)])
        self._rows_of_stream += labelled.points.n_rows

    def _certify_task(self, k: int, problem: PerceptronProblem) -> Certificate:
        whole_run = hasattr(self, "dual_coef_")
        n_rows = self.dual_coef_.shape[1] if whole_run else self._rows_of_stream
        refuse_other_rows(problem.dataset.signs.size, n_rows)
        alpha = np.abs(self.dual_coef_[k]) if whole_run else None
        start = self.coef_init_[k], self.intercept_init_[k]
        witness = self.hull_weights_[k] if whole_run and self.hull_weights_ is not None else None
        geometry = linear_geometry(problem, self.coef_[k], self.intercept_[k], alpha, start, witness)
        if problem.is_penalised:
            return bracket_margin(geometry)
        passes = len(as_list(self.mistakes_per_pass_, len(self.coef_))[k])
        held_out = self._n_held_out if whole_run else 0
        rule = update_rule(problem, max(1, passes), batch=self.rule == "batch", held_out=held_out)
        return bound_mistakes(geometry, rule, int(np.atleast_1d(self.n_updates_)[k]))

    def _goal(self, k: int, problem: PerceptronProblem | None = None) -> Goal:
        if problem is None and self._hull_weights_of(k) is not None:
            return self._goal_where(lambda bracket: bracket.upper <= AGREEMENT * bracket.radius)
        return self._goal_if(problem is not None and self._hulls_meet(k, problem))

    def _goals(self, problems: Sequence[Any]) -> list[Goal]:
        """The goals of all tasks. Hull weights that prove nothing are left out: no certificate may rest on them."""
        hulls_meet = [self._hulls_meet(k, problem) for k, problem in enumerate(problems)]
        if self.hull_weights_ is not None:
            self.hull_weights_[np.logical_not(hulls_meet)] = 0.0
            self.hull_weights_ = self.hull_weights_ if any(hulls_meet) else None
        return [self._goal_if(meet) for meet in hulls_meet]

    def _goal_if(self, hulls_meet: bool) -> Goal:
        return self._goal_where(lambda _: hulls_meet)

    def _goal_where(self, not_separable: Callable[[MarginBracket], bool]) -> Goal:
        may_leave_mistakes = self.early_stopping or self._average_since() is not None
        return Goal(None, not_separable=not_separable, may_leave_mistakes=may_leave_mistakes)

    def _hull_weights_of(self, k: int) -> np.ndarray | None:
        """The hull weights of task k, where it has some."""
        hull_weights = getattr(self, "hull_weights_", None)
        return hull_weights[k] if hull_weights is not None and hull_weights[k].any() else None

    def _hulls_meet(self, k: int, problem: PerceptronProblem) -> bool:
        """Whether it is proven that the convex hulls of the classes meet at the point that the hull weights define."""
        weights = self._hull_weights_of(k)
        if weights is None:
            return False
        # The points are centred for this bracket, unlike those of the mistake bound: a smaller R, a stronger proof.
        hard = HardMarginProblem(problem.dataset, self.fit_intercept)
        beta = weights * problem.dataset.signs
        return has_no_margin(bracket_hard_margin(hard, self.coef_[k], float(self.intercept_[k]), beta))
