"""A migration must let the previous version run, because instances are replaced one after the other."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django_migration_linter import MigrationLinter

from tests.service import ROOT

OURS = ["pets", "store", "accounts", "apikeys", "journal", "petservice"]
# Published before any instance ran. They lock the table while they build indexes.
PUBLISHED = ["0002_back_office", "0001_history_indexes"]

pytestmark = [
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one instance"),
    pytest.mark.django_db(transaction=True),  # operations that need no transaction cannot produce their SQL inside one
]


def lint(**options: Any) -> MigrationLinter:
    linter = MigrationLinter(
        path=str(ROOT), include_apps=OURS, ignore_name=PUBLISHED, all_warnings_as_errors=True, no_cache=True, **options
    )
    linter.lint_all_migrations()
    return linter


def test_migrations_let_the_previous_version_run() -> None:
    linter = lint()

    linted = linter.nb_valid + linter.nb_erroneous + len(PUBLISHED)
    assert linted == sum(len([*Path(apps.get_app_config(app).path).glob("migrations/0*.py")]) for app in OURS)
    assert linter.nb_erroneous == 0


@pytest.fixture
def lint_example(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., MigrationLinter]:
    """Return a function that lints a migration of the app pets with one operation."""

    def lint_operation(operation: str, *, atomic: bool = True) -> MigrationLinter:
        package = tmp_path / "example_migrations"
        shutil.copytree(ROOT / "pets" / "migrations", package)
        last = max(path.stem for path in package.glob("0*.py"))
        (package / "0999_example.py").write_text(
            "from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently\n"
            "from django.db import migrations, models\n\n\n"
            "class Migration(migrations.Migration):\n"
            f"    atomic = {atomic}\n"
            f'    dependencies = [("pets", "{last}")]\n'
            f"    operations = [{operation}]\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        for module in [name for name in sys.modules if name.startswith("example_migrations")]:
            monkeypatch.delitem(sys.modules, module)
        settings.MIGRATION_MODULES = {"pets": "example_migrations"}
        return lint(include_name=["0999_example"])

    return lint_operation


@pytest.mark.parametrize(
    ("operation", "atomic"),
    [
        ('AddIndexConcurrently("pet", models.Index(fields=["tag", "name"], name="example"))', False),
        ('RemoveIndexConcurrently("pet", "pets_pet_tag")', False),
        (
            'migrations.AddConstraint("pet", models.CheckConstraint(condition=~models.Q(name="x"), name="example"))',
            True,
        ),
    ],
)
def test_migration_that_lets_the_previous_version_run_is_accepted(
    operation: str, atomic: bool, lint_example: Callable[..., MigrationLinter]
) -> None:
    linter = lint_example(operation, atomic=atomic)

    assert (linter.nb_valid, linter.nb_erroneous) == (1, 0)


@pytest.mark.parametrize(
    "operation",
    [
        'migrations.RemoveField("pet", "tag")',
        'migrations.RenameField("pet", "tag", "label")',
        'migrations.AddField("pet", "legs", models.IntegerField(default=4))',
        'migrations.AlterField("pet", "name", models.CharField(max_length=50))',
        'migrations.AddIndex("pet", models.Index(fields=["tag", "name"], name="example"))',
        'migrations.DeleteModel("IdempotencyRecord")',
    ],
)
def test_migration_that_would_break_the_previous_version_is_rejected(
    operation: str, lint_example: Callable[..., MigrationLinter]
) -> None:
    assert lint_example(operation).nb_erroneous == 1
