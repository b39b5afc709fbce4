"""`python -m tests.benchmarks.latency_proxy PORT SOCKET MILLISECONDS` connects a port to a Unix socket with a delay.

The delay applies to all data in either direction. Linux has tc-netem(8) for this purpose, but containers are rarely
permitted to use it.
"""

import select
import socket
import sys
import time
from collections import deque
from contextlib import suppress


def main(port: int, target: str, seconds: float) -> None:
    listener = socket.create_server(("127.0.0.1", port), backlog=100)
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


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]) / 1000)
