"""Files with an array of pets in JSON."""

import io
import re
import tracemalloc

import pytest

from pets.files import json_pets
from tests.pets.lines import broken, errors, lines

pytestmark = pytest.mark.once


def test_a_json_array_is_read_with_the_lines_on_which_its_elements_begin() -> None:
    array = """\ufeff
    [ {"name": "Rex"}, {"name":
        "Tom\\n,["},

      [], {
        "name": "Mia" }
      , 1 ]
    """

    expected = [(2, "Rex"), (2, "Tom\n,["), (5, None), (5, "Mia"), (7, None)]
    assert [(line.number, line.values.get("name")) for line in lines(array, "json")] == expected


@pytest.mark.parametrize(
    "array",
    [
        *("[", "[1,]", '[\n{"name": "Rex"}\n{"name": "Tom"}]', "[] []", "[] x", '[{"name": "Rex"', "[1", "[1 2]"),
        *('[{"name": "Rex"}', '[{"name": Rex}]', "[NaN]", '[{"name": "\\ud800"}]', f"[{'1' * 5000}]", "[{},,{}]"),
    ],
)
def test_a_broken_json_array_is_rejected(array: str) -> None:
    assert re.match(r"line \d: not JSON \(", broken(array, "json"))


def test_a_json_array_that_is_nested_deeply_or_in_another_encoding_is_rejected() -> None:
    for array in ("[" * 1024 + "]" * 1024, "[" * 100_000):
        assert broken(array, "json").startswith("line 1: ")
    assert "the text is not UTF-8" in broken(b'[{"name": "Ren\xe9"}]', "json")


def test_a_json_array_is_read_up_to_where_it_is_broken() -> None:
    pets = "".join(f'{{"name": "Pet {number}"}},\n' for number in range(9000))

    found = lines(f"[{pets}{{'name': 'Rex'}}]", "json")

    assert [line.number for line in found] == list(range(1, 9002))
    assert found[-2].values["name"] == "Pet 8999"
    assert found[-1].errors[0].startswith("not JSON (Expecting property name")


def test_an_array_that_is_too_large_for_the_memory_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    array = '[{"name": "Rex"},\n{"name": "Tom"}]'
    for encoding, size in (("utf-8", len(array)), ("utf-16", 2 * len(array) + 2)):
        monkeypatch.setattr(json_pets, "MAX_ARRAY_BYTES", size)
        assert [line.number for line in lines(array.encode(encoding), "json")] == [1, 2]

        ((number, error),) = errors(f"{array}\n{' ' * size}".encode(encoding), "json")
        assert (number, error[:8]) == (0, "an array")


def test_the_elements_of_an_array_are_read_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    array = b"[" + b"{}," * 300_000 + b"{}]"
    monkeypatch.setattr(json_pets, "MAX_ARRAY_BYTES", len(array))  # so much is allocated at once
    tracemalloc.start()
    try:
        next(json_pets.json_pets(io.BufferedReader(io.BytesIO(array))))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 10 * len(array)


def test_the_first_character_distinguishes_an_array_from_lines() -> None:
    for blank in ("", "\ufeff", "\ufeff\ufeff", "\n \n"):
        for text in ('{"name": "Rex"}\n{"name": "Tom"}', '[{"name": "Rex"},\n{"name": "Tom"}]'):
            assert [line.values["name"] for line in lines(blank + text, "json")] == ["Rex", "Tom"]
