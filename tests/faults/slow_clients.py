"""Clients that occupy connections and hardly send anything."""

import selectors
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tests.server.connections import Client, get, post
from tests.service import Service


class SlowClient(Client):
    """What it has received, and after how many seconds the service ended the connection; None until then."""

    def __init__(self, service: Service) -> None:
        self.began = time.monotonic()
        self.received = b""
        self.lasted: float | None = None
        super().__init__(service)

    def look(self) -> None:
        """Receive what there is."""
        try:
            part = self.socket.recv(65536)
        except ConnectionResetError:
            part = b""
        self.received += part
        if not part:
            self.lasted = time.monotonic() - self.began


@contextmanager
def slow_clients(service: Service, key: str, number: int) -> Iterator[list[SlowClient]]:
    """So many of them, who have sent nothing, half a line, half a header or half a body, or send one byte a second."""
    parts = [
        b"",
        b"GET /v1/pe",
        b"GET /v1/pets HTTP/1.1\r\nHost: local",
        post(key, b'{"name":', length=100),
        get("/v1/pets", b"Transfer-Encoding: chunked", method="POST") + b"5\r\n{",
        b"GET /",  # and one byte a second
    ]
    with ExitStack() as stack:
        clients = [stack.enter_context(SlowClient(service)) for _ in range(number)]
        for place, client in enumerate(clients):
            client.send(parts[place % len(parts)])
        with watched(clients), _dripping(clients[len(parts) - 1 :: len(parts)]):
            yield clients


@contextmanager
def watched(clients: Sequence[SlowClient]) -> Iterator[None]:
    """Meanwhile what each receives, and when its connection ends, is noted at once."""

    def watch(is_over: threading.Event) -> None:
        with selectors.DefaultSelector() as selector:
            for client in clients:
                selector.register(client.socket, selectors.EVENT_READ, client)
            while selector.get_map() and not is_over.is_set():
                for key, _ in selector.select(timeout=0.5):
                    key.data.look()
                    if key.data.lasted is not None:
                        selector.unregister(key.fileobj)

    with _meanwhile(watch):
        yield


@contextmanager
def _dripping(clients: Sequence[Client]) -> Iterator[None]:
    """Meanwhile each sends one byte a second, as long as it is let."""

    def drip(is_over: threading.Event) -> None:
        open_ones = list(clients)
        while not is_over.wait(1):
            for client in list(open_ones):
                try:
                    client.send(b"a")
                except OSError:
                    open_ones.remove(client)

    with _meanwhile(drip):
        yield


@contextmanager
def _meanwhile(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Have `work` done on a thread, until the event that it is given is set."""
    is_over = threading.Event()
    thread = threading.Thread(target=work, args=[is_over])
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
