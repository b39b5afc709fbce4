"""A renewal of the TLS certificate under load loses no request and no worker, also if the new files are unusable."""

import os
import signal
import ssl
from pathlib import Path

import pytest

from tests.faults.load import Load, lost, running_load
from tests.monitoring.observed import Observed
from tests.service import Service, free_port, make_certificate, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.faults

HOST = "IP:127.0.0.1"


def served(service: Service) -> bytes:
    """Return the certificate that the service shows to a new client."""
    port = int(service.url.rpartition(":")[2])
    return ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate(("127.0.0.1", port), timeout=30))


def replace_workers(service: Service, number: signal.Signals, pid: int) -> None:
    """Send a signal, and wait until the two workers that it concerns are replaced."""
    before = set(service.workers())
    os.kill(pid, number)
    concerned = before if pid == service.process.pid else {pid}
    wait_until(
        lambda: (
            service.process.poll() is not None
            or (not concerned & set(service.workers()) and len(service.workers()) == 2)
        )
    )
    assert service.process.poll() is None, service.log.read_text()


def test_renewed_certificate_is_served_and_an_unusable_one_changes_nothing(tmp_path: Path, migrated_url: str) -> None:
    certificate, key = make_certificate(tmp_path, HOST)
    new, new_key = make_certificate(tmp_path / "new", HOST, days=30)
    first, second = (ssl.PEM_cert_to_DER_cert(file.read_text()) for file in (certificate, new))
    variables = {"TLS_CERTFILE": str(certificate), "TLS_KEYFILE": str(key), "METRICS_BIND": f"127.0.0.1:{free_port()}"}

    with running_service(tmp_path, DATABASE_URL=migrated_url, WEB_CONCURRENCY="2", **variables) as service:
        metrics = Observed(service, "", f"http://{variables['METRICS_BIND']}/metrics")
        days_left = "petservice_certificate_days_left"
        good = certificate.read_bytes(), key.read_bytes()
        service.tls.load_verify_locations(new)
        load = Load(service, service.create_key())

        def renew(with_certificate: bytes | None, with_key: bytes | None, now: bytes) -> None:
            """Write the files, or delete one, send SIGHUP, and check the certificate that is served afterwards."""
            for file, content in ((certificate, with_certificate), (key, with_key)):
                file.unlink(missing_ok=True)
                if content is not None:
                    file.write_bytes(content)
            errors = service.log.read_text().count("The TLS files cannot be used")
            replace_workers(service, signal.SIGHUP, service.process.pid)
            load.wait_for(50)
            assert served(service) == now
            is_refused = service.log.read_text().count("The TLS files cannot be used") > errors
            assert is_refused == (now == first)

        with running_load(load, 8, retrying=2, keeping=4):
            load.wait_for(50)
            renew(new.read_bytes(), good[1], now=first)  # between the writes of two files
            renew(b"no certificate", b"no key", now=first)
            renew(good[0], None, now=first)
            renew(None, good[1], now=first)
            assert 1 < metrics.sample(days_left) < 2
            renew(new.read_bytes(), new_key.read_bytes(), now=second)
            assert 29 < metrics.sample(days_left) < 30
        assert load.saw.keys() == {"POST 201"}, load.saw

        key.write_text("no key")
        replace_workers(service, signal.SIGKILL, service.workers()[0])
        assert {served(service) for _ in range(8)} == {second}
        assert lost(load) == []
        assert service.log.read_text().count("WARNING petservice.server.run") == 1, "of the first certificate"
