import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from queue import SimpleQueue
from types import SimpleNamespace

import pytest

from petservice.server import gunicorn_conf
from petservice.server.balancing import Share, Shares

pytestmark = pytest.mark.once

# How many of so many new connections a worker gives to others, if it keeps the rest.
Gifts = Callable[[Share, int, int], int]


@pytest.fixture
def shares() -> Iterator[Shares]:
    shares = Shares(8)
    yield shares
    for way in shares.ways:
        for end in way:
            end.close()


@pytest.fixture
def given() -> Iterator[Gifts]:
    with ExitStack() as stack:

        def given(worker: Share, connections: int, new: int) -> int:
            accepted = [stack.enter_context(socket.socket()) for _ in range(new)]
            return sum(worker.give(one, connections) is not None for one in accepted)

        yield given


def begun(shares: Shares, *counts: int | None) -> list[Share]:
    """A worker with each number of connections."""
    workers = [shares.begin() for _ in counts]
    for worker, connections in zip(workers, counts, strict=True):
        worker.note(connections)
    return workers


def number_of(connections: Iterator[socket.socket]) -> int:
    number = 0
    for connection in connections:
        connection.close()
        number += 1
    return number


def test_worker_with_more_than_another_gives_to_the_one_with_the_fewest(shares: Shares) -> None:
    one, two, three = begun(shares, 5, 4, 3)
    client, accepted = socket.socketpair()
    with client:
        assert one.give(accepted, 5) is not None
        assert accepted.fileno() == -1  # closed, or the client would never see an end

        (got,) = three.take()

        with got:
            client.sendall(b"to the worker that has it")
            assert got.recv(100) == b"to the worker that has it"
        assert client.recv(1) == b""
    assert number_of(two.take()) == number_of(three.take()) == 0


def test_worker_keeps_what_would_be_one_too_many_elsewhere(shares: Shares, given: Gifts) -> None:
    one, _ = begun(shares, 5, 5)
    assert given(one, 5, 1) == 0
    assert given(one, 4, 1) == 0


def test_what_has_been_given_counts_before_the_other_worker_has_come_for_it(shares: Shares, given: Gifts) -> None:
    one, other = begun(shares, 5, 0)
    assert given(one, 5, 8) == 5
    assert number_of(other.take()) == 5
    other.note(3)  # some of its own have ended
    assert given(one, 5, 8) == 2


def test_worker_that_does_not_come_is_given_only_so_many_and_they_can_be_taken_back(
    shares: Shares, given: Gifts
) -> None:
    one, _ = begun(shares, 1000, 0)
    with socket.create_server(("127.0.0.1", 0)) as accepted:
        address = accepted.getsockname()
        first = one.give(accepted, 1000)
    assert first is not None
    number = given(one, 1000, 500)
    assert number < 500

    back = one.take_back(first)

    with next(back) as again:
        assert again.getsockname() == address
    assert number_of(back) == number


def test_what_a_worker_is_about_to_fetch_is_not_taken_back(shares: Shares, given: Gifts) -> None:
    one, other = begun(shares, 1000, 0)
    with socket.socket() as accepted:
        first = one.give(accepted, 1000)
    assert first is not None
    assert number_of(other.take()) == 1
    given(one, 1000, 1)

    assert number_of(one.take_back(first)) == 0

    assert number_of(other.take()) == 1


def test_nothing_is_given_to_a_worker_that_accepts_nothing(shares: Shares, given: Gifts) -> None:
    one, full, ended = begun(shares, 5, None, 0)
    ended.end()
    shares.begin()  # not yet
    assert given(one, 5, 1) == 0
    full.note(4)
    assert given(one, 5, 1) == 1


def test_place_of_a_worker_that_has_ended_is_given_again(shares: Shares, given: Gifts) -> None:
    (one,) = begun(shares, 5)
    for _ in range(100):
        (other,) = begun(shares, 0)
        assert given(one, 5, 1) == 1
        assert number_of(other.take()) == 1
        other.end()


def test_workers_beyond_the_places_keep_what_they_get(shares: Shares, given: Gifts) -> None:
    for _ in range(100):
        (last,) = begun(shares, 0)
    assert last.channel is None
    assert number_of(last.take()) == 0
    assert given(last, 5, 1) == 0
    last.end()


def test_the_master_gives_places_and_takes_them_back(shares: Shares, given: Gifts) -> None:
    master = SimpleNamespace(SIG_QUEUE=SimpleQueue(), shares=shares)
    one, other = SimpleNamespace(pid=1), SimpleNamespace(pid=2)
    for worker in (one, other):
        gunicorn_conf.pre_fork(master, worker)
        worker.share.note(0)
    assert given(one.share, 1, 1) == 1

    gunicorn_conf.child_exit(master, other)

    one.share.note(1)
    assert given(one.share, 1, 1) == 0
    gunicorn_conf.child_exit(master, one)
