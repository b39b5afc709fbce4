"""Two administrators who act at the same moment."""

import threading

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from tests.accounts.test_django_pages import LIST


@pytest.mark.django_db(transaction=True)
def test_two_administrators_cannot_delete_each_other_in_the_list() -> None:
    for _ in range(3):
        User.objects.all().delete()
        bosses = [User.objects.create_superuser(name, password="a long one") for name in ("one", "two")]
        clients = [Client(), Client()]
        for client, boss in zip(clients, bosses, strict=True):
            client.force_login(boss)
        start = threading.Barrier(2)

        def delete(client: Client, victim: User, start: threading.Barrier = start) -> None:
            start.wait()
            try:
                client.post(LIST, {"action": "delete_selected", "_selected_action": [victim.pk], "post": "yes"})
            finally:
                connection.close()

        threads = [threading.Thread(target=delete, args=pair) for pair in zip(clients, bosses[::-1], strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert User.objects.filter(is_superuser=True).count() == 1
