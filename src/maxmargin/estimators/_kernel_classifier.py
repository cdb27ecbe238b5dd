"""What kernel classifiers share: pairs of classes, votes, probabilities."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, combinations
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import _ovr_decision_function

from maxmargin.certificates import Certificate, PerClass, PerPair
from maxmargin.data import ClassPairs, LabelledPoints, validate_points, validate_training_data
from maxmargin.data.blas import one_blas_thread
from maxmargin.data.interruption import check_interruption
from maxmargin.data.scikit_learn import StrOptions, available_if, check_is_fitted
from maxmargin.data.user_warnings import warn_user
from maxmargin.estimators._kernel_svm import KernelSVM
from maxmargin.estimators._parameters import estimator
from maxmargin.estimators._predictors import CertifiedClassifier
from maxmargin.estimators._probabilities import (
    N_FOLDS,
    Calibration,
    Folds,
    Sigmoid,
    by_task,
    fit_sigmoid,
    scores_on_folds,
    was_cut,
)
from maxmargin.estimators._progress import FitLimits
from maxmargin.estimators._shared import plain, refuse_other_rows, seed_of
from maxmargin.estimators._solvers import Solve
from maxmargin.solvers.core import Result
from maxmargin.solvers.kernel import smo
from maxmargin.solvers.kernel.base import SMOOptions
from maxmargin.solvers.kernel.one_vs_one import PairSolver


def _has_probabilities(model: Any) -> bool:
    if model._fits_probabilities or hasattr(model, "calibration_"):
        return True
    raise AttributeError(
        "predict_proba is not available when probability=False: call maxmargin.calibrate, or set probability=True."
    )


@estimator
class KernelClassifier(KernelSVM, CertifiedClassifier):
    """Classification by kernel machines, one against one: what :class:`SVC` and :class:`NuSVC` share."""

    class_weight: Any = None
    decision_function_shape: str = "ovr"
    break_ties: bool = False
    probability: Any = "deprecated"
    random_state: Any = None

    _balances_rows = True
    _scores_pairs = True
    # As in scikit-learn.
    _may_lack_weight = False
    # The module of the solver of a pair's problem.
    _method: ClassVar[Any] = smo

    _prediction_parameters = ("decision_function_shape", "break_ties")
    _private_attributes: ClassVar[tuple[str, ...]] = (
        *KernelSVM._private_attributes,
        "_n_support",
        "_vote_order",
    )

    _parameter_constraints: ClassVar[dict] = {
        **KernelSVM._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "probability": ["boolean", StrOptions({"deprecated"})],
        "random_state": ["random_state"],
    }

    def _warn_of_parameters(self) -> None:
        super()._warn_of_parameters()
        if self.probability != "deprecated":
            name = type(self).__name__
            warn_user(
                "The `probability` parameter was deprecated in version 1.9 of scikit-learn: leave it out, and take "
                f"CalibratedClassifierCV({name}(), ensemble=False), or maxmargin.calibrate, for probabilities.",
                FutureWarning,
            )

    @property
    def _fits_probabilities(self) -> bool:
        return self.probability != "deprecated" and bool(self.probability)

    @property
    def probA_(self) -> np.ndarray:  # noqa: N802
        """The slopes of the sigmoids; empty without."""
        return self._deprecated_sigmoids(0, "probA_")

    @property
    def probB_(self) -> np.ndarray:  # noqa: N802
        """The offsets of the sigmoids; empty without."""
        return self._deprecated_sigmoids(1, "probB_")

    def _deprecated_sigmoids(self, parameter: int, name: str) -> np.ndarray:
        check_is_fitted(self)
        warn_user(
            f"Attribute `{name}` was deprecated in version 1.9 of scikit-learn: read calibration_.curves.",
            FutureWarning,
        )
        return self._sigmoids(parameter)

    def _sigmoids(self, parameter: int) -> np.ndarray:
        """A or B of the sigmoids of all pairs; empty where there are none."""
        calibration = getattr(self, "calibration_", None)
        if calibration is None or calibration.method != "sigmoid":
            return np.empty(0)
        return np.array([(curve.A, curve.B)[parameter] for curve in calibration.curves])

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Compute the probabilities of the classes by Platt's sigmoids.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or the Gram matrix with the training rows

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        check_is_fitted(self)
        if not hasattr(self, "calibration_"):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False: fit again with probability=True, "
                "or call maxmargin.calibrate. (A fit that max_time or Ctrl-C ended may not have fitted them.)"
            )
        return super().predict_proba(X)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Compute the logarithms of the probabilities.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or the Gram matrix with the training rows

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        return np.log(self.predict_proba(X))

    @property
    def n_support_(self) -> np.ndarray:
        """Support vectors of each class."""
        check_is_fitted(self)
        return self._n_support

    @property
    def coef_(self) -> Any:
        """w of the linear kernel, one row for each pair of classes."""
        check_is_fitted(self)
        return self._coef_of(self._task_coefficients().T)

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute scores, in blocks of rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or the Gram matrix with the training rows, of shape (n, n_train)

        Returns
        -------
        ndarray of shape (n,) for two classes; else of shape (n, n_classes), or (n, n_pairs) for "ovo"
        """
        scores = self._pair_scores(X)
        if len(self.classes_) == 2:
            return scores[:, 0]
        return scores if self.decision_function_shape == "ovo" else self._class_scores(scores)

    def predict(self, X: Any) -> np.ndarray:
        """Predict labels: of two classes the second where f(x) >= 0, of more by votes of pairs, as LIBSVM does.

        Of classes with the same number of votes it is the first one, or with ``break_ties`` the one with the greatest
        score. A model that was read from a file of LIBSVM has the order of the classes in that file.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or the Gram matrix with the training rows

        Returns
        -------
        ndarray of shape (n,)
        """
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        scores = self._pair_scores(X)
        if self.break_ties and len(self.classes_) > 2:
            return self.classes_[self._class_scores(scores).argmax(axis=1)]
        return self.classes_[self._voted(scores)]

    def slack(self, X: Any, y: Any) -> np.ndarray:
        """Compute xi_i = max(0, 1 - y_i f(x_i)): 0 outside the margin, below 1 inside it, else misclassified.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or the Gram matrix with the training rows, of shape (n, n_train)
        y : array of labels of shape (n,)

        Returns
        -------
        ndarray of shape (n,), or (n, n_pairs) for more than two classes, with zeros in pairs without the row's class
        """
        labelled = validate_training_data(self._as_fitted(), X, y, classes=self.classes_, reset=False)
        scores = self._scores_of_points(labelled.points)
        if len(self.classes_) == 2:
            return np.maximum(0.0, 1.0 - np.where(labelled.codes == 1, 1.0, -1.0) * scores[:, 0])
        signs = np.zeros_like(scores)
        for pair, (first, second) in enumerate(combinations(range(len(self.classes_)), 2)):
            signs[labelled.codes == first, pair], signs[labelled.codes == second, pair] = 1.0, -1.0
        return np.where(signs == 0.0, 0.0, np.maximum(0.0, 1.0 - signs * scores))

    def _pair_scores(self, X: Any) -> np.ndarray:
        return self._scores_of_points(validate_points(self._as_fitted(), X))

    _scores_by_task = _pair_scores

    def _classes_of_tasks(self) -> list[tuple[int, int | None]]:
        n_classes = len(self.classes_)
        # Of only two classes, the second is the positive one.
        return [(1, 0)] if n_classes == 2 else list(combinations(range(n_classes), 2))

    def _class_scores(self, scores: np.ndarray) -> np.ndarray:
        return _ovr_decision_function(scores < 0.0, -scores, len(self.classes_))

    def _order_of_votes(self) -> np.ndarray:
        """The classes in the order in which ties are decided: ascending, unless a model file has another order."""
        return getattr(self, "_vote_order", np.arange(len(self.classes_)))

    def _voted(self, scores: np.ndarray) -> np.ndarray:
        """Positions of the classes with the most votes, the first of them in order; zero is a vote for the later."""
        order = self._order_of_votes()
        ranks, votes = np.argsort(order), np.zeros((scores.shape[0], order.size), dtype=np.int32)
        if order.size == 2:
            # Of only two classes, the second is the positive one.
            scores = -scores
        for pair, (first, second) in enumerate(combinations(range(order.size), 2)):
            is_first = scores[:, pair] > 0.0 if ranks[first] < ranks[second] else scores[:, pair] >= 0.0
            votes[:, first] += is_first
            votes[:, second] += ~is_first
        return order[votes[:, order].argmax(axis=1)]

    def _task_coefficients(self) -> np.ndarray:
        n_classes = len(self.classes_)
        self._refuse_altered()
        if n_classes == 2:
            return self._duals.T
        ends = list(accumulate(self._n_support.tolist()))
        columns = np.zeros((self.support_.size, n_classes * (n_classes - 1) // 2))
        place = 0
        for first in range(n_classes):
            for second in range(first + 1, n_classes):
                for own, other in ((first, second), (second, first)):
                    part = slice(ends[own] - self._n_support[own], ends[own])
                    columns[part, place] = self._duals[other if other < own else other - 1, part]
                place += 1
        return columns

    def _pair_duals(self, pairs: ClassPairs) -> list[np.ndarray]:
        """The duals of every pair's rows; of a row that was of another class in the fit they are zero.

        One pair at a time: the duals of all support vectors in all pairs would fill much memory.
        """
        self._refuse_altered()
        duals = np.zeros((self._duals.shape[0], pairs.points.n_rows))
        duals[:, self.support_] = self._duals
        if len(self.classes_) == 2:
            return [duals[0]]
        order, cuts = pairs.rows_by_class
        codes = np.full(pairs.points.n_rows, -1)
        codes[self.support_] = np.repeat(np.arange(len(self.classes_)), self._n_support)
        same_classes = np.array_equal(codes[self.support_], pairs.labelled.codes[self.support_])
        duals, codes, betas = duals[:, order], codes[order], []
        for first, second in pairs.pairs:
            check_interruption()
            parts = slice(cuts[first], cuts[first + 1]), slice(cuts[second], cuts[second + 1])
            if same_classes:
                betas.append(np.concatenate([duals[second - 1, parts[0]], duals[first, parts[1]]]))
                continue
            own, of_first, of_second = (
                np.concatenate([values[part] for part in parts]) for values in (codes, duals[second - 1], duals[first])
            )
            betas.append(np.where(own == first, of_first, np.where(own == second, of_second, 0.0)))
        return betas

    def _refuse_altered(self) -> None:
        if self._n_support.sum() != self.support_.size:
            raise ValueError(f"The internal representation of {type(self).__name__} was altered")

    def _tasks(self, data: LabelledPoints) -> ClassPairs:
        return ClassPairs(data)

    @contextmanager
    def _solving(self, problems: Any, options: SMOOptions) -> Iterator[tuple[Solve, int]]:
        with one_blas_thread():
            solver = PairSolver(problems, options, self._method)
            yield solver.solve, solver.at_once

    def _set_attributes(self, tasks: Any, results: Sequence[Result[Any]]) -> None:
        super()._set_attributes(tasks, results)
        self._set_duals(tasks, [self._scaled(result.beta, result.intercept)[0] for result in results])
        self.class_weight_ = np.ones(len(self.classes_))
        if self.class_weight is not None:
            self.class_weight_[:] = compute_class_weight(self.class_weight, classes=self.classes_, y=tasks.labels())
        self.n_iter_ = np.array([result.n_iter for result in results], dtype=np.int32)

    def _finish(self, tasks: Any, results: Sequence[Result[Any]], limits: FitLimits) -> None:
        super()._finish(tasks, results, limits)
        if self._fits_probabilities and limits.seconds_left:
            self._fit_sigmoids(tasks, limits)

    def _fit_sigmoids(self, tasks: Any, limits: FitLimits) -> None:
        """Fit a sigmoid for every pair of classes to the scores of models that were not fitted to the rows.

        After Ctrl-C, or where the time is over before the last of them, there are none.
        """
        seed, cut = seed_of(self.random_state), list[bool]()
        rows = self._rows_of_sigmoids(
            tasks, seed, seconds_left=lambda: limits.seconds_left, after_fit=lambda fold: cut.append(was_cut(fold))
        )
        curves = []
        for part in rows:
            if limits.seconds_left == 0.0:
                return
            curves.append(Sigmoid(*fit_sigmoid(*part)))
        if curves:
            folds = None if any(cut) else Folds(N_FOLDS, seed, by_fit=True)
            self.calibration_ = Calibration(tuple(curves), by_pairs=True, folds=folds)

    def _rows_of_sigmoids(self, tasks: Any, seed: int, **limits: Any) -> list[tuple[np.ndarray, ...]]:
        """Scores, labels and weights to which the sigmoid of every pair is fitted; none where the time is over."""
        labels, matrix, weights = tasks.labels(), tasks.points.matrix, tasks.weights
        fold = clone(self).set_params(probability="deprecated", class_weight=None)
        if self._kernel is None:
            # Also that of objects.
            fold.kernel = "precomputed"
        pairs: Any = self._classes_of_tasks()
        scores = scores_on_folds(fold, matrix, labels, weights, seed, tasks=pairs, **limits)
        if scores is None:
            return []
        counts = np.ones(labels.size) if weights is None else weights
        return list(by_task(scores, tasks.labelled.codes, counts, pairs))

    def _set_duals(self, pairs: ClassPairs, betas: Sequence[np.ndarray]) -> None:
        """Arrange the duals of all pairs by class, as scikit-learn does."""
        labelled = pairs.labelled
        n_classes, n_rows = len(labelled.classes), labelled.points.n_rows
        order, cuts = pairs.rows_by_class
        # The rows of all classes, one class after the other.
        whole = np.zeros((n_classes - 1, n_rows))
        if n_classes == 2:
            whole[0] = betas[0][order]
        else:
            for (first, second), beta in zip(pairs.pairs, betas, strict=True):
                size = cuts[first + 1] - cuts[first]
                whole[second - 1, cuts[first] : cuts[first + 1]] = beta[:size]
                whole[first, cuts[second] : cuts[second + 1]] = beta[size:]
        used = np.flatnonzero(whole.any(axis=0))
        self.classes_ = labelled.classes
        self.support_ = order[used].astype(np.int32)
        self._n_support = np.bincount(labelled.codes[self.support_], minlength=n_classes).astype(np.int32)
        self._duals = whole[:, used]
        self.support_vectors_ = self._support_vectors_at(labelled.points, self.support_)
        self._n_rows = n_rows

    def _attributes_so_far(self, labelled: Any, results: Sequence[Any]) -> dict[str, Any]:
        betas = [
            np.zeros(pair.signs.size) if result is None else self._scaled(result[2], result[1])[0]
            for pair, result in zip(labelled.tasks(), results, strict=True)
        ]
        return self._expansion_so_far(labelled, betas, results)

    def _certify(self, tasks: ClassPairs, problems: Any) -> Certificate | PerClass:
        pairs = tasks
        refuse_other_rows(pairs.points.n_rows, self._n_rows)
        proofs = self._pair_proofs(problems, self._pair_duals(pairs))
        if len(proofs) == 1:
            return proofs[0]
        classes = pairs.labelled.classes
        names = [(plain(classes[first]), plain(classes[second])) for first, second in pairs.pairs]
        return PerPair(dict(zip(names, proofs, strict=True)))

    def _pair_proofs(self, problems: Any, betas: Sequence[np.ndarray]) -> Sequence[Certificate]:
        """The certificates of all pairs, given the duals of their rows."""
        raise NotImplementedError
