"""The files that show how to write pets for an import."""

from dataclasses import dataclass

from django.http import HttpResponse

# Spreadsheets recognize UTF-8 by this mark.
_BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
_CSV = f"{_BYTE_ORDER_MARK}name,tag,status\r\nRex,dog,available\r\nMia,,pending\r\n"
_JSON = """\
[
{"name": "Rex", "tag": "dog", "status": "available"},
{"name": "Mia", "status": "pending"}
]
"""


@dataclass(frozen=True)
class Template:
    """A file with example pets."""

    label: str
    file_name: str
    content_type: str
    content: str

    def response(self) -> HttpResponse:
        """Return the response that downloads the file."""
        headers = {"Content-Disposition": f'attachment; filename="{self.file_name}"'}
        return HttpResponse(self.content, content_type=self.content_type, headers=headers)


TEMPLATES = {
    "csv": Template("CSV", "pets-template.csv", "text/csv; charset=utf-8", _CSV),
    "csv-semicolons": Template(
        "CSV with semicolons", "pets-template.csv", "text/csv; charset=utf-8", _CSV.replace(",", ";")
    ),
    "json": Template("JSON", "pets-template.json", "application/json", _JSON),
}
