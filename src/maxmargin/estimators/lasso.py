"""The lasso as a scikit-learn regressor."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from maxmargin.data import Points, as_configured
from maxmargin.data.scikit_learn import UNUSED, Interval, StrOptions, _fit_context
from maxmargin.data.user_warnings import warn_user
from maxmargin.estimators._linear_regression import LinearRegression, penalty_given
from maxmargin.estimators._parameters import estimator, with_blocks
from maxmargin.estimators._shared import certificates_of
from maxmargin.estimators._solvers import SolverTable
from maxmargin.problems.squared_errors import LassoProblem, RidgeProblem, SquaredErrors
from maxmargin.solvers.core import Result
from maxmargin.solvers.regression.lasso import LassoOptions

# Relative differences of given products of columns from those of the data, in single and in double precision.
SINGLE_AGREEMENT, DOUBLE_AGREEMENT = 1e-4, 1e-7


def agreement_of(points: Points) -> float:
    """The relative difference up to which products of columns that are given count as those of the rows."""
    return SINGLE_AGREEMENT if points.matrix.dtype == np.float32 else DOUBLE_AGREEMENT


# Parts of the docstrings of the lasso and the elastic net.
SPARSE_PARAMETERS = """
positive : bool, default=False
    Whether no coefficient may be negative. Needs a positive penalty.
selection : {"cyclic", "random"}, default="cyclic"
    The order of the coefficients in coordinate descent: in turn, or shuffled for every working set.
random_state : int, RandomState or None, default=None
    The seed of the random order.
precompute : bool or array of shape (d, d), default=False
    Accepted; the answer does not depend on it: a Gram matrix is computed where it saves time. One that is given is
    refused where it is not that of X.
copy_X : bool, default=True
    Accepted; the answer does not depend on it: X is never changed.
fit_intercept : bool, default=True
tol : float, default=1e-4
    The relative duality gap at which to stop.
max_iter : int, optional
    The largest number of rounds, each of which solves the problem of a working set of columns. With more columns
    than rows, a small penalty is reached by continuation from larger ones, whose rounds count, too.
max_time : float, optional
    The time limit in seconds.
warm_start : bool, default=False
    Begin with the coefficients of the last fit: for a path, fit with one lambda after the other, from large to
    small.
verbose : int, default=0
"""
SPARSE_ATTRIBUTES = """
coef_ : ndarray of shape (d,), or (n_targets, d) for several targets
intercept_ : float, or ndarray of shape (n_targets,) where y has columns
objective_ : float, or a list with one entry a target
    The value of the model, rounded up.
history_ : list of (seconds, primal, dual), or a list of them
    At the given penalty, without those of the continuation.
n_iter_ : int, or an array with one entry a target
    Rounds, at all penalties together; none where a warm start is good enough.
