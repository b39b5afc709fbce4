"""Passwords are hashed on a thread of low priority, in the format of Django's default hasher."""

import multiprocessing
import os
import sys
import threading
from typing import Any

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher, check_password, get_hasher

from petservice import settings as own_settings
from petservice.sign_in import password_hashing
from petservice.sign_in.password_hashing import NICE, LowPriorityHasher

pytestmark = pytest.mark.once


def test_passwords_of_django_are_valid_and_the_reverse(settings: Any) -> None:
    settings.PASSWORD_HASHERS = own_settings.PASSWORD_HASHERS  # the tests have a fast hasher
    assert isinstance(get_hasher(), LowPriorityHasher)
    stored = PBKDF2PasswordHasher().encode("correct horse", "salt", iterations=10)
    assert LowPriorityHasher().encode("correct horse", "salt", iterations=10) == stored
    assert check_password("correct horse", stored)
    assert not check_password("wrong", stored)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, only processes have a priority")
def test_only_the_thread_of_passwords_has_a_low_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    own = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    seen = []

    def encode(self: object, *arguments: object) -> str:
        seen.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        return ""

    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", encode)
    password_hashing._thread.cache_clear()
    LowPriorityHasher().encode("correct horse", "salt")

    assert seen == [max(own, NICE)]
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == own


def test_process_that_was_forked_after_a_hash_has_its_own_thread() -> None:
    hasher = LowPriorityHasher()
    hasher.encode("correct horse", "salt", iterations=1)
    forked = multiprocessing.get_context("fork").Process(target=hasher.encode, args=("correct horse", "salt", 1))
    forked.start()
    forked.join(timeout=10)
    try:
        assert forked.exitcode == 0
    finally:
        forked.kill()
