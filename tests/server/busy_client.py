"""`python -m tests.server.busy_client PORT KEY NUMBER` keeps connections of one API key busy until its input ends.

It prints a line when all connections have had a response, and at the end the median time of a request in seconds.
"""

import asyncio
import statistics
import sys
import time
from typing import cast


class BusyConnection(asyncio.Protocol):
    """A connection that sends its request again at each response, which is small enough for one packet."""

    def __init__(self, request: bytes, times: list[float], has_responded: asyncio.Future[None]) -> None:
        self._request = request
        self._times = times
        self._has_responded = has_responded

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        assert data.startswith(b"HTTP/1.1 200 "), data
        self._times.append(time.monotonic() - self._began)
        if not self._has_responded.done():
            self._has_responded.set_result(None)
        self.send()

    def send(self) -> None:
        self._began = time.monotonic()
        self._transport.write(self._request)


async def main(port: int, key: str, number: int) -> None:
    loop = asyncio.get_running_loop()
    times: list[float] = []
    responded: list[asyncio.Future[None]] = [loop.create_future() for _ in range(number)]
    request = f"GET /v1/pets?limit=1 HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n\r\n".encode()
    connections = [BusyConnection(request, times, future) for future in responded]
    for connection in connections:
        await loop.create_connection(lambda connection=connection: connection, "127.0.0.1", port)
    for connection in connections:  # when all are accepted, because a busy service accepts them slowly
        connection.send()
    await asyncio.gather(*responded)
    times.clear()
    print("All are connected.", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    print(statistics.median(times))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
