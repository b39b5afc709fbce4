"""Rows for bodies, content types and the properties of a new pet."""

import gzip

from pets.fields import OPTIONAL_TEXTS
from tests.contract.rows.row import MAX_BODY, ODD_TYPES, TYPE, UNKNOWN_ID, WRITE, creates, post, says


def padded(size: int) -> bytes:
    """Return a valid body of this many bytes."""
    frame = b'{"name":"Rex","note":"%s"}'
    return frame % (b"x" * (size - len(frame) + 2))


DEEP = b"[" * 5000 + b"]" * 5000

ROWS = [
    post("64 KiB", padded(MAX_BODY), check=creates(name="Rex")),
    post("64 KiB and a byte", padded(MAX_BODY + 1), 400, says("The body is too large: send at most 65536 bytes.")),
    post("a megabyte", padded(2**20), 400, says("65536")),
    post("array", [], 400, says('The body must be a JSON object, for example {"name": "Rex"}.')),
    post(
        "no quotes",
        b"{name: Rex}",
        400,
        says(
            "is not valid JSON (unexpected character, expected a string key: line 1 column 2 (char 1)): send an object"
        ),
    ),
    *(
        post(f"body {name}", body, 400)
        for name, body in {
            "empty": b"",
            "NaN": b'{"name":"Rex","x":NaN}',
            "byte order mark": b'\xef\xbb\xbf{"name":"Rex"}',
            "5000 deep in a field": b'{"name":"Rex","x":' + DEEP + b"}",
            "lone surrogate": b'{"name":"\\ud800"}',
        }.items()
    ),
    *(
        post(f"body in {name}", body, 400, says("not UTF-8"))
        for name, body in {
            "Latin-1": '{"name":"Réx"}'.encode("latin-1"),
            "UTF-8 with a surrogate": b'{"name":"\xed\xa0\x80"}',
        }.items()
    ),
    *(
        post(
            f"{body[:1]!r} in encoding {name!r}",
            body,
            400,
            says("Content-Encoding"),
            [*WRITE, TYPE, ("Content-Encoding", name)],
        )
        for name in ("gzip", "GZIP", "br", "gzip, identity", "nonsense")
        for body in (gzip.compress(b'{"name":"Rex"}', mtime=0), b'{"name":"Rex"}')
    ),
    *(
        post(
            f"encoding {name!r}",
            b'{"name":"Rex"}',
            201,
            creates(name="Rex"),
            [*WRITE, TYPE, ("Content-Encoding", name)],
        )
        for name in ("", "identity", "Identity")
    ),
    post("duplicate fields", b'{"name":"Tom","name":"Rex"}', check=creates(name="Rex")),
    post("escapes", b'{"n\\u0061me":"\\u00e9\\ud83d\\udc15"}', check=creates(name="é🐕")),
    post("huge number in an ignored field", b'{"name":"Rex","x":1e999}', 400),
]

# Content types.
ROWS += [
    post("no content type", b'{"name":"Rex"}', 400, says("Content-Type"), headers=WRITE),
    post("no content type and no body", b"", 400, headers=WRITE),
    *(
        post(f"type {kind!r}", b'{"name":"Rex"}', 400, says("Content-Type"), headers=[*WRITE, ("Content-Type", kind)])
        for kind in (
            *("", "text/plain", "application/xml", "application/jsonx", "application/*", "*/*", "json", "text/json"),
            *("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "multipart/form-data"),
        )
    ),
    *(
        post(f"type {kind!r}", b'{"name":"Rex"}', 201, creates(name="Rex"), headers=[*WRITE, ("Content-Type", kind)])
        for kind in (
            *("application/json; charset=utf-8", "application/json;charset=UTF-8", "APPLICATION/JSON"),
            *("Application/Json ; x=y", "application/json;", "application/json; charset=utf-16"),
            *(kind.replace("text/plain", "application/json") for kind in ODD_TYPES),
        )
    ),
]

TEXTS = ("name", *OPTIONAL_TEXTS)
# Messages, in which %s is the name of the field.
NO_NAME = 'name is required: send a string, for example {"name": "Rex"}.'
NO_STRING = '%s must be a JSON string, as in {"%s": "…"}; got a number.'
BLANK = "%s must not be blank."
NUL = "%s must not contain the NUL character (\\u0000): leave it out."
TOO_LONG = "%s must have at most 255 characters; got 256."
ROWS += [
    post("empty object", {}, 400, says(NO_NAME)),
    post("name missing, and a wrong tag", {"tag": 5}, 400, says(f"{NO_NAME} {NO_STRING}".replace("%s", "tag"))),
    post("tag null", {"name": "Rex", "tag": None}, 400, says("not null: leave it out if there is none.")),
    post("name in another case", {"Name": "Rex"}, 400, says("name")),
    *(
        post(f"{field} {name}", {"name": "Rex"} | {field: value}, 400, says(message.replace("%s", field)))
        for field in TEXTS
        for name, value, message in [
            ("null", None, "%s must be a string, not null"),
            ("number", 5, NO_STRING),
            ("true", True, NO_STRING.replace("number", "boolean")),
            ("list", ["Rex"], NO_STRING.replace("a number", "an array")),
            ("object", {"x": "Rex"}, NO_STRING.replace("a number", "an object")),
            ("empty", "", BLANK),
            ("Unicode blank", "\u3000\u00a0", BLANK),
            ("blank to Python only", "\u001c\u0085", BLANK),
            ("blank to JSON Schema only", "\ufeff \ufeff", BLANK),
            ("NUL", "R\0x", NUL),
            ("of 256 characters", "x" * 256, TOO_LONG),
        ]
    ),
    *(
        post(f"kept: {name}", dict.fromkeys(TEXTS, text), check=creates(**dict.fromkeys(TEXTS, text)))
        for name, text in [
            ("255 characters", "x" * 255),
            ("255 emoji", "🐕" * 255),
            ("blanks around", "  Rex \t\n"),
            ("combining characters", "e\u0301"),
            ("control character", "a\u0001b"),
            ("markup", "<b>&amp;</b>"),
        ]
    ),
    post("client's id is ignored", {"id": UNKNOWN_ID, "name": "Rex"}, check=creates(name="Rex")),
    post("unknown fields are ignored", {"name": "Rex", "x": [1], "": None}, check=creates(name="Rex")),
]
