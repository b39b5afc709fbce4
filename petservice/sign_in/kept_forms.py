"""Forms that were sent after the session had ended, or before a second factor that has become required was set up.

The pages of the login and of the set-up carry the form, signed, and offer it afterwards. The service stores nothing.
Files and passwords are left out.
"""

from dataclasses import dataclass
from typing import Any

from django.core import signing
from django.http import HttpRequest, HttpResponse

from petservice import paths
from petservice.admin_pages.staff_page import staff_page
from petservice.sign_in import form_tokens

# The field that carries a kept form, in the forms of the login and of the set-up.
FIELD = "kept_form"
# Maximum length of a kept form in characters. With the other fields of the login, it must fit into the 64 KiB that the
# server accepts from strangers.
MAX_LENGTH = 48 * 1024
# Seconds after which a kept form is not offered any more.
_MAX_AGE = 24 * 3600
_TOKEN = "csrfmiddlewaretoken"  # noqa: S105  # the name of a field


@dataclass(frozen=True)
class KeptForm:
    """The fields of a form, in their order, the URL to which it belongs, and the token that names its account."""

    url: str
    token: str
    fields: list[list[str]]
    is_complete: bool

    @classmethod
    def of(cls, request: HttpRequest) -> "KeptForm":
        """Return the form that a request has sent."""
        is_complete = not (request.FILES or any(map(_is_password, request.POST)))
        return cls(request.get_full_path(), request.POST.get(_TOKEN, ""), without_secrets(request), is_complete)

    @property
    def shown_fields(self) -> list[list[str]]:
        """The fields that a person has filled in."""
        hidden = ("_", "initial", "form_token")
        return [[name, value] for name, value in self.fields if value and not name.startswith(hidden)]

    def signed(self) -> str | None:
        """Return the form as text for a hidden field, or None if it is too long."""
        parts = [self.url, self.token, self.fields, self.is_complete]
        text = signing.dumps(parts, salt=__name__, compress=True)
        return text if len(text) <= MAX_LENGTH else None


def without_secrets(request: HttpRequest) -> list[list[str]]:
    """Return the fields of a form without its CSRF token and without passwords."""
    return [
        [name, value]
        for name, values in request.POST.lists()
        if name != _TOKEN and not _is_password(name)
        for value in values
    ]


def _is_password(name: str) -> bool:
    return "password" in name.lower()


def read(text: str, user: Any) -> KeptForm | None:
    """Return a form that `signed` has written, or None if it is invalid, old, or that of another account."""
    try:
        form = KeptForm(*signing.loads(text, salt=__name__, max_age=_MAX_AGE))
    except signing.BadSignature:
        return None
    return form if form_tokens.belongs_to(user, form.token) else None


def form_from_before_login(request: HttpRequest) -> KeptForm | None:
    """Return a form whose CSRF token was replaced by a later login of the same account, or None for any other.

    The token proves that the service has shown the form to this account, so no other website has made it.
    """
    user: Any = request.user
    if not user.is_authenticated:
        return None
    if request.path_info == paths.LOGIN:  # the page of a login with a kept form was reloaded
        return read(request.POST.get(FIELD, ""), user)
    form = KeptForm.of(request)
    return form if form_tokens.belongs_to(user, form.token) else None


def offer(request: HttpRequest, form: KeptForm) -> HttpResponse:
    """Return a page that shows a form and sends it again with one click, with a new CSRF token."""
    return staff_page(request, "sign_in/kept_form.html", "Send your form?", {"form": form})
