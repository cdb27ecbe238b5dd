"""The lasso and the elastic net for many penalties, and the least C of a classifier with an L1 penalty."""

from numbers import Integral
from typing import Any

import numpy as np

from maxmargin.data import LabelledPoints, TargetPoints, validate_targets, validate_training_data
from maxmargin.data.user_warnings import warn_user
from maxmargin.estimators._parameters import suggestion
from maxmargin.estimators.elastic_net import ElasticNet
from maxmargin.estimators.lasso import agreement_of
from maxmargin.estimators.linear_svc import LinearSVC
from maxmargin.estimators.logistic_regression import LogisticRegression
from maxmargin.problems.linear_svm import weights_of
from maxmargin.problems.sparse_linear import SparseLinearProblem


def enet_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    alphas: Any = 100,
    Xy: Any = None,
    coef_init: Any = None,
    sample_weight: Any = None,
    return_n_iter: bool = False,
    check_input: bool = True,  # noqa: ARG001
    n_alphas: Any = "deprecated",
    **parameters: Any,
) -> tuple[Any, ...]:
    """Compute the coefficients of the elastic net for many penalties, each from where the one before ended.

    As scikit-learn's function of this name, without an intercept: centre X and y first where one is needed.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of numbers of shape (n,) or (n, 1)
        Several targets are refused: scikit-learn's function has one joint penalty for them, that of
        ``MultiTaskElasticNet``. Call this function for each of them.
    l1_ratio : float, default=0.5
        The share of the 1-norm in the penalty, positive where the values of alpha are not given.
    eps : float, default=1e-3
        The smallest alpha, as a share of the largest.
    alphas : int or array of floats, default=100
        The number of penalties, from the smallest one at which all coefficients are zero to ``eps`` times that; or the
        penalties themselves, which are taken from the largest to the smallest.
    Xy : array of shape (d,), optional
        ``X.T @ y``, with weights ``X.T @ (sample_weight * y)``. It is computed in any case; another one is refused.
    coef_init : array of shape (d,), optional
        The coefficients to start from.
    sample_weight : array of shape (n,), optional
    return_n_iter : bool, default=False
        Whether the numbers of rounds are returned, too.
    check_input : bool, default=True
        Accepted; the answer does not depend on it: the data are always checked.
    n_alphas : int, optional
        The number of penalties, by its old name: write ``alphas``. ``alphas=None`` is an old name of 100.
    **parameters
        Other parameters of :class:`ElasticNet`: ``positive``, ``tol``, ``max_iter``, ``selection``, ...

    Returns
    -------
    alphas : ndarray of shape (n_alphas,)
        Falling.
    coefs : ndarray of shape (d, n_alphas), or (1, d, n_alphas) where y is a column
    dual_gaps : ndarray of shape (n_alphas,)
        Proven duality gaps, for each row.
    n_iters : list of int
        Only with ``return_n_iter``.

    See Also
    --------
    ElasticNet : One of these fits, with its certificate.
    lasso_path : The same with the 1-norm alone.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import enet_path
    >>> X, y = load_diabetes(return_X_y=True)
    >>> alphas, coefs, gaps = enet_path(X, y - y.mean(), l1_ratio=0.9, alphas=5)
    >>> (coefs != 0.0).sum(axis=0)
    array([ 0,  9, 10, 10, 10])
    """
    _refuse_unknown(parameters)
    if isinstance(parameters.get("precompute"), str) and parameters["precompute"] == "auto":
        # The solver decides.
        del parameters["precompute"]
    if n_alphas != "deprecated" or alphas is None:
        alphas = _renamed(alphas, n_alphas)
    model: Any = ElasticNet(l1_ratio=l1_ratio, fit_intercept=False, warm_start=True, **parameters)
    data: Any = validate_targets(model, X, y, sample_weight=sample_weight, several=True)
    is_column = data.targets.ndim == 2
    if is_column and data.targets.shape[1] > 1:
        raise ValueError(
            f"y has {data.targets.shape[1]} columns, for which scikit-learn's path has one joint penalty "
            "(MultiTaskElasticNet), and this one none: call it for each of them, with y[:, k]."
        )
    if is_column:
        data = TargetPoints(data.points, data.targets[:, 0], data.weights)
    values = _penalties(model, data, eps, alphas)
    if Xy is not None:
        _refuse_other_products(Xy, data)
    if coef_init is not None:
        model.coef_, model.intercept_ = np.asarray(coef_init, dtype=np.float64), 0.0
    coefs, gaps, n_iters = [], [], []
    for alpha in values:
        model.set_params(alpha=float(alpha)).fit(X, data.targets, sample_weight=sample_weight)
        coefs.append(model.coef_[None] if is_column else model.coef_)
        gaps.append(model.dual_gap_)
        n_iters.append(model.n_iter_)
    found = values, np.stack(coefs, axis=-1), np.stack(gaps)
    return (*found, n_iters) if return_n_iter else found


