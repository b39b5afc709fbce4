"""DATABASE_URL becomes Django's settings, or an error message that says what to write."""

from pathlib import Path

import pytest

from petservice.db.url import database_settings

pytestmark = pytest.mark.once

SECRET = "Tr0ub4dor"
MALFORMED = "DATABASE_URL is not a PostgreSQL URL; write for example postgres://user:password@"


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        (f"mysql://ada:{SECRET}@localhost/pets", "DATABASE_URL begins with 'mysql://', but only SQLite and"),
        ("pets.sqlite3", "DATABASE_URL begins with 'no scheme', but only SQLite and PostgreSQL"),
        ("sqlite://", "DATABASE_URL must name a file for SQLite"),
        ("sqlite:///:memory:", "DATABASE_URL must name a file for SQLite"),
        ("sqlite:////srv/pets.sqlite3?timeout=20", "DATABASE_URL must name a file for SQLite, without parameters"),
        (f"postgres://ada:{SECRET}@localhost", "DATABASE_URL names no database"),
        (f"postgres://ada:{SECRET}@db.example.com/pets?no_such_option=1", MALFORMED),
        (f"postgres://ada:{SECRET}/9@localhost/pets", "DATABASE_URL has a port that is no number; write for"),
    ],
)
def test_invalid_url_is_rejected_with_a_message_without_its_password(url: str, sentence: str) -> None:
    with pytest.raises(ValueError, match="DATABASE_URL") as rejected:
        database_settings(url, data_dir=Path("/data"))

    assert str(rejected.value).startswith(sentence)
    assert SECRET not in str(rejected.value)


def test_postgresql_url_is_parsed_by_the_rules_of_libpq() -> None:
    settings = database_settings("postgres://ada:s3cret@one,two:6432/pets?sslmode=require", data_dir=Path("/data"))

    parts = ("ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT")
    assert [settings[part] for part in parts] == [
        "petservice.db.postgresql",
        *("pets", "ada", "s3cret", "one,two", ",6432"),
    ]
    assert settings["OPTIONS"]["sslmode"] == "require"
    assert settings["OPTIONS"]["connect_timeout"] == "2", "all hosts together may take a few seconds"
    assert settings["OPTIONS"]["target_session_attrs"] == "read-write", (
        "of several servers, the one that accepts writes"
    )
