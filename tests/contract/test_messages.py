"""An error message says what is wrong, where, and what is right, and it repeats no secret."""

from collections.abc import Callable

import pytest
from django.test import Client

pytestmark = [pytest.mark.django_db, pytest.mark.once]

JSON = "application/json"
MAX_ECHO = 100  # characters of the input that a message may repeat


# Where a client can send any text: the method, the target and the headers of the request.
PLACES: dict[str, tuple[str, str, dict[str, str]]] = {
    "limit": ("GET", "/v1/pets?limit={}", {}),
    "after": ("GET", "/v1/pets?after={}", {}),
    "petId": ("GET", "/v1/pets/{}", {}),
    "Idempotency-Key": ("POST", "/v1/pets", {"Idempotency-Key": "{}é"}),
    "X-API-Key": ("GET", "/v1/pets", {"X-API-Key": "{}x"}),
    "path": ("GET", "/v1/{}", {}),
}


def message_about(api: Client, place: str, text: str) -> str:
    """Send a text in one of these places, and return the message of the error."""
    method, target, headers = PLACES[place]
    sent = {name: value.format(text) for name, value in headers.items()}
    response = api.generic(method, target.format(text), '{"name": "Rex"}', JSON, headers=sent)
    return str(response.json()["error"]["message"])


@pytest.mark.parametrize("place", PLACES)
def test_message_repeats_only_the_beginning_of_the_input_and_no_api_key(
    api: Client, create_key: Callable[..., str], place: str
) -> None:
    message = message_about(api, place, "x" * 5000)
    assert message.count("x") <= MAX_ECHO + 10  # the sentence itself has a few
    assert ("and more" in message) == (place not in ("X-API-Key", "path"))
    assert len(message) < 300

    plain = create_key()
    for before in ("", "x", "x" * 80):  # at the beginning, within, and where it is cut off
        assert plain[len("pets_test_12345678") :][:4] not in message_about(api, place, before + plain)
