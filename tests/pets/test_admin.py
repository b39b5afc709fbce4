import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from pets import origin
from pets.admin import changelist, pages
from pets.models import Pet
from pets.services import create_pet
from petservice.backoffice import groups
from store.services import inventory_counts
from tests.backoffice.pages import messages, read, send, submit

LIST = reverse("admin:pets_pet_changelist")
INVENTORY = reverse("admin:store_inventoryitem_changelist")


@pytest.fixture
def staff(admin_client: Client) -> Client:
    return admin_client


def page_of(pet: Pet) -> str:
    return reverse("admin:pets_pet_change", args=[pet.pk])


def names(client: Client, **query: str) -> list[str]:
    return [pet.name for pet in client.get(LIST, query).context["cl"].result_list]


def histories(client: Client, pet: Pet, model: str = "pets_pet") -> list[tuple[str, str]]:
    """Who did what to the pet, as the page of its history tells."""
    entries = client.get(reverse(f"admin:{model}_history", args=[pet.pk])).context["action_list"]
    return [(entry.user.username, entry.get_change_message()) for entry in entries]


# Adding, editing, deleting.


def test_staff_add_a_pet(staff: Client) -> None:
    submit(staff, reverse("admin:pets_pet_add"), "pet_form", {"name": "Żółw"})

    pet = Pet.objects.get()
    assert (pet.name, pet.tag, pet.status) == ("Żółw", None, "available")
    assert histories(staff, pet) == [("admin", "Added.")]


def test_staff_delete_a_pet_and_the_inventory_follows(staff: Client) -> None:
    pet = create_pet(name="Rex")

    staff.post(reverse("admin:pets_pet_delete", args=[pet.pk]), {"post": "yes"})

    assert not Pet.objects.exists()
    assert inventory_counts()["available"] == 0


@pytest.mark.parametrize("name", [" Rex ", "Rex\nthe second", "Rex\r\n", "a\rb"])
def test_editing_the_tag_keeps_the_name_exactly(staff: Client, name: str) -> None:
    pet = create_pet(name=name, tag="dog")
    # What browsers do to the text of an input, and to that of a hidden one.
    shown = name.replace("\r", "").replace("\n", "")
    hidden = name.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")

    submit(staff, page_of(pet), "pet_form", {"name": shown, "initial-name": hidden, "tag": "hound"})

    pet.refresh_from_db()
    assert (pet.name, pet.tag) == (name, "hound")
    assert histories(staff, pet) == [("admin", "Tag changed from “dog” to “hound”.")]


@pytest.mark.parametrize(("field", "value"), [("name", ""), ("name", "   "), ("name", "x" * 256), ("tag", "x" * 300)])
def test_a_form_with_text_that_the_api_refuses_is_refused(staff: Client, field: str, value: str) -> None:
    response = submit(staff, reverse("admin:pets_pet_add"), "pet_form", {"name": "Rex", "tag": "dog", field: value})

    assert field in response.context["adminform"].form.errors
    assert not Pet.objects.exists()


@pytest.mark.parametrize("odd", ["nonsense", "01890A5D-AC96-774B-BCCE-B302099A8057", "%00", "_2F"])
def test_the_page_of_a_pet_that_does_not_exist_says_so(staff: Client, odd: str) -> None:
    response = staff.get(f"/admin/pets/pet/{odd}/change/", follow=True)

    assert ["Perhaps it was deleted?" in message for message in messages(response)] == [True]


def test_a_forged_post_without_the_csrf_token_changes_nothing(admin_user: object) -> None:
    pet = create_pet(name="Rex")
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)  # type: ignore[arg-type]
    row = {"form-0-id": pet.pk, "initial-form-0-status": "available", "form-0-status": "sold", "_save": "Save"}

    for address, fields in {reverse("admin:pets_pet_add"): {"name": "Tom"}, INVENTORY: row}.items():
        assert client.post(address, fields).status_code == 403

    assert list(Pet.objects.values_list("name", "status")) == [("Rex", "available")]


# Two people at the same pet.


