"""The linear support vector machine as a scikit-learn classifier."""

import math
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from maxmargin.certificates import Certificate, PerClass
from maxmargin.certificates.duality_gap import measure_gap
from maxmargin.data import Dataset, LabelledPoints, validate_labels, validate_training_data
from maxmargin.estimators._base import LinearPlanes, one_or_all, refuse_other_rows
from maxmargin.problems.linear_svm import LOSSES, LinearSVMProblem
from maxmargin.solvers import Watch, ctrl_c_asks, newton


class LinearSVC(LinearPlanes):
    r"""The linear support vector machine, solved to a proven gap.

    .. math:: \min_{w, b} \tfrac12 \lVert w \rVert^2 + C \sum_i \ell(y_i (w \cdot x_i + b))

    with the hinge :math:`\ell(m) = \max(0, 1 - m)` or its square. The intercept b is not penalised: this is the problem
    of the textbook. More than two classes are learned one against the rest.

    Parameters
    ----------
    C : float, default=1.0
        The price of a point in the street or beyond it.
    loss : {"hinge", "squared_hinge"}, default="hinge"
    fit_intercept : bool, default=True
    tol : float, default=1e-4
        The relative duality gap at which to stop: the model's objective is then within this share of the best one.
    max_iter : int, default=1000
        The largest number of Newton steps.
    max_time : float or None, default=None
        The largest number of seconds to train.
    class_weight : dict, "balanced" or None, default=None
        Factors on C for each class.
    n_jobs : int or None, default=None
        Threads, for more than two classes. The result does not depend on it.
    warm_start : bool, default=False
        Start from the duals of the last fit, which must have had the same classes and as many rows.
    verbose : int, default=0
        Print a line a Newton step.

    Attributes
    ----------
    coef_ : ndarray of shape (1, d) or (n_classes, d)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    dual_coef_ : ndarray of shape (1, n) or (n_classes, n)
        y_i alpha_i of the dual point that proves the gap.
    support_ : ndarray of int
        Rows with a dual that is not zero, in any task.
    margin_ : float, or ndarray with one entry a class
        1/||w||: half the width of the street.
    objective_ : float, or list with one entry a class
        The value of the model, rounded up.
    history_ : list of (seconds, primal, dual), or a list of them
    n_iter_ : int
        Newton steps (of the class that took most).
    status_ : Status
    certificate_ : DualityGap, or PerClass of them

    Notes
    -----
    The solver is a dual proximal-point method with Newton steps, made for many rows of few columns, large C and small
    gaps. On wide sparse data (tens of thousands of columns) it reaches the same gaps, but slowly.

    References
    ----------
    "Large Margin Classifiers. Linear Support Vector Machines", lecture 9: soft margins, the dual, the KKT conditions.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVC(tol=1e-6).fit(scale(X), y)
    >>> model.certificate_.relative <= 1e-6
    True
    """

    _parameter_constraints: dict = {
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "loss": [StrOptions(set(LOSSES))],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_time": [Interval(Real, 0.0, None, closed="neither"), None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "n_jobs": [Integral, None],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    # Nothing is drawn at random.
    random_state = 0
    _advice_when_stalled = "the gap stopped shrinking above tol: rescale the columns of X, or raise tol"

    def __init__(
        self,
        C=1.0,
        *,
        loss="hinge",
        fit_intercept=True,
        tol=1e-4,
        max_iter=1000,
        max_time=None,
        class_weight=None,
        n_jobs=None,
        warm_start=False,
        verbose=0,
    ):
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LinearSVC":
        """Learn until the relative duality gap is at most ``tol``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of labels of shape (n,)
        sample_weight : array of shape (n,), optional
            Factors on C: a weight of 2 is the same as the row given twice.

        Returns
        -------
        self
        """
        if math.isinf(self.C):
            raise ValueError("C must be finite: MarginPerceptron finds planes that separate all points.")
        labelled = validate_labels(
            validate_training_data(self, X, y, sample_weight=sample_weight, class_weight=self.class_weight)
        )
        starts = self._starts(labelled)
        settings = newton.GapSettings(self.tol, self.max_iter)

        def solve_task(task: int, dataset: Dataset, _seed: int, watch: Watch) -> newton.GapPoint:
            return newton.solve(self._problem(dataset), settings, watch, starts[task])

        with ctrl_c_asks() as stop_asked:
            solutions = self._solve_tasks(labelled, solve_task, stop_asked, steps=self.max_iter)
            self.classes_ = labelled.classes
            self.coef_ = np.array([solution.w for solution in solutions])
            self.intercept_ = np.array([solution.intercept for solution in solutions])
            signs = [dataset.signs for dataset in labelled.tasks()]
            self.dual_coef_ = np.array([sign * run.alpha for sign, run in zip(signs, solutions, strict=True)])
            self.support_ = np.flatnonzero(self.dual_coef_.any(axis=0))
            self.n_iter_ = max(1, *(solution.n_steps for solution in solutions))
            self.history_ = one_or_all([solution.history for solution in solutions])
            lengths = np.linalg.norm(self.coef_, axis=1)
            margins = np.divide(1.0, lengths, out=np.full_like(lengths, np.inf), where=lengths > 0.0)
            self.margin_ = float(margins[0]) if len(margins) == 1 else margins
            self.certificate_ = self._prove(labelled)
            proof: Any = self.certificate_
            self.objective_ = proof.primal if len(solutions) == 1 else [one.primal for one in proof.values()]
            self._tell(solutions)
        return self

    def slack(self, X: Any, y: Any) -> np.ndarray:
        """Compute xi_i = max(0, 1 - y_i f(x_i)): 0 outside the street, below 1 inside it, else on the wrong side.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of labels of shape (n,)

        Returns
        -------
        ndarray of shape (n,), or (n, n_classes) for more than two classes
        """
        check_is_fitted(self)
        labelled = validate_training_data(self, X, y, classes=self.classes_, reset=False)
        scores = labelled.points.scores(self.coef_.T) + self.intercept_
        signs = np.column_stack([dataset.signs for dataset in labelled.tasks()])
        slack = np.maximum(0.0, 1.0 - signs * scores)
        return slack[:, 0] if slack.shape[1] == 1 else slack

    def _problem(self, dataset: Dataset) -> LinearSVMProblem:
        return LinearSVMProblem(dataset, LOSSES[self.loss], self.C, self.fit_intercept)

    def _starts(self, labelled: LabelledPoints) -> list[np.ndarray | None]:
        n_tasks = labelled.n_tasks
        if not (self.warm_start and hasattr(self, "dual_coef_")):
            return [None] * n_tasks
        if self.dual_coef_.shape != (n_tasks, labelled.points.n_rows) or not np.array_equal(
            self.classes_, labelled.classes
        ):
            raise ValueError("warm_start=True needs the classes and as many rows as the last fit; X or y has others.")
        return list(np.abs(self.dual_coef_))

    def _prove(self, labelled: LabelledPoints) -> Certificate | PerClass:
        def prove_task(task: int, dataset: Dataset) -> Certificate:
            alpha = np.abs(self.dual_coef_[task])
            refuse_other_rows(dataset.signs.size, alpha.size)
            return measure_gap(self._problem(dataset), self.coef_[task], float(self.intercept_[task]), alpha)

        return self._certificates(prove_task, labelled)
