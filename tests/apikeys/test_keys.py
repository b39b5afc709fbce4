import re
import string
import zlib

import pytest

from petservice.apikeys import keys

pytestmark = pytest.mark.once

CHARACTERS = string.digits + string.ascii_uppercase + string.ascii_lowercase
# An example without its checksum.
HEAD = "pets_test_" + "0123456789" * 4 + "abc"


def number_of(digits: str) -> int:
    """Return the number that base62 digits represent."""
    number = 0
    for digit in digits:
        number = number * 62 + CHARACTERS.index(digit)
    return number


@pytest.mark.parametrize("environment", ["test", "live"])
def test_a_key_has_the_documented_format(environment: str) -> None:
    plain = keys.generate(environment)

    assert re.fullmatch(rf"pets_{environment}_[0-9A-Za-z]{{43}}[0-9A-Za-z]{{6}}", plain, re.ASCII)
    assert keys.environment_of(plain) == environment


def test_checksum_is_the_crc_32_in_base62() -> None:
    # The standard check value of CRC-32.
    assert number_of(keys.checksum("123456789")) == 0xCBF43926
    assert number_of(keys.checksum(HEAD)) == zlib.crc32(HEAD.encode())
    assert keys.checksum("") == "000000"


@pytest.mark.parametrize(
    "text",
    [
        *("", "pets_", "pets_test_", "a" * 59, "Bearer {key}", " {key}", "{key} ", "{key}\n", "\0{key}", "{key}{key}"),
        HEAD + "000000",  # a wrong checksum
    ],
)
def test_anything_else_is_not_a_key(text: str) -> None:
    assert keys.environment_of(text.format(key=keys.generate("test"))) is None


def test_secrets_use_every_character_of_the_alphabet() -> None:
    secrets = "".join(keys.generate("test")[10:53] for _ in range(200))

    assert set(secrets) == set(CHARACTERS)


def test_prefix_shows_the_environment_and_eight_characters_of_the_secret() -> None:
    assert keys.prefix(HEAD) == "pets_test_01234567"
