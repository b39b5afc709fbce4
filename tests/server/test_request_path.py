"""A request to the API takes a short way through the code, so that a reader can follow it."""

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.databases import migrated_database_url
from tests.service import ROOT

MAX_FILES = 19
MAX_CHANGES = 50


@pytest.mark.once
def test_path_of_post_is_short(tmp_path: Path) -> None:
    with migrated_database_url(tmp_path) as url:
        program = [sys.executable, "-m", "tests.server.request_path"]
        environment = os.environ | {"DATABASE_URL": url, "PETSERVICE_DATA_DIR": str(tmp_path)}
        printed = subprocess.run(program, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout

    files = printed.splitlines()
    assert {"petservice/server/asgi.py", "pets/services.py"} <= set(files)
    assert len(set(files)) <= MAX_FILES, printed
    assert len([*pairwise(files)]) <= MAX_CHANGES, printed
