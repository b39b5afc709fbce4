"""The setting that requires a second factor of some accounts or of all."""

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import Group, Permission, User
from django.test import Client, RequestFactory
from django.urls import reverse
from rest_framework.request import Request

from petservice.apikeys.authentication import StaffSessionAuthentication
from petservice.sign_in import factors
from tests.backoffice.login import ADD, INDEX
from tests.sign_in.authenticator import SECOND_FACTOR, set_up, with_factor

pytestmark = pytest.mark.once

PETS, KEYS = "Pets and inventory", "Pets, inventory and API keys"


@pytest.mark.parametrize(
    ("setting", "required"),
    [("off", []), ("keys", ["keys", "accounts", "boss"]), ("all", ["pets", "keys", "viewer", "accounts", "boss"])],
)
def test_the_setting_decides_of_whom_a_factor_is_required(
    settings: LazySettings, boss: User, setting: str, required: list[str]
) -> None:
    settings.SECOND_FACTOR = setting
    people = {name: User.objects.create_user(name, is_staff=True) for name in ("pets", "keys", "viewer", "accounts")}
    people["pets"].groups.add(Group.objects.get(name=PETS))
    people["keys"].groups.add(Group.objects.get(name=KEYS))
    for name, permission in [("viewer", "view_apikey"), ("accounts", "change_user")]:
        people[name].user_permissions.add(Permission.objects.get(codename=permission))

    assert [name for name, user in (people | {"boss": boss}).items() if factors.is_required(user)] == required


def test_without_a_factor_such_a_person_can_only_set_it_up(settings: LazySettings, boss_client: Client) -> None:
    settings.SECOND_FACTOR = "keys"
    urls = [INDEX, ADD, reverse("admin:apikeys_apikey_add"), reverse("admin:password_change"), "/admin/nothing/"]

    for url in urls:
        response = boss_client.get(url, follow=True)
        assert response.redirect_chain == [(f"{SECOND_FACTOR}?next={url}", 302)]
        assert "Set it up to continue." in response.content.decode()
        assert boss_client.post(url, {"name": "Rex"})["Location"].startswith(SECOND_FACTOR)

    _, codes = set_up(boss_client)
    assert len(codes) == 10
    assert [boss_client.get(url).status_code for url in urls] == [200, 200, 200, 200, 404]


def test_after_the_set_up_a_link_continues_where_the_person_was(settings: LazySettings, boss_client: Client) -> None:
    settings.SECOND_FACTOR = "all"
    set_up(boss_client)
    for target, link in [(ADD, ADD), ("https://evil.example/", INDEX), ("//evil.example", INDEX)]:
        codes = boss_client.post(f"{SECOND_FACTOR}?next={target}", {"renew": "yes"}).content.decode()
        assert f'<a class="button" href="{link}">I have saved the codes</a>' in codes


def test_a_reset_factor_must_be_set_up_again_in_running_sessions(settings: LazySettings, boss_client: Client) -> None:
    settings.SECOND_FACTOR = "all"
    set_up(boss_client)
    assert boss_client.get(INDEX).status_code == 200

    factors.remove(None, User.objects.get(username="boss"), message="Reset by a command.")

    assert boss_client.get(INDEX).status_code == 302
    assert boss_client.post(reverse("admin:logout")).status_code == 200


def test_the_browsable_api_accepts_only_sessions_with_the_required_factor(
    settings: LazySettings, boss: User, rf: RequestFactory
) -> None:
    request = rf.get("/v1/pets")
    request.user = boss
    boss.is_verified = lambda: False
    accepted = StaffSessionAuthentication().authenticate(Request(request))
    assert accepted == (boss, None)

    settings.SECOND_FACTOR = "keys"
    assert StaffSessionAuthentication().authenticate(Request(request)) is None
    settings.SECOND_FACTOR = "off"
    with_factor(boss)
    assert StaffSessionAuthentication().authenticate(Request(request)) is None
