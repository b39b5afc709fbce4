"""A running HAProxy with a configuration that the product ships."""

import ssl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

from tests.service import free_port, make_certificate, responds
from tests.waiting import wait_until


class HAProxy(NamedTuple):
    """The address of a running HAProxy, and a context that trusts its certificate."""

    url: str
    context: ssl.SSLContext

    def client(self, key: str | None = None) -> httpx.Client:
        headers = {"X-API-Key": key} if key else {}
        return httpx.Client(base_url=self.url, headers=headers, verify=self.context, trust_env=False, timeout=30)


@contextmanager
def running_haproxy(folder: Path, configuration: str, replaced: Mapping[str, str]) -> Iterator[HAProxy]:
    """Start HAProxy on a free port with a new certificate, and stop it at the end.

    `replaced` has parts of the configuration that tests cannot use, such as addresses, and what replaces them.
    """
    port = free_port()
    certificate, key = make_certificate(folder, "IP:127.0.0.1")
    both = folder / "pets.pem"
    both.write_text(certificate.read_text() + key.read_text())
    ours = {"/etc/haproxy/pets.pem": str(both), "bind :443": f"bind 127.0.0.1:{port}", **replaced}
    for part, replacement in ours.items():
        assert part in configuration
        configuration = configuration.replace(part, replacement)
    (folder / "haproxy.cfg").write_text(configuration)
    with (folder / "haproxy.log").open("w") as log:
        process = subprocess.Popen(["haproxy", "-db", "-f", folder / "haproxy.cfg"], stdout=log, stderr=log)
    running = HAProxy(f"https://127.0.0.1:{port}", ssl.create_default_context(cafile=certificate))
    try:
        wait_until(lambda: process.poll() is not None or responds(running.url))
        assert process.poll() is None, (folder / "haproxy.log").read_text()
        yield running
    finally:
        process.terminate()
        process.wait(timeout=10)
