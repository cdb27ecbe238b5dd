"""``maxmargin lab``, the recorded page, and the notebook widget."""

import gc
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
import weakref

import numpy as np
import pytest

from maxmargin.lab.data_file import page_maker
from maxmargin.lab.replay import recorded_html
from maxmargin.lab.state import from_preset
from real_data import BUNDLED


def test_importing_the_package_loads_no_server():
    code = (
        "import sys, maxmargin.lab.page; print({'starlette', 'uvicorn', 'anywidget', 'websockets'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"


def test_the_command_prints_the_address_and_serves_the_file(tmp_path):
    pytest.importorskip("uvicorn", reason="needs the extra lab")
    websockets = pytest.importorskip("websockets.sync.client", reason="needs the extra lab")
    data = tmp_path / "rows.csv"
    data.write_text("a,b,c,kind\n" + "".join(f"{k},{k % 3},{k % 5},{'yes' if k % 2 else 'no'}\n" for k in range(30)))
    command = [sys.executable, "-m", "maxmargin", "lab", str(data), "--target", "kind", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    try:
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{20,}/", address)
        assert b"lab.css" in urllib.request.urlopen(address, timeout=60).read()
        origin = address.rsplit("/", 2)[0]
        with websockets.connect(
            address.replace("http", "ws") + "ws", origin=origin, max_size=None, open_timeout=60
        ) as socket:
            socket.send('{"type": "open"}')
            _, state, _ = (json.loads(socket.recv(120)) for _ in range(3))
        assert len(state["points"]) == 30
        assert state["table"]["columns"] == ["a", "b", "c"]
        assert state["table"]["shown"] == "principal components"
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(20) in (0, 130)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["nothing.svm"], "no such file"), (["--port", "70000"], "65535")],
)
def test_bad_arguments_are_one_line(arguments, message, tmp_path):
    command = [sys.executable, "-m", "maxmargin", "lab", "--no-browser", *arguments]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert found.returncode == 2
    assert message in found.stderr
    assert found.stderr.startswith("error:")


@pytest.mark.parametrize(("name", "rows", "columns"), [("heart_scale", 270, 13), ("mushrooms", 1000, 112)])
def test_real_files_are_shown_by_their_principal_components(name, rows, columns):
    path = next(BUNDLED.glob(f"{name}.svm.*"))
    page = page_maker(str(path), target=None, zero_based=False)()
    _, state, frames = page.handle({"type": "open"})
    assert len(state["points"]) == rows
    assert len(state["table"]["columns"]) == columns
    points = np.array(state["points"])
    assert abs(np.corrcoef(points.T)[0, 1]) < 1e-4
    assert all(claim[-1] for frame in frames["frames"] for claim in frame["claims"])


def test_a_recording_holds_the_frames_and_escapes_them():
    html = recorded_html(from_preset("overlap", "smo"))
    found = re.search(r"replayed\((\[.*\])\), el", html)
    messages = json.loads(found.group(1))
    frames = [frame for message in messages if message["type"] == "frames" for frame in message["frames"]]
    assert frames[-1]["reason"] == "optimal"
    assert "<" not in found.group(1)
    assert not re.search(r"(?:src|href)=", html.split("<script")[0])


def test_the_widget_answers_as_the_page_does():
    pytest.importorskip("anywidget", reason="needs the extra notebook")
    from maxmargin.lab.widget import LabWidget

    X, y = np.array([[0.0, 1.0], [2.0, 1.0], [3.0, 0.0]]), np.array([0, 1, 1])
    widget = LabWidget(X, y, algorithm="smo", C=10.0)
    sent = []
    widget.send = sent.append
    widget._handle_custom_msg({"type": "open"}, [])
    assert [message["type"] for message in sent] == ["catalog", "state", "frames"]
    assert sent[1]["labels"] == [-1, 1, 1]
    assert "render" in widget._esm
    with pytest.raises(ValueError, match="two columns"):
        LabWidget(np.ones((3, 3)), y)


def test_widgets_share_no_state_and_a_closed_one_is_freed():
    pytest.importorskip("anywidget", reason="needs the extra notebook")
    from maxmargin.lab.widget import LabWidget

    one, two = LabWidget(algorithm="smo"), LabWidget(algorithm="hulls")
    for widget in (one, two):
        widget.send = lambda _: None
        widget._handle_custom_msg({"type": "open"}, [])
    two._handle_custom_msg({"type": "clear"}, [])
    assert one.page.state.points
    assert not two.page.state.points
    kept = weakref.ref(two.page)
    two.close()
    del two, widget
    gc.collect()
    assert kept() is None
