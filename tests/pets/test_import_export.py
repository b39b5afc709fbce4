import csv
import io
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import ANY

import pytest
from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from pets.admin import import_export
from pets.admin.import_export import EXPORTED, MAX_EXPORTED, MAX_ROWS
from pets.fields import new_pet_id
from pets.models import Pet, Upload
from pets.services import create_pet
from store.services import inventory_counts

LIST = reverse("admin:pets_pet_changelist")
IMPORT = reverse("admin:pets_pet_import")
CONFIRM = reverse("admin:pets_pet_process_import")
EXPORT = reverse("admin:pets_pet_export")
CSV, JSON = "0", "1"

MakeStaff = Callable[..., Client]


@pytest.fixture
def make_staff(db: None, django_user_model: Any) -> MakeStaff:
    """Makes a member of staff with these permissions on pets; returns their browser."""

    def make(*permissions: str, username: str = "jo") -> Client:
        user = django_user_model.objects.create_user(username, is_staff=True)
        user.user_permissions.set(
            Permission.objects.filter(codename__in=[f"{permission}_pet" for permission in permissions])
        )
        client = Client()
        client.force_login(user)
        return client

    return make


@pytest.fixture
def staff(make_staff: MakeStaff) -> Client:
    return make_staff("view", "add", "change")


def upload(client: Client, content: str | bytes, name: str = "pets.csv") -> Any:
    body = content.encode() if isinstance(content, str) else content
    return client.post(IMPORT, {"file": SimpleUploadedFile(name, body)})


def confirm(client: Client, page: Any) -> Any:
    return client.post(CONFIRM, hidden_fields(page), follow=True)


def hidden_fields(page: Any) -> dict[str, str]:
    return {"upload": re.findall(r'name="upload" value="([0-9a-f-]{36})"', page.content.decode())[0]}


def cells(page: Any) -> list[list[str]]:
    """The preview's rows, with the markup in their cells."""
    rows = re.findall(r'<tr class="(?:new|update|skip)">.*?</tr>', page.content.decode(), re.DOTALL)
    return [re.findall(r"<td>(.*?)</td>", row, re.DOTALL) for row in rows]


def errors(page: Any) -> list[str]:
    (text,) = re.findall(r'<ul class="errorlist".*?</ul>', page.content.decode(), re.DOTALL)
    return re.findall(r"<li>(.*?)</li>", text, re.DOTALL)


def exported(client: Client, file_format: str = CSV, query: str = "") -> Any:
    return client.post(EXPORT + query, {"format": file_format})


def stored() -> list[tuple[Any, ...]]:
    return list(Pet.objects.order_by("pk").values_list("id", "name", "tag", "status"))


# Importing.


def test_a_file_is_previewed_and_then_imported(staff: Client) -> None:
    page = upload(staff, "name,tag,status\nRex,dog,sold\n Tom ,,\n")

    assert cells(page) == [["2", "New", "Rex", "dog", "sold"], ["3", "New", " Tom ", "", "available"]]
    assert "This file has 2 new, 0 changed and 0 unchanged." in page.content.decode()

    answer = confirm(staff, page)

    assert answer.request["PATH_INFO"] == LIST
    assert "Imported 2 new, 0 changed and 0 unchanged." in answer.content.decode()
    assert stored() == [(ANY, "Rex", "dog", "sold"), (ANY, " Tom ", None, "available")]
    assert inventory_counts() == {"available": 1, "pending": 0, "sold": 1}
    assert not Upload.objects.exists()


def test_a_preview_writes_nothing_but_the_upload_and_begins_no_transaction(staff: Client) -> None:
    """On SQLite a transaction would keep the API's writers out."""
    pet = create_pet(name="Rex")

    with CaptureQueriesContext(
        connection,
    ) as queries:
        upload(staff, f"id,name\n{pet.pk},Max\n,Tom\n")

    assert stored() == [(pet.pk, "Rex", None, "available")]
    assert not LogEntry.objects.exists()
    statements = [query["sql"] for query in queries if not query["sql"].startswith("SELECT")]
    assert [statement.split(" (")[0] for statement in statements] == ['INSERT INTO "pets_upload"', ANY]
    assert statements[1].startswith('DELETE FROM "pets_upload"')


