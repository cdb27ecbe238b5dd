"""The server: who is let in, what is refused, what is freed."""

import asyncio
import gc
import http.client
import json
import re
import threading
import time
import weakref
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

pytest.importorskip("starlette", reason="needs the extra lab")
pytest.importorskip("uvicorn", reason="needs the extra lab")
websockets = pytest.importorskip("websockets", reason="needs the extra lab")

from maxmargin.lab import server as lab_server  # noqa: E402
from maxmargin.lab.page import Page  # noqa: E402
from maxmargin.lab.server import MAX_TABS, Server, answer  # noqa: E402


@contextmanager
def running(new_page=Page):
    """A server in a thread."""
    server = Server(0, new_page)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(10)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def served():
    with running() as server:
        yield server


def get(server, path, host=None):
    """Status, headers and body."""
    address = urlsplit(server.address)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    connection.putrequest("GET", path, skip_host=True)
    connection.putheader("Host", host or address.netloc)
    connection.endheaders()
    response = connection.getresponse()
    return response.status, dict(response.getheaders()), response.read()


def socket_address(server):
    return server.address.replace("http:", "ws:") + "ws"


def connect(server, address=None, **options):
    options.setdefault("open_timeout", 60)
    options.setdefault("origin", server.address.rsplit("/", 2)[0])
    return websockets.connect(address or socket_address(server), max_size=None, **options)


async def asked(socket, event, answers):
    """The answers to an event, which are as many as the page gives."""
    await socket.send(event if isinstance(event, (str, bytes)) else json.dumps(event))
    return [json.loads(await asyncio.wait_for(socket.recv(), 120)) for _ in range(answers)]


def test_it_listens_on_this_machine_only(served):
    assert served._socket.getsockname()[0] == "127.0.0.1"


def test_files_need_the_token_and_a_host_of_this_machine(served):
    path = urlsplit(served.address).path
    status, headers, body = get(served, path)
    assert status == 200
    assert b"lab.css" in body
    assert "default-src 'none'" in headers["content-security-policy"]
    for wrong in ("/", "/wrong/", path + "../server.py", path + "server.py", path[:-2] + "/", path + "%2e%2e/page.py"):
        assert get(served, wrong)[0] == 404
    assert get(served, path, host="evil.example:80")[0] == 404


def test_the_page_asks_for_no_other_host():
    for name in ("index.html", "page.js", "lab.js", "lab.css"):
        text = (lab_server.STATIC / name).read_text(encoding="utf-8")
        found = set(re.findall(r"(?:https?:)?//[a-z][\w.-]+\.[a-z]+", text)) - {"http://www.w3.org"}
        assert not found, name
        assert "@import" not in text


def test_sockets_need_the_token_and_the_origin(served):
    async def refused(address=None, **options):
        with pytest.raises(websockets.exceptions.InvalidStatus) as error:
            async with connect(served, address, **options):
                pass
        return error.value.response.status_code

    token = urlsplit(served.address).path
    assert asyncio.run(refused(origin="http://evil.example")) == 403
    assert asyncio.run(refused(origin=None)) == 403
    assert asyncio.run(refused(socket_address(served).replace(token, "/wrong/"))) == 403


def test_tabs_share_no_state(served):
    async def run():
        async with connect(served) as one, connect(served) as two:
            await asked(one, {"type": "open"}, 3)
            await asked(two, {"type": "open"}, 3)
            await asked(one, {"type": "preset", "name": "xor"}, 2)
            [state, _] = await asked(two, {"type": "add", "x": 0.5, "y": 0.5, "label": 1}, 2)
            return state

    state = asyncio.run(run())
    assert len(state["points"]) == len(Page().state.points) + 1


def test_a_closed_tab_frees_its_memory():
    pages = weakref.WeakSet()

    def new_page():
        page = Page()
        pages.add(page)
        return page

    async def run(server):
        for _ in range(3):
            async with connect(server) as socket:
                await asked(socket, {"type": "open"}, 3)

    with running(new_page) as server:
        asyncio.run(run(server))
        deadline = time.monotonic() + 10
        while (server.app.state.tabs or len(pages)) and time.monotonic() < deadline:
            time.sleep(0.05)
            gc.collect()
        assert not server.app.state.tabs
        assert not len(pages)


def test_more_tabs_than_allowed_are_told_so(monkeypatch):
    monkeypatch.setattr(lab_server, "MAX_TABS", 1)

    async def run(server):
        async with connect(server) as one:
            await asked(one, {"type": "open"}, 3)
            async with connect(server) as two:
                return json.loads(await two.recv())

    with running() as server:
        assert "tabs open" in asyncio.run(run(server))["message"]
    assert MAX_TABS > 1


@pytest.mark.parametrize(
    "text",
    ["{", "[1", "NaN", '{"type": "add", "x": NaN, "y": 0, "label": 1}', "[" * 100_000, '{"a": 1e999}', "5" * 2_000_000],
)
def test_hostile_texts_are_answered_with_an_error(text):
    [message] = answer(Page(), text)
    assert message["type"] == "error"


def test_hostile_messages_end_the_tab_at_worst(served):
    async def run():
        async with connect(served) as socket:
            [error] = await asked(socket, "not json", 1)
            assert error["type"] == "error"
            assert len(await asked(socket, {"type": "open"}, 3)) == 3
            with pytest.raises(websockets.exceptions.ConnectionClosed):
                await asked(socket, "x" * 3_000_000, 1)
        async with connect(served) as socket:
            with pytest.raises(websockets.exceptions.ConnectionClosed):
                await asked(socket, b"\x00\xff", 1)
        async with connect(served) as socket:
            return await asked(socket, {"type": "open"}, 3)

    assert len(asyncio.run(run())) == 3


def test_a_port_that_is_taken_is_refused_by_name(served):
    port = urlsplit(served.address).port
    with pytest.raises(OSError, match=f"--port {port} is not free"):
        Server(port)
