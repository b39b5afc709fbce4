"""Starts of `manage.py serve` that are rejected."""

import re
from pathlib import Path

import pytest

from tests.running.starts import refusal

pytestmark = pytest.mark.once


def test_live_without_settings_is_rejected_and_each_is_named(tmp_path: Path) -> None:
    output = refusal(tmp_path, PETSERVICE_ENVIRONMENT="live", DEBUG="1", PETSERVICE_REQUIRE_HTTPS="0")

    assert re.findall(r"\(petservice\.E001\) (\w+) is ", output) == [
        *("ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS", "DEBUG", "PETSERVICE_REQUIRE_HTTPS", "SECRET_KEY")
    ]
    assert list(tmp_path.iterdir()) == [], "a rejected start creates nothing"


INVALID = {
    "PETSERVICE_ENVIRONMENT": ("staging", "it is none of test, live"),
    "METRICS_BIND": ("9100", "it is no address with a port"),
    "PETSERVICE_TIME_ZONE": ("Berlin", "there is no time zone of this name"),
    "WEB_CONCURRENCY": ("abc", "Not a valid integer."),
    "TLS_CERTFILE": ("/no/such/cert.pem", "it is no readable file"),
}


def test_all_invalid_variables_are_reported_together(tmp_path: Path) -> None:
    url = "mysql://ada:Tr0ub4dor@localhost/pets"
    output = refusal(tmp_path, DATABASE_URL=url, **{name: value for name, (value, _) in INVALID.items()})

    for name, (value, reason) in INVALID.items():
        assert f"{name}={value!r} cannot be read ({reason}" in output
    assert "DATABASE_URL begins with 'mysql://', but only SQLite" in output
    assert "Tr0ub4dor" not in output


def test_arguments_that_gunicorn_cannot_use_are_rejected(tmp_path: Path) -> None:
    output = refusal(tmp_path, GUNICORN_CMD_ARGS="--workers many")

    assert "GUNICORN_CMD_ARGS='--workers many' cannot be used (argument -w/--workers: invalid int" in output
    assert "usage:" not in output


@pytest.mark.parametrize(
    "url",
    ["sqlite:////no/such/folder/pets.sqlite3", "postgres://ada:Tr0ub4dor@127.0.0.1:1/pets"],
    ids=["no folder", "no server"],
)
def test_unusable_database_is_reported_without_its_password(tmp_path: Path, url: str) -> None:
    output = refusal(tmp_path, DATABASE_URL=url)

    assert "The database cannot be used, check DATABASE_URL" in output
    assert "Tr0ub4dor" not in output


def test_unwritable_data_directory_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()

    output = refusal(file / "data")

    assert "The data directory cannot be written" in output
    assert "set PETSERVICE_DATA_DIR to one that can" in output
