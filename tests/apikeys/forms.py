"""The forms of API keys in the admin, as staff send them, and the keys in their responses."""

import re

from django.test import Client
from django.urls import reverse

from petservice.apikeys.models import APIKey

LIST = reverse("admin:apikeys_apikey_changelist")
ADD = reverse("admin:apikeys_apikey_add")
FORM = {
    "name": "Acme",
    "access": "write",
    "lifetime": "never",
    "expires_at": "",
    "form_token": "6f1c0a5e-9b3d-4f7c-8a2e-1d0b9c8f7a6e",
}
ROTATE = {"grace_period": "24", "lifetime": "never"}


def page_of(api_key: APIKey, page: str = "change") -> str:
    return reverse(f"admin:apikeys_apikey_{page}", args=[api_key.pk])


def shown_key(response: object) -> str:
    (plain,) = set(re.findall(r"pets_(?:test|live)_[0-9A-Za-z]{49}", response.content.decode()))  # type: ignore[attr-defined]
    return plain


def status_with(plain: str) -> int:
    return Client(headers={"X-API-Key": plain}).get("/v1/pets").status_code
