"""The menu and the skip links of every page of the admin."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from pets.models import Pet
from petservice.accounts import groups
from tests.backoffice.staff import staff

pytestmark = [pytest.mark.django_db, pytest.mark.once]


def menus(page: str) -> list[list[tuple[str, bool]]]:
    """Return the links of each menu with whether a link is marked as that of the current page."""
    return [
        [(name, "aria-current" in attributes) for attributes, name in re.findall(r"<a ([^>]*)>([^<]*)</a>", menu)]
        for menu in re.findall(r'<ul class="menu">(.*?)</ul>', page, re.DOTALL)
    ]


def test_every_page_has_the_menu_twice_for_wide_and_narrow_screens() -> None:
    pet = Pet.objects.create(name="Rex")
    client = staff(groups.PETS_INVENTORY_AND_KEYS)
    pages = {
        "Dashboard": ["admin:index"],
        "Pets": ["admin:pets_pet_changelist", "admin:pets_pet_add", "admin:pets_pet_change", "admin:pets_pet_history"],
        "API keys": ["admin:apikeys_apikey_changelist"],
    }

    for current, names in pages.items():
        for name in names:
            url = reverse(name, args=[pet.pk] if name.endswith(("change", "history")) else [])
            found = menus(client.get(url).content.decode())
            assert len(found) == 2, url
            for menu in found:
                assert list(pages) == [link for link, _ in menu if link in pages], url
                assert [link for link, is_current in menu if is_current] == [current], url


def test_the_pages_of_django_are_at_the_end_of_the_menu_under_advanced(admin_client: Client) -> None:
    page = admin_client.get(reverse("admin:index")).content.decode()

    for menu in re.findall(r'<ul class="menu">(.*?)</ul>', page, re.DOTALL):
        first, _, advanced = menu.partition(">Advanced<")
        assert re.findall("<a [^>]*>([^<]*)</a>", advanced) == ["Groups", "Users", "Installation"]
        assert re.findall("<a [^>]*>([^<]*)</a>", first)[-2:] == ["Staff accounts", "Audit"]


def test_the_pages_of_apps_lead_to_the_dashboard(admin_client: Client) -> None:
    for app in ("pets", "apikeys", "auth"):
        response = admin_client.get(reverse("admin:app_list", args=[app]))
        assert response.headers["Location"] == reverse("admin:index")


def test_pages_without_a_login_have_no_menu(client: Client) -> None:
    assert menus(client.get(reverse("admin:login")).content.decode()) == []


def test_lists_with_a_search_have_a_link_that_skips_to_it(admin_client: Client) -> None:
    link = '<a href="#searchbar" class="skip-to-content-link">Skip to search</a>'

    assert link in admin_client.get(reverse("admin:pets_pet_changelist")).content.decode()
    assert link not in admin_client.get(reverse("admin:pets_pet_add")).content.decode()
