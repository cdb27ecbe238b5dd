"""The algorithms that the page runs, their parameters, the lines of their steps and what is drawn of them."""

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
    slider : bool
        Whether a number has a slider beside its field.
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
    slider: bool = True
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


CLICK, YOURS = "click", "yours"
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
    "start": Parameter(
        "start", "zero", ("zero", "random", YOURS), hint="random: from the seed; yours: type w and b, or drag w"
    ),
    "start_w1": Parameter("w₁", 1.0, low=-1e6, high=1e6, slider=False, hint="of the hyperplane to start from"),
    "start_w2": Parameter("w₂", 0.0, low=-1e6, high=1e6, slider=False, hint="of the hyperplane to start from"),
    "start_b": Parameter("b", 0.0, low=-1e6, high=1e6, slider=False, hint="of the hyperplane to start from"),
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
    lines : dict of str to str
        For the reason of a step a part of the source line that made it.
    note : str
        What the names in the source are.
    charts : tuple of (title, tuple of keys)
        Values that are drawn against the number of steps.
    duals : str
        What the bars are.
    theory : str
        What the proof panel is about.
    proof : tuple of str
        Its theorem and the idea of the proof, said before the first step.
    loops : tuple of str
        The functions whose loops are shown, where it is not the algorithm's own.
    """

    title: str
    function: str
    parameters: tuple[str, ...]
    lines: dict[str, str]
    note: str
    charts: tuple[tuple[str, tuple[str, ...]], ...]
    duals: str
    theory: str
    proof: tuple[str, ...]
    loops: tuple[str, ...] = ()

    @property
    def is_svm(self) -> bool:
        """Whether the duals lie in the box from 0 to C."""
        return self.function in ("coordinate_ascent", "smo")


_START = ("start", "start_w1", "start_w2", "start_b")
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
        ("order", "eta", *_START, "intercept", "unit_length", "every_row", "seed"),
        {"start": "w, b, alpha, margins = first.w",
         "mistake": "w, b = w + eta * y[i] * X[i]",
         "correct": 'step = next_step(step, [], "correct"',
         "no mistake": 'step = next_step(step, [], "no mistake"'},
        "margins are y f(x), one is the feature of the intercept, alpha counts the updates of every row.",
        (*_MISTAKES, _LENGTH),
        _UPDATES, "Novikoff's bound: few mistakes, because w gets close to u",
        ("Theorem. If some u of length 1 has y u·x >= gamma for all points, the perceptron makes at most "
         "(R/gamma)² updates.",
         "Proof. Each update adds at least gamma to w·u, and at most R² to ||w||², because it is made on a "
         "mistake: t gamma <= w·u <= ||w|| <= sqrt(t) R."),
    ),
    "batch": Algorithm(
        "batch perceptron", "batch_perceptron", ("eta", *_START, "intercept", "unit_length", "seed"),
        {"start": "w, b, alpha, margins = first.w",
         "mistakes": "w, b = w + eta * (y[mistakes]",
         "no mistake": 'step = next_step(step, [], "no mistake"'},
        "margins are y f(x), one is the feature of the intercept, alpha counts the updates of every row.",
        (*_MISTAKES, _LENGTH),
        _UPDATES, "the bound of the batch rule, n times as large",
        ("Theorem. With margin gamma, at most n (R/gamma)² mistakes are corrected.",
         "Proof. As for single updates, but a step on m mistakes may add m² R² <= n m R² to ||w||²: t gamma <="
         " ||w|| <= sqrt(n t) R."),
    ),
    "margin": Algorithm(
        "margin perceptron", "margin_perceptron", ("guess", "order", *_START, "intercept", "unit_length", "seed"),
        {"start": "step, w, b, alpha, position = first",
         "mistake": "w, b, alpha = w + y[i] * X[i]",
         "too close": "w, b, alpha = w + y[i] * X[i]",
         "no violation": 'step = next_step(step, [], reason or "no violation"'},
        "A row is a mistake, or too close: nearer than half the guess, margins < guess/2 length.",
        (*_VIOLATIONS, ("length of w", ("length",))),
        _UPDATES, "claims 1 to 5: w grows by at least γ and at most about 3/4 γ an update",
        ("Theorem. With a guess up to gamma the run ends after at most 8 R²/gamma² + 4 R/gamma updates, with "
         "at least half the guess as margin.",
         "Proof. An update adds at least gamma to w·u, but once ||w|| is 2 R²/gamma it adds at most 3/4 gamma "
         "to ||w||, which is never below w·u."),
        ("_until_no_violation",),
    ),
    "search": Algorithm(
        "incremental search", "incremental_search", ("search_order", "intercept", "unit_length", "seed"),
        {"start": "guess, step, in_all, round_number = R",
         "mistake": "w, b, alpha = w + y[i] * X[i]",
         "too close": "w, b, alpha = w + y[i] * X[i]",
         "forced stop": 'reason = "forced stop"',
         "no violation": 'step = next_step(step, [], reason or "no violation"'},
        "Above the search, below the margin perceptron that it runs with every guess.",
        (*_VIOLATIONS, ("updates in all", ("updates in all",))),
        _UPDATES, "a forced stop proves that the guess was too large",
        ("Theorem. The search ends with a margin of at least gamma_opt/4, after at most 64 R²/gamma_opt² "
         "updates in all.",
         "Proof. A guess g up to gamma_opt would end within 12 R²/g² updates. So a forced stop proves g > "
         "gamma_opt, and no guess is ever halved below gamma_opt/2."),
        ("incremental_search", "_until_no_violation"),
    ),
    "kernel": Algorithm(
        "kernel perceptron", "kernel_perceptron",
        ("feature_kernel", "gamma", "degree", "coef0", "order", "eta", "intercept", "seed"),
        {"start": "alpha = np.zeros(n) if start is None",
         "mistake": "alpha = alpha + eta * indicator",
         "no mistake": 'step = next_step(step, [], "no mistake"'},
        "K holds the kernel values of all pairs of rows, plus 1 for the intercept.",
        (*_MISTAKES, _LENGTH),
        _UPDATES, "Novikoff's bound in the feature space",
        ("Theorem. At most (R/gamma)² updates, where R² is the largest k(x, x), plus 1 with an intercept, and "
         "gamma a margin in the feature space.",
         "Proof. As for the perceptron: w is a sum of the rows there, and ||w||² a sum of kernel values."),
    ),
    "ascent": Algorithm(
        "coordinate ascent", "coordinate_ascent", ("C", "dual_order", *_KERNEL, "seed"),
        {"start": "step, position = first",
         "coordinate": "alpha[i] = best",
         "optimal": 'yield problem.step(step, (), "optimal"',
         "unbounded": 'yield problem.step(step, (), "unbounded"'},
        "optimum(...) is alpha_i + (1 - margins_i) / K_ii, clipped to [0, C].", _DUAL, "α in [0, C]",
        "weak duality: every dual value is below every primal value",
        ("Theorem. For all feasible alpha, every w and every b: dual <= primal. Where both are equal, both are"
         " optimal.",
         "Proof. The Lagrangian lies below the primal at every feasible point, and its minimum over w and b is"
         " the dual. A step puts one alpha_i on top of its parabola, so that the dual never falls."),
    ),
    "smo": Algorithm(
        "SMO", "smo", ("C", "pair", *_KERNEL, "seed"),
        {"start": "step, position = first",
         "pair": "alpha[i], alpha[j] = places[-1]",
         "optimal": 'yield problem.step(step, (), "optimal"',
         "unbounded": 'yield problem.step(step, (), "unbounded"'},
        "ends are those of the segment in the box; move(...) gives alpha_i + y_i t and alpha_j - y_j t.",
        _DUAL, "α in [0, C]",
        "weak duality: every dual value is below every primal value",
        ("Theorem. For all feasible alpha, every w and every b: dual <= primal. Where both are equal, both are"
         " optimal.",
         "Proof. The Lagrangian lies below the primal at every feasible point, and its minimum over w and b is"
         " the dual. A step goes to the top of a parabola on the line of a pair, so that the dual never falls."),
    ),
    "hulls": Algorithm(
        "nearest points of the hulls", "nearest_hull_points", ("intercept",),
        {"start": "step, position = first",
         "pair": "c[i], c[j] = c[i] + moved",
         "optimal": 'yield _hull_step(step, (), "hulls meet" if met',
         "hulls meet": 'yield _hull_step(step, (), "hulls meet" if met'},
        "Z holds the rows y x; groups are the rows of the two classes, c their weights.",
        (("bracket of the largest margin", ("lower", "upper")), ("distance of the hull points", ("distance",))),
        "c: weights in the hulls", "margin <= γ_opt <= half the distance",
        ("Theorem. The margin of any hyperplane is at most half the distance of any two points of the two hulls.",
         "Proof. A hyperplane with margin gamma keeps every point of the hulls gamma away, on its own side. At the "
         "optimum both numbers are equal: one proves the other."),
    ),
    "gradient": Algorithm(
        "gradient descent, logistic loss", "gradient_descent", ("rate", *_START, "intercept", "seed"),
        {"start": "step, w, b, alpha = first",
         "gradient": "w, b, alpha = w - eta * gradient",
         "optimal": 'yield _next(step, "optimal"'},
        "Z holds the rows y (x, 1); p are the probabilities of the wrong class.",
        (("logistic loss", ("loss",)), ("length of the gradient", ("gradient",)), ("mistakes", ("mistakes",))),
        "α: η × sum of p_i", "descent: every step with η < 2/L lowers the loss",
        ("Theorem. A step of size eta lowers the loss by at least eta (1 - eta L/2) ||gradient||².",
         "Proof. The loss is curved by at most L, a quarter of the largest squared singular value of the rows (x, 1), "
         "and lies below the parabola with that curvature."),
    ),
}  # fmt: skip
