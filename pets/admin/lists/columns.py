"""The columns of the lists of pets, of which the trash has the status and the creator as well."""

from functools import cache

from django.contrib import admin
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from pets import creator
from pets.models import Pet
from petservice.configuration.time_zone import moment


@cache  # a list shows each badge up to 200 times
def badge(status: str) -> SafeString:
    """Return a status as a badge with its name, which petservice/static/petservice/badges.css draws."""
    return format_html('<span class="badge badge-{}">{}</span>', status, Pet.Status(status).label)


@admin.display(description="status", ordering="status")
def status_badge(pet: Pet) -> SafeString:
    """Return the status of a pet as a badge."""
    return badge(pet.status)


@admin.display(description="status", ordering="status")
def status_menu(pet: Pet) -> SafeString:
    """Return the status as a button that offers all statuses. Each submits one of the forms below the list of pets."""
    buttons = format_html_join(
        "",
        '<button type="submit" form="mark_as_{}" name="selection" value="{}:{}"{}>{}</button>',
        ((one, pet.pk, pet.version, " disabled" if one == pet.status else "", badge(one)) for one in Pet.Status),
    )
    return format_html(
        '<details class="status-menu" name="status"><summary title="Change the status of {}">{}</summary>'
        "<div>{}</div></details>",
        *(pet.name, badge(pet.status), buttons),
    )


@admin.display(description="created", ordering="created_at")
def created(pet: Pet) -> str:
    return moment(pet.created_at)


@admin.display(description="sold", ordering="sold_at")
def sold(pet: Pet) -> str | None:
    return moment(pet.sold_at) if pet.sold_at else None


@admin.display(description="created by")
def created_by_api(pet: Pet) -> str:
    """Return the creator, without the name of an API key, which not all viewers may see."""
    key_prefix, name = creator.parsed(pet.created_by)
    return "API" if key_prefix else name
