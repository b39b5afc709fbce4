"""A reader of JSON arrays that returns one element after the other, in constant memory and with line numbers."""

import codecs
import json
import re
from collections.abc import Iterable, Iterator

# Maximum number of characters of an element, which is kept in memory until it is complete.
MAX_ELEMENT_LENGTH = 1 << 20
# Maximum distance, in characters, between the end of an incomplete text and the position of the decoder's error.
# Unterminated strings are an exception.
_LONGEST_TOKEN = 16
_WHITE_SPACE = re.compile(r"[ \t\r\n]*")
# The decoder only finds the ends of elements. Python refuses to convert a number with thousands of digits.
_DECODER = json.JSONDecoder(parse_int=str)
_NOT_UTF_8 = "the text is not UTF-8: save the file in this encoding."


class BrokenFileError(ValueError):
    """The error that the rest of the file, from this line on, cannot be split into pets."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line
        self.problem = problem


def elements(parts: Iterable[bytes], line: int) -> Iterator[tuple[int, str]]:
    """Yield the first line and the text of each element of an array that begins on `line`."""
    source = _Source(parts, line)
    source.take("[")
    if source.next_character() == "]":
        source.take("]")
    else:
        delimiter = ","
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
        while (end := self._end_of_element()) is None:
            if len(self._text) - self._position > MAX_ELEMENT_LENGTH:
                raise BrokenFileError(self.line, f"a pet of more than {MAX_ELEMENT_LENGTH:,} characters.")
            self._read_more()
        element = self._text[self._position : end]
        self._advance(end)
        return element

    def _end_of_element(self) -> int | None:
        """Return the position of the element's end, or None if more text must be read."""
        try:
            _, end = _DECODER.raw_decode(self._text, self._position)
        except json.JSONDecodeError as error:
            is_cut_off = error.pos > len(self._text) - _LONGEST_TOKEN or error.msg.startswith("Unterminated string")
            if is_cut_off and not self._is_at_end:
                return None
            line = self.line + self._text.count("\n", self._position, error.pos)
            raise BrokenFileError(line, f"not JSON ({error.msg}).") from None
        except RecursionError:
            raise BrokenFileError(self.line, "the JSON is nested too deeply.") from None
        # A number at the end of the text may continue.
        return end if end < len(self._text) or self._is_at_end else None

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
