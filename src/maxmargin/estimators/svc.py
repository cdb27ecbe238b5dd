"""Kernel support vector classification."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from maxmargin.certificates import Certificate, MarginBracket, measure_pair_gaps
from maxmargin.estimators._kernel_classifier import KernelClassifier
from maxmargin.estimators._kernel_svm import C_CONSTRAINTS, KERNEL_PARAMETERS
from maxmargin.estimators._parameters import estimator, with_blocks
from maxmargin.estimators._shared import one_or_array
from maxmargin.problems.kernel_svm import NO_MARGIN
from maxmargin.problems.one_vs_one import PairProblems

# With C = inf, classes count as not separable where their margin is proven to be below this share of the longest
# phi(x): twice what ends the solver, whose bound is not rounded outwards.
SMALLEST_MARGIN = 2.0 * NO_MARGIN
# The same where all phi(x) are zero.
SMALLEST_POSITIVE = 1e-300


@with_blocks(kernel_parameters=KERNEL_PARAMETERS)
@estimator
class SVC(KernelClassifier):
    r"""Kernel support vector classification, solved to a proven duality gap.

    .. math:: \max_\alpha \sum_i \alpha_i - \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j\, k(x_i, x_j), \qquad
              0 \le \alpha_i \le C, \quad \sum_i \alpha_i y_i = 0

    More than two classes are learned one against one; pairs whose kernel matrices fit into the cache share the kernel
    values within a class. Training time grows with the square of the number of rows: beyond some 100,000 of them put
    scikit-learn's ``Nystroem`` or ``RBFSampler`` before :class:`LinearSVC` in a pipeline, as
    ``examples/approximate_kernels.py`` does. For probabilities wrap the model in scikit-learn's
    ``CalibratedClassifierCV``.

    ``certificate_`` proves how good the model is: its objective is at most ``primal``, and no hyperplane of the feature
    space has one below ``dual``, the value of the formula above at the model's duals. Predictions are signs of
    ``f(x) = sum_i y_i alpha_i k(x_i, x) + b``, over the support vectors.

    Kernel values are stored in single precision where that is enough for ``tol``. The certificate is computed in double
    precision; where it does not confirm ``tol``, the solver continues in double precision.

    Parameters
    ----------
    C : float, default=1.0
        The factor on the slack of a row. ``inf`` is the hard margin in feature space: the hyperplane of the largest
        margin, or :class:`NotSeparableError` with the proof that all margins are negligible. ``tol`` is then the
        relative width of the bracket around the margin.
    {kernel_parameters}
    class_weight : dict, "balanced" or None, default=None
        Factors on C for each class. "balanced" counts the rows of the classes, as scikit-learn's SVC does, not their
        weights.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        One score a class, or one a pair of classes.
    break_ties : bool, default=False
        Whether ``predict`` is the argmax of the decision function also where the votes of more than two classes tie;
        else the first of these classes is predicted. True is refused together with ``decision_function_shape="ovo"``.
    probability : bool, default="deprecated"
        Deprecated, as in scikit-learn, and False unless given: whether ``predict_proba`` is there: Platt's sigmoids,
        fitted to the scores of models of five folds, coupled over the pairs of classes, as LIBSVM's. It takes five more
        fits, and its argmax may differ from ``predict``. scikit-learn has deprecated it:
        ``CalibratedClassifierCV(SVC(), ensemble=False)`` is the better way.
    random_state : int, RandomState or None, default=None
        The seed of these folds; nothing else is random.

    Attributes
    ----------
    support_ : ndarray of int
        Rows with a dual that is not zero in any pair, those of the first class first.
    support_vectors_ : array or sparse matrix of shape (n_support, d)
        Those rows; empty for a precomputed kernel.
    n_support_ : ndarray of int32, one entry a class
    dual_coef_ : ndarray of shape (n_classes - 1, n_support), or sparse after a fit to sparse rows
        y_i alpha_i in the pairs with every other class, laid out as scikit-learn's.
    coef_ : ndarray of shape (n_pairs, d), for the linear kernel
    intercept_ : ndarray of shape (n_pairs,)
    classes_ : ndarray of shape (n_classes,)
    class_weight_ : ndarray of shape (n_classes,)
    probA_, probB_ : ndarray of shape (n_pairs,), with ``probability=True``
        P(first class of a pair | f) = 1/(1 + exp(probA f + probB)); of two classes, f is that of the second.
    margin_ : float, or ndarray of shape (n_pairs,)
        1/||w|| in feature space, from the certificate's dual value sum_i alpha_i - ||w||²/2; for C = inf, the margin
        that is proven. Not defined, an AttributeError, where the kernel may be indefinite.
    objective_ : float, or list with one entry a pair
        The primal objective, rounded up.
    fit_status_ : 0 where every pair is solved to ``tol``, else 1
    n_iter_ : ndarray of int32 of shape (n_pairs,)
        Steps on pairs of duals.
    shape_fit_ : tuple
    status_ : Status
    history_ : list of (seconds, primal, dual), or one a pair
    certificate_ : ClassificationGap, or PerPair of them; MarginBracket for C = inf

    See Also
    --------
    LinearSVC : Without a kernel, for many rows or columns.
    NuSVC : A share nu of margin errors in place of C.
    ClassificationGap : What the certificate says.
    maxmargin.lectures.smo : The algorithm step by step.

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
    >>> model = SVC(tol=1e-6).fit(X, y)
    >>> model.score(X, y), len(model.support_)
    (1.0, 22)
    >>> proof = model.certificate_
    >>> print(f"{proof.dual:.3f} <= smallest objective <= objective of the model <= {proof.primal:.3f}")
    8.510 <= smallest objective <= objective of the model <= 8.510

    Probabilities, from the scores of models that were not fitted to the rows:

    >>> from sklearn.calibration import CalibratedClassifierCV
    >>> calibrated = CalibratedClassifierCV(SVC(), cv=3).fit(X, y)
    >>> calibrated.predict_proba(X).shape
    (200, 2)

    The hard margin in feature space, with its bracket:

    >>> hard = SVC(C=float("inf"), gamma=2.0, tol=1e-5).fit(X, y)
    >>> print(f"{hard.certificate_.lower:.4f} <= largest margin <= {hard.certificate_.upper:.4f}")
    0.2400 <= largest margin <= 0.2400
    """

    C: float = 1.0

    _advice_without_solution = (
        "For C=inf that is no margin to work with: use a soft one, for example SVC(C=1.0), or a kernel that tells the "
        "points apart, for example a larger gamma."
    )
    _parameter_constraints: ClassVar[dict] = {**KernelClassifier._parameter_constraints, **C_CONSTRAINTS}

    @property
    def margin_(self) -> Any:
        """1/||w|| in feature space, from the certificate's dual value sum_i alpha_i - ||w||²/2."""
        totals = np.abs(self._task_coefficients()).sum(axis=0) if hasattr(self, "classes_") else []
        margins = [_margin_of(proof, total) for proof, total in zip(self._task_certificates(), totals, strict=True)]
        return one_or_array(margins)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if math.isinf(self.C) and self.kernel == "sigmoid":
            raise ValueError("C=inf, the hard margin, needs a feature space; kernel='sigmoid' has none: use C < inf.")

    def _problems(self, tasks: Any) -> PairProblems:
        return PairProblems(tasks, self._kernel, self.C, self._threads_of(tasks))

    def _pair_proofs(self, problems: Any, betas: Sequence[np.ndarray]) -> Sequence[Certificate]:
        return measure_pair_gaps(problems, betas, self.intercept_, self.tol)

    @staticmethod
    def _proves_inseparable(bracket: MarginBracket) -> bool:
        """Whether margins in feature space are proven to be negligible."""
        known = not bracket.separates and math.isfinite(bracket.upper)
        return known and bracket.upper <= max(SMALLEST_MARGIN * bracket.radius, SMALLEST_POSITIVE)


def _margin_of(certificate: Any, total: float) -> float:
    """The margin 1/||w|| that a certificate proves, given sum_i alpha_i."""
    if isinstance(certificate, MarginBracket):
        return max(0.0, certificate.lower)
    if math.isinf(certificate.dual):
        raise AttributeError("margin_ is not defined: the kernel may be indefinite, and then w has no length.")
    square = 2.0 * (total - certificate.dual)
    return 1.0 / math.sqrt(square) if total > 0.0 and square > 0.0 else math.inf
