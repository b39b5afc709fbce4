"""A server on a loopback port that stands in front of the service and fails on purpose."""

import socketserver
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from http.client import parse_headers

from tests.contract.transports import Headers, Reply

Service = Callable[[str, str, Headers, bytes], Reply]


class Trouble(Enum):
    DROPPED = auto()  # the connection ends before the service has seen the request
    LOST = auto()  # the service has acted, and the connection ends before its answer
    CUT_SHORT = auto()  # the service has acted, and the connection ends within its answer
    LATE = auto()  # the service has acted, and its answer stays away for longer than anyone waits


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: Headers
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for known, value in self.headers if known.lower() == name.lower()), None)


class FailingFront(socketserver.ThreadingTCPServer):
    """Meets each request with the next of `steps`: a trouble, an answer of its own, or None and the service's answer.

    When the steps are used up, the service answers.
    """

    def __init__(self, service: Service, steps: Sequence[Trouble | Reply | None]) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.service = service
        self.steps = list(steps)
        self.requests: list[Request] = []
        self.answers: list[Reply] = []
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def posts(self) -> list[Request]:
        return [request for request in self.requests if request.method == "POST"]


class _Connection(socketserver.StreamRequestHandler):
    """One request, and no more on this connection."""

    server: FailingFront

    def handle(self) -> None:
        method, target, _ = self.rfile.readline().decode().split()
        headers = parse_headers(self.rfile)
        body = self.rfile.read(int(headers.get("Content-Length", 0)))
        request = Request(method, target, headers.items(), body)
        self.server.requests.append(request)
        step = self.server.steps.pop(0) if self.server.steps else None
        if step is Trouble.DROPPED:
            return
        reply = step if isinstance(step, Reply) else self.pass_on(request)
        if step is Trouble.LATE:
            self.server.over.wait(20)
        elif step is not Trouble.LOST:
            message = _message(reply)
            if step is not Trouble.CUT_SHORT:
                self.server.answers.append(reply)  # before the client has it, and its test goes on
            self.wfile.write(message[:-1] if step is Trouble.CUT_SHORT else message)

    def pass_on(self, request: Request) -> Reply:
        headers = [(name, value) for name, value in request.headers if name.lower() != "connection"]
        return self.server.service(request.method, request.target, headers, request.body)


def _message(reply: Reply) -> bytes:
    fields = [(name, value) for name, value in reply.headers if name.lower() not in ("connection", "content-length")]
    fields += [("Content-Length", str(len(reply.body))), ("Connection", "close")]
    lines = [f"HTTP/1.1 {reply.status} Status", *(f"{name}: {value}" for name, value in fields), "", ""]
    return "\r\n".join(lines).encode("latin-1") + reply.body


@contextmanager
def failing_front(service: Service, steps: Sequence[Trouble | Reply | None] = ()) -> Iterator[FailingFront]:
    with FailingFront(service, steps) as front:
        thread = threading.Thread(target=front.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield front
        finally:
            front.over.set()
            front.shutdown()
            thread.join()
