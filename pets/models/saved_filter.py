from django.conf import settings
from django.db import models


class SavedFilter(models.Model):
    """A search, filters and an order of the lists of pets, which a member of staff has saved under a name."""

    # Maximum number of saved filters of an account, and of shared ones: more than fit above a list.
    MAX_NUMBER = 30

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=2000)  # the query string of the list, with a fixed order of its parameters
    is_shared = models.BooleanField(default=False, db_default=False)  # whether all staff see it

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["owner", "name"], name="pets_savedfilter_one_per_owner_and_name")
        ]

    def __str__(self) -> str:
        return self.name
