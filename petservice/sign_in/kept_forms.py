"""Forms that were sent when a login was needed first, for example because the session had ended.

The pages of the login carry the form, signed, and offer it afterwards. The service stores nothing.
Files and passwords are left out. A form belongs to the account of its session. Without a session, a signed cookie has
the account that the browser was last logged in to. The middleware has checked that the form comes from a page of this
service in this browser.
"""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

# The field that carries a kept form, in the forms of the login.
FIELD = "kept_form"
# Maximum length of a kept form in characters. With the other fields of the login, it must fit into the 64 KiB that the
# server accepts from strangers.
MAX_LENGTH = 48 * 1024
# Seconds after which a kept form is not offered any more.
_MAX_AGE = 24 * 3600
_COOKIE = "last_account"


@dataclass(frozen=True)
class KeptForm:
    """The fields of a form, in their order, with the URL and the account to which it belongs."""

    url: str
    account: int | None
    fields: list[list[str]]
    is_complete: bool

    @property
    def shown_fields(self) -> list[list[str]]:
        """The fields that a person has filled in."""
        hidden = ("_", "initial", "form_token", "imported", "index", "select", "table", "upload")
        return [[name, value] for name, value in self.fields if value and not name.startswith(hidden)]

    @classmethod
    def from_signed(cls, text: str, user: Any) -> "KeptForm | None":
        """Return a form that `signed` has written, or None if it is invalid, old, or that of another account."""
        try:
            form = cls(*signing.loads(text, salt=__name__, max_age=_MAX_AGE))
        except signing.BadSignature:
            return None
        return form if form.account == user.pk else None


def signed(request: HttpRequest) -> str | None:
    """Return the form that a request has sent as text for a hidden field, or None if it is too long."""
    is_complete = not (request.FILES or any(map(_is_password, request.POST)))
    fields = [
        [name, value]
        for name, values in request.POST.lists()
        if name != "csrfmiddlewaretoken" and not _is_password(name)
        for value in values
    ]
    form = [request.get_full_path(), request.user.pk or last_account(request), fields, is_complete]
    text = signing.dumps(form, salt=__name__, compress=True)
    return text if len(text) <= MAX_LENGTH else None


def _is_password(name: str) -> bool:
    return "password" in name.lower()


def last_account(request: HttpRequest) -> int | None:
    """Return the account that the browser was last logged in to, or None."""
    value = request.get_signed_cookie(_COOKIE, None, salt=__name__)
    return None if value is None else int(value)


def set_last_account(response: HttpResponse, account: int) -> None:
    """Let the browser remember an account, as long as the security tokens of its forms."""
    response.set_signed_cookie(
        _COOKIE,
        str(account),
        salt=__name__,
        max_age=settings.CSRF_COOKIE_AGE,
        path=reverse("admin:index"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
