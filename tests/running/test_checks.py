"""The settings record each variable that cannot be used, and gunicorn's settings follow the others."""

import os
import runpy
import subprocess
import sys
import zoneinfo
from pathlib import Path

import pytest

from petservice.configuration import environment
from petservice.configuration.time_zone import StoreZone, zone
from petservice.server.run import WebServer
from tests.service import ROOT

pytestmark = pytest.mark.once


def errors(monkeypatch: pytest.MonkeyPatch, **variables: str) -> list[str]:
    """Return the errors that the settings would record with these environment variables."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    recorded: list[str] = runpy.run_path(environment.__file__)["CONFIGURATION_ERRORS"]
    return recorded


@pytest.mark.parametrize(
    "url",
    [
        "redis.example.com:6379",
        "http://:s3cret@redis.example.com/0",
        "redis://:s3cret@redis.example.com:port/0",
        "redis://:s3cret@redis.example.com:70000/0",
        "redis://:s3cret@redis.example.com/0?colour=red",
        "redis://:s3cret@redis.example.com/0?max_connections=many",
        "rediss://:s3cret@[redis.example.com/0",
    ],
)
def test_invalid_redis_url_is_refused_without_its_password(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    (error,) = errors(monkeypatch, REDIS_URL=url)

    assert "REDIS_URL=redis://:password@redis.example.com:6379/0" in error
    assert "s3cret" not in error


@pytest.mark.parametrize(
    "url",
    [
        "redis://localhost",
        "redis://user:s3cret@redis.example.com:6379/3",
        "rediss://redis.example.com/0?ssl_ca_certs=/etc/ssl/ca.pem",
        "unix:///run/redis/redis-server.sock?db=1",
    ],
)
def test_every_kind_of_redis_url_is_accepted(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    assert errors(monkeypatch, REDIS_URL=url) == []


INVALID = {
    "PETSERVICE_ENVIRONMENT": ("staging", ""),
    "PETSERVICE_REQUIRE_HTTPS": ("maybe", ""),
    "DEBUG": ("maybe", ""),
    "PETSERVICE_TIME_ZONE": ("", "Berlin", "Europe", "../UTC", "/etc/localtime"),
    "FORWARDED_ALLOW_IPS": ("10.0.0.1/24", "10.0.0.1,,example.com", " ", "10.0.0.1 10.0.0.2"),
    "METRICS_BIND": (
        *("9100", ":9100", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:x", "::1:9100x"),
        *("http://127.0.0.1:9100", "127.0.0.1:9100/metrics", "ada@localhost:9100", "[::1:9100", " "),
    ),
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


def test_an_empty_list_of_hosts_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOWED_HOSTS", "")

    assert "localhost" in runpy.run_path(environment.__file__)["ALLOWED_HOSTS"]


def test_spaces_beside_the_commas_of_a_list_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOWED_HOSTS", "pets.example.com, .example.org ")
    monkeypatch.setenv("CSRF_TRUSTED_ORIGINS", "https://pets.example.com, https://example.org")

    settings = runpy.run_path(environment.__file__)

    assert settings["ALLOWED_HOSTS"] == ["pets.example.com", ".example.org"]
    assert settings["CSRF_TRUSTED_ORIGINS"] == ["https://pets.example.com", "https://example.org"]


def test_zones_are_known_without_files_of_the_system() -> None:
    zoneinfo.reset_tzpath(to=())
    try:
        StoreZone.clear_cache()
        assert zone("Pacific/Auckland").key == "Pacific/Auckland"
    finally:
        zoneinfo.reset_tzpath()


def test_invalid_configuration_is_rejected_by_the_wsgi_application() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "SECRET_KEY"}
    environment["PETSERVICE_ENVIRONMENT"] = "live"

    command = [sys.executable, "-c", "import petservice.wsgi"]
    started = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)

    assert started.returncode != 0
    assert "SECRET_KEY is required in live" in started.stderr


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
    ["--workers many", "--workers -1", "--worker", "--colour red", "workers 3", "--bind '", "--config gunicorn.py"],
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


def test_valid_variables_of_gunicorn_pass_the_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUNICORN_CMD_ARGS", "--timeout 60 --bind unix:/run/x.sock -w 3")

    assert WebServer("127.0.0.1:0").cfg.bind == ["127.0.0.1:0"]
    assert errors(monkeypatch, WEB_CONCURRENCY="12", PORT="80") == []


@pytest.mark.parametrize(
    ("cores", "variable", "workers"),
    [(None, "", 2), (1, "", 2), (2, "", 2), (6, "", 6), (64, "", 8), (6, "1", 1)],
)
def test_number_of_workers_is_that_of_the_variable_or_one_per_core_but_at_least_two_and_at_most_eight(
    monkeypatch: pytest.MonkeyPatch, cores: int | None, variable: str, workers: int
) -> None:
    monkeypatch.delenv("WEB_CONCURRENCY", raising=False)
    if variable:
        monkeypatch.setenv("WEB_CONCURRENCY", variable)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)

    assert runpy.run_path(environment.__file__)["WORKERS"] == workers
