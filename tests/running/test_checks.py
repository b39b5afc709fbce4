"""Each system check reports its problem when Django runs all registered checks."""

from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks

from petservice.server import checks  # noqa: F401  # registers them

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


def test_unknown_environment_is_e002(settings: Any) -> None:
    settings.ENVIRONMENT = "staging"

    assert list(fired()) == ["petservice.E002"]
    assert "PETSERVICE_ENVIRONMENT='staging' is neither test nor live" in fired()["petservice.E002"]


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


@pytest.mark.parametrize("name", ["TLS_CERTFILE", "TLS_KEYFILE"])
@pytest.mark.parametrize("what", ["missing", "a folder", "not named"])
def test_unreadable_tls_file_is_e008(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, what: str) -> None:
    good = tmp_path / "good.pem"
    good.touch()
    bad = {"missing": str(tmp_path / "missing.pem"), "a folder": str(tmp_path), "not named": ""}[what]
    for each in ("TLS_CERTFILE", "TLS_KEYFILE"):
        monkeypatch.setenv(each, bad if each == name else str(good))

    assert list(fired()) == ["petservice.E008"]
    assert fired()["petservice.E008"].startswith(f"{name}={bad!r} is not a readable file")


@pytest.mark.parametrize(
    ("name", "value", "check_id"),
    [
        *(("WEB_CONCURRENCY", value, "petservice.E010") for value in ("abc", "0", "-1", "1.5", "", "\u0661")),
        *(("PORT", value, "petservice.E011") for value in ("http", "0", "-1", "65536", "", "127.0.0.1:80")),
        *(
            ("GUNICORN_CMD_ARGS", value, "petservice.E012")
            for value in ("--workers many", "--workers -1", "--worker", "--colour red", "workers 3", "--bind '")
        ),
    ],
)
def test_invalid_variable_of_gunicorn_is_e010_to_e012(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, check_id: str
) -> None:
    monkeypatch.setenv(name, value)

    assert list(fired()) == [check_id]
    assert fired()[check_id].startswith(f"{name}={value!r} ")
    assert f"for example {name}=" in fired()[check_id]


@pytest.mark.parametrize(
    ("name", "value"),
    [("WEB_CONCURRENCY", "12"), ("PORT", "80"), ("GUNICORN_CMD_ARGS", "--timeout 60 --bind unix:/run/x.sock -w 3")],
)
def test_valid_variable_of_gunicorn_passes_the_checks(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)

    assert fired() == {}


def test_two_readable_tls_files_pass_the_check(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("TLS_CERTFILE", "TLS_KEYFILE"):
        path = tmp_path / name
        path.touch()
        monkeypatch.setenv(name, str(path))

    assert fired() == {}