def test_rows_with_the_id_of_a_pet_change_its_name_tag_and_status(staff: Client) -> None:
    pets = [create_pet(name=name, tag="dog", created_by="key pets_live_1 Acme") for name in ("Rex", "Tom", "Mia")]
    rows = [f"{pets[0].pk},Max,dog,available", f"{pets[1].pk},Tom,,sold", f"{pets[2].pk},Mia,dog,"]

    page = upload(staff, "\n".join(["id,name,tag,status", *rows]))

    assert cells(page) == [
        ["2", "Changed", "<del>Rex</del> <ins>Max</ins>", "dog", "available"],
        ["3", "Changed", "Tom", "<del>dog</del> <ins></ins>", "<del>available</del> <ins>sold</ins>"],
        ["4", "Unchanged", "Mia", "dog", "available"],
    ]
    confirm(staff, page)
    assert stored() == [
        (pets[0].pk, "Max", "dog", "available"),
        (pets[1].pk, "Tom", None, "sold"),
        (pets[2].pk, "Mia", "dog", "available"),
    ]
    assert set(Pet.objects.values_list("created_by", flat=True)) == {"key pets_live_1 Acme"}
    assert inventory_counts() == {"available": 2, "pending": 0, "sold": 1}


def test_columns_that_are_not_in_the_file_change_nothing(staff: Client) -> None:
    pet = Pet.objects.create(name="Rex", tag="dog", status="sold")

    confirm(staff, upload(staff, f"id,name\n{pet.pk},Max\n"))

    assert stored() == [(pet.pk, "Max", "dog", "sold")]


def test_the_times_of_a_pet_that_is_there_stay(staff: Client) -> None:
    pet = create_pet(name="Rex")

    confirm(staff, upload(staff, f"id,name,created_at\n{pet.pk},Max,2001-01-01T00:00:00Z\n"))

    assert Pet.objects.get().created_at == pet.created_at
    assert Pet.objects.get().name == "Max"


def test_new_pets_are_made_by_who_imports_them_whatever_the_file_says(staff: Client) -> None:
    pet_id = new_pet_id()
    page = upload(staff, f"id,name,created_at,created_by\n{pet_id},Rex,2026-03-01T12:00:00Z,key pets_live_1 Acme\n")

    confirm(staff, page)

    pet = Pet.objects.get()
    assert (pet.id, pet.created_at, pet.created_by) == (pet_id, datetime(2026, 3, 1, 12, tzinfo=UTC), "staff jo")


def test_a_file_without_ids_makes_new_pets_each_time(staff: Client) -> None:
    for _ in range(2):
        confirm(staff, upload(staff, "id,name\n,Rex\n"))

    assert Pet.objects.count() == 2


def test_every_import_is_in_the_history(staff: Client) -> None:
    pet, unchanged = Pet.objects.create(name="Rex", tag="dog"), create_pet(name="Mia")

    confirm(staff, upload(staff, f"id,name,tag,status\n,Tom,,\n{pet.pk},Rex,,sold\n{unchanged.pk},Mia,,\n"))

    entries = {entry.object_repr: entry for entry in LogEntry.objects.all()}
    assert set(entries) == {"Tom", "Rex"}
    assert {entry.user.get_username() for entry in entries.values()} == {"jo"}
    assert (entries["Tom"].action_flag, entries["Rex"].action_flag) == (ADDITION, CHANGE)
    history = staff.get(reverse("admin:pets_pet_history", args=[pet.pk])).content.decode()
    assert "Imported: tag from dog to none, status from available to sold." in history


def test_json_is_imported_as_an_array_or_by_the_line(staff: Client) -> None:
    confirm(staff, upload(staff, '[{"name": "Rex"},\n {"name": "Tom", "tag": null}]', "pets.json"))
    confirm(staff, upload(staff, '{"name": "Mia"}\n', "pets.JSONL"))

    assert [row[1] for row in stored()] == ["Rex", "Tom", "Mia"]


