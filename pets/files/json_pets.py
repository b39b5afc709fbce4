"""The readers of pets as JSON: one on each line, or an array, in constant memory and with line numbers."""

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any

import orjson

from pets.files.rows import COLUMNS, KNOWN_COLUMNS, BrokenFileError, File, Values, column_of, is_utf_16, unknown_columns
from petservice.exports.csv_files import BYTE_ORDER_MARK

# Maximum number of bytes that are read of a line, so that no line fills the memory.
_MAX_LINE_LENGTH = 1 << 20
# Number of bytes of an array that are read in one step.
_PART_BYTES = 1 << 16
_SHAPE = 'the file must be an array of pets, or have one pet on each line, for example {"name": "Rex"}.'
# Maximum number of characters of an element, which is kept in memory until it is complete.
MAX_ELEMENT_LENGTH = 1 << 20
# Maximum distance, in characters, between the end of an incomplete text and the position of the decoder's error.
# Unterminated strings are an exception.
_LONGEST_TOKEN = 16
_WHITE_SPACE = re.compile(r"[ \t\r\n]*")
# The decoder only finds the ends of elements. Python refuses to convert a number with thousands of digits.
_DECODER = json.JSONDecoder(parse_int=str)
_NOT_UTF_8 = "the text is not UTF-8: save the file in this encoding."


def json_pets(file: File) -> Values:
    """Read a JSON array if the first character is `[`, or else JSON lines."""
    source: Any = codecs.EncodedFile(file, "utf-8", "utf-16") if is_utf_16(file.peek(2)) else file
    is_beginning = True
    for number, line in enumerate(iter(partial(source.readline, _MAX_LINE_LENGTH), b""), start=1):
        text = line.lstrip(BYTE_ORDER_MARK)  # also several of them, because JSON begins with none of its bytes
        if is_beginning and text.lstrip().startswith(b"["):
            yield from _read_array(chain([text], iter(partial(source.read, _PART_BYTES), b"")), number)
            return
        if len(line) == _MAX_LINE_LENGTH:
            problem = f"longer than {_MAX_LINE_LENGTH:,} bytes: write each pet on a line of its own."
            raise BrokenFileError(number, problem)
        if not text or text.isspace():
            continue
        is_beginning = False
        try:
            yield number, _object(orjson.loads(text.rstrip()))
        except orjson.JSONDecodeError as error:
            problem = f"not JSON ({error.msg} at character {error.colno}): {_SHAPE}"
            if 0 < error.pos == len(error.doc):  # the object continues on the next line
                raise BrokenFileError(number, problem) from None
            yield number, problem


def _read_array(parts: Iterable[bytes], start: int) -> Values:
    for number, element in elements(parts, start):
        try:
            yield number, _object(orjson.loads(element))
        except orjson.JSONDecodeError as error:  # orjson is stricter than json: it refuses NaN and lone surrogates
            yield number + error.lineno - 1, f"not JSON ({error.msg})."


def _object(values: Any) -> dict[str, Any] | str:
    if not isinstance(values, dict):
        return f"not a pet: {_SHAPE}"
    if values.keys() <= KNOWN_COLUMNS:
        return values
    columns = {column_of(name): value for name, value in values.items()}
    if not columns.keys() & KNOWN_COLUMNS:
        return f"unknown {unknown_columns(values)}, and no field of a pet: {_SHAPE}"
    if not columns.keys() <= KNOWN_COLUMNS:
        return f"unknown {unknown_columns(values)}: there are only {', '.join(COLUMNS)}."
    if len(columns) < len(values):
        return "a field is named twice: upper and lower case are the same."
    return columns


def elements(parts: Iterable[bytes], line: int) -> Iterator[tuple[int, str]]:
    """Yield the first line and the text of each element of an array that begins on `line`."""
    source = _Source(parts, line)
    source.take("[")
    delimiter = source.take("]") if source.next_character() == "]" else ","
    while delimiter == ",":
        source.next_character()
        yield source.line, source.element()
        delimiter = source.take(",]")
    if source.next_character():
        raise BrokenFileError(source.line, "not JSON (there is more after the end of the array).")


class _Source:
    """A buffer of the part of the array that has been read and not yet returned."""

    def __init__(self, parts: Iterable[bytes], line: int) -> None:
        self.line = line
        self._parts = iter(parts)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._text = ""
        self._position = 0
        self._is_at_end = False

    def next_character(self) -> str:
        """Skip white space and return the character after it, or an empty string at the end."""
        while True:
            space = _WHITE_SPACE.match(self._text, self._position)
            self._advance(space.end() if space else self._position)
            if self._position < len(self._text):
                return self._text[self._position]
            if not self._read_more():
                return ""

    def take(self, expected: str) -> str:
        """Consume the next character. Raises BrokenFileError if it is not one of the expected ones."""
        character = self.next_character()
        if not character or character not in expected:
            names = " or ".join(expected)
            raise BrokenFileError(self.line, f"not JSON (expected {names}, got {character or 'the end'}).")
        self._advance(self._position + 1)
        return character

    def element(self) -> str:
        """Consume and return the next element."""
        while True:
            try:
                _, end = _DECODER.raw_decode(self._text, self._position)
            except json.JSONDecodeError as error:
                is_cut_off = error.pos > len(self._text) - _LONGEST_TOKEN or error.msg.startswith("Unterminated string")
                if self._is_at_end or not is_cut_off:
                    line = self.line + self._text.count("\n", self._position, error.pos)
                    raise BrokenFileError(line, f"not JSON ({error.msg}).") from None
            except RecursionError:
                raise BrokenFileError(self.line, "the JSON is nested too deeply.") from None
            else:
                if end < len(self._text) or self._is_at_end:  # otherwise a number may continue
                    element = self._text[self._position : end]
                    self._advance(end)
                    return element
            if len(self._text) - self._position > MAX_ELEMENT_LENGTH:
                raise BrokenFileError(self.line, f"a pet of more than {MAX_ELEMENT_LENGTH:,} characters.")
            self._read_more()

    def _read_more(self) -> bool:
        part = next(self._parts, b"")
        self._is_at_end = not part
        try:
            text = self._decoder.decode(part, final=self._is_at_end)
        except UnicodeDecodeError:
            raise BrokenFileError(self.line, _NOT_UTF_8) from None
        self._text = self._text[self._position :] + text
        self._position = 0
        return not self._is_at_end

    def _advance(self, end: int) -> None:
        self.line += self._text.count("\n", self._position, end)
        self._position = end
