"""A migration must let the previous version run, because instances are replaced one after the other."""

from pathlib import Path

import pytest
from django.apps import apps
from django.db import connection
from django_migration_linter import MigrationLinter

from tests.service import ROOT

OURS = ["pets", "store", "accounts", "apikeys", "journal", "petservice"]
# Published before any instance ran, and lock the table while they build indexes; or remove tables that no release had.
PUBLISHED = ["0002_back_office", "0001_history_indexes", "0013_journal", "0003_no_session_versions"]

pytestmark = [
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one instance"),
    pytest.mark.django_db(transaction=True),  # operations that need no transaction cannot produce their SQL inside one
]


def test_migrations_let_the_previous_version_run() -> None:
    linter = MigrationLinter(
        path=str(ROOT), include_apps=OURS, ignore_name=PUBLISHED, all_warnings_as_errors=True, no_cache=True
    )

    linter.lint_all_migrations()

    linted = linter.nb_valid + linter.nb_erroneous + len(PUBLISHED)
    assert linted == sum(len([*Path(apps.get_app_config(app).path).glob("migrations/0*.py")]) for app in OURS)
    assert linter.nb_erroneous == 0
