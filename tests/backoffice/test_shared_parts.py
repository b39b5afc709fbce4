"""The parts that the pages of all models share: header, titles, numbers and the question before a deletion."""

import re

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

pytestmark = pytest.mark.django_db


def links_of_the_header(page: str) -> list[str]:
    (tools,) = re.findall(r'<div id="user-tools">(.*?)</div>', page, re.DOTALL)
    return re.findall(r"<(?:a|button) [^>]*>([^<]+)</", tools)


def test_every_page_has_the_same_links_in_its_header(admin_client: Client) -> None:
    links = ["Help", "Second factor", "Change password", "View site", "Log out"]

    for name in ("index", "password_change", "password_change_done", "pets_pet_add"):
        assert links_of_the_header(admin_client.get(reverse(f"admin:{name}")).content.decode()) == links, name


@pytest.mark.parametrize(("model", "name"), [("auth_user", "Users"), ("auth_group", "Groups"), ("pets_pet", "Pets")])
def test_a_list_has_the_name_of_its_link_in_the_menu(admin_client: Client, model: str, name: str) -> None:
    page = admin_client.get(reverse(f"admin:{model}_changelist")).content.decode()

    assert f"<h1>{name}</h1>" in page
    assert f"<title>{name} | Pet service</title>" in page


def test_the_question_before_a_deletion_names_the_record_and_no_rows_of_tables(admin_client: Client) -> None:
    group, _ = Group.objects.get_or_create(name="Cleaners")
    url = reverse("admin:auth_group_delete", args=[group.pk])

    page = admin_client.get(url).content.decode()
    assert "Delete the group “Cleaners”? This cannot be undone." in page
    assert "relationship" not in page
    admin_client.post(url, {"post": "yes"})
    assert not Group.objects.filter(pk=group.pk).exists()


def test_lists_write_numbers_with_separators(admin_client: Client) -> None:
    Group.objects.bulk_create(Group(name=f"Group {number}") for number in range(1200))

    page = admin_client.get(reverse("admin:auth_group_changelist"), {"q": "Group"}).content.decode()

    assert "1,200 groups" in page
    assert "1,200 results" in page
