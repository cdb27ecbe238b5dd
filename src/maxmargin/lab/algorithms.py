"""The algorithms that the page runs, their parameters, their listings and what is drawn of them."""

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Parameter:
    """One control of the page.

    Attributes
    ----------
    title : str
    default : str, bool, int or float
    choices : tuple of str
        The values of a choice.
    low, high : float
        The limits of a number, whose slider is logarithmic where ``log`` is set.
    may_be_infinite : bool
    hint : str
        What the control does, for its tooltip.
    """

    title: str
    default: Any
    choices: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    may_be_infinite: bool = False
    hint: str = ""

    @property
    def kind(self) -> str:
        """ "choice", "switch", "count" or "number"."""
        if self.choices:
            return "choice"
        return {bool: "switch", int: "count"}.get(type(self.default), "number")

    def check(self, value: Any) -> Any:
        """The value as the algorithms take it, or a refusal."""
        if self.kind == "choice":
            if not isinstance(value, str) or value not in self.choices:
                raise ValueError(f"{self.title} must be one of {', '.join(self.choices)}, got {value!r:.50}.")
            return value
        if self.kind == "switch":
            if not isinstance(value, bool):
                raise ValueError(f"{self.title} must be true or false, got {value!r:.50}.")
            return value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"{self.title} must be a number, got {value!r:.50}.")
        if self.may_be_infinite and value == math.inf:
            return math.inf
        if not self.low <= value <= self.high or (self.kind == "count" and value != int(value)):
            whole = "a whole number " if self.kind == "count" else ""
            raise ValueError(f"{self.title} must be {whole}from {self.low:g} to {self.high:g}, got {value!r:.50}.")
        return int(value) if self.kind == "count" else float(value)


CLICK = "click"
PARAMETERS = {
    "order": Parameter("order", "cyclic", ("cyclic", "shuffled", CLICK), hint="click: click the next point"),
    "search_order": Parameter("order", "cyclic", ("cyclic", "shuffled"), hint="of the rows"),
    "dual_order": Parameter(
        "order", "round robin", ("round robin", "random", "greatest improvement", CLICK),
        hint="of the duals; click: click the point whose dual is next",
    ),
    "pair": Parameter(
        "pair", "maximal violating", ("maximal violating", "random", CLICK), hint="click: click the two points"
    ),
    "every_row": Parameter("show rows that are no mistakes", False),
    "eta": Parameter("step size η", 1.0, low=0.01, high=100.0, log=True),
    "rate": Parameter("step size, in units of 1/L", 1.0, low=0.01, high=10.0, log=True, hint="above 2 it may diverge"),
    "start": Parameter("start", "zero", ("zero", "random"), hint="random: from the seed"),
    "intercept": Parameter("intercept b", True, hint="without it the hyperplane goes through the origin"),
    "unit_length": Parameter("unit length", False, hint="divide every point by its length, so that R = 1"),
    "guess": Parameter("guess γ / R", 0.1, low=0.001, high=1.0, log=True, hint="the margin that is asked for"),
    "C": Parameter("C", 1.0, low=1e-3, high=1e4, log=True, may_be_infinite=True, hint="inf: the hard margin"),
    "kernel": Parameter("kernel", "linear", ("linear", "rbf", "poly", "sigmoid")),
    "feature_kernel": Parameter("kernel", "rbf", ("linear", "rbf", "poly", "sigmoid")),
    "gamma": Parameter("γ of the kernel", 1.0, low=1e-3, high=100.0, log=True),
    "degree": Parameter("degree", 2, low=1, high=6),
    "coef0": Parameter("coef0", 1.0, low=0.0, high=5.0),
    "seed": Parameter("seed", 0, low=0, high=999),
}  # fmt: skip


@dataclass(frozen=True)
class Algorithm:
    """One algorithm of `maxmargin.lectures` on the page.

    Attributes
    ----------
    title : str
    function : str
        Its name in `maxmargin.lectures`.
    parameters : tuple of str
        Its controls.
    listing : tuple of str
        The algorithm, a line each.
    lines : dict of str to int
        The line that belongs to the reason of a step.
    charts : tuple of (title, tuple of keys)
        Values that are drawn against the number of steps.
    duals : str
        What the bars are.
    theory : str
        What the proof panel is about.
    """

    title: str
    function: str
    parameters: tuple[str, ...]
    listing: tuple[str, ...]
    lines: dict[str, int]
    charts: tuple[tuple[str, tuple[str, ...]], ...]
    duals: str
    theory: str

    @property
    def is_svm(self) -> bool:
        """Whether the duals lie in the box from 0 to C."""
        return self.function in ("coordinate_ascent", "smo")