status_ : Status
"""


@with_blocks(sparse_parameters=SPARSE_PARAMETERS, sparse_attributes=SPARSE_ATTRIBUTES)
@estimator
class Lasso(LinearRegression):
    r"""The lasso, solved to a certified duality gap.

    .. math:: \min_{w, b} \tfrac12 \sum_i (y_i - w \cdot x_i - b)^2 + \lambda \lVert w \rVert_1

    This is the most probable w where the targets have errors of variance sigma² and every coefficient was drawn from a
    Laplace distribution of a given rate: y_i ~ N(w·x_i + b, sigma²), ``p(w_j) = rate/2 exp(-rate |w_j|)``, with
    lambda = sigma² rate. The intercept b is not penalised: its prior is flat.

    Parameters
    ----------
    alpha : float, optional
        The penalty as scikit-learn means it: lambda is alpha times the number of rows, or the sum of their weights. One
        if nothing is given. Zero is least squares, with the certificate of :class:`Ridge` without a penalty.
    lam : float, optional
        The penalty lambda on the 1-norm of w, as in the lecture.
    sigma2, rate : float, optional
        The variance of the errors and the rate of the prior, in place of ``lam``. Two of ``alpha``, ``lam`` and these
        are refused.
    {sparse_parameters}

    Attributes
    ----------
    {sparse_attributes}
    certificate_ : LassoGap, or PerTarget of them
        It also says how many columns are proven to have a coefficient of zero in every solution.

    See Also
    --------
    ElasticNet : With a penalty on the squared norm, too.

    References
    ----------
    Tibshirani, "Regression shrinkage and selection via the lasso", 1996.

    Friedman, Hastie, Tibshirani, "Regularization paths for generalized linear models via coordinate descent", 2010.

    Ndiaye, Fercoq, Gramfort, Salmon, "Gap safe screening rules for sparsity enforcing penalties", 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import Lasso
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Lasso(lam=100.0).fit(X, y)
    >>> model.coef_.nonzero()[0]
    array([1, 2, 3, 6, 8])
    >>> model.certificate_.relative <= 1e-4, model.certificate_.unused
    (True, 5)
    """

    alpha: float | None = None
    lam: float | None = None
    sigma2: float | None = None
    rate: float | None = None
    positive: bool = False
    selection: str = "cyclic"
    random_state: Any = None
    precompute: Any = False
    tol: float = 1e-4
    warm_start: bool = False

    _solvers: ClassVar[SolverTable] = {
        LassoProblem: {"1-norm": "regression.lasso", "2-norm": "regression.ridge:solve_elastic_net"},
        RidgeProblem: "regression.ridge",
    }
    _takes_target_columns: ClassVar[bool] = True

    __metadata_request__fit: ClassVar[dict[str, str]] = {"check_input": UNUSED}

    # scikit-learn's sentence, by which programs know this warning.
    _advice_at_max_iter = "Objective did not converge. You might want to increase the number of iterations, max_iter"

    # The number of rows, with their weights: scikit-learn's alpha is a penalty for each of them.
    _private_attributes: ClassVar[tuple[str, ...]] = (*LinearRegression._private_attributes, "_total_weight")

    _parameter_constraints: ClassVar[dict] = {
        **LinearRegression._parameter_constraints,
        "alpha": [Interval(Real, 0.0, None, closed="left"), None],
        "lam": [Interval(Real, 0.0, None, closed="left"), None],
        "sigma2": [Interval(Real, 0.0, None, closed="neither"), None],
        "rate": [Interval(Real, 0.0, None, closed="neither"), None],
        "positive": ["boolean"],
        "selection": [StrOptions({"cyclic", "random"})],
        "random_state": ["random_state"],
        "precompute": ["boolean", "array-like"],
        "warm_start": ["boolean"],
    }

    _if_not_measurable: ClassVar[str] = (
        " Coordinate descent iterations resulted in non-finite parameter values, or would."
    )

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, check_input: bool = True) -> Self:  # noqa: ARG002
        """Solve to a relative duality gap of ``tol``, and certify it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of numbers of shape (n,), or (n, n_targets), where every target is a regression of its own
        sample_weight : array of shape (n,), optional
            Factors on the squared errors: a weight of 2 is the same as the row given twice.
        check_input : bool, default=True
            Accepted; the answer does not depend on it: the data are always checked.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    @staticmethod
    def path(X: Any, y: Any, **parameters: Any) -> tuple[Any, ...]:
        """Compute the coefficients for many penalties: :func:`maxmargin.enet_path`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of numbers of shape (n,)
        **parameters
            Those of the function.

        Returns
        -------
        tuple of ndarray
            Penalties, coefficients and duality gaps.
        """
        from maxmargin.estimators.sparse_paths import enet_path

        return enet_path(X, y, **parameters)

    @property
    def sparse_coef_(self) -> Any:
        """The coefficients as a sparse row, of shape (1, d), or one row a target."""
        return as_configured(np.atleast_2d(self.coef_))

    @property
    def dual_gap_(self) -> Any:
        """The duality gap for each row, as scikit-learn states it; an array for several targets."""
        proofs: list[Any] = certificates_of(self.certificate_, np.atleast_2d(self.coef_).shape[0])
        gaps = np.array([proof.gap for proof in proofs]) / self._total_weight
        return gaps if gaps.size > 1 else float(gaps[0])

    def _check_parameters(self) -> None:
        if self._penalty() == 0.0 and self._squared_penalty() == 0.0 and self.positive:
            raise ValueError("positive=True needs alpha > 0, or lam > 0: set a small one, for example alpha=1e-6.")

    def _penalty(self) -> float:
        total = getattr(self, "_total_weight", 1.0)
        return penalty_given(self, "sigma2", "rate", lambda sigma2, rate: sigma2 * rate, total)

    def _squared_penalty(self) -> float:
        """The penalty on half the squared norm."""
        return 0.0

    def _prepare(self, data: Any) -> None:
        super()._prepare(data)
        self._total_weight = float(data.points.n_rows if data.weights is None else data.weights.sum())
        self._penalty()
        if not isinstance(self.precompute, (bool, np.bool_)):
            self._check_gram(data.points, data.weights)

    def _check_gram(self, points: Points, weights: np.ndarray | None) -> None:
        """Refuse a Gram matrix that is not that of X, by one of its entries."""
        gram, d = np.asarray(self.precompute), points.n_columns
        if gram.shape != (d, d):
            raise ValueError(f"precompute has shape {gram.shape}; the Gram matrix of X has shape {(d, d)}.")
        first = d // 2
        columns = np.asarray(points.matrix[:, [first, min(first + 1, d - 1)]]).astype(np.float64)
        # scikit-learn scales the weights to a mean of one.
        shares = np.ones(points.n_rows) if weights is None else weights * (points.n_rows / weights.sum())
        means = shares @ columns / points.n_rows
        if self.fit_intercept and not np.allclose(means, 0.0, atol=1e-6 * np.abs(columns).max(initial=0.0)):
            warn_user(
                "Gram matrix was provided but X was centered to fit intercept: recomputing Gram matrix.", UserWarning
            )
            return
        found, given = float(shares @ columns.prod(axis=1)), float(gram[first, min(first + 1, d - 1)])
        size = float(np.sqrt((shares @ np.square(columns)).prod()))
        if not abs(found - given) <= agreement_of(points) * size:
            raise ValueError(
                "Gram matrix passed in via 'precompute' parameter did not pass validation when a single element was "
                f"checked: it is {given!r}, and that of X is {found!r}. Leave precompute out."
            )

    def _problem(self, data: Any) -> Any:
        return self._problem_of_errors(SquaredErrors.of(data, self.fit_intercept), 0)

    def _problem_of_errors(self, errors: SquaredErrors, k: int) -> LassoProblem | RidgeProblem:  # noqa: ARG002
        penalty, squared = self._penalty(), self._squared_penalty()
        if penalty == 0.0 and squared == 0.0:
            return RidgeProblem(errors, 0.0)
        return LassoProblem(errors, penalty, squared, self.positive)

    def _options(self, tasks: Any) -> LassoOptions:
        options = super()._options(tasks)
        seed = options.seed if self.selection == "random" else None
        return LassoOptions(options.tol, options.max_iter, options.seed, options.n_threads, shuffle_seed=seed)

    def _starts(self, tasks: Any) -> Sequence[Result[float] | None]:
        if not (self.warm_start and hasattr(self, "coef_")):
            return [None] * tasks.n_tasks
        coef = np.atleast_2d(np.asarray(self.coef_, dtype=np.float64))
        if coef.shape != (tasks.n_tasks, tasks.points.n_columns):
            raise ValueError("warm_start=True needs as many columns and targets as the last fit; X or y has others.")
        intercepts = np.broadcast_to(getattr(self, "intercept_", 0.0), tasks.n_tasks)
        return [Result(w, float(b), np.empty(0)) for w, b in zip(coef, intercepts, strict=True)]

    def _name_of_solver(self, problem: LassoProblem) -> str:
        return "1-norm" if problem.lam > 0.0 or problem.positive else "2-norm"
