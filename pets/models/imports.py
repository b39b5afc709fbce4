"""Files of pets: uploads of staff, and what was imported."""

import uuid
from datetime import timedelta
from hashlib import sha256

from django.conf import settings
from django.db import models
from django.db.models import Q, Sum
from django.db.models.functions import Length
from django.utils import timezone

from petservice.configuration.time_zone import moment
from petservice.db.backend import backend


class Upload(models.Model):
    """A file of pets between its preview and its import, two requests that may reach different machines.

    Each preview has an id of its own, so that a form only confirms what its page shows.
    """

    # Uploads that are not confirmed within this time are deleted.
    LIFETIME = timedelta(days=1)
    # Maximum number of bytes of all uploads, so that accounts do not fill the disk: ten of the largest files.
    MAX_TOTAL = 400 << 20

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    kind = models.CharField(max_length=5)  # the file format: csv, jsonl or xlsx
    content = models.BinaryField()
    digest = models.CharField(max_length=64)  # import_diff.digest_of() the previewed changes; empty before the preview
    # A ColumnMapping (pets.files.table_columns), unless the columns are those of pets.
    mapping = models.JSONField(null=True)
    created_at = models.DateTimeField(default=timezone.now, db_index=True)

    @property
    def content_digest(self) -> str:
        """Return the SHA-256 of the content."""
        return sha256(self.content).hexdigest()

    @property
    def table(self) -> str:
        """Return what the questions about a table depend on: the content, and how it is read."""
        answers = self.mapping or {}
        return f"{self.content_digest} {answers.get('encoding', '')} {answers.get('sheet', '')}"

    def fits(self) -> bool:
        """Return whether the upload and those of other accounts are within the limit of all uploads."""
        others = Upload.objects.exclude(owner_id=self.owner_id).filter(created_at__gt=timezone.now() - self.LIFETIME)
        total = others.aggregate(total=Sum(Length("content")))["total"] or 0
        return len(self.content) + total <= self.MAX_TOTAL

    def keep(self, *, digest: str) -> None:
        """Store the upload for a new preview, and delete the owner's earlier one and expired uploads."""
        self.pk, self.digest, self.created_at = uuid.uuid4(), digest, timezone.now()
        self.save(force_insert=True)
        earlier = Q(owner_id=self.owner_id, created_at__lt=self.created_at)
        Upload.objects.filter(earlier | Q(created_at__lte=self.created_at - self.LIFETIME)).delete()


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

    @staticmethod
    def lock(digest: str) -> bool:
        """Try to be the only import of this content until the transaction ends; return whether it worked."""
        return bool(backend().try_lock(f"import:{digest}", 0))

    @classmethod
    def last(cls, digest: str) -> "ImportedFile | None":
        """Return the last import of a file with this content, or None."""
        return cls._default_manager.filter(digest=digest).order_by("pk").last()
