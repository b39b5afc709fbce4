"""The tags that pages suggest."""

import pytest
from django.test import Client

from pets.models import Pet
from pets.search import tags as tag_suggestions
from tests.backoffice.staff import granted
from tests.pets.admin.pet_pages import LIST


def test_a_limited_number_of_tags_is_suggested_from_those_in_use(staff: Client) -> None:
    for tag in ("dog", "Dog", "dingo", "cat", "DRAGON", "Żuk", "żuk ", None):
        Pet.objects.create(name="Rex", tag=tag)

    def suggestions(text: str) -> list[str]:
        return [tag.lower() for tag in staff.get(f"{LIST}tags/", {"q": text}).json()["suggestions"]]

    for text in ("d", "D", " d"):
        assert suggestions(text) == ["dog", "dingo", "dragon"]
    assert [tag.strip() for tag in suggestions("z")] == ["żuk"]
    assert [tag.strip() for tag in suggestions("")] == ["dog", "żuk", "cat", "dingo", "dragon"]
    assert suggestions("x\0") == []
    Pet.objects.bulk_create(Pet(name="Rex", tag=f"tag {number:03}") for number in range(50))
    assert suggestions("TAG") == [f"tag {number:03}" for number in range(tag_suggestions._MAX_SUGGESTIONS)]


def test_the_tags_of_the_newest_pets_are_suggested_the_most_used_first(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tag_suggestions, "_NEWEST", 5)
    for tag in ("old b", "OLD A", "old b", "o", "Often", "often", "once", None):
        Pet.objects.create(name="Rex", tag=tag)

    assert staff.get(f"{LIST}tags/", {"q": "o"}).json()["suggestions"] == ["often", "o", "once"]


@pytest.mark.django_db
def test_staff_without_the_permission_get_no_suggestions() -> None:
    Pet.objects.create(name="Rex", tag="secret")

    response = granted("view_apikey").get(f"{LIST}tags/", {"q": "s"})

    assert response.status_code == 403
    assert "secret" not in response.content.decode()
