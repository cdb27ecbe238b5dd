"""Writing models as ONNX graphs: linear models and kernels by basic operators, in double precision.

The operators ``SVMClassifier`` and ``LinearClassifier`` of ONNX are not used: they compute in single precision, and
vote in another way.
"""

import os
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import is_outlier_detector, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from maxmargin.data import as_dense
from maxmargin.estimators._base import CertifiedModel
from maxmargin.estimators._probabilities import LEAST_PROBABILITY, Calibration, Isotonic
from maxmargin.files.atomic import written_atomically
from maxmargin.files.onnx_steps import add_steps
from maxmargin.problems.kernels import Linear, Polynomial, RadialBasis, Sigmoid

# Version of the operator set, and of the file format that belongs to it.
OPSET = 17
IR_VERSION = 8


def write_onnx(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model as an ONNX graph.

    Its input is ``X``, rows of float64. Its outputs are ``label`` and ``scores``, which are those of ``predict`` and
    ``decision_function`` up to rounding; or ``value`` for a regression. For two classes, and for outliers, ``scores``
    has the shape (n, 1), where ``decision_function`` has (n,). Models with ``predict_proba`` also have the output
    ``probabilities``. Columns that were scaled in training (``preparation_``) are scaled by the graph; categories of a
    table come as the columns ``feature_names_in_``.

    Parameters
    ----------
    model : fitted estimator of this package, or scikit-learn's ``Pipeline`` that ends with one
        With a kernel by name; functions and Gram matrices cannot be written. The steps before the model may be
        ``StandardScaler``, ``MinMaxScaler``, ``MaxAbsScaler``, ``RobustScaler``, ``Normalizer``, ``PCA``,
        ``TruncatedSVD`` and feature selections: ``X`` is then what the pipeline takes.
    path : str or Path

    See Also
    --------
    maxmargin.save : A file that also holds the certificate.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> import onnxruntime
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.files import write_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC().fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     write_onnx(model, Path(folder, "iris.onnx"))
    ...     session = onnxruntime.InferenceSession(Path(folder, "iris.onnx").read_bytes())
    >>> session.run(["label"], {"X": X[[0, 75, 149]]})[0].tolist()
    [0, 1, 2]
    """
    graph, n_features = _Graph(), None
    if isinstance(model, Pipeline):
        steps, model = model.steps[:-1], model.steps[-1][1]
        check_is_fitted(model)
        add_steps(graph, steps)
        n_features = next((step.n_features_in_ for _, step in steps if hasattr(step, "n_features_in_")), None)
    check_is_fitted(model)
    if not isinstance(model, CertifiedModel):
        raise ValueError(f"{type(model).__name__} cannot be written: it is no model of maxmargin.")
    _scale(graph, model)
    scores = (
        _linear_scores(graph, model)
        if hasattr(model, "coef_") and not _has_kernel(model)
        else _kernel_scores(graph, model)
    )
    if is_regressor(model):
        if np.size(model.intercept_) > 1:
            graph.node("Identity", [scores], "value")
            outputs = {"value": _kinds()["scores"]}
        else:
            graph.node("Squeeze", [scores, graph.constant(np.array([1]))], "value")
            outputs = {"value": _kinds()["value"]}
    elif is_outlier_detector(model):
        outputs = _inside(graph, scores)
    else:
        outputs = _label(graph, model, scores)
        if hasattr(model, "predict_proba"):
            _probabilities(graph, model, scores)
            outputs["probabilities"] = _kinds()["scores"]
    with written_atomically(path) as file:
        file.write(graph.finished(int(n_features or model.n_features_in_), outputs).SerializeToString())


def _scale(graph: "_Graph", model: Any) -> None:
    """Scale the input as the rows of the training were."""
    preparation = getattr(model, "preparation_", None)
    if preparation is not None and preparation.scaling is not None:
        scaling = preparation.scaling
        shifted = graph.node("Sub", [graph.rows, graph.constant(scaling.shift)])
        graph.rows = graph.node("Div", [shifted, graph.constant(scaling.width)])


def _probabilities(graph: "_Graph", model: Any, scores: str) -> None:
    """The probabilities, as ``predict_proba`` computes them."""
    if hasattr(model, "calibration_"):
        _calibrated(graph, model.calibration_, scores)
        return
    if len(model.classes_) == 2:
        both = graph.node("Concat", [graph.node("Neg", [scores]), scores], axis=1)
        graph.node("Sigmoid", [both], "probabilities")
        return
    is_joint = getattr(model, "_is_joint", lambda: False)()
    logarithms = scores if is_joint else graph.node("Log", [graph.node("Sigmoid", [scores])])
    graph.node("Softmax", [logarithms], "probabilities", axis=1)


def _calibrated(graph: "_Graph", calibration: Calibration, scores: str) -> None:
    """The probabilities by curves from scores, for each decision function, and their combination over the classes."""
    curves, one = calibration.curves, graph.constant(np.array(1.0))
    if calibration.method == "sigmoid":
        A, B = (graph.constant(np.array([getattr(curve, name) for curve in curves])) for name in ("A", "B"))
        exponents = graph.node("Add", [graph.node("Mul", [scores, A]), B])
        of_each = graph.node("Sigmoid", [graph.node("Neg", [exponents])])
    else:
        of_each = graph.node("Concat", [_isotonic(graph, curve, scores, k) for k, curve in enumerate(curves)], axis=1)
    if calibration.by_pairs:
        least, most = (graph.constant(np.array(bound)) for bound in (LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY))
        of_each = graph.node("Min", [graph.node("Max", [of_each, least]), most])
    if len(curves) == 1:
        graph.node("Concat", [graph.node("Sub", [one, of_each]), of_each], "probabilities", axis=1)
        return
    if calibration.by_pairs:
        of_each = _coupled(graph, of_each, calibration.n_classes)
    axis = graph.constant(np.array([1]))
    total = graph.node("ReduceSum", [of_each, axis], keepdims=1)
    known = graph.node("Greater", [total, graph.constant(np.array(0.0))])
    shares = graph.node("Div", [of_each, graph.node("Where", [known, total, one])])
    equal = graph.constant(np.full(calibration.n_classes, 1.0 / calibration.n_classes))
    graph.node("Where", [known, shares, equal], "probabilities")


def _isotonic(graph: "_Graph", curve: Isotonic, scores: str, k: int) -> str:
    """A curve that is linear between points: the sum over the pieces of their rises, as far as a score has come."""
    score = graph.node("Gather", [scores, graph.constant(np.array([k]))], axis=1)
    first = graph.constant(curve.probabilities[:1])
    widths, rises = np.diff(curve.scores), np.diff(curve.probabilities)
    if not rises.any():
        return graph.node("Add", [graph.node("Mul", [score, graph.constant(np.array(0.0))]), first])
    starts, widths, rises = (part[rises > 0.0] for part in (curve.scores[:-1], widths, rises))
    come = graph.node("Div", [graph.node("Sub", [score, graph.constant(starts)]), graph.constant(widths)])
    come = graph.node("Min", [graph.node("Max", [come, graph.constant(np.array(0.0))]), graph.constant(np.array(1.0))])
    return graph.node("Add", [graph.node("MatMul", [come, graph.constant(rises[:, None])]), first])


def _coupled(graph: "_Graph", pairs: str, n_classes: int) -> str:
    """A multiple of the probabilities of the classes from those of the pairs: (Q + ee')⁻¹ e, as ``couple`` has it.

    By Gauss-Jordan elimination, which needs no pivots since the matrix is positive definite.
    """
    for_first, for_second = _memberships(list(combinations(range(n_classes), 2)), n_classes)
    n_pairs, columns = len(for_first), np.arange(n_classes)
    lost = graph.node("Sub", [graph.constant(np.array(1.0)), pairs])
    # -r_ij r_ji beside the diagonal, and on it the squares of the column.
    first, second = for_first.argmax(axis=1), for_second.argmax(axis=1)
    beside, own = np.zeros((n_pairs, n_classes, n_classes)), np.zeros((2, n_pairs, n_classes, n_classes))
    beside[np.arange(n_pairs), first, second] = beside[np.arange(n_pairs), second, first] = -1.0
    own[0, np.arange(n_pairs), second, second] = own[1, np.arange(n_pairs), first, first] = 1.0
    terms = [
        graph.node("MatMul", [graph.node("Mul", factors), graph.constant(places.reshape(n_pairs, -1))])
        for factors, places in (([pairs, lost], beside), ([pairs, pairs], own[0]), ([lost, lost], own[1]))
    ]
    flat = graph.node("Add", [graph.node("Sum", terms), graph.constant(np.array(1.0))])
    matrix = graph.node("Reshape", [flat, graph.constant(np.array([-1, n_classes, n_classes]))])
    right = graph.node("ReduceSum", [matrix, graph.constant(np.array([2]))], keepdims=1)
    right = graph.node(
        "Add", [graph.node("Mul", [right, graph.constant(np.array(0.0))]), graph.constant(np.array(1.0))]
    )
    system = graph.node("Concat", [matrix, right], axis=2)
    for k in columns:
        place = graph.constant(np.array([k]))
        row = graph.node("Gather", [system, place], axis=1)
        row = graph.node("Div", [row, graph.node("Gather", [row, place], axis=2)])
        factors = graph.node("Gather", [system, place], axis=2)
        # Subtracted from its own row all but once, the row itself stays.
        factors = graph.node("Sub", [factors, graph.constant((columns == k).astype(np.float64)[:, None])])
        system = graph.node("Sub", [system, graph.node("MatMul", [factors, row])])
    last = graph.node("Gather", [system, graph.constant(np.array([n_classes]))], axis=2)
    found = graph.node("Squeeze", [last, graph.constant(np.array([2]))])
    return graph.node("Max", [found, graph.constant(np.array(0.0))])


def _has_kernel(model: Any) -> bool:
    return hasattr(model, "support_vectors_")


def _votes_by_pairs(model: Any) -> bool:
    return hasattr(model, "_pair_scores")


class _Graph:
    """Nodes and constants with numbered names."""

    def __init__(self) -> None:
        self._onnx = _import_onnx()
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        # What the model takes: the input, or the input with scaled columns.
        self.rows = "X"

    def constant(self, values: np.ndarray) -> str:
        """Add an array, and return its name."""
        name = f"constant_{len(self._constants)}"
        if values.dtype.kind in "US":
            kind = self._onnx.TensorProto.STRING
            tensor = self._onnx.helper.make_tensor(name, kind, values.shape, [str(value).encode() for value in values])
        else:
            tensor = self._onnx.numpy_helper.from_array(np.ascontiguousarray(values), name)
        self._constants.append(tensor)
        return name

    def node(self, operator: str, inputs: list[str], name: str | None = None, **attributes: Any) -> str:
        """Add an operator, and return the name of its output."""
        name = name or f"node_{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(operator, inputs, [name], **attributes))
        return name

    def finished(self, n_features: int, outputs: dict[str, tuple[Any, list[Any]]]) -> Any:
        """The model, after a check."""
        helper, types = self._onnx.helper, self._onnx.TensorProto
        graph = helper.make_graph(
            self._nodes,
            "maxmargin",
            [helper.make_tensor_value_info("X", types.DOUBLE, ["n", n_features])],
            [
                helper.make_tensor_value_info(name, getattr(types, kind), shape)
                for name, (kind, shape) in outputs.items()
            ],
            self._constants,
        )
        model = helper.make_model(
            graph, producer_name="maxmargin", opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
        )
        self._onnx.checker.check_model(model)
        return model


def _kinds() -> dict[str, tuple[str, list[Any]]]:
    return {
        "value": ("DOUBLE", ["n"]),
        "scores": ("DOUBLE", ["n", "k"]),
        "number": ("INT64", ["n"]),
        "text": ("STRING", ["n"]),
    }


def _linear_scores(graph: _Graph, model: Any) -> str:
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    intercept = np.broadcast_to(np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64)), (coef.shape[0],))
    products = graph.node("MatMul", [graph.rows, graph.constant(coef.T)])
    return graph.node("Add", [products, graph.constant(np.array(intercept))])


def _kernel_scores(graph: _Graph, model: Any) -> str:
    coefficients = graph.constant(np.array(model._task_coefficients()))
    values = graph.node("MatMul", [_kernel_values(graph, model), coefficients])
    return graph.node("Add", [values, graph.constant(np.array(model.intercept_, dtype=np.float64))])


def _kernel_values(graph: _Graph, model: Any) -> str:
    """The kernel of the input with the support vectors."""
    kernel, vectors = model._kernel, model.support_vectors_
    if not isinstance(kernel, (Linear, Polynomial, RadialBasis, Sigmoid)):
        raise ValueError("kernel must be one of those with a name: functions and Gram matrices cannot be written.")
    vectors = np.asarray(as_dense(vectors), dtype=np.float64)
    if isinstance(kernel, Linear):
        return graph.node("MatMul", [graph.rows, graph.constant(vectors.T)])
    if isinstance(kernel, RadialBasis):
        # -gamma ||x - z||² = 2 gamma x·z - gamma ||x||² - gamma ||z||²
        products = graph.node("MatMul", [graph.rows, graph.constant(2.0 * kernel.gamma * vectors.T)])
        squares = graph.node("ReduceSumSquare", [graph.rows], axes=[1], keepdims=1)
        own = graph.node("Mul", [squares, graph.constant(np.array(-kernel.gamma))])
        others = graph.constant(-kernel.gamma * np.vecdot(vectors, vectors))
        exponents = graph.node("Add", [graph.node("Add", [products, own]), others])
        return graph.node("Exp", [graph.node("Min", [exponents, graph.constant(np.array(0.0))])])
    inner = graph.node("MatMul", [graph.rows, graph.constant(kernel.gamma * vectors.T)])
    shifted = graph.node("Add", [inner, graph.constant(np.array(float(kernel.coef0)))])
    if isinstance(kernel, Sigmoid):
        return graph.node("Tanh", [shifted])
    return graph.node("Pow", [shifted, graph.constant(np.array(float(kernel.degree)))])


def _label(graph: _Graph, model: Any, scores: str) -> dict[str, tuple[str, list[Any]]]:
    """The class with the largest score or the most votes; of two classes the second where the score is not negative."""
    n_classes, classes = len(model.classes_), np.asarray(model.classes_)
    if n_classes == 2:
        second_at_zero = not _votes_by_pairs(model) or model._order_of_votes()[1] == 1
        comparison = "GreaterOrEqual" if second_at_zero else "Greater"
        is_second = graph.node(comparison, [scores, graph.constant(np.array(0.0))])
        place = graph.node("Squeeze", [graph.node("Cast", [is_second], to=7), graph.constant(np.array([1]))])
    else:
        deciding = scores
        if _votes_by_pairs(model):
            of_classes = _class_scores(graph, n_classes, scores)
            deciding = of_classes if model.break_ties else _votes(graph, model._order_of_votes(), scores)
            classes = classes if model.break_ties else classes[model._order_of_votes()]
            scores = scores if model.decision_function_shape == "ovo" else of_classes
        place = graph.node("ArgMax", [deciding], axis=1, keepdims=0)
    graph.node("Identity", [scores], "scores")
    if classes.dtype.kind in "iub":
        classes = classes.astype(np.int64)
    elif classes.dtype.kind not in "US":
        classes = classes.astype(str)
    graph.node("Gather", [graph.constant(classes), place], "label", axis=0)
    kinds = _kinds()
    return {"label": kinds["number" if classes.dtype.kind == "i" else "text"], "scores": kinds["scores"]}


def _inside(graph: _Graph, scores: str) -> dict[str, tuple[str, list[Any]]]:
    """1 where the score is positive, and -1 for outliers."""
    is_inside = graph.node("Greater", [scores, graph.constant(np.array(0.0))])
    one, other = (graph.constant(np.array(label, dtype=np.int64)) for label in (1, -1))
    labels = graph.node("Where", [is_inside, one, other])
    graph.node("Squeeze", [labels, graph.constant(np.array([1]))], "label")
    graph.node("Identity", [scores], "scores")
    return {"label": _kinds()["number"], "scores": _kinds()["scores"]}


def _votes(graph: _Graph, order: np.ndarray, scores: str) -> str:
    """The votes of the classes, in the order that decides ties; a score of zero votes for the later class of a pair."""
    ranks = np.argsort(order)
    pairs = [(ranks[first], ranks[second]) for first, second in combinations(range(order.size), 2)]
    signs = np.array([1.0 if first < second else -1.0 for first, second in pairs])
    for_earlier, for_later = _memberships([(min(pair), max(pair)) for pair in pairs], order.size)
    of_earlier = graph.node("Mul", [scores, graph.constant(signs)])
    won = graph.node("Cast", [graph.node("Greater", [of_earlier, graph.constant(np.array(0.0))])], to=11)
    return _counted(graph, won, graph.node("Sub", [graph.constant(np.array(1.0)), won]), for_earlier, for_later)


def _memberships(pairs: list[Any], n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Which class is the first of every pair, and which the second, as matrices (n_pairs, n_classes)."""
    places = np.array(pairs)
    return np.eye(n_classes)[places[:, 0]], np.eye(n_classes)[places[:, 1]]


def _counted(graph: _Graph, won: str, lost: str, for_first: np.ndarray, for_second: np.ndarray) -> str:
    """The votes of every class."""
    of_won = graph.node("MatMul", [won, graph.constant(for_first)])
    return graph.node("Add", [of_won, graph.node("MatMul", [lost, graph.constant(for_second)])])


def _class_scores(graph: _Graph, n_classes: int, scores: str) -> str:
    """Scores of the classes from scores of the pairs: the votes, and less than half a vote for the sum of scores."""
    for_first, for_second = _memberships(list(combinations(range(n_classes), 2)), n_classes)
    lost = graph.node("Cast", [graph.node("Less", [scores, graph.constant(np.array(0.0))])], to=11)
    won = graph.node("Sub", [graph.constant(np.array(1.0)), lost])
    votes = _counted(graph, won, lost, for_first, for_second)
    sums = graph.node("MatMul", [scores, graph.constant(for_first - for_second)])
    size = graph.node("Add", [graph.node("Abs", [sums]), graph.constant(np.array(1.0))])
    share = graph.node("Div", [sums, graph.node("Mul", [size, graph.constant(np.array(3.0))])])
    return graph.node("Add", [votes, share])


def _import_onnx() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise ValueError("ONNX files are written by the package onnx: pip install 'maxmargin[onnx]'.") from error
    return onnx