def test_markup_in_a_file_is_shown_as_text(staff: Client) -> None:
    pet = create_pet(name="<i>Rex</i>")

    pages = [
        upload(staff, f"id,name\n{pet.pk},<script>alert(1)</script>\n,<b>\n"),
        upload(staff, "name,status\nRex,<script>alert(1)</script>\n"),
        upload(staff, "<script>alert(1)</script>\n"),
    ]

    for page in pages:
        assert "<script>alert" not in page.content.decode()
        assert "&lt;script&gt;alert" in page.content.decode()
    assert "<del>&lt;i&gt;Rex&lt;/i&gt;</del>" in pages[0].content.decode()
    assert "style=" not in pages[0].content.decode()


# Files that are refused.


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        ("name,tag\nRex,dog\nTom," + "x" * 300, "pets.csv", "Line 3: tag must have at most 255 characters; got 300."),
        ('name\nRex\n"Tom\n', "pets.csv", "Line 3: the CSV is broken"),
        ("name,tag\nRex\n", "pets.csv", "Line 2: 1 cells, where the first line has 2"),
        ("name\nRené\n".encode("latin-1"), "pets.csv", "Line 2: the text is not UTF-8: save the file in this encoding"),
        ("name\nRex\n".encode("utf-16"), "pets.csv", "Line 1: the text is not UTF-8"),
        ("tag\ndog\n", "pets.csv", "Line 1: the first line must name the columns"),
        ("name,tagg\nRex,dog\n", "pets.csv", "not &#x27;tagg&#x27;."),
        ("name\nRe\0x\n", "pets.csv", "Line 2: name must not contain the NUL character"),
        (f"id,name\n{'0' * 8}-0000-0000-0000-{'0' * 12},a\n" * 2, "pets.csv", "Line 3: id must be a UUID"),
        ("name\n\n", "pets.csv", "There are no pets in this file."),
        ("", "pets.csv", "The submitted file is empty."),
        ("[]", "pets.json", "There are no pets in this file."),
        ('[{"name": "Rex"},\n{"name": ""}]', "pets.json", "Line 2: name is required."),
        ('[{"name": "Rex"}', "pets.json", "Line 1: not JSON ("),
        ("[" * 900 + "]" * 900, "pets.json", "Line 1: "),
        ("[" * 2000, "pets.json", "Line 1: not JSON ("),
        ("PK\x03\x04", "pets.xlsx", "The name must end with .csv, .json, .jsonl, .ndjson."),
        ("name\nRex\n", "pets", "The name must end with"),
        ("name\n" + "Rex\n" * (MAX_ROWS + 1), "pets.csv", "The file has more than 5,000 pets."),
        ("name\n" + "Rex\n" * 600_000, "pets.csv", "at most 2.0"),
    ],
)
def test_a_bad_file_is_answered_on_the_page_and_changes_nothing(
    staff: Client, content: str | bytes, name: str, said: str
) -> None:
    page = upload(staff, content, name)

    assert page.status_code == 200
    assert any(said in error for error in errors(page)), errors(page)
    assert 'name="file"' in page.content.decode()
    assert not Pet.objects.exists()
    assert not Upload.objects.exists()


def test_a_file_of_50_mb_is_answered_on_the_page(staff: Client) -> None:
    page = upload(staff, b"name\n" + b"Rex\n" * 12_500_000)

    assert "The file has 47.7\xa0MB, and at most 2.0\xa0MB are imported here." in errors(page)[0]
    assert "import_pets" in errors(page)[0]


def test_an_id_that_is_in_the_file_twice_is_refused(staff: Client) -> None:
    pet_id = new_pet_id()

    assert errors(upload(staff, f"id,name\n{pet_id},Rex\n,Tom\n{pet_id},Mia\n")) == [
        "Line 4: the id is on line 2 already."
    ]


def test_of_many_errors_the_first_hundred_are_told(staff: Client) -> None:
    told = errors(upload(staff, "name\n" + " \n" * 1000))

    assert len(told) == 101
    assert told[0].startswith("Line 2: ")
    assert told[-1] == "There are more."


def test_no_file_at_all_is_asked_for(staff: Client) -> None:
    assert errors(staff.post(IMPORT, {"x": "y"})) == ["This field is required."]


