"""The server of the page: this machine only, one WebSocket a tab, a secret token in the address.

Other pages in the same browser cannot talk to it: they do not know the token, and their Origin is refused. Messages are
bounded in size and number, the tabs share nothing, and what belongs to a tab is freed when it is closed.
"""

import asyncio
import json
import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from maxmargin.lab.page import Page

STATIC = Path(__file__).parent / "static"
FILES = {
    "": ("index.html", "text/html"),
    "page.js": ("page.js", "text/javascript"),
    "lab.js": ("lab.js", "text/javascript"),
    "lab.css": ("lab.css", "text/css"),
}
# Bytes of a message, tabs at a time.
MAX_MESSAGE, MAX_TABS = 1_000_000, 16
# Nothing but the page's own files and its socket; pictures are drawn in the browser (data:, blob:).
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


def lab_app(token: str, port: int, new_page: Callable[[], Page] = Page) -> Starlette:
    """The application: the page's files and its socket, both under the token.

    Parameters
    ----------
    token : str
    port : int
        Requests for another host, and sockets from another origin, are refused.
    new_page : callable
        Makes the page of a new tab.
    """
    hosts = {f"{host}:{port}" for host in ("127.0.0.1", "localhost")}
    origins = {f"http://{host}" for host in hosts}
    tabs: set[Page] = set()

    def known(given: str, host: str | None) -> bool:
        return secrets.compare_digest(given.encode(), token.encode()) and host in hosts

    async def file(request: Request) -> Response:
        found = FILES.get(request.path_params["name"])
        if found is None or not known(request.path_params["token"], request.headers.get("host")):
            return PlainTextResponse("not found: use the whole address that maxmargin lab printed", 404, HEADERS)
        name, media_type = found
        return Response((STATIC / name).read_bytes(), media_type=media_type, headers=HEADERS)

    async def socket(websocket: WebSocket) -> None:
        headers = websocket.headers
        if not known(websocket.path_params["token"], headers.get("host")) or headers.get("origin") not in origins:
            await websocket.close(1008)
            return
        if len(tabs) >= MAX_TABS:
            await websocket.accept()
            await websocket.send_text(_error(f"there are {MAX_TABS} tabs open already: close one."))
            await websocket.close(1013)
            return
        await websocket.accept()
        page = new_page()
        tabs.add(page)
        try:
            while True:
                text = await websocket.receive_text()
                for message in await asyncio.to_thread(answer, page, text):
                    await websocket.send_text(json.dumps(message, allow_nan=False))
        except (WebSocketDisconnect, KeyError):
            # KeyError: a message of bytes, which has no text; the tab is closed.
            pass
        finally:
            tabs.discard(page)

    app = Starlette(
        routes=[
            WebSocketRoute("/{token}/ws", socket),
            Route("/{token}/{name:path}", file),
        ]
    )
    app.state.tabs = tabs
    return app


def _error(message: str) -> str:
    return json.dumps({"type": "error", "message": message})


def answer(page: Page, text: str) -> list[dict[str, Any]]:
    """The messages that answer a text from a tab."""
    try:
        if len(text) > MAX_MESSAGE:
            raise ValueError("too long")
        event = json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        return [{"type": "error", "message": f"a message must be JSON of at most {MAX_MESSAGE} characters."}]
    return page.handle(event)


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")


def new_token() -> str:
    """A token that cannot be guessed."""
    return secrets.token_urlsafe(16)


def _prepare() -> None:
    Page().handle({"type": "open"})


class Server:
    """The page's server on one port of this machine.

    Parameters
    ----------
    port : int, default=0
        0 takes a free one.
    new_page : callable
        Makes the page of a new tab.

    Attributes
    ----------
    address : str
        With the token.
    """

    def __init__(self, port: int = 0, new_page: Callable[[], Page] = Page) -> None:
        import socket

        import uvicorn

        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind(("127.0.0.1", port))
        except OSError as error:
            self._socket.close()
            raise OSError(f"--port {port} is not free ({error.strerror}): name another one, or none.") from error
        # From here on requests wait; `run` answers them.
        self._socket.listen()
        port, token = self._socket.getsockname()[1], new_token()
        self.address = f"http://127.0.0.1:{port}/{token}/"
        self.app = lab_app(token, port, new_page)
        self._uvicorn = uvicorn.Server(
            uvicorn.Config(
                self.app, log_level="error", access_log=False, ws="websockets-sansio", ws_max_size=MAX_MESSAGE,
                ws_per_message_deflate=False, server_header=False, timeout_graceful_shutdown=1,
            )
        )  # fmt: skip

    def run(self) -> None:
        """Serve until Ctrl-C, or until `stop` is called from another thread."""
        # The first proof of separability compiles loops, once an installation: meanwhile the page is loaded.
        threading.Thread(target=_prepare, daemon=True).start()
        self._uvicorn.run(sockets=[self._socket])

    def stop(self) -> None:
        """End `run`."""
        self._uvicorn.should_exit = True
