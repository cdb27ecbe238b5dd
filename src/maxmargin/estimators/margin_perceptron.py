"""The margin perceptron as a scikit-learn classifier."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from maxmargin.certificates import Certificate, MarginBracket, bracket_margin, linear_geometry
from maxmargin.data import Dataset, LabelledPoints, Tasks
from maxmargin.data.printed_bounds import digits_up
from maxmargin.data.scikit_learn import Interval, _fit_context
from maxmargin.estimators._parameters import estimator
from maxmargin.estimators._perceptrons import set_linear_model
from maxmargin.estimators._predictors import LinearClassifier
from maxmargin.estimators._shared import certificates_of, one_or_all, one_or_array, refuse_other_rows
from maxmargin.estimators._solvers import SolverTable
from maxmargin.problems import PerceptronProblem
from maxmargin.reconciliation import Goal
from maxmargin.solvers.perceptron.margin import MarginOptions, MarginResult

# Margins below this are zero: the squares of the entries underflow.
LEAST_MARGIN = 1e-150
# The relative rounding error that an upper bound may have above the margin asked for.
BOUND_ERROR = 1e-9


@estimator
class MarginPerceptron(LinearClassifier):
    r"""The margin perceptron: a hyperplane with at least a quarter of the largest margin, and the proof.

    Update, as the perceptron does, on every mistake and on every point nearer to the hyperplane than half a guess of

    .. math:: \gamma_{opt} = \max_{\lVert u \rVert = 1} \min_i y_i\, u \cdot x_i

    until there is none. A guess of at most :math:`\gamma_{opt}` ends after at most
    :math:`8R^2/\gamma_{opt}^2 + 4R/\gamma_{opt}` updates with a margin of at least half the guess. Without a guess,
    start at R and halve it whenever :math:`12R^2/\gamma^2` updates did not suffice: the margin is then at least
    :math:`\gamma_{opt}/4`. The duals of any run bound :math:`\gamma_{opt}` from above, so every answer is a bracket.

    With an intercept, points and margins are those of (x, 1).

    Parameters
    ----------
    gamma : float or None, default=None
        The guess; None searches for one.
    min_gamma : float, default=1e-3
        The search ends, with status ``NO_SUCH_MARGIN``, once the guess falls below ``min_gamma * R``, or once it is
        proven that no hyperplane has that margin.
    fit_intercept : bool, default=True
        Learn b, as the weight of a feature that is always 1.
    normalize : bool, default=False
        Divide the points by their length, so that R = 1 and margins are sines of angles.
    shuffle : bool, default=True
        Draw a new random order of the rows for every pass. The accelerated algorithm does not depend on it.
    accelerated : bool, default=False
        The smooth perceptron instead of the lecture's: O(sqrt(log n) R/gamma_opt) passes, each a weighted sum of all
        points, instead of O(R²/gamma_opt²) updates. Without a guess it ends with half of the largest
        margin. ``n_updates_`` counts passes, ``mistakes_per_pass_`` the points on the wrong side.
    max_iter : int or None, default=None
        The largest number of passes, over all rounds; the theorem bounds them where this does not. With a tiny
        ``min_gamma`` that bound is more than anybody waits for: set ``max_iter`` or ``max_time``, or press Ctrl-C. All
        of them leave a model and a true certificate.
    max_time : float or None, default=None
        The largest number of seconds to train.
    random_state : int, RandomState instance or None, default=0
        Seeds the order.
    n_jobs : int or None, default=None
        Threads, for more than two classes; None is one, as in scikit-learn, unless a joblib context says otherwise. The
        result does not depend on it.
    verbose : int, default=0
        Print a line a pass.

    Attributes
    ----------
    coef_, intercept_, classes_, dual_coef_, status_, n_iter_, n_updates_
        As for :class:`Perceptron`. Violations count as mistakes; those of all rounds are counted.
    mistakes_per_pass_, online_loss_per_pass_, criterion_per_pass_, rows_evaluated_per_pass_
        As for :class:`Perceptron`. The criterion is None unless ``accelerated=True``.
    margin_ : float, or ndarray with one entry a class
        The margin of the hyperplane: the lower end of the bracket.
    gamma_guess_ : float, or list with one entry a class
        The guess of the last round.
    n_rounds_ : int, or list with one entry a class
    updates_per_round_ : tuple, or list of them
    certificate_ : MarginBracket, or PerClass of them

    See Also
    --------
    Perceptron : Ends at the first hyperplane without mistakes.
    LinearSVC : With ``C=inf``, the largest margin.
    MarginBracket : What the certificate says.
    maxmargin.lectures.incremental_search : The algorithm step by step.

    References
    ----------
    Y. Tao, "Linear Classification: Maximizing the Margin", "Margin Perceptron" and "An Incremental Algorithm"; "The
    Perceptron Algorithm", lecture 8, section 1.3. Soheili, Peña, "A smooth perceptron algorithm", 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import MarginPerceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MarginPerceptron().fit(X, y == 0)
    >>> proof = model.certificate_
    >>> print(f"margin {proof.lower:.3f}, {proof.share:.0%} of the largest at least, which is below {proof.upper:.3f}")
    margin 0.705, 62% of the largest at least, which is below 1.136
    """

    gamma: float | None = None
    min_gamma: float = 1e-3
    fit_intercept: bool = True
    normalize: bool = False
    shuffle: bool = True
    accelerated: bool = False
    max_iter: int | None = None
    max_time: float | None = None
    random_state: Any = 0
    n_jobs: int | None = None
    verbose: int = 0

    _advice_for_collections: ClassVar[str] = "use LinearSVC with a large C"

    _advice_when_stalled = "the margin is too small to be proven in floating-point arithmetic: raise gamma or min_gamma"

    @property
    def _advice_without_such_margin(self) -> str:  # type: ignore[override]
        proofs: list[Any] = certificates_of(self.certificate_, len(self.coef_))
        largest = digits_up(min(one.upper for one in proofs), 6)
        if self.gamma is not None:
            return f"no hyperplane has margin gamma={self.gamma:g}: the largest is at most {largest}; lower gamma"
        asked = digits_up(self.min_gamma * max(one.radius for one in proofs), 6)
        return (
            f"no hyperplane has a margin of min_gamma * R = {asked}: the largest is at most "
            f"{largest}; lower min_gamma, or use LinearSVC"
        )

    _solvers: ClassVar[SolverTable] = {
        PerceptronProblem: {"incremental": "perceptron.margin", "accelerated": "perceptron.smooth"},
    }
    _parameter_constraints: ClassVar[dict] = {
        "gamma": [Interval(Real, 0.0, None, closed="neither"), None],
        "min_gamma": [Interval(Real, 0.0, 1.0, closed="neither")],
        "fit_intercept": ["boolean"],
        "normalize": ["boolean"],
        "shuffle": ["boolean"],
        "accelerated": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "max_time": [Interval(Real, 0.0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> "MarginPerceptron":
        """Learn until no point is too near, or until it is proven that no hyperplane has the margin asked for.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of labels of shape (n,)

        Returns
        -------
        self
        """
        return self._fit(X, y)

    def _problem(self, data: Dataset) -> PerceptronProblem:
        return PerceptronProblem(data, self.fit_intercept, normalize=self.normalize)

    def _options(self, tasks: Tasks) -> MarginOptions:
        return MarginOptions(
            max_iter=math.inf if self.max_iter is None else self.max_iter,
            gamma=self.gamma,
            min_gamma=self.min_gamma,
            shuffle=self.shuffle,
            **self._seed_and_threads(tasks),
        )

    def _name_of_solver(self, problem: PerceptronProblem) -> str:  # noqa: ARG002
        return "accelerated" if self.accelerated else "incremental"

    def _set_attributes(self, tasks: LabelledPoints, results: Sequence[MarginResult]) -> None:
        set_linear_model(self, tasks, results)
        self.dual_coef_ = np.array([result.beta for result in results])
        self.gamma_guess_ = one_or_all([result.gamma_guess for result in results])
        self.updates_per_round_ = one_or_all([result.updates_per_round for result in results])
        self.n_rounds_ = one_or_all([len(result.updates_per_round) for result in results])

    def _certify_task(self, k: int, problem: PerceptronProblem) -> Certificate:
        alpha = np.abs(self.dual_coef_[k])
        refuse_other_rows(problem.dataset.signs.size, alpha.size)
        return bracket_margin(linear_geometry(problem, self.coef_[k], self.intercept_[k], alpha))

    def _goal(self, k: int, problem: Any | None = None) -> Goal:  # noqa: ARG002
        """SOLVED needs a separating hyperplane, NO_SUCH_MARGIN an upper bound below the margin asked for."""

        def lacks_margin(bracket: MarginBracket) -> bool:
            # Without a given gamma, the search may end below min_gamma R at a hyperplane that separates nevertheless.
            if bracket.separates and self.gamma is None:
                return False
            asked = self.min_gamma * bracket.radius if self.gamma is None else self.gamma
            return bracket.upper <= max(asked * (1.0 + BOUND_ERROR), LEAST_MARGIN)

        return Goal(tol=None, lacks_margin=lacks_margin)

    def _set_certified_attributes(self, proofs: Sequence[Any]) -> None:
        self.margin_ = one_or_array(self._margins(proofs))

    def _margins(self, proofs: Sequence[Any]) -> list[float]:
        return [proof.lower for proof in proofs]
