"""`restore_database` refuses files that are no backup of this service, and changes nothing then."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.restores import NAME, damage, execute, files, pets, refusal, restore

pytestmark = pytest.mark.faults


def missing(file: Path, backup: Path) -> str:
    return f"There is no file {file}"


def a_folder(file: Path, backup: Path) -> str:
    file.mkdir()
    return f"There is no file {file}"


def no_database(file: Path, backup: Path) -> str:
    file.write_text("a letter " * 1000)
    return f"{file} is damaged, or no backup: file is not a database"


def nothing_in_it(file: Path, backup: Path) -> str:
    file.touch()
    return f"{file} is damaged, or no backup: no such table: django_migrations"


def another_program_s(file: Path, backup: Path) -> str:
    execute(
        file, "CREATE TABLE django_migrations (id, app, name)", "INSERT INTO django_migrations VALUES (1, 'a', 'b')"
    )
    return f"{file} is a database of another program"


def cut_off(file: Path, backup: Path) -> str:
    content = backup.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    return f"{file} is damaged"


def overwritten(file: Path, backup: Path) -> str:
    content = backup.read_bytes()
    file.write_bytes(content[:8192] + b"x" * 8192 + content[16384:])
    return f"{file} is damaged"


def with_a_row_that_its_table_does_not_allow(file: Path, backup: Path) -> str:
    shutil.copy(backup, file)
    damage(file)
    return f"{file} is damaged: NULL value in song.name. Use another backup."


def of_a_later_version(file: Path, backup: Path) -> str:
    shutil.copy(backup, file)
    execute(file, "INSERT INTO django_migrations (app, name, applied) VALUES ('store', '0099_prices', '')")
    return "comes from a later version of the service, because it has the migration store.0099_prices"


def a_database_in_use(file: Path, backup: Path) -> str:
    shutil.copy(backup, file)
    Path(f"{file}-wal").write_text("the last changes")
    return f"{file} is a database in use, not a backup, because it has a -wal"


@pytest.mark.parametrize(
    "make",
    [
        *(missing, a_folder, no_database, nothing_in_it, another_program_s, cut_off, overwritten),
        *(with_a_row_that_its_table_does_not_allow, of_a_later_version, a_database_in_use),
    ],
    ids=lambda make: make.__name__,
)
def test_a_wrong_file_is_refused(
    tmp_path: Path, migrated: Path, backup: Path, make: Callable[[Path, Path], str]
) -> None:
    folder, file = tmp_path / "data", tmp_path / "wrong.backup"
    folder.mkdir()
    shutil.copy(migrated, folder / NAME)
    sentence = make(file, backup)

    assert sentence in refusal(folder, file)

    assert files(folder).keys() == {NAME}
    assert pets(folder / NAME) == []


def test_migrations_of_an_app_that_is_gone_do_not_matter(tmp_path: Path, backup: Path) -> None:
    file = tmp_path / "old.backup"
    shutil.copy(backup, file)
    execute(file, "INSERT INTO django_migrations (app, name, applied) VALUES ('toys', '0001_initial', '')")

    assert restore(tmp_path, file)[0] == 0
