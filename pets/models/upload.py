import uuid
from datetime import timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone


class Upload(models.Model):
    """A file of pets between its preview and its import, two requests that may reach different machines."""

    # Uploads that are not confirmed within this time are deleted.
    LIFETIME = timedelta(days=1)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    kind = models.CharField(max_length=5)  # the file format: csv or json
    content = models.BinaryField()
    digest = models.CharField(max_length=64)  # of the pets before the import; see pets.files.import_diff
    created_at = models.DateTimeField(default=timezone.now, db_index=True)

    def keep(self, *, digest: str) -> None:
        """Store the upload with the digest of its latest preview, and delete expired uploads."""
        self.digest = digest
        self.created_at = timezone.now()
        self.save()
        Upload.objects.filter(created_at__lte=self.created_at - self.LIFETIME).delete()
