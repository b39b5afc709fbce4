"""Run a Redis server."""

import subprocess

import redis

from tests.service import free_port
from tests.waiting import wait_until

REDIS_PASSWORD = "8e03978e40d5"


class RedisServer:
    """A Redis server with a password and without persistence, which can be killed and started again."""

    def __init__(self) -> None:
        self._port = free_port()
        self.url = f"redis://:{REDIS_PASSWORD}@127.0.0.1:{self._port}/0"
        self.client = redis.Redis.from_url(self.url)
        self.process: subprocess.Popen[bytes]

    def start(self) -> None:
        options = ["--bind", "127.0.0.1", "--port", str(self._port), "--save", "", "--requirepass", REDIS_PASSWORD]
        self.process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
        wait_until(self._responds)

    def kill(self) -> None:
        self.process.kill()  # ends it even while SIGSTOP has suspended it
        self.process.wait()

    def _responds(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.ConnectionError:
            return False
