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
    post("64 KiB and a byte", padded(MAX_BODY + 1), 400, says("65536")),
    post("a megabyte", padded(2**20), 400, says("65536")),
    *(
        post(f"body {name}", body, 400)
        for name, body in {
            "empty": b"",
            "not JSON": b"name=Rex",
            "cut off": b'{"name":"Rex"',
            "trailing garbage": b'{"name":"Rex"}x',
            "two objects": b'{"name":"Rex"}{"name":"Rex"}',
            "trailing comma": b'{"name":"Rex",}',
            "single quotes": b"{'name':'Rex'}",
            "comment": b'{"name":"Rex"} // a dog',
            "NaN": b'{"name":"Rex","x":NaN}',
            "Infinity": b'{"name":"Rex","x":Infinity}',
            "byte order mark": b'\xef\xbb\xbf{"name":"Rex"}',
            "5000 deep": DEEP,
            "5000 deep in a field": b'{"name":"Rex","x":' + DEEP + b"}",
            "array": b"[]",
            "array of a pet": b'[{"name":"Rex"}]',
            "string": b'"Rex"',
            "number": b"5",
            "null": b"null",
            "true": b"true",
            "NUL": b"\0",
            "raw line feed in a string": b'{"name":"R\nx"}',
            "lone surrogate": b'{"name":"\\ud800"}',
            "lone surrogate in the tag": b'{"name":"Rex","tag":"a\\udc00"}',
        }.items()
    ),
    *(
        post(f"body in {name}", body, 400, says("not UTF-8"))
        for name, body in {
            "Latin-1": '{"name":"Réx"}'.encode("latin-1"),
            "UTF-16": '{"name":"Rex"}'.encode("utf-16"),
            "UTF-8 with a surrogate": b'{"name":"\xed\xa0\x80"}',
            "UTF-8 that is cut off": b'{"name":"R\xc3',
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
    post("blanks around the object", b' \r\n\t{"name":"Rex"}\n', check=creates(name="Rex")),
    post("duplicate fields", b'{"name":"Tom","name":"Rex"}', check=creates(name="Rex")),
    post("escapes", b'{"n\\u0061me":"\\u00e9\\ud83d\\udc15"}', check=creates(name="é🐕")),
    *(
        post(f"name in {script}", f'{{"name":"{name}","tag":"{tag}"}}'.encode(), check=creates(name=name, tag=tag))
        for script, name, tag in [
            ("Cyrillic", "Барсик", "кошка"),
            ("Chinese", "小白", "狗"),
            ("Arabic", "فلفل", "قط"),
            ("Hebrew", "מיצי", "חתול"),
            ("Devanagari", "मोती", "कुत्ता"),
            ("emoji and Latin", "🦜 Żółw", "żółw"),
        ]
    ),
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
ROWS += [
    post("name missing", {"tag": "dog"}, 400, says("name")),
    post("empty object", {}, 400, says("name")),
    post("name in another case", {"Name": "Rex"}, 400, says("name")),
    *(
        post(f"{field} {name}", {"name": "Rex"} | {field: value}, 400, says(field))
        for field in TEXTS
        for name, value in [
            ("null", None),
            ("number", 5),
            ("decimal", 1.5),
            ("true", True),
            ("false", False),
            ("list", ["Rex"]),
            ("object", {"x": "Rex"}),
            ("empty", ""),
            ("blank", "  "),
            ("tab and line feed", "\t\n"),
            ("Unicode blank", "\u3000\u00a0"),
            ("blank to Python only", "\u001c\u0085"),
            ("blank to JSON Schema only", "\ufeff \ufeff"),
            ("NUL", "R\0x"),
            ("NUL alone", "\0"),
            ("of 256 characters", "x" * 256),
            ("of 256 emoji", "🐕" * 256),
            ("of 255 characters and a blank", "x" * 255 + " "),
        ]
    ),
    *(
        post(f"kept: {name}", dict.fromkeys(TEXTS, text), check=creates(**dict.fromkeys(TEXTS, text)))
        for name, text in [
            ("one character", "x"),
            ("255 characters", "x" * 255),
            ("255 emoji", "🐕" * 255),
            ("blanks around", "  Rex \t\n"),
            ("combining characters", "e\u0301"),
            ("right to left", "\u202eRex"),
            ("control character", "a\u0001b"),
            ("not a character", "\uffff"),
            ("markup", "<b>&amp;</b>"),
            ("digits", "5"),
        ]
    ),
    post("client's id is ignored", {"id": UNKNOWN_ID, "name": "Rex"}, check=creates(name="Rex")),
    post("client's status is ignored", {"status": "sold", "name": "Rex"}, check=creates(name="Rex")),
    post("unknown fields are ignored", {"name": "Rex", "x": [1], "": None}, check=creates(name="Rex")),
]
