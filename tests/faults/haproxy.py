"""A running HAProxy with a configuration that the product ships."""

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.programs import running_program
from tests.service import Service, free_port, make_certificate, responds


@contextmanager
def running_haproxy(folder: Path, configuration: str, replaced: Mapping[str, str]) -> Iterator[Service]:
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
    url, log = f"https://127.0.0.1:{port}", folder / "haproxy.log"
    with running_program(["haproxy", "-db", "-f", folder / "haproxy.cfg"], log, lambda: responds(url)) as process:
        yield Service(url, process, log, {}, ssl.create_default_context(cafile=certificate))
