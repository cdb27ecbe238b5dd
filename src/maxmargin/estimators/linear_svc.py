"""Linear support vector classification as a scikit-learn estimator."""

import math
from collections.abc import Sequence
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from maxmargin.certificates import (
    Certificate,
    bracket_hard_margin,
    measure_gap,
    measure_multiclass_gap,
    measure_sparse_gap,
)
from maxmargin.data import Dataset, JointClasses, LabelledPoints, Tasks, as_dense, validate_training_data
from maxmargin.data.scikit_learn import Interval, StrOptions
from maxmargin.estimators._linear_svm import LINEAR_PARAMETERS, LinearSVM
from maxmargin.estimators._parameters import estimator, with_blocks
from maxmargin.estimators._predictors import LinearClassifier
from maxmargin.estimators._regularized import InterceptColumn
from maxmargin.estimators._rows_elsewhere import kind_of_rows
from maxmargin.estimators._shared import one_or_array, refuse_other_rows
from maxmargin.estimators._solvers import CertificateTable
from maxmargin.problems.crammer_singer import CrammerSingerProblem
from maxmargin.problems.hard_margin import HardMarginProblem
from maxmargin.problems.linear_svm import LOSSES, LinearSVMProblem, weights_of
from maxmargin.problems.partitioned import PartitionedProblem
from maxmargin.problems.sparse_linear import SparseLinearProblem
from maxmargin.solvers.core import Result, warm_start


