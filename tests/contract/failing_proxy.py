"""A proxy on a loopback port that injects faults between a client and the service."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer

from tests.contract.transports import Headers, Reply

Service = Callable[[str, str, Headers, bytes], Reply]
# The headers that the proxy does not pass on.
_OF_ONE_CONNECTION = ("connection", "content-length")


class Fault(Enum):
    DROPPED = auto()  # the connection ends before the service receives the request
    LOST = auto()  # the service processes the request, and the connection ends before the response
    CUT_SHORT = auto()  # the service processes the request, and the connection ends within the response
    LATE = auto()  # the service processes the request, and the response comes after the client's timeout


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: Headers
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for known, value in self.headers if known.lower() == name.lower()), None)


class FailingProxy(ThreadingTCPServer):
    """A proxy that treats each request according to the next of `steps`.

    A step is a fault, a response of the proxy itself, or None for the service's response. After the last step, every
    request gets the service's response.
    """

    def __init__(self, service: Service, steps: Sequence[Fault | Reply | None]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.service = service
        self.steps = list(steps)
        self.requests: list[Request] = []
        self.is_over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def posts(self) -> list[Request]:
        return [request for request in self.requests if request.method == "POST"]


class _Handler(BaseHTTPRequestHandler):
    """A handler of connections, which carry one request each."""

    server: FailingProxy

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = [(name, value) for name, value in self.headers.items() if name.lower() != "connection"]
        request = Request(self.command, self.path, headers, body)
        self.server.requests.append(request)
        step = self.server.steps.pop(0) if self.server.steps else None
        if step is Fault.DROPPED:
            return
        reply = step if isinstance(step, Reply) else self.server.service(self.command, self.path, headers, body)
        if step is Fault.LATE:
            self.server.is_over.wait(20)
        elif step is not Fault.LOST:
            self.send_response_only(reply.status)
            for name, value in reply.headers:
                if name.lower() not in _OF_ONE_CONNECTION:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body[:-1] if step is Fault.CUT_SHORT else reply.body)

    do_GET = do_POST  # noqa: N815


@contextmanager
def failing_proxy(service: Service, steps: Sequence[Fault | Reply | None] = ()) -> Iterator[FailingProxy]:
    with FailingProxy(service, steps) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield proxy
        finally:
            proxy.is_over.set()
            proxy.shutdown()
            thread.join()