def lasso_path(X: Any, y: Any, *, alphas: Any = 100, **parameters: Any) -> tuple[Any, ...]:
    """Compute the coefficients of the lasso for many penalties: :func:`enet_path` with ``l1_ratio=1``.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of numbers of shape (n,) or (n, 1)
    alphas : int or array of floats, default=100
    **parameters
        The other parameters of :func:`enet_path`.

    Returns
    -------
    tuple of ndarray
        As :func:`enet_path`.

    See Also
    --------
    Lasso : One of these fits, with its certificate.
    enet_path : The same with both norms.
    maxmargin.plots.LassoPathDisplay : The path as a picture.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import lasso_path
    >>> X, y = load_diabetes(return_X_y=True)
    >>> alphas, coefs, gaps = lasso_path(X, y - y.mean(), alphas=[1.0, 0.1])
    >>> (coefs != 0.0).sum(axis=0).tolist()  # columns in use, for a large and a small penalty
    [3, 7]
    """
    if "l1_ratio" in parameters:
        raise ValueError("lasso_path has l1_ratio=1: take enet_path for another one.")
    return enet_path(X, y, l1_ratio=1.0, alphas=alphas, **parameters)


def _refuse_unknown(parameters: dict[str, Any]) -> None:
    """Refuse what the path sets itself, and what is no parameter of the elastic net."""
    own = {"alpha", "fit_intercept", "warm_start"}
    taken = [name for name in ElasticNet._get_param_names() if name not in own]
    for name in parameters:
        if name in own:
            reason = ": the path sets it itself, alpha from alphas"
        elif name not in taken:
            reason = suggestion(name, [*taken, "alphas", "eps", "coef_init", "sample_weight", "return_n_iter"])
        else:
            continue
        raise ValueError(f"Unexpected parameters in params, {name!r}{reason}")


def _renamed(alphas: Any, n_alphas: Any) -> Any:
    """The penalties, or their number, where it was given in the way of older versions of scikit-learn."""
    if n_alphas == "deprecated":
        warn_user(
            "'alphas=None' is deprecated and will be removed in 1.11 of scikit-learn: write alphas=100.", FutureWarning
        )
        return 100
    warn_user(
        f"'n_alphas' was deprecated in 1.9 and will be removed in 1.11 of scikit-learn: write alphas={n_alphas!r}.",
        FutureWarning,
    )
    # Penalties that are given count, as there.
    return n_alphas if alphas is None or isinstance(alphas, Integral) else alphas


def _products(data: TargetPoints) -> np.ndarray:
    """X'y of weighted rows."""
    return data.points.combination(data.targets if data.weights is None else data.weights * data.targets)


def _refuse_other_products(given: Any, data: TargetPoints) -> None:
    """Refuse products that are not those of X and y, up to rounding."""
    found, given = _products(data), np.asarray(given, dtype=np.float64)
    if given.shape not in (found.shape, (found.size, 1)):
        raise ValueError(f"Xy has shape {given.shape}; X.T @ y has shape {found.shape}.")
    weights = weights_of(data.points, data.weights)
    lengths = np.sqrt(data.points.squares_of_columns(weights) * float(weights @ np.square(data.targets)))
    wrong = ~(np.abs(given.ravel() - found) <= agreement_of(data.points) * lengths)
    if wrong.any():
        j = int(np.argmax(wrong))
        raise ValueError(
            f"Xy is not X.T @ y: entry {j} is {float(given.ravel()[j])!r}, and that of X and y is "
            f"{float(found[j])!r}. Leave Xy out."
        )


