"""The arithmetic of API keys, apart from where they are stored.

A key is `pets_<environment>_<secret><checksum>`: 43 random base62 characters (256 bits) and the CRC-32 of all that
stands before it as six base62 characters. The checksum lets secret scanners recognise leaked keys, and tells
of a key without a record whether it is one of another environment.
"""

import hashlib
import re
import secrets
import string
import zlib

ENVIRONMENTS = ("test", "live")
SECRET_LENGTH = 43
CHECKSUM_LENGTH = 6
# "pets_test_" and the first eight characters of the secret: enough to find a key by, too little to guess it.
PREFIX_LENGTH = 18

_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_FORM = re.compile(
    rf"(?P<head>pets_(?P<environment>{'|'.join(ENVIRONMENTS)})_[0-9A-Za-z]{{{SECRET_LENGTH}}})"
    rf"(?P<checksum>[0-9A-Za-z]{{{CHECKSUM_LENGTH}}})",
    re.ASCII,
)


def generate(environment: str) -> str:
    """A new key for `environment`, one of ENVIRONMENTS."""
    if environment not in ENVIRONMENTS:
        raise ValueError(f"{environment!r} is not one of {', '.join(ENVIRONMENTS)}")
    head = f"pets_{environment}_" + "".join(secrets.choice(_ALPHABET) for _ in range(SECRET_LENGTH))
    return head + checksum(head)


def environment_of(plain: str) -> str | None:
    """The environment that a well-formed key belongs to, None for anything else."""
    match = _FORM.fullmatch(plain)
    if match is None or match["checksum"] != checksum(match["head"]):
        return None
    return match["environment"]


def checksum(head: str) -> str:
    """The CRC-32 (IEEE 802.3) of `head` in base62, most significant digit first, six characters."""
    number = zlib.crc32(head.encode())
    digits = ""
    for _ in range(CHECKSUM_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        digits = _ALPHABET[digit] + digits
    return digits


def digest(plain: str) -> str:
    """What is stored instead of the key: its SHA-256 in hexadecimal.

    The secret is 256 random bits, so there is no dictionary to run against it and a slow hash would only cost time.
    """
    return hashlib.sha256(plain.encode()).hexdigest()


def prefix(plain: str) -> str:
    """The part of the key that may be shown."""
    return plain[:PREFIX_LENGTH]
