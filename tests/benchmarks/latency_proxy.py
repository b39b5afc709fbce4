"""Connect a port to a Unix socket with a delay, as a network does.

Linux has tc-netem(8) for this purpose, but containers are rarely permitted to use it.
"""

import multiprocessing
import select
import socket
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def latency_proxy(target: Path, milliseconds: float) -> Iterator[int]:
    """Run a proxy to the socket `target` with this round-trip time, and yield its port."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        process = multiprocessing.Process(target=_forward, args=(listener, str(target), milliseconds / 2000))
        process.start()
        try:
            yield listener.getsockname()[1]
        finally:
            process.terminate()
            process.join()


def _forward(listener: socket.socket, target: str, seconds: float) -> None:
    """Forward all data in either direction after a delay."""
    others: dict[socket.socket, socket.socket] = {}
    # The arrival time, the receiver and the data, in order of arrival because the delay is the same for all.
    delayed: deque[tuple[float, socket.socket, bytes]] = deque()
    while True:
        wait = max(0, delayed[0][0] - time.monotonic()) if delayed else None
        # Not a selector, because its resolution is one millisecond.
        ready, _, _ = select.select([listener, *others], [], [], wait)
        now = time.monotonic()
        while delayed and delayed[0][0] <= now:
            _, receiver, data = delayed.popleft()
            with suppress(OSError):  # the receiver has disconnected
                if data:
                    receiver.sendall(data)
                else:
                    receiver.shutdown(socket.SHUT_WR)
        for sender in ready:
            if sender is listener:
                client, _ = listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                server = socket.socket(socket.AF_UNIX)
                server.connect(target)
                others |= {client: server, server: client}
            else:
                data = sender.recv(65536)
                delayed.append((now + seconds, others[sender], data))
                if not data:
                    del others[sender]
