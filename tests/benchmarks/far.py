"""`python -m tests.benchmarks.far PORT SOCKET MILLISECONDS`: connections to the port lead to the socket, with all that
is sent in either direction under way for so long. What Linux has for this, tc-netem(8), containers rarely may use.
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
    # When it arrives, where to, and what; in order, as all of it is under way for as long.
    under_way: deque[tuple[float, socket.socket, bytes]] = deque()
    while True:
        wait = max(0, under_way[0][0] - time.monotonic()) if under_way else None
        # Not a selector, which counts in whole milliseconds.
        ready, _, _ = select.select([listener, *others], [], [], wait)
        now = time.monotonic()
        while under_way and under_way[0][0] <= now:
            _, receiver, data = under_way.popleft()
            with suppress(OSError):  # the receiver has gone
                if data:
                    receiver.sendall(data)
                else:
                    receiver.shutdown(socket.SHUT_WR)
        for sender in ready:
            if sender is listener:
                near, _ = listener.accept()
                near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                far = socket.socket(socket.AF_UNIX)
                far.connect(target)
                others |= {near: far, far: near}
            else:
                data = sender.recv(65536)
                under_way.append((now + seconds, others[sender], data))
                if not data:
                    del others[sender]


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]) / 1000)
