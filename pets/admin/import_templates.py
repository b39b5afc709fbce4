"""The files that show how to write pets for an import."""

from typing import NamedTuple

from petservice.exports.csv_files import BYTE_ORDER_MARK

_CSV = BYTE_ORDER_MARK + b"name,tag,status\r\nRex,dog,available\r\nMia,,pending\r\n"
_JSON = b"""\
[
{"name": "Rex", "tag": "dog", "status": "available"},
{"name": "Mia", "status": "pending"}
]
"""


class Template(NamedTuple):
    """A file with example pets."""

    label: str
    file_name: str
    content_type: str
    content: bytes


TEMPLATES = {
    "csv": Template("CSV", "pets-template.csv", "text/csv; charset=utf-8", _CSV),
    "csv-semicolons": Template(
        "CSV with semicolons", "pets-template.csv", "text/csv; charset=utf-8", _CSV.replace(b",", b";")
    ),
    "json": Template("JSON", "pets-template.json", "application/json", _JSON),
}
