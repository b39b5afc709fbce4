"""Authenticator apps, recovery codes, and sessions in which time has passed."""

import re
import time
from base64 import b32decode
from datetime import timedelta
from html import unescape
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django_otp.oath import hotp
from django_otp.plugins.otp_totp.models import TOTPDevice

from tests.backoffice.pages import fields_of

SECOND_FACTOR = reverse("admin:second_factor")
MINUTE = timedelta(minutes=1)
# The number of codes that an app shows in a test. With many, one of them would soon be a code that is to be wrong.
TOLERANCE = 5


class Authenticator:
    """An authenticator app. Each code is from a later step of 30 seconds than the code before."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._step = int(time.time()) // 30

    def code(self) -> str:
        code = str(hotp(self._secret, self._step)).zfill(6)
        self._step += 1
        return code


def with_factor(user: User) -> Authenticator:
    """Give an account a second factor that accepts codes of the next minutes, too."""
    return Authenticator(TOTPDevice.objects.create(user=user, name="app", tolerance=TOLERANCE).bin_key)


def set_up(client: Client) -> tuple[Authenticator, list[str]]:
    """Set up a second factor on its page, and return the app and the recovery codes."""
    page = client.get(SECOND_FACTOR)
    app = app_of(page)
    shown = client.post(SECOND_FACTOR, fields_of(page, "set-up-form") | {"code": app.code()}).content.decode()
    TOTPDevice.objects.update(tolerance=TOLERANCE)
    return app, recovery_codes(shown)


def app_of(page: Any) -> Authenticator:
    """Return an app into which the secret on the page was typed."""
    secret = re.search(r'<code id="secret">([A-Z2-7 ]+)</code>', page.content.decode())[1]
    return Authenticator(b32decode(secret.replace(" ", "")))


def recovery_codes(page: str) -> list[str]:
    return re.findall(r"<li><code>([a-z2-7-]{19})</code></li>", page)


def is_asked(response: Any) -> bool:
    """Return whether a page asks for another login."""
    return 'id="login-form"' in response.content.decode()


def log_in_again(client: Client, asked: Any, password: str, code: str = "", **others: str) -> Any:
    """Log in on a page that asks for it, if need be with a code, and return the response."""
    action = re.search(r'<form(?: action="([^"]+)")? method="post" id="login-form"', asked.content.decode())[1]
    url = unescape(action) if action else asked.wsgi_request.get_full_path()
    return client.post(url, fields_of(asked, "login-form") | {"password": password, "code": code} | others)


def send_again(client: Client, offer: Any) -> Any:
    """Send the form that a page offers after a login."""
    action = re.search(r'<form action="([^"]+)" method="post" id="kept-form"', offer.content.decode())[1]
    return client.post(unescape(action), fields_of(offer, "kept-form"))
