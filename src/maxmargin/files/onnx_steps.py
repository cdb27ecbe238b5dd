"""Steps of a scikit-learn pipeline before its model, as ONNX operators in double precision."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler

# Adds the operators of a step to a graph, given the name of its rows, and returns that of the transformed ones.
WriteStep = Callable[[Any, Any, str], str]


def add_steps(graph: Any, steps: list[tuple[str, Any]]) -> None:
    """Apply the steps before the model to the rows of the graph.

    Parameters
    ----------
    graph : the graph that is written, whose ``rows`` are the name of what the model takes
    steps : list of pairs of a name and a fitted transformer, or "passthrough"
    """
    for name, step in steps:
        if step is None or step == "passthrough":
            continue
        write = next((write for kind, write in STEPS.items() if isinstance(step, kind)), None)
        if write is None:
            known = ", ".join(kind.__name__ for kind in STEPS if kind is not SelectorMixin)
            raise ValueError(
                f"The step {name!r}, {type(step).__name__}, cannot be written; {known} and feature selections can. "
                "Apply it before the graph, and write the pipeline without it."
            )
        graph.rows = write(graph, step, graph.rows)


def _shifted_and_divided(graph: Any, rows: str, shift: Any, width: Any) -> str:
    """(x - shift)/width, where they are not None."""
    if shift is not None:
        rows = graph.node("Sub", [rows, graph.constant(np.asarray(shift, dtype=np.float64))])
    if width is not None:
        rows = graph.node("Div", [rows, graph.constant(np.asarray(width, dtype=np.float64))])
    return rows


def _clipped(graph: Any, rows: str, low: float, high: float) -> str:
    low_name, high_name = (graph.constant(np.array(float(bound))) for bound in (low, high))
    return graph.node("Min", [graph.node("Max", [rows, low_name]), high_name])


def _standard_scaler(graph: Any, step: Any, rows: str) -> str:
    return _shifted_and_divided(graph, rows, step.mean_ if step.with_mean else None, step.scale_)


def _robust_scaler(graph: Any, step: Any, rows: str) -> str:
    return _shifted_and_divided(graph, rows, step.center_, step.scale_)


def _max_abs_scaler(graph: Any, step: Any, rows: str) -> str:
    rows = _shifted_and_divided(graph, rows, None, step.scale_)
    return _clipped(graph, rows, -1.0, 1.0) if getattr(step, "clip", False) else rows


def _min_max_scaler(graph: Any, step: Any, rows: str) -> str:
    rows = graph.node("Mul", [rows, graph.constant(step.scale_.astype(np.float64))])
    rows = graph.node("Add", [rows, graph.constant(step.min_.astype(np.float64))])
    return _clipped(graph, rows, *step.feature_range) if step.clip else rows


def _normalizer(graph: Any, step: Any, rows: str) -> str:
    if step.norm == "max":
        lengths = graph.node("ReduceMax", [graph.node("Abs", [rows])], axes=[1], keepdims=1)
    else:
        lengths = graph.node({"l1": "ReduceL1", "l2": "ReduceL2"}[step.norm], [rows], axes=[1], keepdims=1)
    is_zero = graph.node("Equal", [lengths, graph.constant(np.array(0.0))])
    return graph.node("Div", [rows, graph.node("Where", [is_zero, graph.constant(np.array(1.0)), lengths])])


def _projection(graph: Any, step: Any, rows: str) -> str:
    rows = _shifted_and_divided(graph, rows, getattr(step, "mean_", None), None)
    rows = graph.node("MatMul", [rows, graph.constant(np.ascontiguousarray(step.components_.T, dtype=np.float64))])
    if not getattr(step, "whiten", False):
        return rows
    # As scikit-learn does: deviations of zero are not divided by.
    deviations = np.maximum(np.sqrt(step.explained_variance_), np.finfo(step.explained_variance_.dtype).eps)
    return _shifted_and_divided(graph, rows, None, deviations)


def _selection(graph: Any, step: Any, rows: str) -> str:
    return graph.node("Gather", [rows, graph.constant(np.flatnonzero(step.get_support()))], axis=1)


STEPS: dict[type, WriteStep] = {
    StandardScaler: _standard_scaler,
    RobustScaler: _robust_scaler,
    MaxAbsScaler: _max_abs_scaler,
    MinMaxScaler: _min_max_scaler,
    Normalizer: _normalizer,
    PCA: _projection,
    TruncatedSVD: _projection,
    SelectorMixin: _selection,
}
