"""The command line of the service, and its default data directory."""

import gc
import sys
from contextvars import copy_context
from pathlib import Path

import pytest
from platformdirs import user_data_path

from petservice import __main__ as command_line
from petservice import __version__
from petservice.configuration import environment
from tests.service import free_port, manage

pytestmark = pytest.mark.once


def run() -> None:
    """Run the command line in a context of its own, because it removes the time limit of statements there."""
    copy_context().run(command_line.main)


def test_version_is_that_of_the_program_and_garbage_is_collected_rarely(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    threshold = gc.get_threshold()
    gc.set_threshold(700)
    try:
        monkeypatch.setattr(sys, "argv", ["petservice", "--version"])
        run()
        assert gc.get_threshold()[0] == command_line.COLLECTION_THRESHOLD
    finally:
        gc.set_threshold(*threshold)
    assert capsys.readouterr().out == f"petservice {__version__}\n"


@pytest.mark.parametrize("program", ["petservice", command_line.__file__])
def test_command_calls_itself_petservice(
    program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [program, "help", "serve"])
    run()
    assert "usage: petservice serve" in capsys.readouterr().out


def test_command_of_django_says_in_a_sentence_that_the_database_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "damaged").write_bytes(bytes(1024))
    away = f"postgres://me:s3cret@127.0.0.1:{free_port()}/pets"
    for url, cause in {away: "connection", f"sqlite:///{tmp_path}/damaged": "file is not a database"}.items():
        ended = manage("migrate", DATABASE_URL=url)

        assert ended.returncode == 1
        assert ended.stderr.startswith(f"The database cannot be used: {cause}")
        assert "Traceback" not in ended.stderr
        assert "s3cret" not in ended.stderr
    assert "Traceback" in manage("migrate", "--traceback", DATABASE_URL=url).stderr


def test_data_is_in_a_clone_or_else_in_the_directory_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "_ROOT", tmp_path)
    assert environment._default_data_dir() == user_data_path("petservice", appauthor=False)
    (tmp_path / "manage.py").touch()
    assert environment._default_data_dir() == tmp_path / "data"
