"""Calls in a greenlet pool: each runs to its end, and none holds up the others."""

import asyncio
from contextvars import ContextVar
from functools import partial

import pytest
from django.db import connection

from pets.models import Pet
from pets.services import create_pet
from petservice.db.postgresql.base import Connection
from petservice.db.postgresql.latency import MAX_SLOW_RESPONSES, TRIAL_INTERVAL, Latency
from petservice.db.waiting import waiter
from petservice.server.greenlets import GreenletPool, PooledGreenlet
from tests.server.greenlets.calls import only_on_postgresql, sleep

_kept: ContextVar[int] = ContextVar("kept", default=0)


def count() -> int:
    _kept.set(_kept.get() + 1)
    return _kept.get()


def fail() -> None:
    raise ValueError("raised on purpose")


def test_a_call_gives_what_the_function_gives() -> None:
    async def calls() -> None:
        pool = GreenletPool(1)
        assert await pool.call(partial(pow, 2, 5)) == 32
        with pytest.raises(ValueError, match="raised on purpose"):
            await pool.call(fail)
        assert await pool.call(partial(pow, 2, 6)) == 64

    asyncio.run(calls())


def test_a_call_finds_its_greenlet_as_its_waiter_and_nobody_else_does() -> None:
    async def calls() -> None:
        pool = GreenletPool(2)
        one = await pool.call(waiter.get)
        assert isinstance(one, PooledGreenlet)
        assert not one.has_timed_out
        assert waiter.get() is None

    asyncio.run(calls())


def test_context_variables_stay_in_their_greenlet() -> None:
    async def calls() -> None:
        pool = GreenletPool(1)
        assert [await pool.call(count) for _ in range(3)] == [1, 2, 3]
        assert _kept.get() == 0

    asyncio.run(calls())


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
def test_a_call_that_waits_lets_others_go_on() -> None:
    async def calls() -> list[str]:
        pool = GreenletPool(2)
        ended: list[str] = []
        slow = asyncio.ensure_future(pool.call(partial(sleep, 0.5)))
        slow.add_done_callback(lambda _: ended.append("slow"))
        for _ in range(20):
            await asyncio.sleep(0)
            await pool.call(partial(sleep, 0.001))
            ended.append("quick")
        await slow
        pool.close()
        return ended

    assert asyncio.run(calls()) == ["quick"] * 20 + ["slow"]


async def lets_others_run(pool: GreenletPool, seconds: float) -> bool:
    """Whether others run while a call waits for a response that takes the server so long."""

    def ask() -> None:
        connection.ensure_connection()
        connection.connection.rows(b"SELECT pg_sleep($1)", [seconds])

    others: list[str] = []
    other = asyncio.get_running_loop().call_soon(others.append, "went on")
    await pool.call(ask)
    other.cancel()
    return bool(others)


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
def test_a_call_polls_for_a_near_server_and_lets_others_run_while_it_is_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connection, "_latency", Latency())
    near, far = 0, 0.001

    async def calls() -> None:
        pool = GreenletPool(1)
        await lets_others_run(pool, near)  # as it connects
        for _ in range(2 * MAX_SLOW_RESPONSES):
            await lets_others_run(pool, far)
            # What takes long, such as a commit, does not make a server far away.
            assert not all([await lets_others_run(pool, near) for _ in range(MAX_SLOW_RESPONSES)])
        # From the beginning: a machine that was too busy for prompt responses has come nearer to the next trial.
        latency = Latency()
        monkeypatch.setattr(Connection, "_latency", latency)
        # A response that is there before it is polled for counts as prompt, so that it may take more than these.
        while latency._slow < MAX_SLOW_RESPONSES:
            await lets_others_run(pool, far)
        assert all([await lets_others_run(pool, far) for _ in range(TRIAL_INTERVAL // 2)])
        # It is near again. One trial may meet it as it waits for the CPU.
        assert not all([await lets_others_run(pool, near) for _ in range(10 * TRIAL_INTERVAL)])
        pool.close()

    asyncio.run(calls())


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
def test_calls_beyond_the_size_of_the_pool_queue() -> None:
    async def calls() -> None:
        pool = GreenletPool(2)
        assert await asyncio.gather(*(pool.call(partial(sleep, 0.01)) for _ in range(20))) == ["slept"] * 20
        pool.close()

    asyncio.run(calls())


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
def test_no_more_calls_queue_than_there_are_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("petservice.server.greenlets.MAX_QUEUED", 3)

    async def calls() -> None:
        pool = GreenletPool(1)
        for _ in range(2):  # those that have left the queue make room in it
            waiting = [asyncio.ensure_future(pool.call(partial(sleep, 0.2))) for _ in range(4)]
            await asyncio.sleep(0)  # they begin
            with pytest.raises(TimeoutError, match="3 calls wait"):
                await pool.call(count)
            waiting.pop().cancel()
            await asyncio.sleep(0)
            waiting.append(asyncio.ensure_future(pool.call(partial(sleep, 0.01))))
            assert await asyncio.gather(*waiting) == ["slept"] * 4
        pool.close()

    asyncio.run(calls())


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
def test_a_call_runs_to_its_end_though_nobody_waits_for_it() -> None:
    def write() -> None:
        sleep(0.2)
        create_pet(name="Rex")

    async def calls() -> None:
        pool = GreenletPool(1)
        left = asyncio.ensure_future(pool.call(write))
        queued = asyncio.ensure_future(pool.call(count))
        await asyncio.sleep(0.05)
        left.cancel()
        queued.cancel()
        assert await pool.call(Pet.objects.count) == 1
        pool.close()

    asyncio.run(calls())


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("has_turn", [False, True], ids=["before its turn", "when its turn has come"])
def test_a_call_that_is_cancelled_just_as_a_greenlet_becomes_free_leaves_it_to_the_next(has_turn: bool) -> None:
    async def calls() -> None:
        pool = GreenletPool(1, timeout=2)
        loop = asyncio.get_running_loop()

        def end() -> None:
            sleep(0.05)
            if has_turn:  # cancelled soon, before it can use the greenlet that it gets now
                loop.call_soon(leaving.cancel)
            else:
                leaving.cancel()

        first = asyncio.ensure_future(pool.call(end))
        leaving = asyncio.ensure_future(pool.call(fail))
        await first
        with pytest.raises(asyncio.CancelledError):
            await leaving
        assert await pool.call(partial(sleep, 0.01)) == "slept"
        pool.close()

    asyncio.run(calls())
