"""The readers of pets as JSON: one on each line, in constant memory, or an array, with line numbers."""

import codecs
import json
import re
from functools import partial
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO, Any

import orjson

from pets.files.rows import COLUMNS, EXPORTED, MAX_EMPTY_LINES, BrokenFileError, Values, unknown_columns, word_of

# Maximum number of bytes that are read of a line, so that no line fills the memory.
_MAX_LINE_LENGTH = 1 << 20
# Maximum number of bytes of an array, which is kept in memory. Exports of the admin have at most 40 MiB.
MAX_ARRAY_BYTES = 64 << 20
# Maximum number of fields of an object, because the message about unknown ones reads the names of all.
_MAX_FIELDS = 1000
_SHAPE = 'the file must be an array of pets, or have one pet on each line, for example {"name": "Rex"}.'
# What is before the first pet of an array, and after each one.
_OPENING = re.compile(r"[ \t\r\n]*\[[ \t\r\n]*(\]?)[ \t\r\n]*")
_DELIMITER = re.compile(r"[ \t\r\n]*([,\]])[ \t\r\n]*")
# The decoder only finds the ends of elements. Python refuses to convert a number with thousands of digits.
_DECODER = json.JSONDecoder(parse_int=str)
_NOT_UTF_8 = "the text is not UTF-8: save the file in this encoding."


def json_pets(file: IO[bytes]) -> Values:
    """Read a JSON array if the first character is `[`, or else JSON lines."""
    encoding = json.detect_encoding(file.read(4))
    file.seek(0)
    if not encoding.startswith("utf-8"):
        with TemporaryFile() as copy:
            # As a whole, because EncodedFile splits all lines that it has read for each one that it returns.
            copyfileobj(codecs.EncodedFile(file, "utf-8", encoding), copy)
            copy.seek(0)
            yield from json_pets(copy)
        return
    is_beginning, empty = True, 0
    for number, line in enumerate(iter(partial(file.readline, _MAX_LINE_LENGTH), b""), start=1):
        text = line.lstrip(codecs.BOM_UTF8)  # also several of them, because JSON begins with none of its bytes
        if is_beginning and text.lstrip().startswith(b"["):
            content = text + file.read(MAX_ARRAY_BYTES)
            if file.read(1):
                limit = f"an array of more than {MAX_ARRAY_BYTES >> 20} MB"
                raise BrokenFileError(0, f"{limit}: write each pet on a line of its own, without brackets and commas.")
            yield from _array(content, number)
            return
        if len(line) == _MAX_LINE_LENGTH:
            problem = f"longer than {_MAX_LINE_LENGTH:,} bytes: write each pet on a line of its own."
            raise BrokenFileError(number, problem)
        is_empty = not text or text.isspace()
        empty += 1 if is_empty else -1
        if empty > MAX_EMPTY_LINES:
            raise BrokenFileError(number, f"more than {MAX_EMPTY_LINES:,} empty lines: delete them.")
        if is_empty:
            continue
        is_beginning = False
        try:
            yield number, _object(orjson.loads(text.rstrip()))
        except orjson.JSONDecodeError as error:
            problem = f"not JSON ({error.msg} at character {error.colno}): {_SHAPE}"
            if "not valid UTF-8" in error.msg:  # orjson goes on with a word about surrogates, which are not in the file
                problem = _NOT_UTF_8
            if 0 < error.pos == len(error.doc):  # the object continues on the next line
                raise BrokenFileError(number, problem) from None
            yield number, problem


def _array(content: bytes, line: int) -> Values:
    """Read the elements of an array that begins on this line. The line of an element is that on which it begins."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise BrokenFileError(line, _NOT_UTF_8) from None
    counted, delimiter = 0, _OPENING.match(text)
    while delimiter and delimiter[1] != "]":
        start = delimiter.end()
        line, counted = line + text.count("\n", counted, start), start
        try:
            _, end = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            raise BrokenFileError(line + text.count("\n", start, error.pos), f"not JSON ({error.msg}).") from None
        except RecursionError:
            raise BrokenFileError(line, "the JSON is nested too deeply.") from None
        try:
            yield line, _object(orjson.loads(text[start:end]))
        except orjson.JSONDecodeError as error:  # orjson is stricter than json: it refuses NaN and lone surrogates
            yield line + error.lineno - 1, f"not JSON ({error.msg})."
        delimiter = _DELIMITER.match(text, end)
    if delimiter is None or delimiter.end() < len(text):
        problem = "there is more after the end of the array" if delimiter else "a comma or ] is missing after a pet"
        raise BrokenFileError(line, f"not JSON ({problem}).")


def _object(values: Any) -> dict[str, Any] | str:
    if not isinstance(values, dict):
        return f"not a pet: {_SHAPE}"
    if len(values) > _MAX_FIELDS:
        return f"more than {_MAX_FIELDS:,} fields: {_SHAPE}"
    columns = {word_of(name): value for name, value in values.items()}
    if not columns.keys() <= {*EXPORTED}:
        return f"unknown {unknown_columns(values)}: there are only {', '.join(COLUMNS)}; {_SHAPE}"
    if len(columns) < len(values):
        return "a field is named twice: upper and lower case are the same."
    return columns
