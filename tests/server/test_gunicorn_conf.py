import os
import runpy

import pytest

from petservice.server import gunicorn_conf

pytestmark = pytest.mark.once


@pytest.mark.parametrize(("cores", "workers"), [(None, 2), (1, 2), (2, 2), (6, 6), (64, 8)])
def test_default_number_of_workers_is_one_per_core_but_at_least_two_and_at_most_eight(
    monkeypatch: pytest.MonkeyPatch, cores: int | None, workers: int
) -> None:
    monkeypatch.delenv("WEB_CONCURRENCY", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)

    assert runpy.run_path(gunicorn_conf.__file__)["workers"] == workers


def test_web_concurrency_sets_the_number_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEB_CONCURRENCY", "1")

    assert runpy.run_path(gunicorn_conf.__file__)["workers"] == 1
