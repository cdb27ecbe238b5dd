"""The page's logic, without server and browser."""

import base64
import csv
import io
import json
import linecache
import math
import re
import subprocess
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxmargin
from maxmargin import lectures
from maxmargin.lab import runs
from maxmargin.lab.algorithms import ALGORITHMS, PARAMETERS
from maxmargin.lab.frames import frame_of
from maxmargin.lab.lessons import LESSONS
from maxmargin.lab.listings import listing
from maxmargin.lab.page import Page
from maxmargin.lab.presets import PRESETS, table_of
from maxmargin.lab.state import State, decode, encode, from_preset
from maxmargin.lab.tables import read_text


def frames_of(page, messages, to=40):
    """All frames up to a step."""
    frames = [frame for message in messages if message["type"] == "frames" for frame in message["frames"]]
    while len(frames) <= to and not messages[-1]["ended"]:
        messages = page.handle({"type": "more", "to": to})
        frames += messages[-1]["frames"]
    return frames


def opened(algorithm, data, **parameters):
    page = Page(from_preset(data, algorithm, **parameters))
    return page, page.handle({"type": "open"})


def only_error(messages):
    [message] = messages
    assert message["type"] == "error"
    return message["message"]


@pytest.mark.parametrize("data", sorted(set(PRESETS) - {"nothing", "200 points"}))
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_claim_holds_in_every_frame(algorithm, data):
    page, messages = opened(algorithm, data)
    frames = frames_of(page, messages)
    assert frames[0]["reason"] == "start"
    assert [frame["number"] for frame in frames] == list(range(len(frames)))
    assert all(claim[-1] for frame in frames for claim in frame["claims"])
    assert all(len(frame["alpha"]) == len(frame["classes"]) == len(page.state.points) for frame in frames)
    assert any(frame["claims"] for frame in frames)
    assert all(0 <= frame["line"] < len(listing(algorithm).code) for frame in frames)
    json.dumps(messages, allow_nan=False)


@contextmanager
def traced_lines(places):
    """Collect which of these source lines (file, number) run."""
    ran, files, before = set(), {file for file, _ in places}, sys.gettrace()

    def trace(frame, event, _):
        if event == "line" and (place := (frame.f_code.co_filename, frame.f_lineno)) in places:
            ran.add(place)
        return trace if frame.f_code.co_filename in files else None

    sys.settrace(trace)
    try:
        yield ran
    finally:
        sys.settrace(before)


@pytest.mark.parametrize(
    ("algorithm", "data", "parameters"),
    [
        *((name, data, {}) for name in ALGORITHMS for data in ("separable", "overlap")),
        ("online", "separable", {"every_row": True}), ("smo", "overlap", {"C": math.inf}),
        ("ascent", "both labels", {"C": math.inf}),
    ],
)  # fmt: skip
def test_the_lit_line_is_python_that_ran_in_this_step(algorithm, data, parameters):
    """The listing is the source itself, and its lit line ran between this step and the one before."""
    state, shown = from_preset(data, algorithm, **parameters), listing(algorithm)
    for (file, number), line in zip(shown.places, shown.code, strict=True):
        if file:
            assert linecache.getline(file, number).strip().startswith(line.strip())
    run, reasons = runs.Run(state), set()
    for count in range(1, 120):
        with traced_lines(set(shown.places)) as ran:
            run.extend(count, seconds=60)
        if run.ended:
            break
        lit = frame_of(state, run.steps[-1])["line"]
        assert shown.places[lit] in ran, run.steps[-1].reason
        reasons.add(run.steps[-1].reason)
    assert reasons
    assert reasons <= set(ALGORITHMS[algorithm].lines)


def test_frames_are_the_steps_of_the_lecture():
    page, messages = opened("smo", "overlap", C=2.0)
    X, y = np.array(page.state.points), np.array(page.state.labels)
    frames = frames_of(page, messages, 200)
    steps = list(lectures.smo(X, y, C=2.0))
    assert len(frames) == len(steps) + 1
    for frame, step in zip(frames[1:], steps, strict=True):
        assert frame["alpha"] == step.alpha.tolist()
        assert frame["values"]["dual"] == step.values["dual"]
    model = maxmargin.SVC(kernel="linear", C=2.0, tol=1e-6).fit(X, y)
    w = (frames[-1]["alpha"] * y) @ X
    np.testing.assert_allclose(w, model.coef_[0], rtol=1e-2)


