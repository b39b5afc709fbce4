"""Passwords are hashed on a thread that any other work interrupts, in the format of Django's default hasher."""

import os
import sys
from typing import Any

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher, check_password, get_hasher

from petservice import settings as own_settings
from petservice.sign_in import password_hashing
from petservice.sign_in.password_hashing import IdleTimeHasher
from tests.waiting import wait_until

pytestmark = pytest.mark.once

HASH = PBKDF2PasswordHasher().encode("correct horse", "salt", iterations=10)


@pytest.fixture(autouse=True)
def without_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without a waiting thread, and let threads wait until a busy machine runs them."""
    wait_until(lambda: not password_hashing._is_waiting.locked())
    monkeypatch.setattr(password_hashing, "MAX_WAIT", 60)


def encoded() -> str:
    return IdleTimeHasher().encode("correct horse", "salt", iterations=10)


def test_passwords_of_django_are_valid_and_the_reverse(settings: Any) -> None:
    settings.PASSWORD_HASHERS = own_settings.PASSWORD_HASHERS  # the tests have a fast hasher
    assert isinstance(get_hasher(), IdleTimeHasher)
    assert encoded() == HASH
    assert check_password("correct horse", HASH)
    assert not check_password("wrong", HASH)


@pytest.mark.skipif(sys.platform != "linux", reason="no other system has such threads")
def test_password_is_hashed_on_a_thread_that_any_other_work_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", lambda *_: os.sched_getscheduler(0))

    assert {encoded() for _ in range(3)} == {os.SCHED_IDLE}
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


def test_password_that_has_waited_too_long_is_hashed_by_its_own_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = False
    monkeypatch.setattr(password_hashing, "MAX_WAIT", 0.01)
    monkeypatch.setattr(os, "sched_setscheduler", lambda *_: wait_until(lambda: is_over), raising=False)

    assert encoded() == HASH
    # The first thread still waits, and the next password does not start another one.
    monkeypatch.setattr(password_hashing, "MAX_WAIT", 60)
    assert encoded() == HASH

    is_over = True
    wait_until(lambda: not password_hashing._is_waiting.locked())


def test_password_is_hashed_where_no_thread_may_change_its_scheduling(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", forbidden, raising=False)

    assert encoded() == HASH


def test_error_of_the_hasher_reaches_its_caller_and_blocks_no_later_password() -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="salt must be provided"):
            IdleTimeHasher().encode("correct horse", "")
    assert encoded() == HASH
