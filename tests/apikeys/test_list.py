"""The list of API keys: states and uses, searches and orders."""

import pytest
from django.test import Client
from django.utils import timezone

from petservice.apikeys.models import APIKey
from tests.apikeys.forms import LIST
from tests.apikeys.states import create_keys
from tests.pets.admin.pet_pages import listed


def test_each_state_and_each_use_lists_its_keys(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    now = timezone.now()
    keys = create_keys(now)
    monkeypatch.setattr(timezone, "now", lambda: now)

    for state in APIKey.State.values:
        own = {key for key, (of_key, _) in keys.items() if of_key == state}
        assert {*listed(admin_client, LIST, state=state).result_list} == own != set(), state
    for use in APIKey.Use.values:
        own = {key for key, (_, of_key) in keys.items() if of_key == use}
        assert {*listed(admin_client, LIST, use=use).result_list} == own != set(), use


NAMES = ("Acme", "ACME shop", "Große Straße", "Żółw", "БАРСИК", "Ｒｅｘ", "50% off_", "back\\slash", "小明的狗")
SEARCHES = {
    **{"acme": ["Acme", "ACME shop"], "SHOP  acme": ["ACME shop"], "op": ["ACME shop"], "acme rex": []},
    **{"STRASSE grosse": ["Große Straße"], "żÓŁW": ["Żółw"], "барс": ["БАРСИК"], "rex": ["Ｒｅｘ"]},
    **{"明": ["小明的狗"], "50% o": ["50% off_"], "_": ["50% off_"], "\\": ["back\\slash"], "(": []},
}


def test_a_search_finds_the_names_that_have_each_of_its_words_and_a_header_sorts_them(admin_client: Client) -> None:
    for name in NAMES:
        APIKey.objects.create_key(name=name)

    for search, found in SEARCHES.items():
        assert {key.name for key in listed(admin_client, LIST, q=search).result_list} == {*found}, search
    assert [*listed(admin_client, LIST, o="0").result_list] == [*APIKey.objects.order_by("name")]