@with_blocks(linear_parameters=LINEAR_PARAMETERS)
@estimator
class LinearSVC(InterceptColumn, LinearSVM, LinearClassifier):
    r"""Linear support vector classification, solved to a certified duality gap.

    .. math:: \min_{w, b} \tfrac12 \lVert w \rVert^2 + C \sum_i \ell(y_i (w \cdot x_i + b))

    with the hinge :math:`\ell(m) = \max(0, 1 - m)` or its square: the textbook's problem, whose intercept b is not
    penalised. scikit-learn's LinearSVC() is another one: ``loss="squared_hinge", penalize_intercept=True`` give it.
    More than two classes are learned one against the rest, or in one joint problem. With ``penalty="l1"`` the penalty
    is the sum of the absolute values of the coefficients, most of which are then zero:

    .. math:: \min_{w, b} \lVert w \rVert_1 + C \sum_i \max(0, 1 - y_i (w \cdot x_i + b))^2

    ``certificate_`` proves how good the model is: its objective is at most ``primal``, and no w and b have one below
    ``dual``, the value of the duals ``dual_coef_`` in the dual problem (weak duality). The fit ends where
    (primal - dual)/primal is at most ``tol``; a limit ends it earlier, with a warning and the gap that is proven by
    then. :func:`certify` computes the proof again from the data.

    Parameters
    ----------
    C : float, default=1.0
        Inverse regularisation strength: the factor on the losses. ``inf`` is the hard margin: the largest margin
        without a margin violation, ``NotSeparableError`` where there is none, and as certificate a bracket around the
        largest margin, of relative width ``tol``. Weights then say only which rows count, and both losses are the same;
        ``objective_`` and ``history_`` are those of 1/2 ||w||².
    loss : {"hinge", "squared_hinge"}, default="hinge"
    fit_intercept : bool, default=True
    penalize_intercept : bool, default=False
        Add b²/(2 intercept_scaling²) to the objective, or ``|b|/intercept_scaling`` with ``penalty="l1"``: the problem
        that LIBLINEAR and scikit-learn solve.
    penalty : {"l2", "l1"}, default="l2"
        The penalty on w: half its squared norm, or its 1-norm, which needs ``loss="squared_hinge"``. The latter is
        LIBLINEAR's -s 5, here solved by proximal Newton steps on working sets of columns; the certificate says how
        many coefficients are proven to be zero.
    dual : bool or "auto", default="auto"
        Accepted as scikit-learn's: every fit gives the primal and the dual solution. True is refused, as there, with
        ``penalty="l1"``.
    tol : float, default=1e-4
        The relative duality gap at which to stop: the model's objective is then within this share of the optimum. For
        C = inf, the relative width of the bracket around the largest margin.
    {linear_parameters}
    class_weight : dict, "balanced" or None, default=None
        Factors on C for each class.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        More than two classes one against the rest, or in one problem (hinge loss; coordinate ascent in random order,
        and with ``solver="auto"`` Newton steps where it is slow and classes and columns are few):
        sum of C max(0, max over the other classes m of 1 + f_m(x) - f_y(x)). For two classes that is the
        two-class problem with 2C.
    warm_start : bool, default=False
        Start from the duals of the last fit, which must have had the same classes and as many rows; with
        ``penalty="l1"`` from its coefficients.

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
        1/||w||, the distance of the hyperplanes f = 1 and f = -1 from f = 0. For C = inf the proven margin, 0 where
        none is.
    objective_ : float, or list with one entry a class
        The value of the model, rounded up. One value for "crammer_singer".
    history_ : list of (seconds, primal, dual), or a list of them
    rounds_ : int
        After a fit on Dask collections: rounds of messages, loading and certificate included. ``dual_coef_`` is then a
        Dask array whose chunks lie beside the rows, and there is no ``support_``.
    bytes_per_round_ : float
        Likewise: the bytes of numbers in the messages to all partitions and in their answers, per round.
    n_iter_ : int
        Epochs or Newton steps (of the class that took most).
    status_ : Status
    certificate_ : ClassificationGap, or PerClass of them
        MulticlassGap for "crammer_singer"; MarginBracket for C = inf; SparseGap for ``penalty="l1"``.

    See Also
    --------
    SVC : The same problem in the feature space of a kernel.
    LinearSVR : Regression by the same solvers.
    svm_path : One model for every C.
    certify : Computes the certificate again, from the data alone.
    ClassificationGap : What the certificate says.

    References
    ----------
    "Large Margin Classifiers. Linear Support Vector Machines", lecture 9: soft margins, the dual, the KKT conditions,
    coordinate ascent. Crammer, Singer, "On the algorithmic implementation of multiclass kernel-based vector
    machines", 2001. Yuan, Ho, Lin, "An improved GLMNET for L1-regularized logistic regression", 2012, and Ndiaye,
    Fercoq, Gramfort, Salmon, "Gap safe screening rules for sparsity enforcing penalties", 2017, for the L1 penalty.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from maxmargin import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVC(tol=1e-6).fit(scale(X), y)
    >>> proof = model.certificate_
    >>> print(f"{proof.dual:.3f} <= smallest objective <= objective of the model <= {proof.primal:.3f}")
    26.525 <= smallest objective <= objective of the model <= 26.525

    The hard margin has a bracket around the largest margin; where no hyperplane separates the classes, it is refused:

    >>> hard = LinearSVC(C=float("inf")).fit(X[:, :2], X[:, 0] > 15.0)
    >>> print(f"{hard.certificate_.lower:.4f} <= largest margin <= {hard.certificate_.upper:.4f}")
    0.0206 <= largest margin <= 0.0206
    """

    C: float = 1.0
    loss: str = "hinge"
    penalty: str = "l2"
    class_weight: Any = None
    multi_class: str = "ovr"

    _certificates: ClassVar[CertificateTable] = {
        LinearSVMProblem: measure_gap,
        HardMarginProblem: bracket_hard_margin,
        SparseLinearProblem: measure_sparse_gap,
    }
    _advice_without_solution = "C=inf has no solution: use a soft margin, for example LinearSVC(C=1.0)."

    _parameter_constraints: ClassVar[dict] = {
        **LinearSVM._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right")],
        "loss": [StrOptions(set(LOSSES))],
        "penalty": [StrOptions({"l1", "l2"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
    }

    def slack(self, X: Any, y: Any) -> np.ndarray:
        """Compute xi_i = max(0, 1 - y_i f(x_i)): 0 outside the margin, below 1 inside it, else misclassified.

        With ``multi_class="crammer_singer"`` and more than two classes, xi_i = max(0, 1 + f_m(x_i) - f_y(x_i)) for the
        strongest other class m.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of labels of shape (n,)

        Returns
        -------
        ndarray of shape (n,), or (n, n_classes) for more than two classes one against the rest
        """
        model = self._as_fitted()
        labelled = validate_training_data(model, X, y, classes=self.classes_, reset=False)
        if model._learns_jointly(labelled):
            problem: Any = model._problem(labelled)
            return problem.slack(problem.scores(self.coef_, self.intercept_))
        scores = labelled.points.scores(self.coef_.T) + self.intercept_
        signs = np.column_stack([dataset.signs for dataset in labelled.tasks()])
        slack = np.maximum(0.0, 1.0 - signs * scores)
        return slack[:, 0] if slack.shape[1] == 1 else slack

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.penalty == "l1":
            self._check_sparse_parameters()
        if math.isinf(self.C):
            for name, refused in (
                ("multi_class", "crammer_singer"),
                ("solver", "coordinate"),
                ("penalize_intercept", True),
            ):
                if getattr(self, name) == refused:
                    raise ValueError(f"C=inf, the hard margin, is not solved with {name}={refused!r}: leave it out.")
            if self.selection != "random":
                raise ValueError("C=inf, the hard margin, is solved by Newton steps: leave selection at 'random'.")
        if self.multi_class == "crammer_singer":
            for name, only in (
                ("loss", ("hinge",)),
                ("solver", ("auto", "coordinate")),
                ("selection", ("random", "cyclic")),
            ):
                if getattr(self, name) not in only:
                    raise ValueError(
                        f"multi_class='crammer_singer' takes {name}={' or '.join(map(repr, only))}; it is "
                        f"{getattr(self, name)!r}."
                    )

    def _check_sparse_parameters(self) -> None:
        if math.isinf(self.C):
            raise ValueError("C=inf, the hard margin, is not solved with penalty='l1': set a finite C.")
        for name, only in (
            ("loss", ("squared_hinge",)),
            ("multi_class", ("ovr",)),
            ("dual", (False, "auto")),
            ("solver", ("auto",)),
            ("selection", ("random",)),
        ):
            if getattr(self, name) not in only:
                raise ValueError(
                    f"Unsupported set of arguments: penalty='l1', loss={self.loss!r}, dual={self.dual!r}; penalty='l1' "
                    f"takes {name}={' or '.join(map(repr, only))}, and it is {getattr(self, name)!r}."
                )

    def _check_collections(self, X: Any) -> None:
        super()._check_collections(X)
        if self.penalty == "l1":
            raise ValueError(f"penalty='l1' is not solved on {kind_of_rows(X)}: set 'l2', or give arrays.")

    @property
    def _has_intercept_column(self) -> bool:
        return self.penalty == "l1" and self.penalize_intercept

    def _learns_jointly(self, labelled: LabelledPoints) -> bool:
        return self.multi_class == "crammer_singer" and len(labelled.classes) > 2

    def _tasks(self, data: LabelledPoints) -> Tasks:
        return JointClasses(data) if self._learns_jointly(data) else data

    def _problem(self, data: Dataset | LabelledPoints) -> Any:
        if isinstance(data, LabelledPoints):
            weights = weights_of(data.points, data.weights)
            return CrammerSingerProblem(
                data.points, data.codes, weights, len(data.classes), self.C, self._intercept_penalty
            )
        if math.isinf(self.C):
            return HardMarginProblem(data, self.fit_intercept)
        if self.penalty == "l1":
            points, is_free = self._points_with_intercept(data.points)
            weights = weights_of(points, data.weights)
            return SparseLinearProblem.of(points, data.signs, weights, self.loss, float(self.C), fit_intercept=is_free)
        # For two classes w_1 = -w_2 = w/2, and the joint problem is half the two-class problem with 2C.
        C = 2.0 * self.C if self.multi_class == "crammer_singer" else self.C
        return self._problem_of_losses(data, partial(LOSSES[self.loss], C=C))

    def _starts(self, tasks: Any) -> Sequence[Result[Any] | None]:
        if self.warm_start and hasattr(self, "classes_") and not np.array_equal(self.classes_, tasks.classes):
            raise ValueError("warm_start=True needs the classes of the last fit; y has others.")
        if isinstance(tasks, JointClasses) and self.warm_start and hasattr(self, "dual_coef_"):
            if self.dual_coef_.shape != (len(tasks.classes), tasks.points.n_rows):
                raise ValueError("warm_start=True needs as many rows as the last fit; X has others.")
            return [warm_start(np.ascontiguousarray(self.dual_coef_.T))]
        if self.penalty == "l1" and self.warm_start and hasattr(self, "coef_"):
            if self.coef_.shape != (tasks.n_tasks, tasks.points.n_columns):
                raise ValueError("warm_start=True needs the classes and columns of the last fit; X or y has others.")
            vectors = zip(as_dense(self.coef_), self.intercept_, strict=True)
            return [Result(*self._vectors_of_problem(w, b), np.empty(0)) for w, b in vectors]
        return super()._starts(tasks)

    def _attributes_so_far(self, labelled: Any, results: Sequence[Any]) -> dict[str, Any]:
        if not isinstance(labelled, JointClasses):
            so_far = super()._attributes_so_far(labelled, results)
            if self._has_intercept_column:
                shape = (labelled.n_tasks, labelled.points.n_columns + 1)
                coef = np.array([np.zeros(shape[1]) if one is None else one[0] for one in results])
                so_far["coef_"], so_far["intercept_"] = self._vectors_of_model(coef, np.zeros(shape[0]))
            return so_far
        n_classes = len(labelled.classes)
        zero = np.zeros((n_classes, labelled.points.n_columns)), np.zeros(n_classes), None
        w, b, _ = zero if results[0] is None else results[0]
        return {"coef_": w, "intercept_": b, "classes_": labelled.classes}

    def _set_attributes(self, tasks: Any, results: Sequence[Result[Any]]) -> None:
        self.classes_ = tasks.classes
        super()._set_attributes(tasks, results)
        self.coef_, self.intercept_ = self._vectors_of_model(self.coef_, self.intercept_)
        if isinstance(tasks, JointClasses):
            self.coef_, self.intercept_ = results[0].w, results[0].intercept
            self.dual_coef_ = np.ascontiguousarray(results[0].beta.T)
            self.support_ = np.flatnonzero(self.dual_coef_.any(axis=0))

    def _certify_task(self, k: int, problem: Any) -> Certificate:
        refuse_other_rows(problem.points.n_rows, self.dual_coef_.shape[1])
        if isinstance(problem, PartitionedProblem):
            return self._certify_on_blocks(k, problem, self.coef_[k], float(self.intercept_[k]))
        if isinstance(problem, CrammerSingerProblem):
            duals = np.ascontiguousarray(self.dual_coef_.T)
            return measure_multiclass_gap(problem, self.coef_, self.intercept_, duals)
        w, b = self._vectors_of_problem(self.coef_[k], self.intercept_[k])
        return self._certificates[type(problem)](problem, w, b, np.asarray(self.dual_coef_[k]))

    def _set_certified_attributes(self, proofs: Sequence[Any]) -> None:
        super()._set_certified_attributes(proofs)
        self.margin_ = one_or_array(self._margins(proofs))

    def _margins(self, proofs: Sequence[Any]) -> Sequence[float]:
        """The margins that certificates prove for the hard margin, else 1/||w||."""
        if math.isinf(self.C):
            return [max(0.0, proof.lower) for proof in proofs]
        lengths = [math.sqrt(square) for square in np.vecdot(self.coef_, self.coef_).tolist()]
        return [1.0 / length if length > 0.0 else math.inf for length in lengths]
