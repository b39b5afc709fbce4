"""Attempts to log in to the admin, and checks of their responses."""

import re
from typing import Any

from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from tests.backoffice.staff import PASSWORD
from tests.running.test_pages import POLICY

LOGIN = reverse("admin:login")
INDEX = reverse("admin:index")
ADD = reverse("admin:pets_pet_add")
HERE, ELSEWHERE = "192.0.2.7", "192.0.2.8"
LIMIT = 5


def log_in(
    password: str = PASSWORD, *, name: str = "ada", address: str = HERE, client: Client | None = None, **sent: str
) -> Any:
    """Send the form of the login in a new browser, or with a client, and return the response."""
    if client is None:
        client = Client(REMOTE_ADDR=address, raise_request_exception=False)
    return client.post(f"{LOGIN}?next={INDEX}", {"username": name, "password": password, **sent})


def fail(times: int = LIMIT, **login: Any) -> HttpResponse:
    """Try wrong passwords, and return the last response."""
    return [log_in(f"guess {number}", **login) for number in range(times)][-1]


def assert_staff_page(response: HttpResponse, status: int, *words: str) -> None:
    page = response.content.decode()
    assert (response.status_code, response["Content-Type"]) == (status, "text/html; charset=utf-8")
    assert set(response["Content-Security-Policy"].split("; ")) == POLICY
    assert "no-store" in response["Cache-Control"]
    assert "Pet service</a>" in page, "the page has no header of the admin"
    assert not re.search(r"<style|<script>|\sstyle=|\son\w+=|Traceback", page)
    for word in words:
        assert word in page
