"""Two administrators who act at the same moment."""

import threading
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from petservice.accounts import services
from tests.accounts.test_django_pages import LIST, user_page


def delete_in_list(victim: User) -> tuple[str, dict[str, Any]]:
    return LIST, {"action": "delete_selected", "_selected_action": [victim.pk], "post": "yes"}


def disable_password(victim: User) -> tuple[str, dict[str, Any]]:
    form = {"usable_password": "false", "password1": "", "password2": "", "unset-password": "1"}
    return user_page(victim, "password_change"), form


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("remove", [delete_in_list, disable_password])
def test_two_administrators_cannot_remove_each_other(remove: Any) -> None:
    for _ in range(3):
        User.objects.all().delete()
        bosses = [User.objects.create_superuser(name, password="a long one") for name in ("one", "two")]
        clients = [Client(), Client()]
        for client, boss in zip(clients, bosses, strict=True):
            client.force_login(boss)
        start = threading.Barrier(2)

        def act(client: Client, victim: User, start: threading.Barrier = start) -> None:
            start.wait()
            try:
                client.post(*remove(victim))
            finally:
                connection.close()

        threads = [threading.Thread(target=act, args=pair) for pair in zip(clients, bosses[::-1], strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert services.usable_administrators().count() == 1