@pytest.mark.parametrize(
    ("before", "meanwhile", "mine"),
    [
        ({"tag": "dog"}, {"tag": "hound"}, {"tag": "wolf"}),
        ({"tag": "dog"}, {"tag": None}, {"tag": "wolf"}),
        ({"tag": None}, {"tag": "dog"}, {"name": "Tom"}),
        ({"status": "available"}, {"status": "sold"}, {"status": "pending"}),
        ({"status": "available"}, {"status": "sold"}, {"name": "Tom"}),
        ({"name": "Rex"}, {"name": "Max"}, {"tag": "dog"}),
    ],
)
def test_a_change_by_someone_else_meanwhile_is_told_and_not_overwritten(
    staff: Client, before: dict[str, Any], meanwhile: dict[str, Any], mine: dict[str, Any]
) -> None:
    pet = Pet.objects.create(**{"name": "Rex", **before})
    fields = read(staff, page_of(pet), "pet_form")
    Pet.objects.filter(pk=pet.pk).update(**meanwhile)
    stored = Pet.objects.values("name", "tag", "status").get()

    response = send(staff, page_of(pet), fields | mine)

    (field,) = meanwhile
    assert list(response.context["adminform"].form.errors) == [field]
    assert (
        f"someone else changed this to {pages._quoted(meanwhile[field])}".replace("to sold", "to “sold”")
        in (response.context["adminform"].form.errors[field][0])
    )
    assert Pet.objects.values("name", "tag", "status").get() == stored


def test_whoever_was_told_of_the_change_may_overwrite_it(staff: Client) -> None:
    pet = create_pet(name="Rex", tag="dog")
    fields = read(staff, page_of(pet), "pet_form") | {"tag": "wolf"}
    Pet.objects.filter(pk=pet.pk).update(tag="hound")
    told = send(staff, page_of(pet), fields)

    hidden = told.context["adminform"].form["tag"].as_hidden(only_initial=True)
    assert 'value="hound"' in hidden
    send(staff, page_of(pet), fields | {"initial-tag": "hound"})

    pet.refresh_from_db()
    assert pet.tag == "wolf"


def test_a_program_that_sends_only_what_it_wants_is_taken_at_its_word(staff: Client) -> None:
    pet = create_pet(name="Rex", tag="dog")

    send(staff, page_of(pet), {"name": "Tom", "tag": "cat", "status": "sold"})
    assert Pet.objects.values_list("name", "tag", "status").get() == ("Tom", "cat", "sold")

    send(staff, INVENTORY, {"form-0-id": pet.pk, "form-0-status": "pending"})
    assert Pet.objects.values_list("name", "tag", "status").get() == ("Tom", "cat", "pending")


# Statuses, in the list and in bulk.


def test_a_status_is_changed_in_the_list(staff: Client) -> None:
    pet, other = create_pet(name="Rex"), create_pet(name="Tom")
    fields = read(staff, INVENTORY, "changelist-form")
    row = next(name for name, value in fields.items() if value == pet.pk).removesuffix("-id")

    response = send(staff, INVENTORY, fields | {f"{row}-status": "sold"})

    assert messages(response) == ["1 pet changed."]
    assert inventory_counts() == {"available": 1, "pending": 0, "sold": 1}
    for model in ("pets_pet", "store_inventoryitem"):
        assert histories(staff, pet, model) == [("admin", "Status changed from available to sold.")]
        assert histories(staff, other, model) == []


def rows(client: Client, statuses: dict[str, str]) -> dict[str, str]:
    """The list's form with these statuses chosen, by the pets' names."""
    fields = read(client, INVENTORY, "changelist-form")
    ids = dict(Pet.objects.values_list("pk", "name"))
    chosen = {
        name.removesuffix("-id") + "-status": statuses[ids[value]]
        for name, value in fields.items()
        if ids.get(value) in statuses
    }
    return fields | chosen


def test_in_the_list_what_someone_else_changed_meanwhile_is_kept_and_told(staff: Client) -> None:
    for name in ("Rex", "Tom", "Max"):
        create_pet(name=name)
    fields = rows(staff, {"Rex": "sold", "Tom": "pending"})
    Pet.objects.filter(name="Rex").update(status="pending")
    Pet.objects.filter(name="Max").update(status="sold")

    response = send(staff, INVENTORY, fields)

    assert messages(response) == [
        "Rex: someone else has changed it to pending meanwhile, so it was left as it is.",
        "1 pet changed.",
    ]
    assert dict(Pet.objects.values_list("name", "status")) == {"Rex": "pending", "Tom": "pending", "Max": "sold"}


def test_in_the_list_pets_that_came_meanwhile_do_not_shift_the_rows(staff: Client) -> None:
    create_pet(name="Rex")
    fields = rows(staff, {"Rex": "sold"})
    create_pet(name="Tom")

    send(staff, INVENTORY, fields)

    assert dict(Pet.objects.values_list("name", "status")) == {"Rex": "sold", "Tom": "available"}


