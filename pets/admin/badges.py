"""The badge of a status, which petservice/static/petservice/badges.css draws."""

from django.utils.html import format_html
from django.utils.safestring import SafeString

from pets.models import Pet


def status_badge(status: str) -> SafeString:
    """Return a status as a badge with its name."""
    return format_html('<span class="badge badge-{}">{}</span>', status, Pet.Status(status).label)
