"""Clients that occupy connections and send hardly any data."""

import selectors
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tests.server.connections import Client, get, post
from tests.service import Service


class SlowClient(Client):
    """A client that records the received data, and the seconds until the service ended its connection."""

    def __init__(self, service: Service) -> None:
        self.began = time.monotonic()
        self.received = b""
        self.lasted: float | None = None
        super().__init__(service)

    def receive_available(self) -> None:
        """Receive the available data, and record the end of the connection."""
        try:
            part = self.socket.recv(65536)
        except ConnectionResetError:
            part = b""
        self.received += part
        if not part:
            self.lasted = time.monotonic() - self.began


@contextmanager
def slow_clients(service: Service, key: str, number: int) -> Iterator[list[SlowClient]]:
    """Open `number` connections whose clients have sent nothing or part of a request, or send one byte per second."""
    parts = [
        b"",
        b"GET /v1/pe",
        b"GET /v1/pets HTTP/1.1\r\nHost: local",
        post(key, b'{"name":', length=100),
        get("/v1/pets", b"Transfer-Encoding: chunked", method="POST") + b"5\r\n{",
        b"GET /",  # followed by one byte per second
    ]
    with ExitStack() as stack:
        clients = [stack.enter_context(SlowClient(service)) for _ in range(number)]
        for place, client in enumerate(clients):
            client.send(parts[place % len(parts)])
        with watched(clients), _dripping(clients[len(parts) - 1 :: len(parts)]):
            yield clients


@contextmanager
def watched(clients: Sequence[SlowClient]) -> Iterator[None]:
    """Record in a thread what each client receives and when its connection ends."""

    def watch(is_over: threading.Event) -> None:
        with selectors.DefaultSelector() as selector:
            for client in clients:
                selector.register(client.socket, selectors.EVENT_READ, client)
            while selector.get_map() and not is_over.is_set():
                for key, _ in selector.select(timeout=0.5):
                    key.data.receive_available()
                    if key.data.lasted is not None:
                        selector.unregister(key.fileobj)

    with _in_a_thread(watch):
        yield


@contextmanager
def _dripping(clients: Sequence[Client]) -> Iterator[None]:
    """Send one byte per second for each client in a thread, until its connection ends."""

    def drip(is_over: threading.Event) -> None:
        open_ones = list(clients)
        while not is_over.wait(1):
            for client in list(open_ones):
                try:
                    client.send(b"a")
                except OSError:
                    open_ones.remove(client)

    with _in_a_thread(drip):
        yield


@contextmanager
def _in_a_thread(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Run `work` in a thread, and at the end of the block set the event that it was given."""
    is_over = threading.Event()
    thread = threading.Thread(target=work, args=[is_over])
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
