"""Clients that occupy connections and hardly send anything."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.conftest import Service
from tests.running.connections import Client, get, post


@contextmanager
def slow_clients(service: Service, key: str, number: int) -> Iterator[list[Client]]:
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
        clients = [stack.enter_context(Client(service)) for _ in range(number)]
        for place, client in enumerate(clients):
            client.send(parts[place % len(parts)])
        with _dripping(clients[len(parts) - 1 :: len(parts)]):
            yield clients


@contextmanager
def _dripping(clients: list[Client]) -> Iterator[None]:
    """Meanwhile each sends one byte a second, as long as it is let."""
    is_over = threading.Event()

    def drip() -> None:
        open_ones = list(clients)
        while not is_over.wait(1):
            for client in list(open_ones):
                try:
                    client.send(b"a")
                except OSError:
                    open_ones.remove(client)

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
