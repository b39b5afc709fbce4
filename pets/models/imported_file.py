from datetime import datetime

from django.db import models
from django.utils import timezone

from petservice.time_zone import moment


class ImportedFile(models.Model):
    """A file that was imported, so that staff learn when they import the same file again."""

    digest = models.CharField(max_length=64, db_index=True)  # SHA-256 of the content
    imported_by = models.CharField(max_length=150)  # the name of the account, or "command"
    imported_at = models.DateTimeField(default=timezone.now)
    # The number of pets that the import added and changed.
    count = models.PositiveIntegerField()
    # The answers about the columns, which are proposed for the next file with the same header.
    mapping = models.JSONField(null=True)

    def __str__(self) -> str:
        return f"{moment(self.imported_at)} by {self.imported_by}"

    @classmethod
    def last(cls, digest: str, *, since: datetime | None = None) -> "ImportedFile | None":
        """Return the last import of a file with this content, or None."""
        imports = cls._default_manager.filter(digest=digest).order_by("imported_at", "pk")
        return (imports.filter(imported_at__gt=since) if since else imports).last()