_KERNEL = ("kernel", "gamma", "degree", "coef0")
_UPDATES = "α: updates × η"
_MISTAKES = (
    ("mistakes, and updates against their bound", ("mistakes", "updates", "bound")),
    ("perceptron criterion J", ("J",)),
)
_LENGTH = ("length of w, and its bound", ("length", "length bound"))
_VIOLATIONS = (
    ("mistakes and violations", ("mistakes", "violations")),
    ("margin, and half the guess", ("margin", "half guess")),
)
_DUAL = (("primal and dual objective", ("primal", "dual")), ("duality gap", ("gap",)))
ALGORITHMS = {
    "online": Algorithm(
        "online perceptron", "online_perceptron",
        ("order", "eta", "start", "intercept", "unit_length", "every_row", "seed"),
        ("w = 0, b = 0", "while some y_i f(x_i) <= 0:", "    i = next row", "    if y_i f(x_i) <= 0:   # a mistake",
         "        w = w + eta y_i x_i,  b = b + eta y_i", "no mistake is left"),
        {"start": 0, "correct": 3, "mistake": 4, "no mistake": 5},
        (*_MISTAKES, _LENGTH),
        _UPDATES, "Novikoff's bound: few mistakes, because w gets close to u",
    ),
    "batch": Algorithm(
        "batch perceptron", "batch_perceptron", ("eta", "start", "intercept", "unit_length", "seed"),
        ("w = 0, b = 0", "while some y_i f(x_i) <= 0:", "    M = all rows with y_i f(x_i) <= 0",
         "    w = w + eta sum_M y_i x_i,  b = b + eta sum_M y_i", "no mistake is left"),
        {"start": 0, "mistakes": 3, "no mistake": 4},
        (*_MISTAKES, _LENGTH),
        _UPDATES, "the bound of the batch rule, n times as large",
    ),
    "margin": Algorithm(
        "margin perceptron", "margin_perceptron", ("guess", "order", "start", "intercept", "unit_length", "seed"),
        ("w = 0, b = 0", "while some y_i f(x_i) < g/2 ||w||:", "    i = next row",
         "    if y_i f(x_i) <= 0:   # a mistake", "        w = w + y_i x_i,  b = b + y_i",
         "    elif y_i f(x_i) < g/2 ||w||:   # too close", "        w = w + y_i x_i,  b = b + y_i",
         "every point is at least g/2 away"),
        {"start": 0, "mistake": 4, "too close": 6, "no violation": 7},
        (*_VIOLATIONS, ("length of w", ("length",))),
        _UPDATES, "claims 1 to 5: w grows by at least γ and at most about 3/4 γ an update",
    ),
    "search": Algorithm(
        "incremental search", "incremental_search", ("search_order", "intercept", "unit_length", "seed"),
        ("g = R", "repeat:", "    w = 0, b = 0", "    while some point is nearer than g/2:",
         "        mistake:    w = w + y_i x_i, b = b + y_i",
         "        too close:  w = w + y_i x_i, b = b + y_i",
         "        12 R²/g² updates:  g = g/2, again", "the margin is at least γ_opt/4"),
        {"start": 0, "mistake": 4, "too close": 5, "forced stop": 6, "no violation": 7},
        (*_VIOLATIONS, ("updates in all", ("updates in all",))),
        _UPDATES, "a forced stop proves that the guess was too large",
    ),
    "kernel": Algorithm(
        "kernel perceptron", "kernel_perceptron",
        ("feature_kernel", "gamma", "degree", "coef0", "order", "eta", "intercept", "seed"),
        ("alpha = 0,  f(x) = sum_j alpha_j y_j (k(x_j, x) + 1)", "while some y_i f(x_i) <= 0:", "    i = next row",
         "    if y_i f(x_i) <= 0:   # a mistake", "        alpha_i = alpha_i + eta", "no mistake is left"),
        {"start": 0, "mistake": 4, "no mistake": 5},
        (*_MISTAKES, _LENGTH),
        _UPDATES, "Novikoff's bound in the feature space",
    ),
    "ascent": Algorithm(
        "coordinate ascent", "coordinate_ascent", ("C", "dual_order", *_KERNEL, "seed"),
        ("alpha = 0,  f(x) = sum_j alpha_j y_j k(x_j, x)", "while the KKT conditions do not hold:", "    i = next row",
         "    alpha_i = alpha_i + (1 - y_i f(x_i)) / k(x_i, x_i)", "    clip alpha_i to [0, C]",
         "optimal: primal = dual", "unbounded: no hyperplane exists"),
        {"start": 0, "coordinate": 3, "optimal": 5, "unbounded": 6}, _DUAL, "α in [0, C]",
        "weak duality: every dual value is below every primal value",
    ),
    "smo": Algorithm(
        "SMO", "smo", ("C", "pair", *_KERNEL, "seed"),
        ("alpha = 0", "while the KKT conditions do not hold:", "    i, j = next pair",
         "    t = ((y_i - f(x_i)) - (y_j - f(x_j)))", "        / (k_ii + k_jj - 2 k_ij)",
         "    clip t, so that both stay in [0, C]",
         "    alpha_i = alpha_i + y_i t,  alpha_j = alpha_j - y_j t", "optimal: primal = dual",
         "unbounded: no hyperplane exists"),
        {"start": 0, "pair": 6, "optimal": 7, "unbounded": 8}, _DUAL, "α in [0, C]",
        "weak duality: every dual value is below every primal value",
    ),
    "hulls": Algorithm(
        "nearest points of the hulls", "nearest_hull_points", ("intercept",),
        ("c = 1 for the first row of each class", "x+ = sum c_i x_i,  x- = sum c_j x_j,  w = x+ - x-",
         "while margin < ||x+ - x-|| / 2:", "    in one class: j = farthest out, i = nearest",
         "    move weight from j to i", "optimal: margin = half the distance",
         "the hulls meet: no hyperplane exists"),
        {"start": 0, "pair": 4, "optimal": 5, "hulls meet": 6},
        (("bracket of the largest margin", ("lower", "upper")), ("distance of the hull points", ("distance",))),
        "c: weights in the hulls", "margin <= γ_opt <= half the distance",
    ),
    "gradient": Algorithm(
        "gradient descent, logistic loss", "gradient_descent", ("rate", "start", "intercept", "seed"),
        ("w = 0, b = 0", "while the gradient is not zero:", "    p_i = 1 / (1 + exp(y_i f(x_i)))",
         "    w = w + eta sum p_i y_i x_i,  b = b + eta sum p_i y_i", "the gradient is zero: optimal"),
        {"start": 0, "gradient": 3, "optimal": 4},
        (("logistic loss", ("loss",)), ("length of the gradient", ("gradient",)), ("mistakes", ("mistakes",))),
        "α: η × sum of p_i", "descent: every step with η < 2/L lowers the loss",
    ),
}  # fmt: skip
