"""A JSON array read element by element, so that a file of any size takes little memory."""

import codecs
import json
import re
from collections.abc import Iterable, Iterator

# Characters of an element, of which the text is kept until it is complete.
MAX_ELEMENT_LENGTH = 1 << 20
# No message of the decoder about text that is merely cut off points further back than this, except for strings.
_LONGEST_TOKEN = 16
_WHITE_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_NOT_UTF_8 = "the text is not UTF-8: save the file in this encoding."


class BrokenArrayError(ValueError):
    """The text is no JSON array from this line on."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")
        self.line = line
        self.problem = problem


def elements(parts: Iterable[bytes], line: int) -> Iterator[tuple[int, str]]:
    """Yield the text of each element of an array that begins on `line`, and the line on which the element begins."""
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
        raise BrokenArrayError(source.line, "not JSON (there is more after the end of the array).")


class _Source:
    """The text that has been read of an array, and not yet been passed on."""

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
        """Pass on the next character, which has to be one of those expected."""
        character = self.next_character()
        if not character or character not in expected:
            names = " or ".join(expected)
            raise BrokenArrayError(self.line, f"not JSON (expected {names}, got {character or 'the end'}).")
        self._advance(self._position + 1)
        return character

    def element(self) -> str:
        """Pass on the next element."""
        while (end := self._end_of_element()) is None:
            if len(self._text) - self._position > MAX_ELEMENT_LENGTH:
                raise BrokenArrayError(self.line, f"a pet of more than {MAX_ELEMENT_LENGTH:,} characters.")
            self._read_more()
        element = self._text[self._position : end]
        self._advance(end)
        return element

    def _end_of_element(self) -> int | None:
        """Return where the element ends, None if the rest of it has not been read."""
        try:
            _, end = _DECODER.raw_decode(self._text, self._position)
        except json.JSONDecodeError as error:
            is_cut_off = error.pos > len(self._text) - _LONGEST_TOKEN or error.msg.startswith("Unterminated string")
            if is_cut_off and not self._is_at_end:
                return None
            line = self.line + self._text.count("\n", self._position, error.pos)
            raise BrokenArrayError(line, f"not JSON ({error.msg}).") from None
        except ValueError as error:  # a number of thousands of digits
            raise BrokenArrayError(self.line, f"not JSON ({error}).") from None
        except RecursionError:
            raise BrokenArrayError(self.line, "the JSON is nested too deeply.") from None
        # A number may go on.
        return end if end < len(self._text) or self._is_at_end else None

    def _read_more(self) -> bool:
        part = next(self._parts, b"")
        self._is_at_end = not part
        try:
            text = self._decoder.decode(part, final=self._is_at_end)
        except UnicodeDecodeError:
            raise BrokenArrayError(self.line, _NOT_UTF_8) from None
        self._text = self._text[self._position :] + text
        self._position = 0
        return not self._is_at_end

    def _advance(self, end: int) -> None:
        self.line += self._text.count("\n", self._position, end)
        self._position = end
