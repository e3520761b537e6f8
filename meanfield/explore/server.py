"""The server of `meanfield explore`: a page for this machine only, and its runs.

It listens on the loopback address. It answers only requests with the random word in the address and
with a local host name. It serves its own files only. A run is answered line by line, one JSON
message each (`physics.explored`). There is one computation at a time: a new request ends the
previous one, and a closed page ends its own.
"""

from __future__ import annotations

import errno
import hmac
import json
import math
import os
import secrets
import select
import socket
import threading
import time as clock
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np

from meanfield.errors import one_line
from meanfield.explore.physics import CARRIERS, MANIFOLDS, Setting, explored, setting_of
from meanfield.figures.view import module_text

HOST = "127.0.0.1"
# Parts of these import each other in circles. If two threads load one at once, as the first page
# and `warm_up` do, one of them may get a half-loaded module.
_LOADED_FIRST = ("numba", "scipy.integrate", "scipy.linalg", "scipy.sparse")
# Random bytes of the secret.
_SECRET_BYTES = 24
# Seconds between two checks whether the client is connected, or it is this computation's turn.
_LOOK = 0.1
# Seconds that a computation may take to end with the server.
_PATIENCE = 3.0
# Limits of a query; the page needs less.
_LONGEST_QUERY, _MOST_KEYS = 2000, 20
_FOLDER = files(__package__)
PAGES = {"": _FOLDER.joinpath("page.html"), "explore.js": _FOLDER.joinpath("explore.js")}
"""Files of the page by their path below its address."""
_HTML, _SCRIPT = "text/html; charset=utf-8", "text/javascript; charset=utf-8"
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; "
        "connect-src 'self'; img-src data: blob:; frame-ancestors 'none'; base-uri 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Superseded(Exception):
    """A computation whose result is no longer needed."""


