"""The texts that the scripts of Django's admin show, where ours differ."""

from typing import Any

from django.utils import timezone
from django.views.i18n import JavaScriptCatalog


class Catalog(JavaScriptCatalog):
    """The texts of Django's admin, with a clearer note for staff whose clock differs from the store's time zone."""

    packages = ["django.contrib.admin"]

    def get_catalog(self) -> dict[str, Any]:
        zone = timezone.get_current_timezone_name()
        notes = {
            f"Note: You are %s hour {direction} server time.": [
                f"Times are {zone}; your clock is %s {hours} {word}." for hours in ("hour", "hours")
            ]
            for direction, word in {"ahead of": "ahead", "behind": "behind"}.items()
        }
        return super().get_catalog() | notes
