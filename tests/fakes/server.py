"""A provider on loopback: takes requests of a real client, refuses what the provider would refuse.

A fake is one `answer` method. What it raises as `RefusalError` is the provider's error; anything
else is a fault of the test and reaches the client as status 500.
"""

from __future__ import annotations

import json
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol


class RefusalError(Exception):
    """What the provider does not take."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


class Fake(Protocol):
    """A provider's rules."""

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> Any:
        """The JSON of the answer, or `RefusalError`."""
        ...

    def error(self, refused: RefusalError) -> Any:
        """The JSON of an error."""
        ...


@contextmanager
def serving(fake: Fake) -> Iterator[str]:
    """The base URL of a fake while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["content-length"])
            body = json.loads(self.rfile.read(size))
            try:
                status, said = 200, fake.answer(self.path, body, self.headers)
            except RefusalError as refused:
                status, said = refused.status, fake.error(refused)
            except Exception:
                status, said = 500, fake.error(RefusalError(traceback.format_exc(), 500))
            data = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
