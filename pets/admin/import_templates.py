"""The files that show how to write pets for an import."""

from typing import NamedTuple

# Spreadsheets recognize UTF-8 by this mark.
_BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
_CSV = f"{_BYTE_ORDER_MARK}name,tag,status\r\nRex,dog,available\r\nMia,,pending\r\n"
_JSON = """\
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
    content: str


TEMPLATES = {
    "csv": Template("CSV", "pets-template.csv", "text/csv; charset=utf-8", _CSV),
    "csv-semicolons": Template(
        "CSV with semicolons", "pets-template.csv", "text/csv; charset=utf-8", _CSV.replace(",", ";")
    ),
    "json": Template("JSON", "pets-template.json", "application/json", _JSON),
}
