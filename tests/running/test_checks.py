"""The settings record each variable that cannot be used, and gunicorn's settings follow the others."""

import os
import runpy
import zoneinfo
from pathlib import Path
from typing import Any

import pytest

from petservice.configuration import environment
from petservice.configuration.time_zone import StoreZone, zone
from petservice.server.run import WebServer
from tests.processes import start

pytestmark = pytest.mark.once


def settings_with(monkeypatch: pytest.MonkeyPatch, **variables: str) -> dict[str, Any]:
    """Return the settings that differ between installations, as they are with these environment variables."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return runpy.run_path(environment.__file__)


def errors(monkeypatch: pytest.MonkeyPatch, **variables: str) -> list[str]:
    return settings_with(monkeypatch, **variables)["CONFIGURATION_ERRORS"]


@pytest.mark.parametrize(
    "url", ["redis://:s3cret@redis.example.com:port/0", "redis://:s3cret@redis.example.com/0?colour=red"]
)
def test_invalid_redis_url_is_refused_without_its_password(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    (error,) = errors(monkeypatch, REDIS_URL=url)

    assert "REDIS_URL=redis://:password@redis.example.com:6379/0" in error
    assert "s3cret" not in error


INVALID = {
    "PETSERVICE_ENVIRONMENT": ("staging", ""),
    "PETSERVICE_REQUIRE_HTTPS": ("maybe", ""),
    "DEBUG": ("maybe", ""),
    "ALLOWED_HOSTS": ("https://a.example", "a.example:8443", "a.example/", "a.example b.example", "*.example", "::1"),
    "CSRF_TRUSTED_ORIGINS": ("a.example", "https://a.example/", "https://a.example https://b.example"),
    "PETSERVICE_TIME_ZONE": ("", "Berlin", "Europe", "../UTC", "/etc/localtime"),
    "FORWARDED_ALLOW_IPS": ("10.0.0.1/24", "10.0.0.1,,example.com", " ", "10.0.0.1 10.0.0.2"),
    "METRICS_BIND": ("9100", ":9100", "127.0.0.1:0", "127.0.0.1:x", "127.0.0.1:9100/metrics", "ada@localhost:9100"),
    "PETSERVICE_LOG_FORMAT": ("", "xml"),
    "PETSERVICE_SECOND_FACTOR": ("", "yes"),
    "PETSERVICE_DRAIN_SECONDS": ("soon", "-1", "601"),
    "PETSERVICE_AUDIT_DAYS": ("many", "-1", "1.5"),
    "WEB_CONCURRENCY": ("abc", "0", "-1", "1.5", ""),
    "PORT": ("http", "0", "-1", "65536", "", "127.0.0.1:80"),
    "TLS_CERTFILE": ("/no/such/cert.pem", "/etc"),
    "TLS_KEYFILE": ("/no/such/key.pem", "/etc"),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in INVALID.items() for value in values])
def test_invalid_variable_is_named_with_an_example(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    (error,) = (error for error in errors(monkeypatch, **{name: value}) if error.startswith(name))

    assert error.startswith(f"{name}={value!r} cannot be read (")
    assert f"; write for example {name}=" in error


LIVE = {"PETSERVICE_ENVIRONMENT": "live", "SECRET_KEY": "01234567" * 4, "CSRF_TRUSTED_ORIGINS": "https://a.example"}


@pytest.mark.parametrize(
    ("variables", "setting", "value"),
    [
        ({"ALLOWED_HOSTS": ""}, "ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"]),
        ({"ALLOWED_HOSTS": "a.example, .b.org ,*,[::1]"}, "ALLOWED_HOSTS", ["a.example", ".b.org", "*", "[::1]"]),
        ({"METRICS_BIND": "[::1]:65535"}, "METRICS_ADDRESS", ("::1", 65535)),
        ({"WEB_CONCURRENCY": "1", "PORT": "80"}, "WORKERS", 1),
        ({}, "LOG_FORMAT", "line"),
        (LIVE | {"ALLOWED_HOSTS": "pets.example.com"}, "LOG_FORMAT", "json"),
    ],
)
def test_setting_of_valid_variables(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], setting: str, value: object
) -> None:
    settings = settings_with(monkeypatch, **variables)

    assert (settings[setting], settings["CONFIGURATION_ERRORS"]) == (value, [])


def test_zones_are_known_without_files_of_the_system() -> None:
    zoneinfo.reset_tzpath(to=())
    try:
        StoreZone.clear_cache()
        assert zone("Pacific/Auckland").key == "Pacific/Auckland"
    finally:
        zoneinfo.reset_tzpath()


def test_invalid_configuration_is_rejected_by_the_wsgi_application(tmp_path: Path) -> None:
    environment = os.environ | {"PETSERVICE_ENVIRONMENT": "live", "SECRET_KEY": "a" * 67}
    log = tmp_path / "log"

    assert start(["-m", "petservice.wsgi"], environment, log, log).wait(timeout=60) != 0
    assert "SECRET_KEY is required in live" in log.read_text()


@pytest.mark.parametrize("name", ["TLS_CERTFILE", "TLS_KEYFILE"])
def test_tls_needs_both_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    file = tmp_path / "file.pem"
    file.touch()
    (other,) = {"TLS_CERTFILE", "TLS_KEYFILE"} - {name}

    (error,) = errors(monkeypatch, **{name: str(file)})

    assert error.startswith(f"{other}='' cannot be read (it is no readable file, and TLS needs both)")
    assert errors(monkeypatch, **{other: str(file)}) == []


@pytest.mark.parametrize(
    "value",
    [
        *("--workers many", "--workers -1", "--worker", "--colour red", "workers 3", "--bind '"),
        *("--config gunicorn.py", "-k gthread"),
    ],
)
def test_arguments_that_gunicorn_cannot_use_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    monkeypatch.setenv("GUNICORN_CMD_ARGS", value)

    with pytest.raises(SystemExit):
        WebServer(None)

    (line,) = capsys.readouterr().err.split("\n")[1:-1]
    assert line.startswith(f"Error: GUNICORN_CMD_ARGS={value!r} cannot be used (")
    assert "for example GUNICORN_CMD_ARGS=" in line


@pytest.mark.parametrize(("cores", "workers"), [(None, 2), (1, 2), (2, 2), (6, 6), (64, 8)])
def test_default_number_of_workers_is_one_per_core_but_at_least_two_and_at_most_eight(
    monkeypatch: pytest.MonkeyPatch, cores: int | None, workers: int
) -> None:
    monkeypatch.delenv("WEB_CONCURRENCY", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)

    assert settings_with(monkeypatch)["WORKERS"] == workers
