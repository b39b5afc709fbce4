"""The format of API keys: generating, parsing and hashing them, without the database.

A key is `pets_<environment>_<secret><checksum>`. The secret has 43 random base62 characters (256 bits).
The checksum is the CRC-32 of everything before it, as six base62 characters.
Secret scanners recognise leaked keys by the checksum. The service uses it to recognise a key of another environment
that its database does not have.
"""

import hashlib
import re
import secrets
import string
import zlib

ENVIRONMENTS = ("test", "live")
SECRET_LENGTH = 43
CHECKSUM_LENGTH = 6
# The length of the part that may be shown, in characters: "pets_test_" and eight characters of the secret. That is
# enough to find a key, and too little to guess it.
PREFIX_LENGTH = 18

_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_FORMAT = re.compile(
    rf"(?P<head>pets_(?P<environment>{'|'.join(ENVIRONMENTS)})_[0-9A-Za-z]{{{SECRET_LENGTH}}})"
    rf"(?P<checksum>[0-9A-Za-z]{{{CHECKSUM_LENGTH}}})",
    re.ASCII,
)


def generate(environment: str) -> str:
    """Return a new random key for one of ENVIRONMENTS."""
    head = f"pets_{environment}_" + "".join(secrets.choice(_ALPHABET) for _ in range(SECRET_LENGTH))
    return head + checksum(head)


def environment_of(plain: str) -> str | None:
    """Return the environment of a key with a correct checksum, or None for any other string."""
    match = _FORMAT.fullmatch(plain)
    if match is None or match["checksum"] != checksum(match["head"]):
        return None
    return match["environment"]


def checksum(head: str) -> str:
    """Return the CRC-32 (IEEE 802.3) of a string as six base62 characters, most significant digit first."""
    number = zlib.crc32(head.encode())
    digits = ""
    for _ in range(CHECKSUM_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        digits = _ALPHABET[digit] + digits
    return digits


def digest(plain: str) -> str:
    """Return the SHA-256 of a key in hexadecimal, which is stored instead of the key.

    A fast hash is safe because the secret is 256 random bits, which no dictionary contains.
    """
    return hashlib.sha256(plain.encode()).hexdigest()


def prefix(plain: str) -> str:
    """Return the part of a key that may be shown."""
    return plain[:PREFIX_LENGTH]
