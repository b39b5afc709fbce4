"""The pages of the admin that import and export pets."""

import re
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from pets.models import Pet
from tests.pets.admin.pet_pages import sent

LIST = reverse("admin:pets_pet_changelist")
IMPORT = reverse("admin:pets_pet_import")
COLUMNS = reverse("admin:pets_pet_import_columns")
CONFIRM = reverse("admin:pets_pet_process_import")
EXPORT = reverse("admin:pets_pet_export")
PRINT = reverse("admin:pets_pet_print")
CSV, JSON = "csv", "json"

# The permissions of staff who may import pets.
IMPORTER = ("view_pet", "add_pet", "change_pet")


def upload(client: Client, content: str | bytes, name: str = "pets.csv", **fields: str) -> Any:
    body = content.encode() if isinstance(content, str) else content
    return client.post(IMPORT, {"file": SimpleUploadedFile(name, body), **fields}, follow=True)


def confirm(client: Client, page: Any) -> Any:
    return sent(client, CONFIRM, dict(re.findall(r'name="(upload|imported)" value="([^"]*)"', page.content.decode())))


def cells(page: Any) -> list[list[str]]:
    """Return the cells of the preview's rows, with their markup."""
    rows = re.findall(r'<tr class="(?:new|update|skip)">.*?</tr>', page.content.decode(), re.DOTALL)
    return [re.findall(r"<td>(.*?)</td>", row, re.DOTALL) for row in rows]


def exported(client: Client, file_format: str = CSV, query: str = "") -> Any:
    return client.post(EXPORT + query, {"format": file_format})


def stored() -> list[tuple[Any, ...]]:
    return list(Pet.objects.order_by("pk").values_list("id", "name", "tag", "status"))
