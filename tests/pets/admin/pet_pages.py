"""The pages of pets in the admin, and what they show."""

from django.test import Client
from django.urls import reverse

from pets.models import Pet
from petservice.journal.sentences import sentence

LIST = reverse("admin:pets_pet_changelist")
INVENTORY = reverse("admin:store_inventoryitem_changelist")


def page_of(pet: Pet) -> str:
    return reverse("admin:pets_pet_change", args=[pet.pk])


def names(client: Client, url: str = LIST, **query: str) -> list[str]:
    return [str(pet) for pet in client.get(url, query).context["cl"].result_list]


def number_of(client: Client, field: str, url: str = LIST) -> str:
    """Return the value of the parameter `o` that sorts a list by a field, with a minus for the reverse order."""
    columns = {name: number for number, name in client.get(url).context["cl"].sortable_columns()}
    return f"{'-' if field.startswith('-') else ''}{columns[field.removeprefix('-')]}"


def histories(client: Client, pet: Pet, model: str = "pets_pet") -> list[tuple[str, str]]:
    """Return the users and sentences of the page of the pet's history, newest first."""
    items = client.get(reverse(f"admin:{model}_history", args=[pet.pk])).context["page"]
    return [(item.event.account_name, sentence(item)) for item in items]