def test_frames_are_sent_once_and_going_back_runs_nothing():
    page, messages = opened("online", "overlap")
    frames = frames_of(page, messages, 90)
    steps = list(page.run.steps)
    [message] = page.handle({"type": "more", "to": 5})
    assert message["frames"] == []
    assert message["from"] == len(frames)
    assert page.run.steps == steps
    [message] = page.handle({"type": "more", "to": len(frames) + 10})
    assert message["frames"][0]["number"] == len(frames)


def test_the_run_ends_where_the_page_keeps_no_more(monkeypatch):
    monkeypatch.setattr(runs, "MAX_STEPS", 300)
    page, messages = opened("online", "wine")
    frames = frames_of(page, messages, 10**6)
    assert len(frames) - 1 == 300
    last = page.handle({"type": "more", "to": 10**6})[-1]
    assert last["ended"]
    assert "keeps" in last["problem"]
    assert not last["frames"]


@pytest.mark.parametrize("data", PRESETS)
def test_states_survive_the_address(data):
    state = from_preset(data, "smo", C=math.inf, kernel="rbf", gamma=0.25)
    assert decode(encode(state)) == state
    own = state.with_points(state.points, state.labels)
    assert decode(encode(own)) == own
    assert len(encode(own)) < 8000


def test_picks_and_the_step_survive_the_address():
    page, _ = opened("online", "separable", order="click")
    for k, row in enumerate((3, 1, 4)):
        page.handle({"type": "pick", "rows": [row], "step": k})
    assert page.state.picks == ((3,), (1,), (4,))
    assert decode(encode(page.state)) == page.state
    assert page.state.step == 3


@pytest.mark.parametrize(
    "text", ["", "2.abc", "1.!!!", "1.AAAA", 5, None, "1." + "A" * 200_000, encode(from_preset("xor"))[:-4]]
)
def test_damaged_addresses_are_refused(text):
    with pytest.raises(ValueError, match="address"):
        decode(text)


def test_a_damaged_address_opens_the_first_page_and_says_so():
    page = Page()
    messages = page.handle({"type": "open", "code": "1.zzz"})
    assert [message["type"] for message in messages] == ["catalog", "state", "frames", "error"]


def test_clicked_rows_replay_the_cyclic_order():
    page, messages = opened("online", "separable")
    frames = frames_of(page, messages, 100)
    clicked, _ = opened("online", "separable", order="click")
    for k, frame in enumerate(frames[1:-1]):
        messages = clicked.handle({"type": "pick", "rows": frame["rows"], "step": k})
    again = frames_of(clicked, messages, 100)
    assert [frame["w"] for frame in again] == [frame["w"] for frame in frames]


def test_a_click_in_the_middle_of_a_run_keeps_its_past():
    page, messages = opened("smo", "overlap")
    frames = frames_of(page, messages, 20)
    other = frames[9]["rows"]
    messages = page.handle({"type": "pick", "rows": other, "step": 5})
    again = frames_of(page, messages, 20)
    assert [frame["alpha"] for frame in again[:6]] == [frame["alpha"] for frame in frames[:6]]
    assert page.state["pair"] == "click"
    assert again[6]["rows"] == other


def test_points_are_added_moved_flipped_erased_and_undone():
    page = Page(from_preset("nothing"))
    page.handle({"type": "add", "x": 1.0, "y": 2.0, "label": 1})
    page.handle({"type": "add", "x": -1.0, "y": 0.0, "label": -1})
    page.handle({"type": "move", "row": 0, "x": 2.0, "y": 2.0})
    page.handle({"type": "flip", "row": 1})
    assert page.state.points == ((2.0, 2.0), (-1.0, 0.0))
    assert page.state.labels == (1, 1)
    page.handle({"type": "erase", "row": 0})
    page.handle({"type": "clear"})
    for _ in range(6):
        page.handle({"type": "undo"})
    assert page.state.points == ()
    assert "nothing to undo" in only_error(page.handle({"type": "undo"}))


