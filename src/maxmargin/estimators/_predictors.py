"""What classifiers and regressors add to the fit template: labels and targets, predictions, scores."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from maxmargin.data import (
    LabelledPoints,
    as_configured,
    as_dense,
    in_namespace_of_rows,
    scikit_learn,
    validate_labels,
    validate_points,
    validate_targets,
    validate_training_data,
)
from maxmargin.data.block_source import is_block_source
from maxmargin.data.scikit_learn import ClassifierMixin, RegressorMixin, available_if, check_is_fitted
from maxmargin.data.validation import is_collection
from maxmargin.estimators._base import CertifiedModel
from maxmargin.estimators._precision import linear_scores
from maxmargin.estimators._rows_elsewhere import lies_elsewhere
from maxmargin.estimators._shared import plain


def _is_calibrated(model: Any) -> bool:
    if hasattr(model, "calibration_"):
        return True
    raise AttributeError(f"{type(model).__name__} has no predict_proba until maxmargin.calibrate has fitted it.")


class CertifiedClassifier(ClassifierMixin, CertifiedModel):
    """What all classifiers share: labels, and a certificate for each class."""

    classes_: np.ndarray
    calibration_: Any

    # Whether class_weight="balanced" counts the rows of the classes, or adds up their weights.
    _balances_rows: ClassVar[bool] = False
    # Whether the weights may leave one class, as of a bootstrap sample: the model is then constant.
    _may_lack_weight: ClassVar[bool] = True
    # Whether a decision function is about a pair of classes, or about one class and the rest.
    _scores_pairs: ClassVar[bool] = False

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> Any:
        if lies_elsewhere(X):
            data = self._load(X, y, sample_weight)
            present = data.classes[data.class_weights > 0.0]
            if len(present) < 2:
                which = f"only one class, {plain(present[0])!r}" if len(present) else "no row of positive weight"
                raise ValueError(f"y has {which}; give rows of at least two classes.")
            return data
        labelled = validate_training_data(
            self,
            X,
            y,
            sample_weight=sample_weight,
            class_weight=getattr(self, "class_weight", None),
            balances_rows=self._balances_rows,
        )
        return validate_labels(labelled, may_lack_weight=self._may_lack_weight)

    def _data_to_certify(self, X: Any, y: Any, sample_weight: Any) -> Any:
        if lies_elsewhere(X):
            return self._load(X, y, sample_weight, reset=False)
        return validate_training_data(
            self,
            X,
            y,
            sample_weight=sample_weight,
            class_weight=getattr(self, "class_weight", None),
            classes=self.classes_,
            reset=False,
            balances_rows=self._balances_rows,
        )

    @abstractmethod
    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the scores of all rows."""

    @in_namespace_of_rows
    def predict(self, X: Any) -> np.ndarray:
        """Predict the class of each row: for two classes the greater label where f(x) >= 0.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
        """
        if lies_elsewhere(X):
            return self._in_partitions("predict", X, dtype=self.classes_.dtype)
        scores = self.decision_function(X)
        chosen = (scores >= 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[chosen]

    @available_if(_is_calibrated)
    @in_namespace_of_rows
    def predict_proba(self, X: Any) -> np.ndarray:
        """Compute the probabilities of the classes by the curves of :func:`maxmargin.calibrate`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        return self.calibration_.probabilities(self._scores_by_task(X))

    def _scores_by_task(self, X: Any) -> np.ndarray:
        """The scores of every decision function, (n, k)."""
        scores = self.decision_function(X)
        return scores[:, None] if scores.ndim == 1 else scores

    def _classes_of_tasks(self) -> list[tuple[int, int | None]]:
        """The places of the class with positive scores, and of the other class where it is one, of every task."""
        n_classes = len(self.classes_)
        return [(1, 0)] if n_classes == 2 else [(k, None) for k in range(n_classes)]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Compute the share of the rows, in their weights, that are classified correctly.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of labels of shape (n,)
        sample_weight : array of shape (n,), optional

        Returns
        -------
        float; of Dask collections, a Dask array without axes
        """
        return score_anywhere(self, "accuracy", self._accuracy, X, y, sample_weight)

    def _accuracy(self, X: Any, y: Any, sample_weight: Any) -> float:
        """scikit-learn's score, without its checks of labels that are plainly right: these take as long as a fit."""
        is_plain = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biuU" and sample_weight is None
        predicted = self.predict(X)
        if is_plain and predicted.shape == y.shape and predicted.dtype.kind == y.dtype.kind:
            return int(np.count_nonzero(predicted == y)) / y.size
        return float(scikit_learn.accuracy_score(y, predicted, sample_weight=sample_weight))


class LinearClassifier(CertifiedClassifier):
    """Classifiers with a hyperplane for each task."""

    def sparsify(self) -> Self:
        """Make ``coef_`` a sparse matrix, which is smaller where most coefficients are zero; return the model."""
        check_is_fitted(self)
        self.coef_ = as_configured(self.coef_)
        return self

    def densify(self) -> Self:
        """Make ``coef_`` a dense array again; return the model."""
        check_is_fitted(self)
        self.coef_ = as_dense(self.coef_)
        return self

    def _as_fitted(self) -> Self:
        model = super()._as_fitted()
        if sp.issparse(getattr(model, "coef_", None)):
            model.coef_ = as_dense(model.coef_)
        return model

    coef_: np.ndarray
    intercept_: np.ndarray
    dual_coef_: np.ndarray
    n_iter_: Any

    @in_namespace_of_rows
    def decision_function(self, X: Any) -> np.ndarray:
        """Compute f(x) = w·x + b.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n,), or (n, n_classes) for more than two classes
        """
        check_is_fitted(self)
        if lies_elsewhere(X):
            n_tasks = self.coef_.shape[0]
            return self._in_partitions("decision_function", X, None if n_tasks == 1 else n_tasks)
        scores = linear_scores(self, validate_points(self, X))
        return scores.ravel() if scores.shape[1] == 1 else scores

    def _attributes_so_far(self, labelled: LabelledPoints, results: Sequence[Any]) -> dict[str, Any]:
        zero = np.zeros(labelled.points.n_columns), 0.0, None
        found = [zero if result is None else result for result in results]
        return {
            "coef_": np.array([w for w, _, _ in found]),
            "intercept_": np.array([intercept for _, intercept, _ in found]),
            "classes_": labelled.classes,
        }


class CertifiedRegressor(RegressorMixin, CertifiedModel):
    """What all regressions share: real targets."""

    # Whether y may have several columns, each of which is a regression of its own.
    _takes_target_columns: ClassVar[bool] = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._takes_target_columns
        return tags

    def _validate(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> Any:
        if lies_elsewhere(X):
            return self._load(X, y, sample_weight, reset=reset)
        return validate_targets(
            self, X, y, sample_weight=sample_weight, reset=reset, several=self._takes_target_columns
        )

    def _data_to_certify(self, X: Any, y: Any, sample_weight: Any) -> Any:
        return self._validate(X, y, sample_weight, reset=False)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Compute the coefficient of determination.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of numbers of shape (n,)
        sample_weight : array of shape (n,), optional

        Returns
        -------
        float; of Dask collections, a Dask array without axes
        """
        return score_anywhere(self, "r_squared", super().score, X, y, sample_weight)


class LinearRegressor(CertifiedRegressor):
    """Regressions with a hyperplane."""

    coef_: np.ndarray
    intercept_: Any

    @in_namespace_of_rows
    def predict(self, X: Any) -> np.ndarray:
        """Compute f(x) = w·x + b.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n,), or (n, n_targets) for several targets
        """
        check_is_fitted(self)
        if lies_elsewhere(X):
            return self._in_partitions("predict", X)
        return linear_scores(self, validate_points(self, X))


def score_anywhere(model: Any, measure: str, score: Callable[..., Any], X: Any, y: Any, sample_weight: Any) -> Any:
    """A model's ``score``, by scikit-learn's for arrays and blocks; for Dask collections it is computed later."""
    if is_block_source(X):
        return score(X, X.targets if y is None else y, sample_weight)
    if not is_collection(X):
        return score(X, y, sample_weight)
    from maxmargin.estimators import _collections

    model._check_collections(X)
    measured = getattr(_collections, measure)
    return _collections.score_in_partitions(model._as_fitted(), X, y, sample_weight, measured)


def distributed_vectors(points: Any, vectors: Sequence[Any]) -> Any:
    """``Parts`` of vectors, one a task: as a Dask array whose chunks stay where they are, or moved to an array."""
    from maxmargin.engine.dask import dask_array

    if not points.executor.vectors_are_near:
        return dask_array(points.executor, [vector.chunks() for vector in vectors], points.row_counts)
    found = points.executor.new_matrix(len(vectors), points.n_rows)
    for vector, place in zip(vectors, found, strict=True):
        vector.move_to(place)
    return found
