"""The kernel support vector regression as a scikit-learn regressor."""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from maxmargin.certificates import Certificate, measure_kernel_gap
from maxmargin.data import TargetPoints, validate_points, validate_targets
from maxmargin.estimators._base import kept_on_error, refuse_other_rows
from maxmargin.estimators._kernel_svm import Attempt, KernelSVM, shape_of
from maxmargin.estimators._kernels import make_kernel, refuse_bad_gram
from maxmargin.problems.kernel_svm import KernelSVMProblem
from maxmargin.problems.kernels import built_in
from maxmargin.problems.linear_svm import epsilon_insensitive, weights_of
from maxmargin.solvers.core import Monitor, interrupt_handler
from maxmargin.solvers.kernel import smo


class SVR(RegressorMixin, KernelSVM):
    r"""The epsilon-insensitive regression in the feature space of a kernel, solved to a proven gap.

    .. math:: \min_{w, b} \tfrac12 \lVert w \rVert^2 + C \sum_i \max(0, |y_i - w \cdot \varphi(x_i) - b| - \epsilon)

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, max_iter, max_time, n_jobs, random_state, verbose :
        As for :class:`SVC`.
    C : float, default=1.0
        The price of a point outside the tube.
    epsilon : float, default=0.1
        Half the width of the tube in which nothing is lost.

    Attributes
    ----------
    support_ : ndarray of int
        Rows with a dual that is not zero.
    support_vectors_ : array or sparse matrix of shape (n_support, d)
    n_support_ : ndarray of int32 of shape (1,)
    dual_coef_ : ndarray of shape (1, n_support), or csr_matrix after a fit to sparse rows
    coef_ : ndarray of shape (1, d), for the linear kernel
    intercept_ : ndarray of shape (1,)
    fit_status_ : 0 where it is solved to ``tol``, else 1
    n_iter_ : int
        Steps on pairs of duals.
    shape_fit_ : tuple
    status_ : Status
    history_ : list of (seconds, primal, dual)
    certificate_ : RegressionGap

    References
    ----------
    "Large Margin Classifiers. Linear Support Vector Machines", lecture 9; Smola, Schölkopf, "A tutorial on support
    vector regression", 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import SVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SVR(epsilon=0.2).fit(scale(X), scale(y))
    >>> model.certificate_.relative <= 1e-3
    True
    """

    _parameter_constraints: dict = {
        **KernelSVM._parameter_constraints,
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        tol=1e-3,
        C=1.0,
        epsilon=0.1,
        shrinking=True,
        cache_size=200,
        max_iter=-1,
        max_time=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "SVR":
        """Learn until the relative duality gap is at most ``tol``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or the gram matrix of shape (n, n)
        y : array of numbers of shape (n,)
        sample_weight : array of shape (n,), optional
            Factors on C.

        Returns
        -------
        self
        """
        self._check_parameters()
        with kept_on_error(self):
            data = validate_targets(self, X, y, sample_weight=sample_weight)
            self._refuse_extreme_weights(data)
            refuse_bad_gram(self, data.points)
            self._kernel = make_kernel(self, data.points)
            problem = self._problem(data)
            with interrupt_handler() as stop_requested:

                def solve(attempt: Attempt) -> list[Any]:
                    before = attempt.before_of(0)

                    def solve_values(_task: int, _values: TargetPoints, _seed: int, monitor: Monitor) -> Any:
                        return smo.solve(problem, attempt.options, monitor, before)

                    results = self._solve_tasks(
                        data, solve_values, stop_requested, steps=None, at_once=1, seconds=attempt.seconds
                    )
                    self._keep(data, results[0].beta)
                    return results

                results = self._solve_proven(data, problem, solve)
                self.shape_fit_ = shape_of(X, data.points)
                self.n_iter_ = results[0].n_iter
                self._report(results)
        return self

    @property
    def n_support_(self) -> np.ndarray:
        """The number of support vectors."""
        check_is_fitted(self)
        return np.array([self.support_.size], dtype=np.int32)

    @property
    def coef_(self) -> Any:
        """The plane of the linear kernel."""
        check_is_fitted(self)
        return self._coef_of(self._duals)

    def predict(self, X: Any) -> np.ndarray:
        """Compute f(x), in blocks of rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or the gram matrix with the training rows, of shape (n, n_train)

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        return self._expansion(validate_points(self, X), self._duals.T)[:, 0] + self.intercept_[0]

    def _keep(self, data: TargetPoints, beta: np.ndarray) -> None:
        self.support_ = np.flatnonzero(beta).astype(np.int32)
        self._duals = beta[self.support_][None, :]
        self.support_vectors_ = self._support_of(data.points, self.support_)
        self._n_rows = data.points.n_rows

    def _problem(self, data: TargetPoints) -> KernelSVMProblem:
        loss = epsilon_insensitive(data.targets, weights_of(data.points, data.weights), self.C, self.epsilon)
        points = data.points.narrow if built_in(self._kernel) else data.points
        return KernelSVMProblem(points, self._kernel, loss)

    def _attributes_so_far(self, data: Any, results: Sequence[Any]) -> dict[str, Any]:
        beta = np.zeros(data.points.n_rows) if results[0] is None else results[0][2]
        so_far = type(self)(**self.get_params())
        so_far._kernel = self._kernel
        so_far._keep(data, beta)
        names = ("support_", "support_vectors_", "_duals", "_kernel")
        intercept = np.array([0.0 if results[0] is None else results[0][1]])
        return {"intercept_": intercept, **{name: getattr(so_far, name) for name in names}}

    def _certify(self, data: TargetPoints) -> Certificate:
        refuse_other_rows(data.points.n_rows, self._n_rows)
        beta = np.zeros(data.points.n_rows)
        beta[self.support_] = self._duals[0]
        return measure_kernel_gap(self._problem(data), beta, float(self.intercept_[0]))

    def _data_to_certify(self, X: Any, y: Any, sample_weight: Any) -> TargetPoints:
        return validate_targets(self, X, y, sample_weight=sample_weight, reset=False)
