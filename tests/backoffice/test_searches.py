"""The searches of lists with few rows: any part of a text, in any case and script."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from petservice.apikeys.models import APIKey


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ŻÓŁW", "żółw"),
        ("100%", "100%"),
        ("a_b", "a_b"),
        ("\\", "back\\slash"),
        ("Straße", "STRASSE 2"),
        ("ＢＣ", "abc"),
    ],
)
def test_keys_and_accounts_are_found_in_any_case(admin_client: Client, text: str, name: str) -> None:
    for other in ("100", "aab", "Tom"):
        APIKey.objects.create_key(name=other)
        User.objects.create_user(other, is_staff=True)
    APIKey.objects.create_key(name=name)
    User.objects.create_user("dora", first_name=name, is_staff=True)

    for page, field in (("apikeys_apikey", "name"), ("accounts_account", "first_name")):
        changelist = admin_client.get(reverse(f"admin:{page}_changelist"), {"q": text}).context["cl"]
        assert [getattr(one, field) for one in changelist.result_list] == [name], page
