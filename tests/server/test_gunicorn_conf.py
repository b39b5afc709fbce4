import os
import runpy

import pytest

from petservice.server import gunicorn_conf

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("cores", "variable", "workers"),
    [(None, "", 2), (1, "", 2), (2, "", 2), (6, "", 6), (64, "", 8), (6, "1", 1)],
)
def test_number_of_workers_is_that_of_the_variable_or_one_per_core_but_at_least_two_and_at_most_eight(
    monkeypatch: pytest.MonkeyPatch, cores: int | None, variable: str, workers: int
) -> None:
    monkeypatch.setenv("WEB_CONCURRENCY", variable or "0")
    monkeypatch.setattr(os, "cpu_count", lambda: cores)

    assert runpy.run_path(gunicorn_conf.__file__)["workers"] == workers
