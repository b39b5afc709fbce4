"""The page that asks what the columns of a file mean."""

import re
from html import unescape
from typing import Any
from unicodedata import normalize

import pytest
from django.test import Client

from pets.files import workbook
from pets.models import Pet, Upload
from petservice.configuration.time_zone import zone
from tests.backoffice.pages import fields_of
from tests.backoffice.staff import granted
from tests.pets.admin.import_export.import_pages import COLUMNS, IMPORT, IMPORTER, cells, confirm, stored, upload
from tests.pets.workbooks import saved, sheets

pytestmark = pytest.mark.once


def text_of(page: Any) -> str:
    return unescape(page.content.decode())


def answers(page: Any) -> dict[str, str]:
    """Return what the form of the page sends if nobody changes it."""
    return fields_of(page, "import-questions")


def send(client: Client, page: Any, **changes: str) -> Any:
    """Send the form of the page with some changes, such as column_1 for the second column."""
    changed = {re.sub("^column_", "column-", name): value for name, value in changes.items()}
    return client.post(COLUMNS, answers(page) | changed, follow=True)


def choice(page: Any, label: str) -> str:
    """Return the value of the field for a word."""
    (name,) = re.findall(rf'<label for="id_([\w-]+)">Status “{label}”</label>', text_of(page))
    return answers(page)[name]


def question(page: Any, beginning: str) -> str:
    """Return the name of the first field of a question with this beginning."""
    return re.findall(rf'name="({beginning}[\w-]*)"', text_of(page))[0]


def test_known_words_are_proposed(staff: Client) -> None:
    for header in (
        "Pet name;Species;Status;Date added",
        "Rufname;Tierart;Zustand;Aufnahme",
        "Nom;Étiquette;Statut;Créé le",
        "Nombre;Especie;Estado;Fecha de ingreso",
        "NOME;Espécie;Situação;Data",
        "animal_name;animal-type;STATUS;created",
    ):
        page = upload(staff, f"Price;{header}\n10;Rex;dog;;2026-11-25\n")
        assert "Which column is what?" in text_of(page)
        proposed = [answers(page)[f"column-{number}"] for number in range(5)]
        assert proposed == ["", "name", "tag", "status", "created_at"], header
    assert stored() == []


def test_a_file_of_other_columns_is_previewed_and_imported(staff: Client, settings: Any) -> None:
    settings.STORE_TIME_ZONE = zone("Europe/Berlin")
    page = upload(staff, "Preis;Rufname;Rasse;Status;Aufnahme\n10;Rex;Pudel;Verkauft;25.11.2026 18:10\n9;Mia;;frei;\n")
    assert (choice(page, "verkauft"), choice(page, "frei")) == ("sold", "available")
    assert "1 row: line 2" in text_of(page)

    preview = send(staff, page, column_2="tag")

    rows = [row[:5] for row in cells(preview)]
    assert rows == [["2", "New", "Rex", "Pudel", "sold"], ["3", "New", "Mia", "", "available"]]
    assert stored() == []
    confirm(staff, preview)
    assert [row[1:] for row in stored()] == [("Rex", "Pudel", "sold"), ("Mia", None, "available")]
    assert Pet.objects.get(name="Rex").created_at.isoformat() == "2026-11-25T17:10:00+00:00"


def test_the_answers_are_proposed_for_the_next_file_with_the_same_header(staff: Client) -> None:
    file = "Sélla;Kind;Shop status\n{};dog;góne\n"
    page = upload(staff, file.format("Rex"))
    assert answers(page)["column-0"] == ""
    page = send(staff, page, column_0="name", column_1="tag", column_2="status")
    page = send(staff, page, **{question(page, "status-"): "sold"})
    for kept in Upload.objects.all():
        kept.mapping["answer_of_the_next_version"] = "x"
        kept.save()
    confirm(staff, page)

    page = upload(granted(*IMPORTER, name="bea"), normalize("NFD", file.format("Tom")))

    assert Pet.objects.get().name == "Rex"
    assert [answers(page)[f"column-{n}"] for n in range(3)] == ["name", "tag", "status"]
    assert choice(page, "góne") == "sold"
    assert answers(upload(staff, "Sélla;Kind\nRex;dog\n"))["column-0"] == ""


def test_a_question_that_an_answer_raises_is_asked_unless_known_words_answer_it(staff: Client) -> None:
    known = send(staff, upload(staff, "name,a\nRex,adopted\n"), column_1="status")
    page = send(staff, upload(staff, "name,a\nRex,adopted\nMia,gone\n"), column_1="status")

    assert cells(known) == [["2", "New", "Rex", "", "sold"]]
    assert (choice(page, "adopted"), choice(page, "gone")) == ("sold", "")
    assert "1 row: line 3" in text_of(page)
    assert cells(page) == []