def test_a_drag_is_undone_as_one():
    page = Page(from_preset("separable"))
    before = page.state.points
    for k in range(10):
        page.handle({"type": "move", "row": 0, "x": float(k), "y": 0.0, "dragging": k > 0})
    page.handle({"type": "undo"})
    assert page.state.points == before
    assert page.state.data == "separable"


def run_python(text):
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_exported_python_reproduces_the_numbers(algorithm):
    parameters = {"online": {"start": "random", "eta": 0.5}, "smo": {"C": math.inf}, "kernel": {"gamma": 0.5}}
    page, messages = opened(algorithm, "separable", **parameters.get(algorithm, {}))
    frames = frames_of(page, messages, 12)
    step = min(10, len(frames) - 1)
    [message] = page.handle({"type": "export", "what": "python", "step": step})
    lines = run_python(message["text"]).splitlines()
    frame = frames[step]
    assert lines[step - 1].startswith(f"{step} {frame['reason']} ")
    assert json.loads(next(line for line in lines if line.startswith("alpha "))[6:]) == frame["alpha"]
    w, b = next(line for line in lines if line.startswith("w "))[2:].split(" b ")
    assert float(b) == frame["b"]
    assert (None if w == "None" else json.loads(w)) == frame["w"]
    assert sum(line.endswith(" holds") for line in lines) == len(frame["claims"])


def test_exported_python_has_the_clicked_pairs():
    page, _ = opened("smo", "separable", pair="click")
    assert "click a point" in only_error(page.handle({"type": "export", "what": "python"}))
    automatic = frames_of(*opened("smo", "separable"))
    for k in range(2):
        messages = page.handle({"type": "pick", "rows": automatic[k + 1]["rows"], "step": k})
    frame = frames_of(page, messages)[2]
    [message] = page.handle({"type": "export", "what": "python", "step": 2})
    assert f"alpha {frame['alpha']}" in run_python(message["text"])


def test_the_trace_as_csv():
    page, messages = opened("smo", "overlap")
    frames = frames_of(page, messages, 100)
    [message] = page.handle({"type": "export", "what": "csv"})
    rows = list(csv.DictReader(io.StringIO(message["text"])))
    assert len(rows) == len(frames) - 1
    assert float(rows[-1]["gap"]) == frames[-1]["values"]["gap"]
    assert {row["claims hold"] for row in rows} == {"True"}


@pytest.mark.parametrize("number", range(len(LESSONS)))
def test_every_lesson_has_a_run_with_claims(number):
    page = Page()
    messages = page.handle({"type": "lesson", "number": number})
    assert messages[0]["lesson"] == number
    if messages[0]["waits"]:
        messages += page.handle({"type": "pick", "rows": [0], "step": 0})
    frames = frames_of(page, messages, 30)
    assert frames[-1]["number"] > 1 or messages[0]["waits"]
    assert all(claim[-1] for frame in frames for claim in frame["claims"])


def test_there_are_twelve_lessons_with_questions():
    assert len(LESSONS) == 12
    assert all("?" in lesson.question and lesson.answer and lesson.idea for lesson in LESSONS)
    document = (Path(__file__).parents[2] / "docs" / "lab.md").read_text(encoding="utf-8")
    assert re.findall(r"^\d+\. (.+)$", document, re.MULTILINE) == [lesson.title for lesson in LESSONS]


def bound_of(number):
    """The bound of a lesson's first page, and the updates of its whole run."""
    page = Page()
    messages = page.handle({"type": "lesson", "number": number})
    frames = frames_of(page, messages, 1000)
    bound = messages[0]["bound"]
    return int((bound["R"] / bound["gamma"]) ** 2), frames[-1]["updates"]


