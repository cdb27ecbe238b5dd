"""Logistic regression as a scikit-learn classifier."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from maxmargin.certificates import (
    Certificate,
    PerClass,
    measure_logistic_gap,
    measure_multinomial_gap,
    measure_partitioned_logistic_gap,
    measure_sparse_gap,
    measure_sparse_multinomial_gap,
)
from maxmargin.data import JointClasses, LabelledPoints, Tasks, as_dense, in_namespace_of_rows
from maxmargin.data.partitions import PartitionedData, PartitionedTask
from maxmargin.data.scikit_learn import Interval, StrOptions, check_is_fitted
from maxmargin.estimators._logistic_penalty import SAME_PROBLEM, LogisticPenalty
from maxmargin.estimators._parameters import estimator
from maxmargin.estimators._predictors import LinearClassifier, distributed_vectors
from maxmargin.estimators._regularized import RegularizedModel
from maxmargin.estimators._rows_elsewhere import kind_of_rows, lies_elsewhere
from maxmargin.estimators._shared import one_or_all, proof_or_per_class
from maxmargin.estimators._solvers import SolverTable
from maxmargin.problems.linear_svm import weights_of
from maxmargin.problems.logistic import LogisticProblem, sigmoid
from maxmargin.problems.multinomial import MultinomialProblem, softmax
from maxmargin.problems.partitioned import PartitionedProblem
from maxmargin.problems.sparse_linear import SparseLinearProblem
from maxmargin.problems.sparse_multinomial import SparseMultinomialProblem
from maxmargin.solvers.core import Result
from maxmargin.solvers.regression.logistic_gradient import GradientOptions


@estimator
class LogisticRegression(LogisticPenalty, LinearClassifier, RegularizedModel):
    r"""Logistic regression, the soft version of the perceptron, solved to a certified duality gap.

    .. math:: \min_{w, b} \tfrac12 \lVert w \rVert^2 + C \sum_i \log(1 + e^{-y_i (w \cdot x_i + b)})

    with P(y = 1 | x) = 1/(1 + exp(-f(x))); or, with C = inf, the sum of the losses alone, as in the lecture. The
    intercept b is not penalised. More than two classes are learned jointly, with softmax probabilities:

    .. math:: \min_{W, b} \tfrac12 \lVert W \rVert_F^2
              + C \sum_i \Big(\log \sum_k e^{w_k \cdot x_i + b_k} - w_{y_i} \cdot x_i - b_{y_i}\Big)

    or, with ``multi_class="ovr"``, one against the rest. With ``l1_ratio`` r the penalty is an elastic net,

    .. math:: r \lVert w \rVert_1 + \tfrac{1 - r}{2} \lVert w \rVert^2,

    for r = 1 the 1-norm alone (for two classes LIBLINEAR's -s 6), with which many coefficients are zero.

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
    penalty : {"l2", "l1", "elasticnet"} or None
        Deprecated, as in scikit-learn, with the same warning: ``l1_ratio`` says which penalty it is, and ``C=inf`` is
        None.
    l1_ratio : float, default=0.0
        The share of the 1-norm in the penalty. With a positive one the certificate counts the coefficients that are
        proven to be zero.
    dual : bool, default=False
        Accepted as scikit-learn's: every fit gives a primal and a dual solution. True is refused, as there, where the
        penalty has a 1-norm.
    fit_intercept : bool, default=True
    penalize_intercept : bool, default=False
        Whether b has a penalty, too, as LIBLINEAR's: that of the coefficient b/intercept_scaling.
    intercept_scaling : float, default=1.0
        The scale of a penalised intercept. Of one that is not penalised it is refused; with the name of one of
        scikit-learn's solvers, where it has no effect there, too, a warning says so.
    multi_class : {"multinomial", "ovr"}, default="multinomial"
        How more than two classes are learned: as one problem, or one against the rest.
    tol : float, default=1e-4
        The relative duality gap at which to stop.
    solver : {"auto", "newton", "gradient"} or a name of scikit-learn's, default="auto"
        "newton" makes few steps, each with a linear system; "gradient" is the lecture's gradient descent; "auto" is
        Newton's method. scikit-learn's "lbfgs", "newton-cg", "newton-cholesky", "sag" and "saga" solve the same problem
        and are taken as "auto"; "liblinear" is the same with ``penalize_intercept=True``, for two classes.
    step_size : float or None, default=None
        The size of gradient steps, for w and b alike as in the lecture. None is a safe one, one over a bound on the
        curvature, with the intercept minimised after every step of w.
    max_iter : int or None, default=None
        The largest number of steps; 0 leaves the model where it starts.
    max_time : float or None, default=None
        The time limit in seconds.
    class_weight : dict or "balanced", default=None
    random_state : int, RandomState or None, default=None
        Accepted for the sake of scikit-learn's solvers; nothing is random here.
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
    n_iter_ : ndarray of int32, of shape (1,), or (n_classes,) one against the rest
    rounds_ : int
        After a fit on Dask collections: rounds of messages, loading and certificate included.
    bytes_per_round_ : float
        Likewise: the bytes of numbers in the messages to all partitions and in their answers, per round.
    status_ : Status
    certificate_ : LogisticGap, or PerClass of them
        MultinomialGap of several classes that were learned jointly; SparseGap where the penalty has a 1-norm, which
        also says how many coefficients are proven to be zero.

    See Also
    --------
    LinearSVC : The hinge loss instead of the logistic one.
    calibrate : Probabilities for any other classifier.
    LogisticGap : What the certificate says.

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
    >>> model = LogisticRegression(tol=1e-8).fit(scale(X), y)
    >>> print(f"{model.certificate_.dual:.3f} <= optimum <= {model.certificate_.primal:.3f}")
    37.759 <= optimum <= 37.759
    >>> model.predict_proba(scale(X)[:1]).round(3)
    array([[1., 0.]])

    Several classes have one problem and one certificate:

    >>> from sklearn.datasets import load_iris
    >>> model = LogisticRegression().fit(*load_iris(return_X_y=True))
    >>> model.coef_.shape, type(model.certificate_).__name__
    ((3, 4), 'MultinomialGap')
    """

    C: float = 1.0
    penalty: str | None = "deprecated"
    l1_ratio: float | None = 0.0
    dual: bool = False
    fit_intercept: bool = True
    tol: float = 1e-4
    penalize_intercept: bool = False
    intercept_scaling: float = 1.0
    multi_class: str = "multinomial"
    solver: str = "auto"
    step_size: float | None = None
    max_iter: int | None = None
    max_time: float | None = None
    class_weight: Any = None
    random_state: Any = None
    n_jobs: int | None = None
    warm_start: bool = False
    verbose: int = 0

    _parameter_constraints: ClassVar[dict] = {
        "C": [Interval(Real, 0.0, None, closed="right")],
        "penalty": [StrOptions({"l1", "l2", "elasticnet", "deprecated"}), None],
        "l1_ratio": [Interval(Real, 0.0, 1.0, closed="both"), None],
        "dual": ["boolean"],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "penalize_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0.0, None, closed="neither")],
        "multi_class": [StrOptions({"multinomial", "ovr"})],
        "solver": [StrOptions({"auto", "newton", "gradient", "liblinear", *SAME_PROBLEM})],
        "step_size": [Interval(Real, 0.0, None, closed="neither"), None],
        "max_iter": [Interval(Integral, 0, None, closed="left"), None],
        "max_time": [Interval(Real, 0.0, None, closed="neither"), None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    _solvers: ClassVar[SolverTable] = {
        LogisticProblem: {"newton": "regression.logistic_newton", "gradient": "regression.logistic_gradient"},
        MultinomialProblem: "regression.multinomial",
        SparseLinearProblem: "linear.sparse",
        SparseMultinomialProblem: "regression.sparse_multinomial",
        PartitionedProblem: "regression.partitioned:solve_logistic",
    }
    _takes_collections: ClassVar[bool] = True

    # The dual points of all tasks, of which the certificate states the values.
    _private_attributes = ("_dual_point",)
    _in_precision_of_rows: ClassVar[tuple[str, ...]] = ("coef_", "intercept_")
    _may_move_intercept: ClassVar[bool] = True

    @property
    def _advice_at_max_iter(self) -> str:  # type: ignore[override]
        # scikit-learn's sentences for its solvers' names, by which programs know this warning.
        reached = f"max_iter={self.max_iter} was reached"
        return {
            "lbfgs": f"lbfgs failed to converge: {reached}. Increase the number of iterations",
            "newton-cg": f"newton-cg failed to converge: {reached}. Increase the number of iterations",
            "newton-cholesky": f"Newton solver did not converge after {self.max_iter} iterations: raise max_iter",
            "liblinear": f"Liblinear failed to converge, increase the number of iterations. {reached}",
            "sag": "The max_iter was reached which means the coef_ did not converge: raise it",
            "saga": "The max_iter was reached which means the coef_ did not converge: raise it",
        }.get(self.solver, super()._advice_at_max_iter)

    @property
    def _advice_when_separable(self) -> str:  # type: ignore[override]
        if not hasattr(self, "separating_coef_"):
            return "the classes are separated, so the loss has no minimum: set a finite C"
        return (
            "a hyperplane, separating_coef_, has no point on its wrong side, so the loss has no minimum: set a finite C"
        )

    @property
    def _advice_when_stalled(self) -> str:  # type: ignore[override]
        if self.max_iter is not None and self.n_iter_.max() >= self.max_iter:
            return self._advice_at_max_iter
        if self.solver == "gradient" and self.step_size is not None:
            return "the gap stopped shrinking above tol: set a smaller step_size (None is a safe one), or raise tol"
        return "the gap stopped shrinking above tol: rescale the columns of X, or raise tol"

    @in_namespace_of_rows
    def predict(self, X: Any) -> np.ndarray:
        """Predict the class of the largest probability, the first one of equal ones.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        if lies_elsewhere(X):
            return self._in_partitions("predict", X, dtype=self.classes_.dtype)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    @in_namespace_of_rows
    def predict_proba(self, X: Any) -> np.ndarray:
        """Compute the probabilities of the classes; those of one class against the rest are scaled to sum to one.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        check_is_fitted(self)
        if lies_elsewhere(X):
            return self._in_partitions("predict_proba", X, len(self.classes_))
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([sigmoid(-scores), sigmoid(scores)])
        return softmax(scores if self._is_joint() else -np.logaddexp(0.0, -scores))

    def _is_joint(self) -> bool:
        """Whether the fitted model is that of several classes jointly."""
        return getattr(self, "_fit_params", vars(self)).get("multi_class", "multinomial") == "multinomial"

    @in_namespace_of_rows
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
        logarithms = scores if self._is_joint() else -np.logaddexp(0.0, -scores)
        return logarithms - np.logaddexp.reduce(logarithms, axis=1, keepdims=True)

    def _check_collections(self, X: Any) -> None:
        super()._check_collections(X)
        if self._l1_ratio > 0.0:
            raise ValueError(f"A penalty with a 1-norm is not solved on {kind_of_rows(X)}: set l1_ratio=0.")
        if math.isinf(self._inverse_strength):
            raise ValueError(f"LogisticRegression needs a finite C on {kind_of_rows(X)}: set C=1.0, or a larger one.")
        if self.solver == "gradient":
            raise ValueError(f"solver='gradient' is not available for {kind_of_rows(X)}: set 'auto' or 'newton'.")
        if self._has_intercept_column:
            raise ValueError(f"A penalised intercept is not available for {kind_of_rows(X)}: leave it free.")

    @property
    def _has_intercept_column(self) -> bool:
        # Without a penalty there is none on the intercept, either.
        penalised = self.penalize_intercept or self.solver == "liblinear"
        return self.fit_intercept and penalised and not math.isinf(self._inverse_strength)

    @property
    def _may_centre(self) -> bool:
        return self.fit_intercept

    def _learns_jointly(self, labelled: Any) -> bool:
        return self.multi_class == "multinomial" and len(labelled.classes) > 2

    def _tasks(self, data: LabelledPoints) -> Tasks:
        if not self._learns_jointly(data):
            return data
        if isinstance(data, PartitionedData):
            raise ValueError(
                "More than two classes are learned one against the rest on rows that lie elsewhere: set "
                "multi_class='ovr'."
            )
        if self.solver == "liblinear":
            raise ValueError(
                "The 'liblinear' solver does not support multiclass classification: set multi_class='ovr', or leave "
                "solver out for the multinomial problem."
            )
        if self.solver == "gradient":
            raise ValueError(
                "solver='gradient', the lecture's, learns two classes: set multi_class='ovr', or leave it out."
            )
        return JointClasses(data)

    def _problem(self, data: Any) -> Any:
        if isinstance(data, PartitionedTask):
            lying: Any = data.points
            empty = np.empty(0)
            problem = LogisticProblem(lying, empty, empty, self._inverse_strength, self.fit_intercept)
            return PartitionedProblem(problem, data)
        weights, C = weights_of(data.points, data.weights), self._inverse_strength
        points, fit_intercept = self._points_with_intercept(data.points)
        ratio = self._l1_ratio
        if isinstance(data, LabelledPoints):
            joint = MultinomialProblem(points, data.codes, weights, len(data.classes), C, fit_intercept)
            return SparseMultinomialProblem(joint, ratio, 1.0 - ratio) if ratio > 0.0 else joint
        if ratio > 0.0:
            penalties = {"l1": ratio, "l2": 1.0 - ratio}
            return SparseLinearProblem.of(
                points, data.signs, weights, "logistic", C, fit_intercept=fit_intercept, **penalties
            )
        return LogisticProblem(points, data.signs, weights, C, fit_intercept)

    def _options(self, tasks: Tasks) -> GradientOptions:
        limits = self.tol, math.inf if self.max_iter is None else self.max_iter
        return GradientOptions(*limits, **self._seed_and_threads(tasks), step_size=self.step_size)

    def _name_of_solver(self, problem: Any) -> str:  # noqa: ARG002
        return "gradient" if self.solver == "gradient" else "newton"

    def _starts(self, tasks: Any) -> Sequence[Result[Any] | None]:
        if not (self.warm_start and hasattr(self, "coef_")):
            return [None] * tasks.n_tasks
        if not np.array_equal(self.classes_, tasks.classes) or self.coef_.shape[1] != tasks.points.n_columns:
            raise ValueError("warm_start=True needs the classes and the columns of the last fit; X or y has others.")
        coef = as_dense(self.coef_).astype(np.float64)
        intercepts = (self.intercept_ if self.fit_intercept else np.zeros_like(self.intercept_)).astype(np.float64)
        if isinstance(tasks, JointClasses) and not self._is_joint():
            # Scores of one class against the rest are no start for those of all together.
            return [None]
        starts = [self._vectors_of_problem(w, b) for w, b in zip(coef, intercepts, strict=True)]
        if isinstance(tasks, JointClasses):
            return [Result(np.array([w for w, _ in starts]), np.array([b for _, b in starts]), np.empty(0))]
        return [Result(w, b, np.empty(0)) for w, b in starts]

    def _set_attributes(self, tasks: Any, results: Sequence[Result[Any]]) -> None:
        self.classes_ = tasks.classes
        joint = isinstance(tasks, JointClasses)
        coef = results[0].w if joint else np.array([result.w for result in results])
        intercept = results[0].intercept if joint else np.array([result.intercept for result in results])
        self.coef_, self.intercept_ = self._vectors_of_model(coef, intercept)
        self.n_iter_ = np.array([result.n_iter for result in results], dtype=np.int32)
        self.history_ = one_or_all([result.history for result in results])
        found = [getattr(result, "separating", None) for result in results]
        if any(separating is not None for separating in found):
            zero = np.zeros(self.coef_.shape[1]), 0.0
            self.separating_coef_ = np.array([(separating or zero)[0] for separating in found])
            self.separating_intercept_ = np.array([(separating or zero)[1] for separating in found])

    def _round_to_rows(self, points: Any) -> dict[str, Any]:
        # scikit-learn's LIBLINEAR computes in float64.
        return {} if self.solver == "liblinear" else super()._round_to_rows(points)

    def _attributes_so_far(self, labelled: Any, results: Sequence[Any]) -> dict[str, Any]:
        so_far = self._without_fit()
        shape = (len(labelled.classes), labelled.points.n_columns + self._has_intercept_column)
        if isinstance(labelled, JointClasses):
            zero: Any = np.zeros(shape), np.zeros(shape[0]), None
        else:
            zero = np.zeros(shape[1]), 0.0, None
        found = [zero if result is None else result for result in results]
        so_far._set_attributes(labelled, [Result(w, b, np.empty(0)) for w, b, _ in found])
        return {name: getattr(so_far, name) for name in ("coef_", "intercept_", "classes_")}

    def _certify(self, tasks: Any, problems: Sequence[Any]) -> Certificate | PerClass:
        if isinstance(tasks, PartitionedData):
            proofs, points = [], []
            for problem, w, b in zip(problems, self.coef_, self.intercept_, strict=True):
                proof, point = measure_partitioned_logistic_gap(problem, w, float(b))
                proofs.append(proof)
                points.append(point.alone())
                # The engine of a class goes before the next one begins.
                del point
            self._dual_point = distributed_vectors(tasks.points, points)
            return proof_or_per_class(tasks.classes, proofs)
        if not isinstance(tasks, JointClasses) and isinstance(problems[0], LogisticProblem):
            self._dual_point = np.zeros((len(problems), tasks.points.n_rows))
        return super()._certify(tasks, problems)

    def _certify_task(self, k: int, problem: Any) -> Certificate:
        if isinstance(problem, (MultinomialProblem, SparseMultinomialProblem)):
            measure: Any = measure_multinomial_gap
            if isinstance(problem, SparseMultinomialProblem):
                measure = measure_sparse_multinomial_gap
            vectors = [self._vectors_of_problem(w, b) for w, b in zip(self.coef_, self.intercept_, strict=True)]
            return measure(problem, np.array([w for w, _ in vectors]), np.array([b for _, b in vectors]))
        separating = None
        if hasattr(self, "separating_coef_"):
            separating = self.separating_coef_[k], float(self.separating_intercept_[k])
        w, b = self._vectors_of_problem(self.coef_[k], self.intercept_[k])
        if isinstance(problem, SparseLinearProblem):
            return measure_sparse_gap(problem, w, b)
        return measure_logistic_gap(problem, w, b, separating, dual_point=self._dual_point[k])
