"""Run a Redis server, and let the service in this process use it."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis

from petservice.apikeys import request_counter
from tests.service import free_port
from tests.waiting import wait_until

REDIS_PASSWORD = "8e03978e40d5"


class RedisServer:
    """A Redis server with a password and without persistence, which can be killed and started again."""

    def __init__(self, *options: str | Path) -> None:
        self._port = free_port()
        self._options = options
        self.url = f"redis://:{REDIS_PASSWORD}@127.0.0.1:{self._port}/0"
        self.client = redis.Redis.from_url(self.url)
        self.process: subprocess.Popen[bytes]

    def start(self) -> None:
        options = ["--bind", "127.0.0.1", "--port", str(self._port), "--save", "", "--requirepass", REDIS_PASSWORD]
        self.process = subprocess.Popen(["redis-server", *options, *self._options], stdout=subprocess.DEVNULL)
        wait_until(self._responds)

    def kill(self) -> None:
        self.process.kill()  # ends it even while SIGSTOP has suspended it
        self.process.wait()

    def _responds(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.ConnectionError:
            return False


@contextmanager
def running_redis(*options: str | Path) -> Iterator[RedisServer]:
    """Run a Redis server with further options, and kill it at the end."""
    server = RedisServer(*options)
    server.start()
    try:
        yield server
    finally:
        server.client.close()
        server.kill()


@contextmanager
def redis_used_by(settings: Any, url: str) -> Iterator[None]:
    """Let the service in this process use the Redis server at `url`, and disconnect at the end."""
    settings.REDIS_URL = url
    yield
    request_counter.counter(url).redis.close()
