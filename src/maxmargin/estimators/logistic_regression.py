"""Logistic regression as a scikit-learn classifier."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from maxmargin.certificates import (
    Certificate,
    LogisticGap,
    PerClass,
    measure_logistic_gap,
    measure_partitioned_logistic_gap,
)
from maxmargin.data import Dataset, LabelledPoints, Tasks
from maxmargin.data.partitions import PartitionedData, PartitionedTask
from maxmargin.estimators._base import (
    LinearClassifier,
    Solve,
    distributed_vectors,
    kind_of_rows,
    lies_elsewhere,
    one_or_all,
    proof_or_per_class,
)
from maxmargin.estimators._parameters import estimator
from maxmargin.estimators._regularized import RegularizedModel
from maxmargin.problems.linear_svm import weights_of
from maxmargin.problems.logistic import LogisticProblem, sigmoid
from maxmargin.problems.partitioned import PartitionedProblem
from maxmargin.solvers.core import Result
from maxmargin.solvers.regression import logistic_gradient, logistic_newton, partitioned
from maxmargin.solvers.regression.logistic import LogisticResult
from maxmargin.solvers.regression.logistic_gradient import GradientOptions


@estimator
class LogisticRegression(LinearClassifier, RegularizedModel):
    r"""Logistic regression, the soft version of the perceptron, solved to a certified duality gap.

    .. math:: \min_{w, b} \tfrac12 \lVert w \rVert^2 + C \sum_i \log(1 + e^{-y_i (w \cdot x_i + b)})

    with P(y = 1 | x) = 1/(1 + exp(-f(x))); or, with C = inf, the sum of the losses alone, as in the lecture. The
    intercept b is not penalised. More than two classes are learned one against the rest.

    With C = inf there is no minimum where a hyperplane has no point on its wrong side and some on its right side
    (complete or quasi-complete separation): the loss falls for ever along it. Where such a hyperplane is found, the fit
    ends with ``status_`` "separable", a warning and the hyperplane; if it separates all points, ``coef_`` is that
    hyperplane, and the certificate proves its margin. One that has points on it is found only if its coefficients are
    multiples of a common number: so "solved" with C = inf does not say that there is a minimum, but that no
    coefficients up to the ``reach`` of the certificate are better, a norm of more than ten times that of the model in
    standardised columns. A finite C always has one solution.

    Parameters
    ----------
    C : float, default=1.0
        The inverse regularisation strength, the factor on the losses. ``inf`` is the lecture's: no penalty.
    fit_intercept : bool, default=True
    tol : float, default=1e-4
        The relative duality gap at which to stop.
    solver : {"auto", "newton", "gradient"}, default="auto"
        "newton" makes few steps, each with a linear system; "gradient" is the lecture's gradient descent; "auto" is
        Newton's method.
    step_size : float or None, default=None
        The size of gradient steps, for w and b alike as in the lecture. None is a safe one, one over a bound on the
        curvature, with the intercept minimised after every step of w.
    max_iter : int or None, default=None
        The largest number of steps.
    max_time : float or None, default=None
        The time limit in seconds.
    class_weight : dict or "balanced", default=None
    n_jobs : int or None, default=None
        Threads; the result does not depend on it. None takes all cores, not one as in scikit-learn, because every pass
        over the rows runs in threads and the default fit would be slower with one.
    warm_start : bool, default=False
        Begin with the coefficients of the last fit.
    verbose : int, default=0

    Attributes
    ----------
    coef_ : ndarray of shape (1, d), or (n_classes, d) for more than two classes
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray of labels
    separating_coef_, separating_intercept_ : ndarrays like ``coef_`` and ``intercept_``
        Hyperplanes with no point on their wrong side, only where ``status_`` is "separable"; zero for other classes.
    objective_ : float, or a list of one a class
        The value of the model, rounded up.
    history_ : list of (seconds, primal, dual), or a list of those
        Of the incumbent after every step of Newton's method; of the current iterate after every gradient step.
    n_iter_ : int
    rounds_ : int
        After a fit on Dask collections: rounds of messages, loading and certificate included.
    status_ : Status
    certificate_ : LogisticGap, or PerClass of them

    Notes
    -----
    Gradient descent shows its sequence as it is: where the step size is too large, ``history_`` rises, and the fit ends
    with ``status_`` "stalled" and the advice to take a smaller one. ``coef_`` is the incumbent, the iterate with the
    smallest objective, and not the last one. With C = inf the descent does not end at the first iterate that separates
    the classes, but at ``max_iter`` or ``max_time``, and then ``coef_`` is the separating iterate with the smallest
    loss. Without either limit it would never end, so that it then ends at the first separating iterate, and with status
    "stalled" where 500 steps in a row lower the objective by less than a hundredth of the gap.

    References
    ----------
    Lecture 001 on logistic regression; Lin, Weng, Keerthi, "Trust region Newton method for large-scale logistic
    regression", 2008; Yu, Huang, Lin, "Dual coordinate descent methods for logistic regression and maximum entropy
    models", 2011, for the dual.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression().fit(scale(X), y)
    >>> model.certificate_.relative <= 1e-4
    True
    >>> model.predict_proba(scale(X)[:1]).round(3)
    array([[1., 0.]])
    """

    C: float = 1.0
    fit_intercept: bool = True
    tol: float = 1e-4
    solver: str = "auto"
    step_size: float | None = None
    max_iter: int | None = None
    max_time: float | None = None
    class_weight: Any = None
    n_jobs: int | None = None
    warm_start: bool = False
    verbose: int = 0

    _parameter_constraints: ClassVar[dict] = {
        "C": [Interval(Real, 0.0, None, closed="right")],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "solver": [StrOptions({"auto", "newton", "gradient"})],
        "step_size": [Interval(Real, 0.0, None, closed="neither"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "max_time": [Interval(Real, 0.0, None, closed="neither"), None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "n_jobs": [Integral, None],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    _takes_collections: ClassVar[bool] = True

    # Nothing is random.
    random_state = 0

    # The dual points of all tasks, of which the certificate states the values.
    _private_attributes = ("_dual_point",)

    _advice_when_separable = (
        "a hyperplane, separating_coef_, has no point on its wrong side, so the loss has no minimum: set a finite C"
    )

    @property
    def _advice_when_stalled(self) -> str:  # type: ignore[override]
        if self.solver == "gradient" and self.step_size is not None:
            return "the gap stopped shrinking above tol: set a smaller step_size (None is a safe one), or raise tol"
        return "the gap stopped shrinking above tol: rescale the columns of X, or raise tol"

    def predict_proba(self, X: Any) -> np.ndarray:
        """Compute the probabilities of the classes; those of one class against the rest are scaled to sum to one.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        if lies_elsewhere(X):
            return self._in_partitions("predict_proba", X, len(self.classes_))
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([sigmoid(-scores), sigmoid(scores)])
        # Where all classes are improbable beyond the smallest float, their logarithms still tell them apart.
        logarithms = -np.logaddexp(0.0, -scores)
        shares = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Compute the logarithms of the probabilities.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        if lies_elsewhere(X):
            return self._in_partitions("predict_log_proba", X, len(self.classes_))
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return -np.logaddexp(0.0, np.column_stack([scores, -scores]))
        logarithms = -np.logaddexp(0.0, -scores)
        return logarithms - np.logaddexp.reduce(logarithms, axis=1, keepdims=True)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.step_size is not None and self.solver != "gradient":
            raise ValueError("step_size is the size of gradient steps: set solver='gradient', or leave it out.")

    def _check_collections(self, X: Any) -> None:
        super()._check_collections(X)
        if math.isinf(self.C):
            raise ValueError(f"LogisticRegression needs a finite C on {kind_of_rows(X)}: set C=1.0, or a larger one.")
        if self.solver == "gradient":
            raise ValueError(f"solver='gradient' is not available for {kind_of_rows(X)}: set 'auto' or 'newton'.")

    def _problem(self, data: Dataset | PartitionedTask) -> LogisticProblem | PartitionedProblem:
        if isinstance(data, PartitionedTask):
            points: Any = data.points
            empty = np.empty(0)
            return PartitionedProblem(LogisticProblem(points, empty, empty, float(self.C), self.fit_intercept), data)
        weights = weights_of(data.points, data.weights)
        return LogisticProblem(data.points, data.signs, weights, float(self.C), self.fit_intercept)

    def _options(self, tasks: Tasks) -> GradientOptions:
        limits = self.tol, self.max_iter or math.inf
        return GradientOptions(*limits, **self._seed_and_threads(tasks), step_size=self.step_size)

    def _solver(self, problem: LogisticProblem | PartitionedProblem) -> Solve:
        if isinstance(problem, PartitionedProblem):
            return partitioned.solve_logistic
        return logistic_gradient.solve if self.solver == "gradient" else logistic_newton.solve

    def _starts(self, tasks: Any) -> Sequence[Result[float] | None]:
        if not (self.warm_start and hasattr(self, "coef_")):
            return [None] * tasks.n_tasks
        if not np.array_equal(self.classes_, tasks.classes) or self.coef_.shape[1] != tasks.points.n_columns:
            raise ValueError("warm_start=True needs the classes and the columns of the last fit; X or y has others.")
        intercepts = self.intercept_ if self.fit_intercept else np.zeros_like(self.intercept_)
        return [Result(w, float(b), np.empty(0)) for w, b in zip(self.coef_, intercepts, strict=True)]

    def _set_attributes(self, tasks: LabelledPoints, results: Sequence[LogisticResult]) -> None:
        self.classes_ = tasks.classes
        self.coef_ = np.array([result.w for result in results])
        self.intercept_ = np.array([result.intercept for result in results])
        self.n_iter_ = max(1, *(result.n_iter for result in results))
        self.history_ = one_or_all([result.history for result in results])
        found = [result.separating for result in results]
        if any(separating is not None for separating in found):
            zero = np.zeros(self.coef_.shape[1]), 0.0
            self.separating_coef_ = np.array([(separating or zero)[0] for separating in found])
            self.separating_intercept_ = np.array([(separating or zero)[1] for separating in found])

    def _certify(self, tasks: Any, problems: Sequence[Any]) -> Certificate | PerClass:
        if isinstance(tasks, PartitionedData):
            found = [
                measure_partitioned_logistic_gap(problem, w, float(b))
                for problem, w, b in zip(problems, self.coef_, self.intercept_, strict=True)
            ]
            self._dual_point = distributed_vectors(tasks.points, [point for _, point in found])
            return proof_or_per_class(tasks.classes, [proof for proof, _ in found])
        self._dual_point = np.zeros((len(problems), tasks.points.n_rows))
        return super()._certify(tasks, problems)

    def _certify_task(self, k: int, problem: LogisticProblem) -> LogisticGap:
        separating = None
        if hasattr(self, "separating_coef_"):
            separating = self.separating_coef_[k], float(self.separating_intercept_[k])
        b = float(self.intercept_[k])
        return measure_logistic_gap(problem, self.coef_[k], b, separating, dual_point=self._dual_point[k])