def _penalties(model: Any, data: TargetPoints, eps: float, alphas: Any) -> np.ndarray:
    """The penalties of a path, from the largest to the smallest."""
    if not isinstance(alphas, Integral):
        values = np.sort(np.asarray(alphas, dtype=np.float64).ravel())[::-1]
        if not values.size:
            raise ValueError("alphas is empty: give at least one penalty, or their number.")
        return values
    if alphas < 1 or not 0.0 < eps < 1.0:
        raise ValueError(f"alphas must be positive and eps between 0 and 1; they are {alphas!r} and {eps!r}.")
    if not 0.0 < model.l1_ratio <= 1.0:
        raise ValueError("Without a 1-norm in the penalty no alpha makes all coefficients zero: give alphas.")
    total, products = float(weights_of(data.points, data.weights).sum()), _products(data)
    largest = float((products if model.positive else np.abs(products)).max(initial=0.0))
    # Not zero, also where y says nothing of X.
    largest = max(largest / (total * model.l1_ratio), float(np.finfo(np.float64).resolution))
    return np.geomspace(largest, largest * eps, int(alphas))


def l1_min_c(
    X: Any,
    y: Any,
    *,
    loss: str = "squared_hinge",
    fit_intercept: bool = True,
    penalize_intercept: bool = False,
    intercept_scaling: float = 1.0,
) -> float:
    """Compute the C up to which all coefficients of a classifier with an L1 penalty are zero, in float64: no bound.

    The intercept is not penalised, as in this package's classifiers. scikit-learn's l1_min_c() is that of another
    problem, whose intercept is: ``penalize_intercept=True`` gives it.

    At w = 0, with the best intercept, the smallest C at which the derivative of the losses in a coefficient reaches
    that of the penalty; of several classes one against the rest, that of the first one whose model is not empty.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of labels of shape (n,)
    loss : {"squared_hinge", "log"}, default="squared_hinge"
        That of ``LinearSVC(penalty="l1")``, or of ``LogisticRegression(l1_ratio=1)``.
    fit_intercept : bool, default=True
    penalize_intercept : bool, default=False
        Whether the intercept is penalised, too, as LIBLINEAR's is.
    intercept_scaling : float, default=1.0
        Its scale, as that of the classifiers.

    Returns
    -------
    float

    See Also
    --------
    LinearSVC : With ``penalty="l1"``.
    LogisticRegression : With ``l1_ratio=1``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from maxmargin import LinearSVC, l1_min_c
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> C = l1_min_c(X, y)
    >>> [int((LinearSVC(penalty="l1", loss="squared_hinge", C=k * C).fit(X, y).coef_ != 0).sum()) for k in (0.99, 1.5)]
    [0, 1]
    """
    if loss not in ("squared_hinge", "log"):
        raise ValueError(f"loss must be 'squared_hinge' or 'log'; it is {loss!r}.")
    intercept: dict[str, Any] = {
        "fit_intercept": fit_intercept,
        "penalize_intercept": penalize_intercept,
        "intercept_scaling": intercept_scaling,
    }
    model: Any = LogisticRegression(l1_ratio=1.0, multi_class="ovr", **intercept)
    if loss == "squared_hinge":
        model = LinearSVC(penalty="l1", loss=loss, **intercept)
    model._check_parameters()
    labelled: LabelledPoints = validate_training_data(model, X, y)
    largest = max(_largest_derivative(model._problem(data)) for data in labelled.tasks())
    if largest == 0.0:
        raise ValueError("All columns are constant, or X has none that says anything of y: every C gives zeros.")
    return 1.0 / largest


def _largest_derivative(problem: SparseLinearProblem) -> float:
    """The largest derivative of the losses in a coefficient, at zero and for C = 1."""
    zeros = np.zeros(problem.points.n_rows)
    b = problem.best_intercept(zeros) if problem.fit_intercept else 0.0
    return float(np.abs(problem.points.combination(problem.duals(problem.shares(zeros + b)))).max(initial=0.0))
