"""A real OpenAI-compatible HTTP server on loopback whose behaviour a test chooses, faults included."""

from __future__ import annotations

import base64
import io
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from PIL import Image as pillow
from PIL.Image import Image


@dataclass
class Answer:
    """What the server sends back. The default is a good chat completion."""

    text: str | None = "A reply."
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    finish: str = "stop"
    body: bytes | None = None
    """Sent as it is, in place of a chat completion."""
    cut: int | None = None
    """Send only so many bytes of the body that was announced, then drop the connection."""
    delay: float = 0.0
    """Seconds to wait first; a hang if that is longer than the client's timeout."""


Behaviour = Callable[[dict[str, Any]], Answer]
"""From a request's JSON to the answer. Called in the order of arrival, one at a time."""


class Loopback:
    """``with Loopback(behaviour) as server:`` serves at ``server.url`` until the block ends."""

    def __init__(self, behaviour: Behaviour | None = None, models: Answer | None = None) -> None:
        """``models``: what ``GET /models`` gets, if not an empty list."""
        self.behaviour = behaviour or (lambda request: Answer())
        self.models = models or Answer(body=b'{"object": "list", "data": []}')
        self.requests: list[dict[str, Any]] = []
        """Bodies of all chat requests, in order of arrival."""
        self.headers: list[dict[str, str]] = []
        self.most_in_flight = 0
        self._in_flight = 0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        loopback = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                loopback._stop.wait(loopback.models.delay)
                loopback._send(self, loopback.models)

            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                loopback._answer(self, json.loads(content))

            def log_message(self, format: str, *args: object) -> None:
                """Keep the test's output clean."""

        class Server(ThreadingHTTPServer):
            request_queue_size = 128  # the default of 5 resets connections when many come at once

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler, request: dict[str, Any]) -> None:
        with self._lock:
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
            self.requests.append(request)
            self.headers.append(dict(handler.headers))
            answer = self.behaviour(request)
        try:
            self._stop.wait(answer.delay)
            self._send(handler, answer)
        finally:
            with self._lock:
                self._in_flight -= 1

    def _send(self, handler: BaseHTTPRequestHandler, answer: Answer) -> None:
        body = answer.body if answer.body is not None else _completion(answer)
        try:
            handler.send_response(answer.status)
            handler.send_header("Content-Type", "application/json")
            handler.send_header("Content-Length", str(len(body)))
            for name, value in answer.headers.items():
                handler.send_header(name, value)
            handler.end_headers()
            handler.wfile.write(body if answer.cut is None else body[: answer.cut])
        except ConnectionError:
            pass  # the client gave up waiting
        if answer.cut is not None:
            handler.close_connection = True


def _completion(answer: Answer) -> bytes:
    if answer.status != 200:
        return json.dumps({"error": {"message": f"status {answer.status}", "code": None}}).encode()
    message = {"role": "assistant", "content": answer.text}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    choice = {"index": 0, "message": message, "finish_reason": answer.finish}
    completion = {"id": "x", "object": "chat.completion", "created": int(time.time()), "model": "test"}
    return json.dumps(completion | {"choices": [choice], "usage": usage}).encode()


def verdict(score: object, rationale: str = "Because.") -> Answer:
    """A judge's good answer."""
    return Answer(json.dumps({"Rationale": rationale, "Score": score}))


def last_user(request: dict[str, Any]) -> str:
    """The text of a request's last message."""
    return text_of(request["messages"][-1])


def text_of(message: dict[str, Any]) -> str:
    """A message's text, its parts joined."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content if part["type"] == "text")


def pictures(message: dict[str, Any]) -> list[Image]:
    """The pictures of a message, decoded, in order."""
    content = message["content"]
    parts = [] if isinstance(content, str) else [part for part in content if part["type"] == "image_url"]
    return [_opened(part["image_url"]["url"]) for part in parts]


def _opened(url: str) -> Image:
    head, _, data = url.partition(",")
    assert head.startswith("data:image/")
    assert head.endswith(";base64")
    return pillow.open(io.BytesIO(base64.b64decode(data, validate=True))).convert("RGB")


def order(message: dict[str, Any]) -> list[Any]:
    """What a message is made of, in order: its texts, and for each picture the colour of its middle."""
    content = message["content"]
    if isinstance(content, str):
        return [content]
    return [part["text"] if part["type"] == "text" else middle(_opened(part["image_url"]["url"])) for part in content]


def middle(picture: Image) -> Any:
    """The colour at a picture's centre, (red, green, blue)."""
    return picture.getpixel((picture.width // 2, picture.height // 2))
