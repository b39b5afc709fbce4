"""Hostile clients that send no request."""

import asyncio
import socket
import ssl
import time
from collections.abc import Awaitable, Callable
from typing import Any

TIMEOUT = 30
HELD = 100


def _context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def handshake(port: int, context: ssl.SSLContext) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    writer.transport.abort()


async def send_nothing(port: int, context: ssl.SSLContext) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    await reader.read()
    writer.transport.abort()


async def open_and_close(port: int, context: ssl.SSLContext) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    # Close by a reset, so that no port stays reserved for the ended connection.
    linger = b"\1\0\0\0\0\0\0\0"
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


CLIENTS: dict[str, Callable[[int, ssl.SSLContext], Awaitable[None]]] = {
    "TLS handshake": handshake,
    "silent connection": send_nothing,
    "connection opened and closed": open_and_close,
}


def repeat(kind: str, port: int, clients: int, made: Any) -> None:
    """Run clients of a kind until the process is terminated, and count their connections in a shared value."""

    async def repeat_one(context: ssl.SSLContext) -> None:
        while True:
            try:
                async with asyncio.timeout(TIMEOUT):
                    await CLIENTS[kind](port, context)
                made.value += 1
            except (OSError, TimeoutError):
                await asyncio.sleep(0.01)

    async def repeat_all() -> None:
        context = _context()
        await asyncio.gather(*(repeat_one(context) for _ in range(clients)))

    asyncio.run(repeat_all())


def opened(kind: str, port: int, seconds: float) -> int:
    """Return the number of connections of a kind that one client makes in sequence within `seconds`."""

    async def connect() -> int:
        context, number = _context(), 0
        if kind == "silent connection":  # the service closes these much later
            held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(HELD)]
            await asyncio.sleep(seconds)
            for _, writer in held:
                writer.transport.abort()
            return HELD
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await CLIENTS[kind](port, context)
            number += 1
        return number

    return asyncio.run(connect())