def test_answers_that_fit_no_pets_are_rejected(staff: Client) -> None:
    for columns, error in (
        ({"column_0": ""}, "Choose the column that has the names of the pets."),
        ({"column_1": "name"}, "Two columns are “Name”: leave one of them out."),
        ({"column_1": "created_by"}, "Select a valid choice."),
    ):
        page = send(staff, upload(staff, "name,a\nRex,b\n"), **columns)
        assert error in text_of(page)
        assert cells(page) == []


def test_our_own_columns_with_words_of_the_shop_raise_only_their_question_which_must_get_an_answer(
    staff: Client,
) -> None:
    rows = "Buddy,dog,Adopted\nLuna,cat,On hold\nMax,dog,AVAILABLE\nRex,dog,Sold \n"
    page = upload(staff, f"name,tag,status\n{rows}Kim,cat,gone\n")

    assert (choice(page, "adopted"), choice(page, "on hold"), choice(page, "gone")) == ("sold", "pending", "")
    (asked,) = (name for name, value in answers(page).items() if name.startswith("status-") and not value)
    assert sum(name.startswith("status-") for name in answers(page)) == 3
    unanswered = send(staff, page)
    assert "Choose the status that this word means." in text_of(unanswered)
    assert cells(unanswered) == []
    statuses = [row[4] for row in cells(send(staff, page, **{asked: "pending"}))]
    assert statuses == ["sold", "pending", "available", "sold", "pending"]


@pytest.mark.once(on="postgresql")  # which stores no NUL
def test_a_status_with_nul_is_not_asked_for_and_rejected(staff: Client) -> None:
    page = upload(staff, "Name;Zustand\nRex;ab\0\n")

    assert "status must be one of available, pending, sold; got 'ab\\x00'." in text_of(send(staff, page))


@pytest.mark.parametrize(
    ("days", "is_asked", "way", "expected"),
    [
        (["2024-11-02", "2024-11-02 10:30"], False, "year-month-day", "2024-11-02"),
        (["2024/11/02", "2024/11/02 10:30"], False, "year/month/day", "2024-11-02"),
        (["02.11.2024"], False, "day.month.year", "2024-11-02"),
        (["31/12/2024 6:10 PM", "02/11/2024"], False, "day/month/year", "2024-12-31"),
        (["12/31/2024"], False, "month/day/year", "2024-12-31"),
        # As LibreOffice and browsers show days.
        (["02.11.24", "02.11.24 18:10", '"2.11.2024, 18:10:05"'], False, "day.month.year", "2024-11-02"),
        (["11/02/24", "11/25/24 06:10 PM"], False, "month/day/year", "2024-11-02"),
        (["02/11/2024", "2024-11-02"], True, "month/day/year", "2024-02-11"),
        (["24-10-15 18:10", "24-11-02"], True, "yy-mm-dd", "2024-10-15"),
    ],
)
def test_the_days_are_read_as_chosen(staff: Client, days: list[str], is_asked: bool, way: str, expected: str) -> None:
    page = upload(staff, "name,created_at\n" + "".join(f"Rex,{day}\n" for day in days))
    assert answers(page)[question(page, "dates")] == ("" if is_asked else way)

    if is_asked:
        assert "Choose how this file writes days." in text_of(send(staff, page))
    confirm(staff, send(staff, page, **{question(page, "dates"): way}))

    assert f"{Pet.objects.order_by('pk')[0].created_at:%Y-%m-%d}" == expected


def test_a_day_that_is_written_in_another_way_than_the_others_is_the_only_error(staff: Client) -> None:
    page = upload(staff, "name,created_at\nRex,25.11.2026\nTom,unknown\nMia,26.11.2026 18:10\n")
    assert answers(page)[question(page, "dates")] == "day.month.year"

    (error,) = re.findall("Line .*: created_at .*", text_of(send(staff, page)))

    assert error.startswith("Line 3: created_at must be a time")
    assert upload(staff, "name,created_at\nRex,unknown\n").request["PATH_INFO"] != COLUMNS


