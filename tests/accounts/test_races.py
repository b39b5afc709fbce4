"""Two administrators who act at the same moment."""

from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User

from petservice.accounts import services
from tests.accounts.test_django_pages import LIST, user_page
from tests.backoffice.staff import logged_in
from tests.concurrent_write import together


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
        clients = map(logged_in, bosses)

        together(*(partial(client.post, *remove(boss)) for client, boss in zip(clients, bosses[::-1], strict=True)))

        assert services.usable_administrators().count() == 1
