"""The stored counts with several concurrent writers."""

import random
import threading
from contextlib import suppress
from functools import partial

import pytest
from django.db import connection, transaction

from pets.models import Pet
from store.services import inventory_counts
from tests.concurrent_write import together
from tests.store.counts import NONE, STATUSES, ProvokedError, assert_exact

pytestmark = pytest.mark.django_db(transaction=True)

WRITERS = 8
ROUNDS = 12


def _write_at_random(seed: int) -> None:
    """Run transactions of several statements on the pets of one writer, with statuses in random order."""
    choose = random.Random(seed)
    name = f"Writer {seed}"
    own = Pet.objects.filter(name=name)
    for _ in range(ROUNDS):
        statuses = choose.sample(STATUSES, 3)
        with suppress(ProvokedError), transaction.atomic():
            for status in statuses:
                Pet.objects.bulk_create(Pet(name=name, status=status) for _ in range(choose.randrange(4)))
                own.filter(status=status).update(status=choose.choice(STATUSES))
                if choose.random() < 0.3:
                    own.filter(status=choose.choice(STATUSES)).delete()
            if choose.random() < 0.3:
                raise ProvokedError
        if pet := own.first():
            pet.status = choose.choice(STATUSES)
            pet.save()


def test_concurrent_writers_succeed_and_the_counts_stay_exact() -> None:
    together(*(partial(_write_at_random, seed) for seed in range(WRITERS)))

    assert Pet.objects.exists()
    assert_exact()


def test_a_writer_does_not_wait_for_another_writer_of_the_same_status() -> None:
    """On SQLite writers wait for each other, so there the second writer must succeed after the first."""
    Pet.objects.create(name="Rex")
    done = threading.Event()

    def work() -> None:
        try:
            Pet.objects.create(name="Tom")
            done.set()
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    with transaction.atomic():
        Pet.objects.create(name="Tim")
        thread.start()
        if connection.vendor == "postgresql":
            assert done.wait(timeout=30)
    thread.join()

    assert done.is_set()
    assert inventory_counts() == NONE | {"available": 3}
