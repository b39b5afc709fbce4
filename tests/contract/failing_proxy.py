"""A proxy that injects faults between a client and the service."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum, auto
from threading import Event
from typing import NamedTuple

from tests.contract.transports import Headers, Reply
from tests.http_server import Request, http_server

Service = Callable[[str, str, Headers, bytes], Reply]


class Fault(Enum):
    DROPPED = auto()  # the connection ends before the service receives the request
    LOST = auto()  # the service processes the request, and the connection ends before the response
    CUT_SHORT = auto()  # the service processes the request, and the connection ends within the response
    LATE = auto()  # the service processes the request, and the response comes after the client's timeout


class FailingProxy(NamedTuple):
    """The URL of a running proxy, and the requests that it has received."""

    url: str
    requests: list[Request]

    @property
    def posts(self) -> list[Request]:
        return [request for request in self.requests if request.method == "POST"]


@contextmanager
def failing_proxy(service: Service, steps: Sequence[Fault | Reply | None]) -> Iterator[FailingProxy]:
    """Run a proxy that treats each request according to the next of `steps`.

    A step is a fault, a response of the proxy itself, or None for the service's response. After the last step, every
    request gets the service's response.
    """
    remaining, requests, is_over = list(steps), list[Request](), Event()

    def answer(request: Request) -> Reply | None:
        requests.append(request)
        step = remaining.pop(0) if remaining else None
        if step is Fault.DROPPED:
            return None
        headers = [header for header in request.headers if header[0] != "Connection"]
        reply = step if isinstance(step, Reply) else service(request.method, request.target, headers, request.body)
        if step is Fault.LATE:
            is_over.wait(20)
        if step in (Fault.LATE, Fault.LOST):
            return None
        kept = [header for header in reply.headers if header[0].lower() not in ("connection", "content-length")]
        kept.append(("Content-Length", str(len(reply.body))))
        return Reply(reply.status, kept, reply.body[:-1] if step is Fault.CUT_SHORT else reply.body)

    with http_server(answer) as url:
        try:
            yield FailingProxy(url, requests)
        finally:
            is_over.set()
