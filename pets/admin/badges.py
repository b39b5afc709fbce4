"""The badge of a status, which petservice/static/petservice/badges.css draws."""

from django.contrib import admin
from django.utils.html import format_html
from django.utils.safestring import SafeString

from pets.models import Pet, TrashedPet


@admin.display(description="status", ordering="status")
def status_badge(pet: Pet | TrashedPet) -> SafeString:
    """Return the status of a pet as a badge with its name, for a column."""
    return format_html('<span class="badge badge-{}">{}</span>', pet.status, Pet.Status(pet.status).label)