@dataclass
class Turns:
    """One computation at a time, the newest first.

    >>> turns = Turns()
    >>> first = turns.take()
    >>> second = turns.take()
    >>> turns.is_over(first), turns.is_over(second)
    (True, False)
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    newest: int = 0
    closed: bool = False
    _counting: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> int:
        """Number of a new computation, which ends all others."""
        with self._counting:
            self.newest += 1
            return self.newest

    def is_over(self, number: int) -> bool:
        """True if a computation must end."""
        return self.closed or number != self.newest

    @contextmanager
    def turn(self, check: Callable[[], None]) -> Iterator[None]:
        """Context without other computations; `check` may raise while it waits for its turn."""
        while not self.lock.acquire(timeout=_LOOK):
            check()
        try:
            yield
        finally:
            self.lock.release()

    def close(self) -> None:
        """End the current computation, and wait for it for some seconds."""
        self.closed = True
        if self.lock.acquire(timeout=_PATIENCE):
            self.lock.release()


class ExploreServer(ThreadingHTTPServer):
    """Server of one page; see the header of this module."""

    daemon_threads = True
    # Most waiting connections; the system may have a lower limit.
    request_queue_size = 1024
    # On POSIX this makes the port of an earlier server free at once. Elsewhere the option would let
    # two servers share a port.
    allow_reuse_address = os.name == "posix"

    def __init__(self, port: int = 0) -> None:
        for name in _LOADED_FIRST:
            # A package that is not installed is not used.
            with suppress(ImportError):
                import_module(name)
        try:
            super().__init__((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            used = getattr(error, "errno", None) == errno.EADDRINUSE
            reason = getattr(error, "strerror", None) or error
            what = "is in use" if used else f"cannot be opened: {reason}"
            raise ValueError(
                f"port {port} {what}. Choose another --port, or leave it out."
            ) from None
        self.secret = secrets.token_urlsafe(_SECRET_BYTES)
        self.turns = Turns()

    @property
    def address(self) -> str:
        """Address of the page, with the secret."""
        return f"http://{HOST}:{self.server_address[1]}/{self.secret}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        """Host names that a browser may use; another name may be a DNS rebinding attack."""
        return tuple(f"{name}:{self.server_address[1]}" for name in (HOST, "localhost"))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors of connections that a browser has closed."""


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: ExploreServer
    server_version, sys_version = "meanfield", ""
    # Seconds that a browser may take to read a line.
    timeout = 60

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        host = self.headers.get("Host", "")
        first, slash, name = parts.path.removeprefix("/").partition("/")
        authorised = hmac.compare_digest(first.encode(), self.server.secret.encode())
        if host not in self.server.hosts or not authorised:
            self._say(HTTPStatus.FORBIDDEN, "The address of this page has a secret word.")
        elif not slash:
            # Paths in the page are relative to the address with a slash.
            self._begin(HTTPStatus.PERMANENT_REDIRECT, _HTML, {"Location": f"/{first}/"})
        elif name == "run":
            self._run(parts.query)
        elif name == "view.js":
            self._send(HTTPStatus.OK, module_text().encode(), _SCRIPT)
        elif name in PAGES:
            self._send(HTTPStatus.OK, PAGES[name].read_bytes(), _SCRIPT if name else _HTML)
        else:
            self._say(HTTPStatus.NOT_FOUND, "There is nothing here.")

    def log_message(self, format: str, *arguments: Any) -> None:
        """Keep the terminal quiet."""

    def _say(self, status: HTTPStatus, text: str) -> None:
        self._send(status, f"{text}\n".encode(), "text/plain; charset=utf-8")

    def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self._begin(status, kind, {"Content-Length": str(len(content))})
        self.wfile.write(content)

    def _begin(self, status: HTTPStatus, kind: str, more: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in ({"Content-Type": kind} | _HEADERS | more).items():
            self.send_header(name, value)
        self.end_headers()

    def _run(self, query: str) -> None:
        """Answer with the messages of a run, line by line."""
        turns = self.server.turns
        number = turns.take()
        check = _watching(lambda: turns.is_over(number), self.connection)
        self._begin(HTTPStatus.OK, "application/x-ndjson", {})
        # NumPy's warnings are set for each thread; overflow becomes an error of ours or a null.
        with suppress(Superseded, OSError), np.errstate(all="ignore"):
            try:
                if len(query) > _LONGEST_QUERY:
                    raise ValueError("the address is too long.")
                pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=_MOST_KEYS)
                messages = explored(setting_of(dict(pairs)), check)
                # Rates do not wait for their turn.
                self._line(next(messages))
                with turns.turn(check):
                    try:
                        for message in messages:
                            check()
                            self._line(message)
                    except Superseded:
                        if turns.closed:
                            self._line({"kind": "failed", "text": "meanfield explore has ended."})
                        raise
            except ValueError as error:
                self._line({"kind": "refused", "text": one_line(str(error))})
            except (Superseded, OSError):
                raise
            except Exception as error:
                # A bug, or no memory: the page shows it, and the next setting may work.
                text = one_line(f"{type(error).__name__}: {error}")
                self._line({"kind": "failed", "text": text})

    def _line(self, message: dict[str, Any]) -> None:
        self.wfile.write(json.dumps(message, allow_nan=False).encode() + b"\n")
        self.wfile.flush()


def _watching(is_over: Callable[[], bool], connection: socket.socket) -> Callable[[], None]:
    """Function that raises `Superseded` once `is_over()` is true or the client has left."""
    last = -math.inf

    def check() -> None:
        nonlocal last
        if is_over():
            raise Superseded
        now = clock.monotonic()
        if now - last < _LOOK:
            return
        last = now
        readable, _, _ = select.select([connection], [], [], 0.0)
        if readable and not connection.recv(1, socket.MSG_PEEK):
            raise Superseded

    return check


def warm_up(turns: Turns, report: Callable[[str], None]) -> None:
    """Compile or load all kernels for the page's settings, in the order of use.

    It ends when turns are closed. It takes no turn, as a page would wait. report gets a line at the
    end.
    """

    def check() -> None:
        if turns.closed:
            raise Superseded

    began = clock.monotonic()
    with np.errstate(all="ignore"), suppress(Superseded):
        for setting in _first_settings():
            check()
            for _ in explored(setting, check, runs=2):
                pass
    if not turns.closed:
        report(f"ready after {clock.monotonic() - began:.1f} s")


def _first_settings() -> Iterator[Setting]:
    """Small runs that use all kernels of other settings."""
    for manifold in MANIFOLDS:
        for tokens in (1000, 20):
            yield Setting(manifold, beta=4.0, tokens=tokens, length=0.1)  # type: ignore[arg-type]
        for carrier in CARRIERS:
            yield Setting(
                manifold,  # type: ignore[arg-type]
                beta=4.0,
                carrier=carrier,
                diffusivity=0.01,
                tokens=20,
                length=0.1,
            )
