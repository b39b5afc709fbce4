"""The pages of pets in the admin, and what they show."""

from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from pets.models import Pet
from petservice.journal.sentences import sentence
from tests.backoffice.pages import fields_of, submit, undo_url
from tests.backoffice.staff import logged_in

LIST = reverse("admin:pets_pet_changelist")


def page_of(pet: Pet) -> str:
    return reverse("admin:pets_pet_change", args=[pet.pk])


def someone_else_edits(pet_name: str, **values: Any) -> Any:
    """Change the values of a pet on its page, as another member of staff, and return the response."""
    user, _ = User.objects.get_or_create(username="bea", is_staff=True, is_superuser=True)
    return submit(logged_in(user), page_of(Pet.objects.get(name=pet_name)), "pet_form", values)


def undo(client: Client, response: Any) -> Any:
    """Open the page that the link in a message leads to, and undo the change there."""
    url = undo_url(response)
    page = client.get(url)
    assert page.status_code == 200
    return client.post(url, fields_of(page, "undo"), follow=True)


def names(client: Client, url: str = LIST, **query: str) -> list[str]:
    return [str(pet) for pet in client.get(url, query).context["cl"].result_list]


def number_of(client: Client, field: str, url: str = LIST) -> str:
    """Return the value of the parameter `o` that sorts a list by a field, with a minus for the reverse order."""
    columns = {name: number for number, name in client.get(url).context["cl"].sortable_columns()}
    return f"{'-' if field.startswith('-') else ''}{columns[field.removeprefix('-')]}"


def histories(client: Client, pet: Pet) -> list[tuple[str, str]]:
    """Return the users and sentences of the page of the pet's history, newest first."""
    items = client.get(reverse("admin:pets_pet_history", args=[pet.pk])).context["page"]
    return [(item.event.account_name, sentence(item)) for item in items]