def test_rows_without_a_name_are_listed_and_can_be_left_out(staff: Client) -> None:
    page = upload(staff, "name,tag\n*charlie,dog\n,reptile\n ,bird\n*morgan,cat\n")
    assert "line 3: reptile" in text_of(page)
    assert "Leave out 2 rows without a name" in text_of(page)

    page = send(staff, page)
    assert "Tick this, or write the names into the file and upload it again." in text_of(page)
    preview = send(staff, page, **{question(page, "skip_unnamed"): "on"})

    assert [row[:3] for row in cells(preview)] == [["2", "New", "*charlie"], ["5", "New", "*morgan"]]
    assert "Rows without a name are left out." in text_of(preview)
    many = text_of(upload(staff, f"name,{'x' * 100}\n" + f",{'x' * 100}\n" * 100))
    assert len(re.findall(r"line \d", many)) == 20
    assert "x" * 80 not in many
    assert "and 80 more" in many
    assert "Leave out 100 rows without a name" in many


def test_an_answer_about_a_column_is_none_about_another_one(staff: Client) -> None:
    page = upload(staff, "name,Spitzname,date,sold on\nRex,Rexi,01/02/2026,03/04/2026\n,Mimi,,\nKim,,,\n")
    columns = {"column_0": "", "column_1": "name", "column_2": "", "column_3": "created_at"}
    for shown in ("line 3: Mimi", "Such as 01/02/2026"), ("line 4: Kim", "Such as 03/04/2026"):
        assert [text in text_of(page) for text in shown] == [True, True]
        assert (answers(page)[question(page, "dates")], cells(page)) == ("", [])
        page = send(staff, page, **columns, **{question(page, "skip"): "on", question(page, "dates"): "month/day/year"})

    assert [row[:3] for row in cells(page)] == [["2", "New", "Rexi"], ["3", "New", "Mimi"]]
    page = send(staff, staff.get(COLUMNS), column_2="created_at", column_3="")
    assert (answers(page)[question(page, "dates")], cells(page)) == ("", [])


def test_ids_of_pets_stay_and_foreign_ones_are_left_out_with_a_word(staff: Client) -> None:
    pet = Pet.objects.create(name="Rex")

    own = send(staff, upload(staff, f"ID,Name,Price\n{pet.pk},Max,10\n"))
    foreign = upload(staff, "ID,Name,Tag\n1,Buddy,Dog\n2,Whiskers,Cat\n")

    assert cells(own) == [["2", "Changed", "<del>Rex</del> <ins>Max</ins>", "", "available"]]
    assert "These IDs are not those of pets here, so they are left out: 1, 2" in text_of(foreign)
    assert [row[1:3] for row in cells(send(staff, foreign))] == [["New", "Buddy"], ["New", "Whiskers"]]


def test_a_file_may_have_no_header(staff: Client) -> None:
    rows = [["perro", "Rex", ""], ["perro", "Tom", "vendido"], ["", "Mia", "libre"]]
    text = "".join(f"{','.join(row)}\n" for row in [[], *rows])
    for file, name in (text, "pets.csv"), (saved(sheets(Pets=[[], *rows])), "pets.xlsx"):
        page = upload(staff, file, name)

        preview = send(staff, page, column_0="tag", column_1="name", column_2="status", is_headerless="on")

        found = [" ".join([row[0], *row[2:]]) for row in cells(preview)]
        assert found == ["2 Rex perro available", "3 Tom perro sold", "4 Mia  available"]
        confirm(staff, preview)
    assert [row[1] for row in stored()] == ["Rex", "Tom", "Mia"] * 2

    page = send(staff, upload(staff, 'Rex,"big\ndog"\nMia,cat\n'), column_0="name", column_1="tag", is_headerless="on")
    assert [row[:3] for row in cells(page)] == [["1", "New", "Rex"], ["3", "New", "Mia"]]
    page = send(staff, upload(staff, 'my, "pets"\nRex,dog,old\nMia,,\n'), column_0="name", is_headerless="on")
    assert "Line 1: there is a blank before a quote" in text_of(page)
    page = send(staff, upload(staff, "Rex,\nData,dog\n"), column_0="name", column_1="tag", is_headerless="on")
    assert [row[2:4] for row in cells(page)] == [["Rex", ""], ["Data", "dog"]]
    page = send(staff, upload(staff, "Rex,\nTom,dog\n"), column_0="name")
    assert "There are no pets in this file." in text_of(page)
    book = sheets(Pets=[["Rex", "", "", "far"], ["Tom", "dog", "old"], ["Mia"]])
    page = send(staff, upload(staff, saved(book), "pets.xlsx"), column_0="name", is_headerless="on")
    assert [row[2] for row in cells(page)] == ["Rex", "Tom", "Mia"]
    book["Pets"].merge_cells("A1:B1")
    page = send(staff, upload(staff, saved(book), "pets.xlsx"), column_0="name", is_headerless="on")
    assert "the cells A1:B1 are merged: unmerge them" in text_of(page)


