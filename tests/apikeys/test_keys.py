import re
import string

import pytest

from petservice.apikeys import keys

pytestmark = pytest.mark.once

# An example without its checksum.
HEAD = "pets_test_" + "0123456789" * 4 + "abc"


@pytest.mark.parametrize("environment", ["test", "live"])
def test_a_key_has_the_documented_format(environment: str) -> None:
    plain = [keys.generate(environment) for _ in range(200)]

    assert all(re.fullmatch(rf"pets_{environment}_[0-9A-Za-z]{{49}}", one, re.ASCII) for one in plain)
    assert {*map(keys.environment_of, plain)} == {environment}
    assert {character for one in plain for character in one[10:53]} == {*string.ascii_letters, *string.digits}


@pytest.mark.parametrize(
    "text",
    [
        *("", "pets_", "pets_test_", "a" * 59, "Bearer {key}", " {key}", "{key} ", "{key}\n", "\0{key}", "{key}{key}"),
        HEAD + "000000",  # a wrong checksum
    ],
)
def test_anything_else_is_not_a_key(text: str) -> None:
    assert keys.environment_of(text.format(key=keys.generate("test"))) is None


def test_the_checksum_is_the_crc_32_in_base62() -> None:
    assert keys.checksum("123456789") == "3jZRME", "the standard check value, CBF43926 in hexadecimal"
    assert keys.checksum("") == "000000"
