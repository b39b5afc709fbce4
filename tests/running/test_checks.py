"""Each system check reports its problem when Django runs all registered checks."""

import runpy
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks

from petservice.configuration import environment
from petservice.server.run import WebServer

pytestmark = pytest.mark.once

LIVE = {
    "ENVIRONMENT": "live",
    "LIVE": True,
    "SECRET_KEY_IS_MISSING": False,
    "ALLOWED_HOSTS": ["pets.example.com"],
    "CSRF_TRUSTED_ORIGINS": ["https://pets.example.com"],
    "DEBUG": False,
    "REQUIRE_HTTPS": True,
}


def fired() -> dict[str, str]:
    """Return the messages of this project's failed checks by their ids."""
    return {message.id: message.msg for message in run_checks() if message.id.startswith("petservice.")}


def configure(settings: Any, **values: object) -> None:
    for name, value in values.items():
        setattr(settings, name, value)


def test_test_environment_passes_all_checks() -> None:
    assert fired() == {}


def test_complete_live_environment_passes_all_checks(settings: Any) -> None:
    configure(settings, **LIVE)

    assert fired() == {}


def test_invalid_variable_is_e001(settings: Any) -> None:
    settings.CONFIGURATION_ERRORS = ["DEBUG='maybe' cannot be read"]

    assert fired() == {"petservice.E001": "DEBUG='maybe' cannot be read"}


@pytest.mark.parametrize(
    ("name", "value", "check_id", "variable"),
    [
        ("SECRET_KEY_IS_MISSING", True, "petservice.E003", "SECRET_KEY"),
        ("ALLOWED_HOSTS", [], "petservice.E004", "ALLOWED_HOSTS"),
        ("DEBUG", True, "petservice.E005", "DEBUG"),
        ("REQUIRE_HTTPS", False, "petservice.E006", "PETSERVICE_REQUIRE_HTTPS"),
        ("CSRF_TRUSTED_ORIGINS", [], "petservice.E007", "CSRF_TRUSTED_ORIGINS"),
    ],
)
def test_incomplete_live_environment_is_e003_to_e007(
    settings: Any, name: str, value: object, check_id: str, variable: str
) -> None:
    configure(settings, **LIVE | {name: value})

    assert list(fired()) == [check_id]
    assert fired()[check_id].startswith(variable)


def test_test_environment_does_not_need_the_settings_of_live(settings: Any) -> None:
    configure(settings, ALLOWED_HOSTS=[], CSRF_TRUSTED_ORIGINS=[], DEBUG=True, REQUIRE_HTTPS=False)

    assert fired() == {}


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
def test_invalid_redis_url_is_e009_without_its_password(settings: Any, url: str) -> None:
    settings.REDIS_URL = url

    assert list(fired()) == ["petservice.E009"]
    assert "REDIS_URL=redis://:password@redis.example.com:6379/0" in fired()["petservice.E009"]
    assert "s3cret" not in fired()["petservice.E009"]


@pytest.mark.parametrize(
    "url",
    [
        "redis://localhost",
        "redis://user:s3cret@redis.example.com:6379/3",
        "rediss://redis.example.com/0?ssl_ca_certs=/etc/ssl/ca.pem",
        "unix:///run/redis/redis-server.sock?db=1",
    ],
)
def test_every_kind_of_redis_url_is_accepted(settings: Any, url: str) -> None:
    settings.REDIS_URL = url

    assert fired() == {}


INVALID = {
    "PETSERVICE_ENVIRONMENT": ("staging", ""),
    "PETSERVICE_REQUIRE_HTTPS": ("maybe", ""),
    "DEBUG": ("maybe", ""),
    "PETSERVICE_TIME_ZONE": ("Berlin",),
    "FORWARDED_ALLOW_IPS": ("10.0.0.1/24", "example.com"),
    "METRICS_BIND": ("9100",),
    "PETSERVICE_LOG_FORMAT": ("xml",),
    "PETSERVICE_SECOND_FACTOR": ("yes",),
    "PETSERVICE_DRAIN_SECONDS": ("soon", "-1", "601"),
    "PETSERVICE_AUDIT_DAYS": ("many", "-1", "1.5"),
    "WEB_CONCURRENCY": ("abc", "0", "-1", "1.5", ""),
    "PORT": ("http", "0", "-1", "65536", "", "127.0.0.1:80"),
    "TLS_CERTFILE": ("/no/such/cert.pem", "/etc"),
    "TLS_KEYFILE": ("/no/such/key.pem", "/etc"),
}


def errors(monkeypatch: pytest.MonkeyPatch, **variables: str) -> list[str]:
    """Return the errors that the settings would record with these environment variables."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    recorded: list[str] = runpy.run_path(environment.__file__)["CONFIGURATION_ERRORS"]
    return recorded


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in INVALID.items() for value in values])
def test_invalid_variable_is_named_with_an_example(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    (error,) = (error for error in errors(monkeypatch, **{name: value}) if error.startswith(name))

    assert error.startswith(f"{name}={value!r} cannot be read (")
    assert f"; write for example {name}=" in error


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