def test_in_the_list_a_pet_that_was_deleted_meanwhile_is_told_and_the_others_are_saved(staff: Client) -> None:
    create_pet(name="Rex")
    create_pet(name="Tom")
    fields = rows(staff, {"Rex": "sold", "Tom": "sold"})
    Pet.objects.filter(name="Rex").delete()

    response = send(staff, INVENTORY, fields)

    assert "deleted by someone else" in messages(response)[0]
    assert Pet.objects.values_list("name", "status").get() == ("Tom", "sold")


@pytest.mark.parametrize(
    "forged", [{"form-0-status": "lost"}, {"form-0-id": "nonsense"}, {"form-0-id": "\0"}, {"form-0-id": ""}]
)
def test_a_forged_row_changes_nothing(staff: Client, forged: dict[str, str]) -> None:
    create_pet(name="Rex")

    send(staff, INVENTORY, rows(staff, {"Rex": "sold"}) | forged)

    assert Pet.objects.get().status == "available"


def test_statuses_are_changed_in_bulk_and_each_change_is_in_the_history(staff: Client) -> None:
    for address, model in ((LIST, "pets_pet"), (INVENTORY, "store_inventoryitem")):
        Pet.objects.all().delete()
        pets = [create_pet(name=f"Pet {number}") for number in range(3)]
        Pet.objects.filter(pk=pets[0].pk).update(status="pending")
        Pet.objects.filter(pk=pets[1].pk).update(status="sold")

        response = staff.post(
            address,
            {"action": "mark_as_pending", "_selected_action": [pet.pk for pet in pets], "index": 0},
            follow=True,
        )

        assert messages(response) == ["2 pets marked as pending."]
        assert inventory_counts() == {"available": 0, "pending": 3, "sold": 0}
        assert [histories(staff, pet, model) for pet in pets] == [
            [],
            [("admin", "Status changed from sold to pending.")],
            [("admin", "Status changed from available to pending.")],
        ]


def test_the_pets_of_all_pages_are_changed_at_once(staff: Client) -> None:
    pets = Pet.objects.bulk_create(Pet(name="Rex") for _ in range(2500))

    selection = {"_selected_action": pets[0].pk, "select_across": "1", "index": 0}
    response = staff.post(LIST, {"action": "mark_as_sold"} | selection, follow=True)

    assert messages(response) == ["2,500 pets marked as sold."]
    assert inventory_counts() == {"available": 0, "pending": 0, "sold": 2500}
    assert LogEntry.objects.count() == 2500