# Confirming.


def test_a_confirmation_that_is_sent_again_imports_nothing(staff: Client) -> None:
    page = upload(staff, "name\nRex\n")
    confirm(staff, page)

    answer = confirm(staff, page)

    assert "This file has been imported already" in answer.content.decode()
    assert Pet.objects.count() == 1


def test_a_confirmation_that_is_sent_twice_at_once_imports_once(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second has found the upload before the first has imported it."""
    page = upload(staff, "name\nRex\n")
    found = Upload.objects.get()
    confirm(staff, page)
    monkeypatch.setattr(import_export, "_uploaded", lambda request: found)

    answer = confirm(staff, page)

    assert "This file has been imported already" in answer.content.decode()
    assert Pet.objects.count() == 1


def test_only_who_has_uploaded_a_file_confirms_it(staff: Client, make_staff: MakeStaff) -> None:
    page = upload(staff, "name\nRex\n")

    confirm(make_staff("view", "add", "change", username="al"), page)

    assert not Pet.objects.exists()
    confirm(staff, page)
    assert Pet.objects.count() == 1


@pytest.mark.parametrize("fields", [{}, {"upload": ""}, {"upload": "x"}, {"upload": new_pet_id()}])
def test_a_confirmation_of_nothing_leads_back_to_the_list(staff: Client, fields: dict[str, str]) -> None:
    answer = staff.post(CONFIRM, fields)

    assert answer.status_code == 302
    assert answer["Location"] == LIST


def test_who_had_to_log_in_before_the_confirmation_is_led_to_another_upload(staff: Client) -> None:
    page = staff.get(CONFIRM, follow=True)

    assert page.redirect_chain == [(IMPORT, 302)]
    assert "Nothing was imported: choose the file once more." in page.content.decode()


@pytest.mark.parametrize("change", [{"name": "Bo"}, {"tag": "cat"}, {"status": "pending"}])
def test_a_pet_that_was_changed_since_the_preview_is_shown_again(staff: Client, change: dict[str, str]) -> None:
    pet = create_pet(name="Rex")
    page = upload(staff, f"id,name,tag\n{pet.pk},Max,dog\n,Tom,\n")
    Pet.objects.filter(pk=pet.pk).update(**change)
    before = stored()

    again = confirm(staff, page)

    assert "some of the pets have been changed since" in again.content.decode()
    assert f"<del>{change['name']}</del>" in again.content.decode() if "name" in change else True
    assert stored() == before
    confirm(staff, again)
    assert [row[1] for row in stored()] == ["Max", "Tom"]


def test_a_pet_that_has_gone_or_come_since_the_preview_is_shown_again(staff: Client) -> None:
    gone, come = create_pet(name="Rex"), new_pet_id()
    page = upload(staff, f"id,name\n{gone.pk},Max\n{come},Tom\n")
    gone.delete()
    Pet.objects.create(id=come, name="Mia")

    again = confirm(staff, page)

    assert [row[:2] for row in cells(again)] == [["2", "New"], ["3", "Changed"]]
    assert stored() == [(come, "Mia", None, "available")]


def test_an_upload_that_nobody_confirms_goes_after_a_day(staff: Client) -> None:
    upload(staff, "name\nRex\n")
    upload(staff, "name\nTom\n")
    assert Upload.objects.count() == 2
    Upload.objects.update(created_at=timezone.now() - timedelta(days=1))

    upload(staff, "name\nMia\n")

    assert [bytes(kept.content) for kept in Upload.objects.all()] == [b"name\nMia\n"]


# Exporting.


def test_the_list_is_exported_as_csv_that_spreadsheets_open(staff: Client) -> None:
    pet = create_pet(name="狗 =1", tag="=1+1", created_by="key pets_live_1 Acme")

    answer = exported(staff)

    assert answer["Content-Type"] == "text/csv"
    assert re.fullmatch(r'attachment; filename="Pet-\d{4}-\d\d-\d\d\.csv"', answer["Content-Disposition"])
    assert answer.content.startswith("\ufeffid,name".encode())
    (row,) = csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig")))
    assert row == {
        "id": pet.pk,
        "name": "狗 =1",
        "tag": "'=1+1",
        "status": "available",
        "created_at": pet.created_at.isoformat(),
    }


def test_the_list_is_exported_as_json(staff: Client) -> None:
    pet = create_pet(name="=1")

    answer = exported(staff, JSON)

    assert answer["Content-Type"] == "application/json"
    assert json.loads(answer.content) == [
        {
            "id": pet.pk,
            "name": "=1",
            "tag": None,
            "status": "available",
            "created_at": pet.created_at.isoformat(),
        }
    ]


@pytest.mark.parametrize(("file_format", "name"), [(CSV, "pets.csv"), (JSON, "pets.json")])
def test_what_is_exported_is_imported_without_a_change(staff: Client, file_format: str, name: str) -> None:
    for text in ("=1", "'=1", 'Rex "the\r\ndog", first', " a ", "狗"):
        create_pet(name=text, tag=text)

    page = upload(staff, exported(staff, file_format).content, name)

    assert "0 new, 0 changed and 5 unchanged" in page.content.decode()


def test_an_export_has_what_the_list_shows(staff: Client) -> None:
    create_pet(name="Rex")
    create_pet(name="Tom")
    Pet.objects.create(name="Rexi", status="sold")

    assert f'href="{EXPORT}?q=Rex"' in staff.get(LIST, {"q": "Rex"}).content.decode()
    names = [pet["name"] for pet in json.loads(exported(staff, JSON, "?q=Rex&status__exact=available").content)]
    assert names == ["Rex"]


def test_an_empty_list_is_exported(staff: Client) -> None:
    assert json.loads(exported(staff, JSON).content) == []
    assert exported(staff).content.decode("utf-8-sig") == ",".join(EXPORTED) + "\r\n"


def test_a_list_that_is_too_long_is_not_exported_and_not_counted(staff: Client) -> None:
    Pet.objects.bulk_create(Pet(name="Rex") for _ in range(MAX_EXPORTED + 1))

    with CaptureQueriesContext(connection) as queries:
        answer = exported(staff)

    assert "The list has more than 10,000 pets." in answer.content.decode()
    assert "export_pets" in answer.content.decode()
    assert not any("COUNT(" in query["sql"] for query in queries)
    assert [query["sql"] for query in queries if f"LIMIT {MAX_EXPORTED + 1}" in query["sql"]]


# Who may do what.


@pytest.mark.parametrize(
    ("permissions", "may_import", "may_export"),
    [
        (("view", "add", "change"), True, True),
        (("view", "add"), False, True),
        (("view", "change"), False, True),
        (("view",), False, True),
        ((), False, False),
    ],
)
def test_permissions_are_asked_for(
    make_staff: MakeStaff, permissions: tuple[str, ...], may_import: bool, may_export: bool
) -> None:
    client = make_staff(*permissions)

    assert (client.get(IMPORT).status_code == 200) is may_import
    assert (upload(client, "name\nRex\n").status_code == 200) is may_import
    assert (client.post(CONFIRM, {}).status_code == 302) is may_import
    assert (client.get(EXPORT).status_code == 200) is may_export
    assert (exported(client).status_code == 200) is may_export
    if may_export:
        page = client.get(LIST).content.decode()
        assert ('class="import_link"' in page) is may_import
        assert 'class="export_link"' in page


def test_permission_that_is_lost_after_the_preview_is_missed(staff: Client, django_user_model: Any) -> None:
    page = upload(staff, "name\nRex\n")
    django_user_model.objects.get(username="jo").user_permissions.clear()

    assert confirm(staff, page).status_code == 403
    assert not Pet.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("address", [IMPORT, CONFIRM, EXPORT])
def test_a_stranger_is_sent_to_the_login(address: str) -> None:
    for answer in (Client().get(address), Client().post(address)):
        assert answer.status_code == 302
        assert answer["Location"].startswith(reverse("admin:login"))


def test_a_forged_upload_without_the_csrf_token_is_refused(admin_user: object) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)  # type: ignore[arg-type]

    assert upload(client, "name\nRex\n").status_code == 403