def test_the_numbers_in_the_lessons_are_those_of_their_runs():
    most, needed = bound_of(0)
    assert f"{most}, that is (R/γ)²" == LESSONS[0].choices[LESSONS[0].right]
    assert f"{needed} updates of the cyclic order" in LESSONS[2].question
    tiny, short = bound_of(4)
    assert LESSONS[4].choices[2] == f"{tiny}, the square"
    assert LESSONS[4].answer.startswith(f"{tiny}, against {most}")
    assert f"This run needs {short}:" in LESSONS[4].answer
    X, y = np.array(LESSONS[2].state.points), np.array(LESSONS[2].state.labels)
    shuffled = lectures.online_perceptron(X, y, order="shuffled", seed=1)
    assert any(sum(bool(step.rows) for step in run) < needed for run in [shuffled])
    # An update that was made for a point again: it was not correct for ever.
    rows = [step.rows for step in lectures.online_perceptron(X, y) if step.rows]
    assert len(set(rows)) < len(rows)


def test_a_lesson_stays_in_the_address_through_changes_of_its_parameters():
    page = Page()
    page.handle({"type": "lesson", "number": 9})
    state, _ = page.handle({"type": "set", "name": "C", "value": 4.0})
    assert state["lesson"] == 9
    other = Page()
    _, state, *_ = other.handle({"type": "open", "code": state["code"]})
    assert (state["lesson"], state["values"]["C"]) == (9, 4.0)
    state, _ = other.handle({"type": "algorithm", "name": "ascent"})
    assert state["lesson"] is None


@pytest.mark.parametrize("algorithm", ["online", "batch", "margin", "gradient"])
def test_a_run_starts_from_any_hyperplane(algorithm):
    page, _ = opened(algorithm, "separable")
    state, frames = page.handle({"type": "start", "w1": -0.31234567, "w2": 2.0, "b": 0.25, "step": 3})
    assert state["values"]["start"] == "yours"
    first = frames["frames"][0]
    assert (first["w"], first["b"]) == ([-0.3123, 2.0], 0.25)
    page.handle({"type": "set", "name": "start_w1", "value": -5})
    state, frames = page.handle({"type": "set", "name": "intercept", "value": False})
    assert {"start_w1", "start_w2"} <= set(state["controls"])
    assert "start_b" not in state["controls"]
    first, second = frames["frames"][:2]
    assert (first["w"], first["b"]) == ([-5.0, 2.0], 0.0)
    assert second["wBefore"] == [-5.0, 2.0]
    assert all(claim[-1] for frame in frames["frames"] for claim in frame["claims"])
    [message] = page.handle({"type": "export", "what": "python", "step": 1})
    assert f"b {second['b']!r}" in run_python(message["text"])
    assert decode(encode(page.state)) == page.state


def test_algorithms_without_w_start_from_no_hyperplane():
    page, _ = opened("smo", "separable")
    assert "starts from no hyperplane" in only_error(page.handle({"type": "start", "w1": 1, "w2": 1, "b": 0}))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    "chosen", [{}, {"start": "yours", "kernel": "poly", "feature_kernel": "poly", "order": "shuffled"}]
)
def test_every_control_that_is_shown_changes_the_run(algorithm, chosen):
    state = from_preset("separable", algorithm, **chosen)
    steps = first_steps(state)
    for name in runs.controls(state):
        parameter = PARAMETERS[name]
        if parameter.kind == "number":
            others = [parameter.low, parameter.low + 0.7 * (parameter.high - parameter.low)]
        else:
            others = {"choice": parameter.choices[1:], "switch": [not state[name]], "count": [1, 6]}[parameter.kind]
        assert any(first_steps(state.with_parameter(name, other)) != steps for other in others), name


def first_steps(state):
    run = runs.Run(state)
    run.extend(15, seconds=60)
    return [(step.rows, step.alpha.tolist(), step.margins.tolist()) for step in run.steps]


def test_nobody_beats_the_margin():
    page, _ = opened("hulls", "separable")
    generator = np.random.default_rng(0)
    best = 0.0
    for w1, w2, b in generator.standard_normal((200, 3)):
        [message] = page.handle({"type": "hyperplane", "w1": w1, "w2": w2, "b": 2 * b})
        assert message["claims"][0][-1]
        best = max(best, message["values"]["margin"])
    facts = page.state_message()["facts"]
    assert 0 < best <= facts["upper"]
    [message] = page.handle({"type": "hyperplane", "w1": facts["w"][0], "w2": facts["w"][1], "b": facts["b"]})
    assert message["values"]["margin"] == pytest.approx(facts["upper"], rel=1e-5)


