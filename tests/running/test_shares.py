from queue import SimpleQueue
from types import SimpleNamespace

import pytest

from petservice import gunicorn_conf
from petservice.shares import Shares

pytestmark = pytest.mark.once


def test_worker_is_compared_with_those_that_accept() -> None:
    shares = Shares()
    one, other = shares.begin(), shares.begin()
    assert not one.is_above(5)  # the other has not begun
    one.note(5)
    other.note(4)
    assert one.is_above(5)
    assert not one.is_above(4)
    assert not other.is_above(4)
    other.note(None)
    assert not one.is_above(5)


def test_worker_that_has_ended_counts_no_more_and_its_place_is_given_again() -> None:
    shares = Shares()
    one = shares.begin()
    one.note(5)
    for _ in range(1000):
        other = shares.begin()
        other.note(0)
        assert one.is_above(1)
        other.end()
        assert not one.is_above(5)


def test_workers_beyond_the_places_take_what_they_can_get() -> None:
    shares = Shares()
    for _ in range(1000):
        last = shares.begin()
        last.note(0)
    assert not last.is_above(5)
    last.end()


def test_the_master_gives_places_and_takes_them_back() -> None:
    master = SimpleNamespace(SIG_QUEUE=SimpleQueue())
    one, other = SimpleNamespace(pid=1), SimpleNamespace(pid=2)
    for worker in (one, other):
        gunicorn_conf.pre_fork(master, worker)
        worker.share.note(0)
    assert one.share.is_above(1)

    gunicorn_conf.child_exit(master, other)

    one.share.note(1)
    assert not one.share.is_above(1)
    gunicorn_conf.child_exit(master, one)
