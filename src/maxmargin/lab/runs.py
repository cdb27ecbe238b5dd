"""Runs of the lectures' algorithms for a state: their arguments, and their steps, kept."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from maxmargin import lectures
from maxmargin.lab.algorithms import ALGORITHMS, CLICK, YOURS
from maxmargin.lab.facts import arrays, kernel_reference, reference
from maxmargin.lab.state import State

# Steps that are kept of one run, and numbers in them: about 16 MB a tab.
MAX_STEPS, MAX_NUMBERS = 5000, 1_000_000
# Passes and steps that a run may take between two frames, so that no request runs for long.
MAX_PASSES = 100_000


def arguments(state: State) -> dict[str, Any]:
    """The keyword arguments of the lecture's function, all of them plain numbers, texts and lists.

    Pairs that were clicked stand under "pairs"; `started` makes a function of them.
    """
    X, _ = arrays(state)
    name = state.algorithm
    if name in ("ascent", "smo"):
        given: dict[str, Any] = {"C": state["C"], **kernel_options(state)}
        if name == "ascent":
            given |= _ordered(state, "dual_order")
        elif state["pair"] == CLICK:
            given["pairs"] = [list(pair) for pair in state.picks]
        else:
            given |= {"pair": state["pair"], "seed": state["seed"]}
        return given
    if name == "hulls":
        return {"intercept": state["intercept"]}
    if name == "kernel":
        options = {**kernel_options(state), "intercept": state["intercept"]}
        given = {**options, "eta": state["eta"], **_ordered(state, "order")}
        if (u := kernel_reference(state, options)) is not None:
            given["reference"] = u
        return given
    given = {"intercept": state["intercept"]}
    if name != "search" and (first := start_of(state)) is not None:
        given["start"] = first
    if name == "gradient":
        Z = np.column_stack([X, np.full(len(X), float(state["intercept"]))])
        L = float(np.linalg.norm(Z, 2)) ** 2 / 4
        return {**given, "eta": state["rate"] / L if L else state["rate"]}
    given["unit_length"] = state["unit_length"]
    if (u := reference(state)) is not None:
        given["reference"] = u
    if name == "margin":
        lengths = np.sqrt(np.einsum("ij,ij->i", X, X) + float(state["intercept"]))
        given["gamma"] = state["guess"] * (1.0 if state["unit_length"] else float(lengths.max()))
    if name in ("online", "batch"):
        given["eta"] = state["eta"]
    if name == "online":
        given["every_row"] = state["every_row"] or state["order"] == CLICK
    if name != "batch":
        given |= _ordered(state, "search_order" if name == "search" else "order")
    return {**given, "max_passes": MAX_PASSES}


def start_of(state: State) -> tuple[list[float], float] | None:
    """The hyperplane that a run starts from; None for zero."""
    if state["start"] == "random":
        *w, b = (round(float(value), 3) for value in np.random.default_rng(state["seed"]).standard_normal(3))
    elif state["start"] == YOURS:
        w, b = [state["start_w1"], state["start_w2"]], state["start_b"]
    else:
        return None
    return w, b if state["intercept"] else 0.0


def controls(state: State) -> list[str]:
    """The parameters of the state's algorithm that change its run: a seed that nothing is drawn from is none."""
    shown = ALGORITHMS[state.algorithm].parameters
    drawn = {
        "order": "shuffled",
        "search_order": "shuffled",
        "dual_order": "random",
        "pair": "random",
        "start": "random",
    }
    hidden = {"gamma", "degree", "coef0"} - set(kernel_options(state))
    if not any(name in shown and state[name] == random for name, random in drawn.items()):
        hidden.add("seed")
    if state["start"] != YOURS:
        hidden |= {"start_w1", "start_w2", "start_b"}
    if not state["intercept"]:
        hidden.add("start_b")
    if state["order"] == CLICK:
        hidden.add("every_row")
    return [name for name in shown if name not in hidden]


def kernel_options(state: State) -> dict[str, Any]:
    """The kernel and those of its parameters that it has."""
    kernel = state["feature_kernel" if state.algorithm == "kernel" else "kernel"]
    names = {"linear": (), "rbf": ("gamma",), "poly": ("gamma", "degree", "coef0"), "sigmoid": ("gamma", "coef0")}
    return {"kernel": kernel} | {name: state[name] for name in names[kernel]}


def _ordered(state: State, name: str) -> dict[str, Any]:
    if state[name] == CLICK:
        return {"order": [pick[0] for pick in state.picks]}
    return {"order": state[name], "seed": state["seed"]}


def waits_for_click(state: State) -> bool:
    """Whether the next step is chosen by a click."""
    shown = ALGORITHMS[state.algorithm].parameters
    return any(name in shown and state[name] == CLICK for name in ("order", "dual_order", "pair"))


def started(state: State) -> Iterator[lectures.Step]:
    """The steps of the lecture's algorithm for a state.

    Raises
    ------
    ValueError
        Where the algorithm cannot run on these points; the message says why.
    """
    X, y = arrays(state)
    if not len(X):
        raise ValueError("there are no points yet: click into the plane, with shift for the other class.")
    given = arguments(state)
    if waits_for_click(state) and not state.picks:
        return iter(())
    if "pairs" in given:
        pairs = iter([tuple(pair) for pair in given.pop("pairs")])
        given["pair"] = lambda *_: next(pairs, None)
    return getattr(lectures, ALGORITHMS[state.algorithm].function)(X, y, **given)


@dataclass
class Run:
    """A run whose steps are kept, so that going back costs nothing.

    Attributes
    ----------
    state : State
    steps : list of Step
    problem : str
        Why the algorithm cannot run, or cannot continue.
    ended : bool
        Whether there are no more steps.
    """

    state: State
    steps: list[lectures.Step] = field(default_factory=list)
    problem: str = ""
    ended: bool = False

    def __post_init__(self) -> None:
        self.limit = min(MAX_STEPS, MAX_NUMBERS // max(1, 2 * len(self.state.points)))
        self._generator: Iterator[lectures.Step] = iter(())
        try:
            self._generator = started(self.state)
        except ValueError as error:
            self.problem, self.ended = str(error), True

    def extend(self, count: int, seconds: float = 0.5) -> None:
        """Go on until there are ``count`` steps, the run ends, or the time is over."""
        end = time.monotonic() + seconds
        while len(self.steps) < min(count, self.limit) and not self.ended and time.monotonic() < end:
            try:
                with np.errstate(all="ignore"):
                    new = next(islice(self._generator, 1), None)
            except (ValueError, FloatingPointError, OverflowError) as error:
                self.problem, self.ended = str(error), True
                return
            if new is None:
                self.ended = True
            else:
                self.steps.append(new)
        if len(self.steps) >= self.limit and not self.ended:
            self.problem, self.ended = f"the page keeps {self.limit} steps, and the run is longer.", True