@pytest.mark.parametrize("algorithm", ["smo", "ascent"])
def test_no_dragged_alpha_has_a_larger_dual_than_the_primal(algorithm):
    page, messages = opened(algorithm, "overlap", C=1.0)
    frames_of(page, messages, 400)
    generator = np.random.default_rng(1)
    y = np.array(page.state.labels)
    for _ in range(100):
        row, value, step = int(generator.integers(len(y))), float(2 * generator.random()), int(generator.integers(30))
        [message] = page.handle({"type": "alpha", "row": row, "value": value, "step": step})
        assert all(claim[-1] for claim in message["claims"])
        assert math.isfinite(message["values"]["dual"])
        if algorithm == "smo":
            assert abs(np.dot(message["alpha"], y)) < 1e-12


def test_inseparable_points_come_with_the_point_of_both_hulls():
    page, messages = opened("online", "both labels")
    facts = messages[1]["facts"]
    assert facts["separable"] is False
    X, y, c = np.array(page.state.points), np.array(page.state.labels), np.array(facts["hull_weights"])
    for sign in (1, -1):
        assert c[y == sign].sum() == pytest.approx(1)
        np.testing.assert_allclose(c[y == sign] @ X[y == sign], facts["meeting"], atol=1e-6)


CSV = "a;b;class;c\n1;2;yes;0\n2;1;no;1\n0;0;no;2\n"


def test_csv_and_svmlight_are_read():
    table, _ = read_text(CSV)
    assert table.columns == ("a", "b", "c")
    assert table.y == ("yes", "no", "no")
    np.testing.assert_array_equal(table.X, [[1, 2, 0], [2, 1, 1], [0, 0, 2]])
    table, _ = read_text("+1 1:0.5 3:2 # a comment\n-1 2:1e-3\n")
    np.testing.assert_array_equal(table.X, [[0.5, 0, 2], [0, 1e-3, 0]])
    assert table.y == ("1", "-1")
    assert table.points((0, 1))[1] == (1, -1)
    table, _ = read_text("1,2,1\n3,4,0\n")
    assert table.columns == ("column 1", "column 2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no rows"), ("1,2,1\n", "one label"), ("a,b,c\n", "no rows"), ("1,2,1\n3,x,0\n", "line 2"),
        ("1,2,1\n3,0\n", "line 2"), ("1,nan,1\n3,0,0\n", "line 1"), ("1 1:1e999\n0 1:2\n", "line 1"),
        ("1 0:3\n0 1:2\n", "index"), ("1 999999999:3\n0 1:2\n", "index"), ("1,2\n3,4\n", "two numbers"),
        ("x" * 600_000, "at most"),
    ],
)  # fmt: skip
def test_bad_tables_are_refused_by_their_line(text, message):
    assert message in only_error(Page().handle({"type": "paste", "text": text}))


def test_columns_and_principal_components_of_a_table():
    page = Page()
    state, _ = page.handle({"type": "preset", "name": "iris"})
    assert state["table"]["shown"] == [2, 3]
    table = table_of("iris")
    page.handle({"type": "columns", "columns": [0, 3], "positive": 0})
    np.testing.assert_allclose(page.state.points, table.X[:, [0, 3]])
    assert page.state.labels == tuple(1 if name == "setosa" else -1 for name in table.y)
    state, _ = page.handle({"type": "columns", "columns": "principal components", "positive": 1})
    points = np.array(page.state.points)
    assert abs(np.corrcoef(points.T)[0, 1]) < 1e-4
    assert points[:, 0].var() > points[:, 1].var()
    assert state["table"]["shown"] == "principal components"
    assert "no point 99" in only_error(page.handle({"type": "columns", "columns": [0, 99], "positive": 0}))


