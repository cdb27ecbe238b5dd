"""The page's logic: an event comes in, messages go out. No server, no browser.

`Page.handle` takes one event, a dict with a "type", and returns messages, dicts that are plain JSON: "state" (points,
parameters, facts), "frames" (steps, each sent once), "measured" (what was dragged), "file" (exports), "error". A page
holds the state of one tab.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from maxmargin.lab.algorithms import ALGORITHMS, PARAMETERS, YOURS
from maxmargin.lab.export import csv_of, python_of
from maxmargin.lab.facts import bound_facts, facts
from maxmargin.lab.frames import claim_row, first_frame, frame_of, jsonable
from maxmargin.lab.lessons import LESSONS
from maxmargin.lab.listings import listing
from maxmargin.lab.presets import PRESETS, TABLES, Table, table_of
from maxmargin.lab.runs import Run, controls, kernel_options, waits_for_click
from maxmargin.lab.state import LARGEST, State, check_pick, check_row, check_step, decode, encode, from_preset
from maxmargin.lab.tables import read_text
from maxmargin.lab.what_if import measured_duals, measured_hyperplane

Message = dict[str, Any]
# Frames that are sent ahead of the one that is shown, and at most at once; edits that can be undone.
AHEAD, CHUNK, MAX_UNDO = 40, 200, 100
# Rows that a clicked pair, or a step of one point, has.
PICKS = {"online": 1, "margin": 1, "kernel": 1, "ascent": 1, "smo": 2}
_ORDER_OF = {"online": "order", "margin": "order", "kernel": "order", "ascent": "dual_order", "smo": "pair"}


class Page:
    """The page of one tab.

    Parameters
    ----------
    state : State, optional
        What is shown first; by default the separable preset.
    table : Table, optional
        The table of which the state's points are two columns.

    Examples
    --------
    >>> page = Page()
    >>> state, frames = page.handle({"type": "preset", "name": "separable"})
    >>> frames["frames"][1]["reason"], all(claim[-1] for claim in frames["frames"][1]["claims"])
    ('mistake', True)
    """

    def __init__(self, state: State | None = None, table: Table | None = None) -> None:
        self.state = state if state is not None else from_preset("separable")
        self.table = table if table is not None else table_of(self.state.data)
        self.columns: tuple[int, int] | None
        self.columns, self.positive = TABLES.get(self.state.data, ((0, 1), -1))
        self.undone: list[State] = []
        self.sent = 0
        self.run = Run(self.state)
        self._handlers: dict[str, Callable[[dict[str, Any]], list[Message]]] = {
            "open": self._open, "preset": self._preset, "algorithm": self._algorithm, "set": self._set,
            "more": self._more, "pick": self._pick, "add": self._add, "move": self._move, "erase": self._erase,
            "flip": self._flip, "clear": self._clear, "undo": self._undo, "paste": self._paste,
            "columns": self._columns, "hyperplane": self._hyperplane, "alpha": self._alpha, "export": self._export,
            "lesson": self._lesson, "start": self._start,
        }  # fmt: skip

    def handle(self, event: Any) -> list[Message]:
        """Answer one event. A bad event changes nothing, and its answer says why."""
        before = vars(self).copy()
        try:
            if not isinstance(event, dict) or not isinstance(event.get("type"), str):
                raise ValueError("an event must be an object with a type.")
            handler = self._handlers.get(event["type"])
            if handler is None:
                raise ValueError(f"there is no event {event['type']!r:.50}.")
            if "step" in event:
                self.state = replace(self.state, step=check_step(event["step"]))
            return handler(event)
        except ValueError as error:
            message = str(error)[:500]
        except Exception as error:  # a fault of the page: the tab continues where it was, and reports it
            message = f"unexpected {type(error).__name__}: {error}"[:500]
        vars(self).update(before)
        return [{"type": "error", "message": message}]

    # Events.

    def _open(self, event: dict[str, Any]) -> list[Message]:
        problem = []
        if event.get("code"):
            try:
                found = decode(event["code"])
                self._show(replace(found, step=self.state.step) if "step" in event else found)
            except ValueError as error:
                problem = [{"type": "error", "message": str(error)}]
        if event.get("lesson") is not None:
            return [self.catalog(), *self._lesson({"number": event["lesson"]})]
        return [self.catalog(), *self._changed(), *problem]

    def _preset(self, event: dict[str, Any]) -> list[Message]:
        name = str(event.get("name"))
        shown = from_preset(name)
        self._remember()
        self._show(replace(self.state.with_points(shown.points, shown.labels, name), lesson=None))
        return self._changed()

    def _algorithm(self, event: dict[str, Any]) -> list[Message]:
        self._show(replace(self.state.with_algorithm(str(event.get("name"))), lesson=None))
        return self._changed()

    def _set(self, event: dict[str, Any]) -> list[Message]:
        value = event.get("value")
        value = math.inf if value == "Infinity" else value
        changed = self.state.with_parameter(str(event.get("name")), value)
        return self._changed(replace(changed, step=self.state.step))

    def _start(self, event: dict[str, Any]) -> list[Message]:
        """Start from a hyperplane that was dragged; four digits are enough for a hand."""
        if "start" not in ALGORITHMS[self.state.algorithm].parameters:
            raise ValueError(f"the {ALGORITHMS[self.state.algorithm].title} starts from no hyperplane.")
        w1, w2, b = _hyperplane_of(event)
        changed = self.state.with_parameter("start", YOURS)
        for name, value in (("start_w1", w1), ("start_w2", w2), ("start_b", b)):
            changed = changed.with_parameter(name, float(f"{value:.4g}"))
        return self._changed(changed)

    def _more(self, event: dict[str, Any]) -> list[Message]:
        return [self._frames(check_step(event.get("to", 0)))]

    def _pick(self, event: dict[str, Any]) -> list[Message]:
        name = self.state.algorithm
        if name not in PICKS:
            raise ValueError(f"the {ALGORITHMS[name].title} takes no clicked points.")
        rows = check_pick(event.get("rows"), len(self.state.points))
        if len(rows) != PICKS[name] or len(set(rows)) != len(rows):
            raise ValueError("SMO needs two different points." if name == "smo" else "a step needs one point.")
        shown = min(self.state.step, len(self.run.steps))
        if waits_for_click(self.state):
            used = self.run.steps[shown - 1].position if shown else 0
            picks = self.state.picks[:used]
        else:
            picks = tuple(step.rows for step in self.run.steps[:shown] if step.rows)
        parameters = {**self.state.parameters, _ORDER_OF[name]: "click"}
        state, frames = self._changed(replace(self.state, parameters=parameters, picks=(*picks, rows), step=shown + 1))
        if len(self.run.steps) <= shown and not self.run.problem:
            state["notice"] = "These points change nothing: there is no violation, or nothing to gain."
        return [state, frames]

    def _add(self, event: dict[str, Any]) -> list[Message]:
        point, label = (event.get("x"), event.get("y")), event.get("label")
        return self._edited([*self.state.points, point], [*self.state.labels, label])

    def _move(self, event: dict[str, Any]) -> list[Message]:
        row = check_row(event.get("row"), len(self.state.points))
        points = list(self.state.points)
        points[row] = (event.get("x"), event.get("y"))  # type: ignore[assignment]
        return self._edited(points, list(self.state.labels), keep=bool(event.get("dragging")))

    def _erase(self, event: dict[str, Any]) -> list[Message]:
        row = check_row(event.get("row"), len(self.state.points))
        points, labels = list(self.state.points), list(self.state.labels)
        del points[row], labels[row]
        return self._edited(points, labels)

    def _flip(self, event: dict[str, Any]) -> list[Message]:
        row = check_row(event.get("row"), len(self.state.points))
        labels = list(self.state.labels)
        labels[row] = -labels[row]
        return self._edited(list(self.state.points), labels)

    def _clear(self, _: dict[str, Any]) -> list[Message]:
        return self._edited([], [])

    def _undo(self, _: dict[str, Any]) -> list[Message]:
        if not self.undone:
            raise ValueError("there is nothing to undo.")
        *self.undone, last = self.undone
        self._show(self.state.with_points(last.points, last.labels, last.data))
        return self._changed()

    def _paste(self, event: dict[str, Any]) -> list[Message]:
        table, notice = read_text(event.get("text"))  # type: ignore[arg-type]
        points, labels = table.points((0, 1))
        changed = replace(self.state.with_points(points, labels), lesson=None)
        self._remember()
        self._show(changed)
        self.table, self.columns, self.positive = table, (0, 1), -1
        return self._changed(notice=notice)

    def _columns(self, event: dict[str, Any]) -> list[Message]:
        if self.table is None:
            raise ValueError("there is no table whose columns could be chosen: paste one.")
        chosen, table = event.get("columns"), self.table
        columns = None
        if chosen != "principal components":
            if not isinstance(chosen, list) or len(chosen) != 2:
                raise ValueError("columns must be two columns, or 'principal components'.")
            columns = (check_row(chosen[0], len(table.columns)), check_row(chosen[1], len(table.columns)))
        positive = check_row(event.get("positive"), len(table.classes))
        changed = self.state.with_points(*table.points(columns, positive))
        self._remember()
        self._show(changed)
        self.table, self.columns, self.positive = table, columns, positive
        return self._changed()

    def _hyperplane(self, event: dict[str, Any]) -> list[Message]:
        w1, w2, b = _hyperplane_of(event)
        known = facts(self.state)
        if known is None:
            raise ValueError("there are no points of both classes.")
        values, claims = measured_hyperplane(self.state, known, [w1, w2], b)
        return [self._measured("hyperplane", values, claims)]

    def _alpha(self, event: dict[str, Any]) -> list[Message]:
        if not ALGORITHMS[self.state.algorithm].is_svm:
            raise ValueError("duals can be dragged in coordinate ascent and SMO.")
        row, value = check_row(event.get("row"), len(self.state.points)), event.get("value")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= LARGEST:
            raise ValueError("a dual variable must be a number that is not negative.")
        shown = min(self.state.step, len(self.run.steps))
        alpha = self.run.steps[shown - 1].alpha if shown else np.zeros(len(self.state.points))
        known = [step.values["primal"] for step in self.run.steps]
        at_zero = self.state["C"] * len(alpha)
        moved, values, claims = measured_duals(self.state, alpha, row, float(value), min([at_zero, *known]))
        return [self._measured("alpha", values, claims) | {"alpha": moved.tolist(), "row": row}]

    def _export(self, event: dict[str, Any]) -> list[Message]:
        what = event.get("what")
        if what not in ("python", "csv", "html"):
            raise ValueError("what is exported must be python, csv or html.")
        if what == "html":
            from maxmargin.lab.replay import recorded_html

            return [{"type": "file", "name": "maxmargin-replay.html", "text": recorded_html(self.state)}]
        self.run.extend(self.state.step)
        shown = replace(self.state, step=min(self.state.step, len(self.run.steps)))
        if what == "csv":
            return [{"type": "file", "name": "maxmargin-trace.csv", "text": csv_of(self.run.steps)}]
        if self.run.problem and not self.run.steps:
            raise ValueError(self.run.problem)
        if waits_for_click(shown) and not shown.picks:
            raise ValueError("click a point first: there is no step to export yet.")
        return [{"type": "file", "name": "maxmargin_run.py", "text": python_of(shown)}]

    def _lesson(self, event: dict[str, Any]) -> list[Message]:
        if event.get("number") is None:
            return self._changed(replace(self.state, lesson=None))
        number = check_row(event.get("number"), len(LESSONS))
        self._show(LESSONS[number].state)
        self.state = replace(self.state, lesson=number)
        return self._changed()

    # Messages.

    def _show(self, state: State) -> None:
        """Take another state; tables belong to presets, or to what was pasted last."""
        if state.data != self.state.data or state.points != self.state.points:
            self.table = table_of(state.data)
            self.columns, self.positive = TABLES.get(state.data, ((0, 1), -1))
        self.state = state

    def _remember(self) -> None:
        self.undone = [*self.undone[1 - MAX_UNDO :], self.state]

    def _edited(self, points: Any, labels: Any, keep: bool = False) -> list[Message]:
        changed = self.state.with_points(points, labels)
        if len(points) == len(self.state.points):
            changed = replace(changed, picks=self.state.picks)
        if not keep:
            self._remember()
        self.table = None
        return self._changed(replace(changed, step=self.state.step))

    def _changed(self, state: State | None = None, notice: str = "") -> list[Message]:
        self.state = state if state is not None else self.state
        self.run, self.sent = Run(self.state), 0
        message = self.state_message()
        frames = self._frames(self.state.step)
        return [{**message, "notice": notice}, frames]

    def _frames(self, to: int) -> Message:
        """The frames up to one, and some more, that were not sent yet."""
        first = self.sent
        wanted = min(to + AHEAD, first + CHUNK)
        self.run.extend(wanted)
        steps = self.run.steps
        frames = [frame_of(self.state, step) for step in steps[max(0, first - 1) : first + CHUNK]]
        if first == 0:
            frames.insert(0, first_frame(self.state, steps[0] if steps else None))
        self.sent = first + len(frames)
        done = self.run.ended and self.sent > len(steps)
        problem = self.run.problem if done else ""
        return {"type": "frames", "from": first, "frames": frames, "ended": done, "problem": problem}

    def state_message(self) -> Message:
        """Everything but the frames."""
        algorithm, known = ALGORITHMS[self.state.algorithm], facts(self.state) if self.state.points else None
        kernel = kernel_options(self.state) if algorithm.is_svm or self.state.algorithm == "kernel" else None
        bound = bound_facts(self.state, {**(kernel or {}), "intercept": self.state["intercept"]}) if known else None
        table = None
        if self.table is not None:
            shown = "principal components" if self.columns is None else list(self.columns)
            classes = self.table.classes
            table = {
                "columns": self.table.columns, "classes": classes, "shown": shown,
                "positive": self.positive % len(classes),
            }  # fmt: skip
        return jsonable({
            "type": "state",
            "code": encode(replace(self.state, step=0)),
            "step": self.state.step,
            "points": self.state.points,
            "labels": self.state.labels,
            "data": self.state.data,
            "table": table,
            "algorithm": self.state.algorithm,
            "values": dict(self.state.parameters),
            "controls": controls(self.state),
            "kernel": kernel if kernel is None else {**kernel, "intercept": self._kernel_intercept()},
            "picks": PICKS.get(self.state.algorithm, 0),
            "waits": waits_for_click(self.state),
            "facts": None if known is None else asdict(known),
            "bound": None if bound is None else asdict(bound),
            "canUndo": bool(self.undone),
            "lesson": self.state.lesson,
        })  # fmt: skip

    def _kernel_intercept(self) -> bool:
        """Whether the page adds b to the kernel expansion."""
        return self.state["intercept"] if self.state.algorithm == "kernel" else self.state.algorithm == "smo"

    def _measured(self, what: str, values: dict[str, float], claims: list[Any]) -> Message:
        return jsonable({"type": "measured", "what": what, "values": values, "claims": [*map(claim_row, claims)]})

    @staticmethod
    def catalog() -> Message:
        """What there is to choose from: algorithms, parameters, presets and lessons."""
        return jsonable({
            "type": "catalog",
            "algorithms": {
                name: {
                    "title": found.title, "listing": listing(name).code, "source": listing(name).title,
                    "note": found.note, "charts": found.charts, "duals": found.duals, "theory": found.theory,
                    "svm": found.is_svm, "starts": "start" in found.parameters,
                    "proof": found.proof,
                }
                for name, found in ALGORITHMS.items()
            },
            "parameters": {name: {**asdict(found), "kind": found.kind} for name, found in PARAMETERS.items()},
            "presets": {name: title for name, (title, _) in PRESETS.items()},
            "lessons": [
                {"title": lesson.title, "idea": lesson.idea, "question": lesson.question, "answer": lesson.answer,
                 "tool": lesson.tool, "choices": lesson.choices, "right": lesson.right}
                for lesson in LESSONS
            ],
        })  # fmt: skip


def _hyperplane_of(event: dict[str, Any]) -> tuple[float, float, float]:
    """w1, w2 and b of an event, or a refusal."""
    numbers = [event.get(name) for name in ("w1", "w2", "b")]
    if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in numbers):
        raise ValueError("a hyperplane is three numbers, w1, w2 and b.")
    if not all(abs(value) <= LARGEST for value in numbers):  # type: ignore[arg-type]
        raise ValueError(f"w and b must be finite, up to {LARGEST:g} in size.")
    w1, w2, b = (float(value) for value in numbers)  # type: ignore[arg-type]
    if not math.hypot(w1, w2) > 1 / LARGEST:
        raise ValueError("w must not be zero.")
    return w1, w2, b
