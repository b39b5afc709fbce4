"""`restore_database` refuses files that are no backup of this service, and changes nothing then."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.restores import NAME, damage, files, pets, refusal

pytestmark = pytest.mark.faults


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "wrong.backup"


@pytest.fixture
def refuse(tmp_path: Path, migrated: Path, file: Path) -> Iterator[Callable[[], str]]:
    """Return a function that returns why the file is refused, and check at the end that nothing was changed."""
    folder = tmp_path / "data"
    folder.mkdir()
    shutil.copy(migrated, folder / NAME)
    yield lambda: refusal(folder, file)
    assert files(folder).keys() == {NAME}
    assert pets(folder / NAME) == []


def test_what_is_no_file_is_refused(file: Path, refuse: Callable[[], str]) -> None:
    assert f"There is no file {file}" in refuse()
    file.mkdir()
    assert f"There is no file {file}" in refuse()


def test_other_content_is_refused(file: Path, backup: Path, refuse: Callable[[], str]) -> None:
    content = backup.read_bytes()
    for wrong, sentence in (
        (b"a letter " * 1000, "is damaged, or no backup: file is not a database"),
        (b"", "is damaged, or no backup: no such table: pets_pet"),
        (content[: len(content) // 2], "is damaged"),
        (content[:8192] + b"x" * 8192 + content[16384:], "is damaged"),
    ):
        file.write_bytes(wrong)
        assert f"{file} {sentence}" in refuse()


def test_row_that_its_table_does_not_allow_is_refused(file: Path, backup: Path, refuse: Callable[[], str]) -> None:
    shutil.copy(backup, file)
    damage(file)

    assert f"{file} is damaged: NULL value in song.name. Use another backup." in refuse()


def test_database_in_use_is_refused(file: Path, backup: Path, refuse: Callable[[], str]) -> None:
    shutil.copy(backup, file)
    Path(f"{file}-wal").write_text("the last changes")

    assert f"{file} is a database in use, not a backup, because it has a -wal" in refuse()