@pytest.mark.parametrize("action", ["mark_as_sold", "delete_selected"])
def test_too_many_pets_for_one_action_are_refused_and_left_alone(
    staff: Client, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    monkeypatch.setattr(pages, "MAX_COUNTED", 3)
    monkeypatch.setattr(pages, "MAX_DELETED", 3)
    pets = Pet.objects.bulk_create(Pet(name="Rex") for _ in range(4))

    selection = {"_selected_action": pets[0].pk, "select_across": "1", "index": 0}
    response = staff.post(LIST, {"action": action} | selection, follow=True)

    assert ["More than 3 pets are selected" in message for message in messages(response)] == [True]
    assert inventory_counts() == {"available": 4, "pending": 0, "sold": 0}
    assert not LogEntry.objects.exists()


# Finding.


@pytest.mark.parametrize(
    ("name", "terms"),
    [
        ("Rex", ["rE", "REX", "r"]),
        ("Żółw", ["żółw", "ŻÓŁW", "żÓł", "Żół"]),
        ("Ångström-Épée", ["ångström-épée", "ÅNGSTRÖM-ÉPÉE", "ÅNGström"]),
        ("Константинополь", ["константинополь", "КОНСТАНТИНОПОЛЬ", "КОНСТАНТИНО", "к"]),
        ("たま", ["たま", "た"]),
        ("50% off_", ["50% OFF_", "50%"]),
        ("a.c(", ["A.C("]),
        ("😀cat", ["😀CAT"]),
    ],
)
def test_a_pet_is_found_by_the_beginning_of_its_name_in_any_case(staff: Client, name: str, terms: list[str]) -> None:
    create_pet(name=name)
    for other in ("Tom", f"T-{name}", "50 off", "abc(", "Жук", "まり"):
        create_pet(name=other)

    assert {term: name in names(staff, q=term) for term in terms} == dict.fromkeys(terms, True)
    assert names(staff, q=name) == [name]


def test_a_longer_name_is_not_found_by_a_text_that_only_begins_alike(staff: Client) -> None:
    create_pet(name="Константинополь")

    assert names(staff, q="Константинов") == []
    assert names(staff, q="Константинополь и") == []


def test_a_pet_is_found_by_its_id(staff: Client) -> None:
    pet = create_pet(name="Rex")
    create_pet(name="Tom")

    assert names(staff, q=pet.pk) == names(staff, q=pet.pk.upper()) == ["Rex"]


def test_a_pet_is_found_by_a_name_that_looks_like_an_id(staff: Client) -> None:
    create_pet(name="01890a5d-ac96-774b-bcce-b302099a8057 the second")

    assert len(names(staff, q="01890a5d-ac96-774b-bcce-b302099a8057")) == 1


def test_what_was_searched_for_comes_in_the_order_of_names_and_else_the_newest_first(staff: Client) -> None:
    for name in ("rex b", "Rex C", "REX a", "Tom"):
        create_pet(name=name)

    assert names(staff, q="rex") == ["REX a", "rex b", "Rex C"]
    assert names(staff) == ["Tom", "REX a", "Rex C", "rex b"]


def test_the_search_box_says_what_it_finds(staff: Client) -> None:
    assert "A whole id, or the beginning of a name" in staff.get(LIST).content.decode()


def test_pets_are_filtered_by_status_by_tag_in_any_case_and_by_their_day(staff: Client) -> None:
    for name, tag, status, day in (
        ("Rex", "Dog", "sold", 1),
        ("Tom", "cat", "sold", 2),
        ("Max", "DOG", "available", 3),
        ("Żuk", "Żuk", "available", 4),
        ("Tim", None, "pending", 5),
    ):
        Pet.objects.create(name=name, tag=tag, status=status, created_at=datetime(2026, 11, day, 23, 59, tzinfo=UTC))

    assert names(staff, status__exact="sold") == ["Tom", "Rex"]
    assert names(staff, tag="dog") == ["Max", "Rex"]
    assert names(staff, tag="żuk") == ["Żuk"]
    assert names(staff, tag="do") == []
    assert names(staff, created_from="2026-11-02", created_to="2026-11-03") == ["Max", "Tom"]
    assert names(staff, created_from="2026-11-05") == ["Tim"]
    assert names(staff, created_to="2026-11-01") == ["Rex"]
    assert names(staff, created_to="9999-12-31") == ["Tim", "Żuk", "Max", "Tom", "Rex"]
    assert names(staff, tag="dog", status__exact="sold", q="r") == ["Rex"]


def test_a_filter_keeps_the_search_and_the_other_filters(staff: Client) -> None:
    page = staff.get(LIST, {"q": "re", "tag": "dog", "created_from": "2026-11-01"})

    for spec in page.context["cl"].filter_specs:
        if isinstance(spec, changelist.InputFilter):
            (choice,) = spec.choices(page.context["cl"])
            others = {"q": "re", "tag": "dog", "created_from": "2026-11-01"}
            assert choice["others"] == {name: value for name, value in others.items() if name not in spec.labels}


@pytest.mark.parametrize(
    "query", [{"created_from": "yesterday"}, {"created_to": "2026-13-01"}, {"tag": "\0"}, {"tag": "x" * 300}]
)
def test_a_filter_that_cannot_be_meant_finds_nothing(staff: Client, query: dict[str, str]) -> None:
    create_pet(name="Rex", tag="dog")

    page = staff.get(LIST, query)

    assert page.status_code == 200
    assert page.context["cl"].result_count == 0
    assert ("Write a day as year-month-day" in page.content.decode()) == ("tag" not in query)


@pytest.mark.parametrize("query", ["name__regex=(a%2B)%2B$", "name__contains=e", "created_at__year=2026", "id=1"])
def test_conditions_that_no_filter_offers_are_refused(staff: Client, query: str) -> None:
    assert staff.get(f"{LIST}?{query}").status_code == 400


@pytest.mark.parametrize("query", [{"o": "1"}, {"o": "-4.2"}, {"_facets": "True"}])
def test_an_address_does_not_ask_for_an_order_or_a_count_without_an_index(staff: Client, query: dict[str, str]) -> None:
    for name in ("Tom", "Max"):
        create_pet(name=name)

    assert names(staff, **query) == ["Max", "Tom"]


def test_a_filter_looks_at_a_bounded_number_of_names_and_says_so(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MAX_COUNTED", 2)
    for name, status in (("Rex a", "available"), ("rex b", "sold"), ("Rex c", "sold")):
        Pet.objects.create(name=name, status=status)

    page = staff.get(LIST, {"q": "rex", "status__exact": "sold"})
    assert [pet.name for pet in page.context["cl"].result_list] == ["rex b"]
    assert ["names that begin with “rex”" in message for message in messages(page)] == [True]

    page = staff.get(LIST, {"q": "rex c", "status__exact": "sold"})
    assert [pet.name for pet in page.context["cl"].result_list] == ["Rex c"]
    assert messages(page) == []
    assert names(staff, q="rex") == ["Rex a", "rex b", "Rex c"]


def test_tags_are_suggested_from_those_in_use(staff: Client) -> None:
    for tag in ("dog", "Dog", "dingo", "cat", "DRAGON", "Żuk", "żuk", None):
        Pet.objects.create(name="Rex", tag=tag)

    def suggestions(text: str) -> list[str]:
        return [tag.lower() for tag in staff.get(f"{LIST}tags/", {"q": text}).json()["suggestions"]]

    assert suggestions("d") == ["dingo", "dog", "dragon"]
    assert suggestions("D") == ["dingo", "dog", "dragon"]
    assert suggestions("ż") == ["żuk"]
    assert suggestions("") == ["cat", "dingo", "dog", "dragon", "żuk"]
    assert suggestions("x\0") == []


def test_the_suggestions_end_somewhere(staff: Client) -> None:
    Pet.objects.bulk_create(Pet(name="Rex", tag=f"tag {number:03}") for number in range(50))

    suggestions = staff.get(f"{LIST}tags/", {"q": "TAG"}).json()["suggestions"]

    assert suggestions == [f"tag {number:03}" for number in range(changelist._MAX_SUGGESTIONS)]


def test_pets_beyond_what_is_counted_are_said_to_be_there(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changelist, "MAX_COUNTED", 300)
    Pet.objects.bulk_create(Pet(name="Rex") for _ in range(300))
    assert "300 pets" in staff.get(LIST).content.decode()
    assert "more than" not in staff.get(LIST).content.decode()

    create_pet(name="Tom")

    assert "more than 300 pets" in staff.get(LIST).content.decode()
    assert "300 results" in staff.get(LIST, {"q": "re"}).content.decode()
    assert "more than" not in staff.get(LIST, {"q": "re"}).content.decode()


# Showing.


def test_markup_in_texts_is_shown_as_text(staff: Client) -> None:
    markup = "<script>alert(1)</script>"
    pet = create_pet(name=markup, tag=markup, created_by=origin.of_key("pets_test_Ab12Cd34", markup))
    submit(staff, page_of(pet), "pet_form", {"tag": "<b>"})

    for address in (LIST, INVENTORY, page_of(pet), reverse("admin:pets_pet_history", args=[pet.pk])):
        page = staff.get(address).content.decode()
        assert "<script>alert(1)" not in page
        assert "&lt;script&gt;alert(1)" in page


@pytest.fixture
def pets_of_all_origins(create_key: Callable[..., str], staff: Client) -> str:
    """A pet by a client's key, one by staff, and one of which nothing is known; the key's prefix."""
    key = create_key(name="Acme's web shop")
    client = Client(headers={"X-API-Key": key})
    client.post("/v1/pets", {"name": "By client"}, content_type="application/json")
    client.post("/v1/pets", {"name": "By retry"}, content_type="application/json", headers={"Idempotency-Key": "once"})
    submit(staff, reverse("admin:pets_pet_add"), "pet_form", {"name": "By staff"})
    Pet.objects.create(name="By SQL")
    return key[:18]


def origins(client: Client) -> dict[str, str]:
    """What the list says each pet was created by."""
    shown = client.get(LIST).content.decode()
    cells = [cell.split("</td>")[0].partition(">")[2] for cell in shown.split('<td class="field-created_by_')[1:]]
    return dict(zip(names(client), cells, strict=True))


def test_staff_see_who_created_a_pet(staff: Client, pets_of_all_origins: str) -> None:
    link = f'<a href="/admin/apikeys/apikey/?q={pets_of_all_origins}">Acme&#x27;s web shop</a>'
    assert origins(staff) == {"By client": link, "By retry": link, "By staff": "admin", "By SQL": "unknown"}


def test_staff_who_may_not_see_keys_see_that_the_api_created_a_pet(pets_of_all_origins: str) -> None:
    user = get_user_model().objects.create_user("ada", is_staff=True)
    user.groups.add(Group.objects.get(name=groups.PETS_AND_INVENTORY))
    client = Client()
    client.force_login(user)

    assert origins(client) == {"By client": "API", "By retry": "API", "By staff": "admin", "By SQL": "unknown"}
    for pet in Pet.objects.all():
        for address in (LIST, INVENTORY, page_of(pet)):
            page = client.get(address).content.decode()
            assert "Acme" not in page
            without_chance = re.sub(r'value="\w{64}"', "", page)  # the CSRF token, which may spell anything
            assert "key" not in without_chance.replace("keyboard", "").lower()
