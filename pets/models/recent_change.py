from petservice.journal.models import Event


class RecentChange(Event):
    """A change of the last hour, which staff undo or have undone."""

    class Meta:
        proxy = True
        default_permissions = ()
        verbose_name = "recent change"