def test_the_proposed_answers_for_a_file_without_a_header_are_about_each_line(staff: Client) -> None:
    page = upload(staff, "Rex,01/02/2026\nTom,03/04/2026\n")
    assert "Line 1 names the columns" in text_of(page)
    page = send(staff, page, column_0="name", column_1="created_at", is_headerless="on")
    confirm(staff, send(staff, page, **{question(page, "dates"): "day/month/year"}))

    page = upload(staff, "Rex,01/02/2026\nMia,03/04/2026\n")

    assert ("Line 1 names the columns" in text_of(page), answers(page)["is_headerless"]) == (False, "on")
    preview = send(staff, page, **{question(page, "dates"): "month/day/year"})
    assert [row[5][:10] for row in cells(preview)] == ["2026-01-02", "2026-03-04"]


def test_the_encoding_of_an_old_spreadsheet_is_chosen_and_not_guessed(staff: Client) -> None:
    file = "name;tag;price\nŽofie;kočka;1\nRex;dog;2\n".encode("cp1250")
    refused = upload(staff, file)
    page = upload(staff, file, encoding="cp1250")

    assert "The text is not UTF-8: choose its encoding, or save it" in text_of(refused)
    assert page.redirect_chain == [(COLUMNS, 302)]  # so that the button Back of a browser shows the questions again
    assert [row[2:4] for row in cells(send(staff, page))] == [["Žofie", "kočka"], ["Rex", "dog"]]
    assert "Select a valid choice." in text_of(upload(staff, file, encoding="rot13"))
    assert "The text is not Western Europe (Windows-1252): " in text_of(upload(staff, b"\x81", encoding="cp1252"))


def test_a_sheet_of_a_workbook_is_chosen_or_is_the_first_visible_one(staff: Client) -> None:
    # The name of a sheet may end with a blank that nobody sees.
    book = sheets(Lists=[["name"], ["a list"]], Dogs=[["Rufname"], ["Rex"]], **{"Cats ": [["name"], ["Mia"]]})
    book["Lists"].sheet_state = "hidden"
    file = saved(book)

    page = upload(staff, file, "pets.xlsx")
    assert [row[2] for row in cells(send(staff, page))] == ["Rex"]
    confirm(staff, upload(staff, file, "pets.xlsx", sheet="Cats"))
    assert [row[1] for row in stored()] == ["Mia"]
    problem = "The workbook has no visible sheet 'Lists'; there are 'Dogs', 'Cats '."
    assert problem in text_of(upload(staff, file, "pets.xlsx", sheet="Lists"))


def test_a_page_reads_a_workbook_once_because_that_takes_long(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    read, load = [], workbook.load_workbook
    monkeypatch.setattr(workbook, "load_workbook", lambda *args, **options: read.append(args) or load(*args, **options))

    preview = upload(staff, saved(sheets(Pets=[["name"], ["Rex"]])), "pets.xlsx")
    assert (len(read), len(cells(preview))) == (1, 1)

    page = upload(staff, saved(sheets(Pets=[["Rufname"], ["Rex"]])), "pets.xlsx")
    read.clear()
    preview = send(staff, page)
    assert (len(read), len(cells(preview))) == (1, 1)


def test_the_columns_can_be_changed_after_the_preview_and_after_errors(staff: Client) -> None:
    page = upload(staff, "name,a,b\nRex,dog,gone\n")
    preview = send(staff, page, column_1="tag")
    assert COLUMNS in text_of(preview)

    page = staff.get(COLUMNS)
    assert answers(page)["column-1"] == "tag"
    confirm(staff, send(staff, page, column_1=""))
    assert [row[1:] for row in stored()] == [("Rex", None, "available")]


def test_a_form_of_another_file_or_sheet_or_of_none_maps_nothing(staff: Client) -> None:
    book = saved(sheets(Dogs=[["Rufname", "Farbe"], ["Rex", "red"]], Cats=[["Farbe", "Rufname"], ["black", "Mia"]]))
    first, second = ({"content": book, "name": "pets.xlsx", "sheet": sheet} for sheet in ("Dogs", "Cats"))
    for replaced, by in ((first, second), ({"content": "a,b\nRex,dog\n"}, {"content": "c,d\nMia,cat\n"})):
        page = upload(staff, **replaced)
        upload(staff, **by)

        response = send(staff, page, column_0="name")

        assert "Nothing was imported, because this file is gone or replaced. Upload it again." in text_of(response)
        assert response.request["PATH_INFO"] == IMPORT
    for client in (granted(*IMPORTER, name="eva"), staff):  # the first has no file, and the second none any more
        assert client.get(COLUMNS)["Location"] == IMPORT
        Upload.objects.all().delete()
