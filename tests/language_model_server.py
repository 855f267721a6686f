"""A server on the loopback address that speaks the protocol of OpenAI's chat completions, well or badly."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[["Request"], None]


@dataclass
class Request:
    """A request and the means to answer it; ``number`` counts from 0."""

    number: int
    path: str
    headers: dict[str, str]
    payload: dict[str, Any]
    handler: BaseHTTPRequestHandler
    stopped: threading.Event

    @property
    def user(self) -> str:
        """Return the text of the user's message."""
        return str(self.payload["messages"][-1]["content"])

    def send(self, body: bytes, status: int = 200, length: int | None = None, **headers: str) -> None:
        """Send a response; ``length`` is what its header claims."""
        self.handler.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.handler.send_header(name.replace("_", "-"), value)
        self.handler.send_header("Content-Length", str(len(body) if length is None else length))
        self.handler.end_headers()
        self.handler.wfile.write(body)

    def say(self, content: str) -> None:
        """Send a chat completion with this text."""
        self.send(json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode())


@dataclass
class Server:
    """A running server and the requests that it has got."""

    url: str
    requests: list[Request] = field(default_factory=list)


@contextmanager
def language_model_server(reply: Reply) -> Iterator[Server]:
    """Serve on a free port until the end of the block; hanging replies end with it."""
    stopped, lock = threading.Event(), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                got = Request(len(served.requests), self.path, dict(self.headers), payload, self, stopped)
                served.requests.append(got)
            with suppress(OSError):
                reply(got)

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads, block_on_close = True, False

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Print nothing when a client goes away."""

    server = Quiet(("127.0.0.1", 0), Handler)
    served = Server(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()
