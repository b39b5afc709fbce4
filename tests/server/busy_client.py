"""`python -m tests.server.busy_client PORT KEY NUMBER` keeps connections of one API key busy until its input ends.

It prints a line when all connections have had a response, and at the end the median time of a request in seconds.
"""

import asyncio
import statistics
import sys
import time
from typing import cast


class BusyConnection(asyncio.Protocol):
    """A connection that sends its request again as soon as the response arrives, which is small enough for a packet."""

    def __init__(self, request: bytes, times: list[float], has_responded: asyncio.Future[None]) -> None:
        self._request = request
        self._times = times
        self._has_responded = has_responded

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        assert data.startswith(b"HTTP/1.1 200 "), data
        self._times.append(time.monotonic() - self._began)
        if not self._has_responded.done():
            self._has_responded.set_result(None)
        self._send()

    def _send(self) -> None:
        self._began = time.monotonic()
        self._transport.write(self._request)


async def main(port: int, key: str, number: int) -> None:
    loop = asyncio.get_running_loop()
    times: list[float] = []
    responded: list[asyncio.Future[None]] = [loop.create_future() for _ in range(number)]
    request = f"GET /v1/pets?limit=1 HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n\r\n".encode()
    for future in responded:
        await loop.create_connection(lambda future=future: BusyConnection(request, times, future), "127.0.0.1", port)
    await asyncio.gather(*responded)
    times.clear()
    print("All are connected.", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    print(statistics.median(times))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
