"""An HTTP server on a loopback port, for programs that send requests to others than the service."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from tests.contract.transports import Headers, Reply


@dataclass(frozen=True)
class Request:
    """A request that the server has received."""

    method: str
    target: str
    headers: Headers
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for known, value in self.headers if known.lower() == name.lower()), None)


@contextmanager
def http_server(answer: Callable[[Request], Reply | None]) -> Iterator[str]:
    """Give each request what the function returns until the end of the block, and yield the URL of the server.

    A request without a reply finds its connection closed. Each connection carries one request.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            reply = answer(Request(self.command, self.path, list(self.headers.items()), body))
            if reply is None:
                return
            self.send_response_only(reply.status)
            for header in reply.headers:
                self.send_header(*header)
            self.end_headers()
            self.wfile.write(reply.body)

        do_GET = do_POST  # noqa: N815

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
