"""Calls of a WSGI application on threads of their own, answered on an event loop."""

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

logger = logging.getLogger(__name__)

Message = dict[str, Any]
WSGI = Callable[..., Iterable[bytes]]

# How much of a streamed answer is made at once. Up to here a slow client holds no thread, beyond it the thread waits.
READ_AHEAD = 1024 * 1024


class CallThreads:
    """A fixed number of threads that take calls from one queue, each started when it is first needed."""

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.number = number
        self._calls: SimpleQueue[Call] = SimpleQueue()
        # When each thread last began something or got on with it; None while it has nothing to do.
        self._since: list[float | None] = []

    def submit(self, call: "Call") -> None:
        """Have `call` run by the next free thread."""
        self._calls.put(call)
        place = len(self._since)
        if place < self.number:
            self._since.append(None)
            # Daemons: a call that hangs must not keep the process from ending.
            threading.Thread(target=self._work, args=[place], name=f"{self.name}-{place}", daemon=True).start()

    @property
    def are_busy(self) -> bool:
        """Whether any call runs or waits for a thread."""
        return not self._calls.empty() or self.busy > 0

    @property
    def busy(self) -> int:
        """How many threads are at work, not waiting for a client."""
        return sum(since is not None for since in self._since)

    def standstill(self) -> float:
        """For how many seconds the call that has stood still longest has."""
        now = time.monotonic()
        return max((now - since for since in self._since if since is not None), default=0.0)

    def _work(self, place: int) -> None:
        while True:
            call = self._calls.get()
            self._since[place] = time.monotonic()
            for waiting in call.steps():
                # Waiting for a client is no standstill.
                self._since[place] = None if waiting else time.monotonic()
            self._since[place] = None


class Call:
    """One call of the application, from its environ to the last byte of the answer."""

    def __init__(self, wsgi: WSGI, environ: dict[str, Any]) -> None:
        self._wsgi = wsgi
        self._environ = environ
        self._loop = asyncio.get_running_loop()
        self._status = 500
        self._headers: list[tuple[bytes, bytes]] = []
        self._part: asyncio.Future[tuple[bytes, bool]] = self._loop.create_future()
        # Filled when the next part of a stream is wanted; cheaper to make than a semaphore, which few calls need.
        self._wanted: SimpleQueue[None] = SimpleQueue()
        self._is_abandoned = False

    # On the loop.

    async def answer(
        self,
        threads: CallThreads,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Run on one of `threads` and send what the application answers; raises what it raises."""
        threads.submit(self)
        try:
            body, more = await self._part
            await send({"type": "http.response.start", "status": self._status, "headers": self._headers})
            await send({"type": "http.response.body", "body": body, "more_body": more})
            if more:
                await self._stream(receive, send)
        finally:
            self._is_abandoned = True
            self._wanted.put(None)

    async def _stream(
        self, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        gone: asyncio.Future[Any] = asyncio.ensure_future(_disconnected(receive))
        try:
            more = True
            while more:
                self._part = self._loop.create_future()
                self._wanted.put(None)
                await asyncio.wait([self._part, gone], return_when=asyncio.FIRST_COMPLETED)
                if gone.done():
                    return
                body, more = self._part.result()
                await send({"type": "http.response.body", "body": body, "more_body": more})
        finally:
            gone.cancel()

    def _take(self, body: bytes, more: bool, error: BaseException | None) -> None:
        if self._part.done():  # the client has left, and the one who waited with it
            return
        if error is not None:
            self._part.set_exception(error)
        else:
            self._part.set_result((body, more))

    # On a thread.

    def steps(self) -> Iterator[bool]:
        """Make the answer; yields True before it waits for the client, and False when it goes on."""
        answer: Iterable[bytes] = ()
        try:
            answer = self._wsgi(self._environ, self._start_response)
            yield from self._parts(answer)
        except Exception as error:
            self._give(b"", False, error)
        finally:
            # Only now, with the answer on its way: what Django does at the end of a request must not delay it.
            try:
                if hasattr(answer, "close"):
                    answer.close()
                self._environ["wsgi.input"].close()
            except Exception:
                logger.exception("The end of a request failed.")

    def _parts(self, answer: Iterable[bytes]) -> Iterator[bool]:
        if self._environ["REQUEST_METHOD"] == "HEAD" or self._status in (204, 304):
            self._give(b"", False)
            return
        chunks: list[bytes] = []
        size = 0
        for chunk in answer:
            chunks.append(chunk)
            size += len(chunk)
            if size >= READ_AHEAD:
                self._give(b"".join(chunks), True)
                chunks, size = [], 0
                yield True
                self._wanted.get()
                yield False
                if self._is_abandoned:
                    return
        self._give(b"".join(chunks), False)

    def _give(self, body: bytes, more: bool, error: BaseException | None = None) -> None:
        with suppress(RuntimeError):  # the loop has ended: nobody is there to answer
            self._loop.call_soon_threadsafe(self._take, body, more, error)

    def _start_response(self, status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
        self._status = int(status[:3])
        self._headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


async def _disconnected(receive: Callable[[], Awaitable[Message]]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