def test_large_tables_are_thinned_and_it_is_said():
    text = "".join(f"{k},{k % 7},{k % 2}\n" for k in range(5000))
    page = Page()
    state, _ = page.handle({"type": "paste", "text": text})
    assert len(page.state.points) == 1000
    assert "5000 rows, of which 1000" in state["notice"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)
FIELDS = ("name", "value", "row", "rows", "x", "y", "label", "step", "to", "text", "columns", "positive", "w1", "w2",
          "b", "what", "number", "code", "lesson", "dragging")  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(
    kind=st.sampled_from(sorted(Page()._handlers)) | st.text(max_size=5),
    fields=st.dictionaries(
        st.sampled_from(FIELDS), json_values | st.sampled_from([*ALGORITHMS, *PARAMETERS]), max_size=6
    ),
)
def test_no_event_breaks_the_page(kind, fields):
    page = Page(from_preset("xor"))
    messages = page.handle({"type": kind, **fields})
    assert messages
    assert not messages[-1].get("message", "").startswith("unexpected")
    json.dumps(messages, allow_nan=False)
    assert isinstance(page.state, State)


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(st.sampled_from("adpqcs"), json_values, max_size=6),
    st.sampled_from([{}, {"d": "xor"}, {"d": "xor", "a": "smo"}, {"p": [[0, 1, 1]], "a": "online"}]),
)
def test_no_address_breaks_the_page(content, sound):
    packed = base64.urlsafe_b64encode(zlib.compress(json.dumps({**content, **sound}).encode())).decode().rstrip("=")
    messages = Page(from_preset("xor")).handle({"type": "open", "code": f"1.{packed}"})
    assert [message["type"] for message in messages[:3]] == ["catalog", "state", "frames"]


@pytest.mark.parametrize("event", [None, 3, [], {}, {"type": 4}, {"type": "nothing"}, {"type": "open", "step": -1}])
def test_events_that_are_none_are_refused(event):
    page = Page()
    before = page.state
    assert only_error(page.handle(event))
    assert page.state == before


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"type": "set", "name": "C", "value": -1}, "C must be"),
        ({"type": "set", "name": "kernel", "value": "none"}, "kernel must be one of"),
        ({"type": "set", "name": "nothing", "value": 1}, "no parameter"),
        ({"type": "set", "name": "degree", "value": 2.5}, "whole number"),
        ({"type": "add", "x": 1e300, "y": 0, "label": 1}, "coordinate"),
        ({"type": "add", "x": 1, "y": 0, "label": 2}, "label"),
        ({"type": "erase", "row": 1000}, "no point"),
        ({"type": "algorithm", "name": "magic"}, "no algorithm"),
        ({"type": "pick", "rows": [0, 1]}, "one point"),
    ],
)
def test_bad_values_are_refused_by_name(event, message):
    page = Page()
    before = page.state
    assert message in only_error(page.handle(event))
    assert page.state == before


def test_the_page_takes_a_bounded_number_of_points():
    page = Page(from_preset("nothing").with_points([(float(k), 0.0) for k in range(1000)], [1, -1] * 500))
    assert "at most 1000" in only_error(page.handle({"type": "add", "x": 0.0, "y": 0.0, "label": 1}))


@pytest.mark.parametrize(
    ("points", "labels"),
    [
        ([(0.0, 0.0)], [1]), ([(0.0, 0.0), (0.0, 0.0)], [1, -1]), ([(1e100, 0.0), (-1e100, 1.0)], [1, -1]),
        ([(1e-300, 0.0), (0.0, 1e-300)], [1, -1]), ([(1.0, 1.0)] * 3, [1, 1, 1]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_odd_points_are_shown_or_refused_but_break_nothing(algorithm, points, labels):
    for parameters in ({}, {"intercept": False}, {"unit_length": True}):
        state = from_preset("nothing", algorithm, **parameters).with_points(points, labels)
        page = Page(state)
        messages = page.handle({"type": "open"})
        json.dumps(messages, allow_nan=False)
        assert messages[-1]["type"] == "frames", messages
        assert messages[-1]["frames"] or messages[-1]["problem"]
