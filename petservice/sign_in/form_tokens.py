"""CSRF secrets that belong to an account, so that the token of a form proves to which account it was shown.

Django makes a new secret at each login. Here, its second half is a signature of its first half and of the account.
"""

from typing import Any

from django.http import HttpRequest
from django.middleware import csrf
from django.utils.crypto import constant_time_compare, get_random_string, salted_hmac

_HALF = csrf.CSRF_SECRET_LENGTH // 2


def bind_to_account(sender: Any, request: HttpRequest, user: Any, **kwargs: Any) -> None:
    """Replace the CSRF secret that a login has made by one that belongs to the account."""
    random = get_random_string(_HALF, csrf.CSRF_ALLOWED_CHARS)
    request.META["CSRF_COOKIE"] = random + _signature(random, user.pk)


def belongs_to(user: Any, token: str) -> bool:
    """Return whether the token of a form was made for an account."""
    if len(token) != csrf.CSRF_TOKEN_LENGTH or csrf.invalid_token_chars_re.search(token):
        return False
    secret = csrf._unmask_cipher_token(token)  # type: ignore[attr-defined]  # a private function of Django
    return constant_time_compare(secret[_HALF:], _signature(secret[:_HALF], user.pk))


def _signature(random: str, account: object) -> str:
    digest = salted_hmac(__name__, f"{random} {account}", algorithm="sha256").digest()
    return "".join(csrf.CSRF_ALLOWED_CHARS[byte % len(csrf.CSRF_ALLOWED_CHARS)] for byte in digest[:_HALF])
