"""The model of an API key: its states, and how keys are created, revoked and rotated."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Case, Q, Value, When
from django.forms.models import model_to_dict
from django.utils import timezone

from petservice.apikeys import keys
from petservice.configuration.time_zone import moment

# A key that expires within this time needs a replacement.
SOON = timedelta(days=14)
# A key that has been unused for this time is possibly not needed any more.
IDLE_AFTER = timedelta(days=90)
# A key without any use is new, rather than unneeded, for this time after its creation.
NEVER_USED_AFTER = timedelta(days=7)
# The highest request limit that a key can have. Redis stores about ten bytes for each request of the last minute.
MAX_REQUESTS_PER_MINUTE = 100_000
# The number of days of use that are kept, and that the page of a key shows, including today.
USAGE_DAYS = 30


class APIKeyManager(models.Manager["APIKey"]):
    def create_key(self, *, environment: str | None = None, **fields: Any) -> tuple["APIKey", str]:
        """Create a key, by default for the environment of this service, and return it with the plain key.

        The plain key is not stored.
        """
        environment = environment or settings.ENVIRONMENT
        plain = keys.generate(environment)
        stored = {"environment": environment, "prefix": keys.prefix(plain), "digest": keys.digest(plain)}
        return self.create(**stored, **fields), plain

    def with_states(self, now: datetime) -> models.QuerySet["APIKey"]:
        """Return all keys with their `state` at a time, the first that fits, and the `use` of those that work."""
        state = Case(
            When(revoked_at__isnull=False, then=Value(APIKey.State.REVOKED)),
            When(replaced_by__isnull=False, then=Value(APIKey.State.REPLACED)),
            When(expires_at__lte=now, then=Value(APIKey.State.EXPIRED)),
            When(~Q(environment=settings.ENVIRONMENT), then=Value(APIKey.State.OTHER_ENVIRONMENT)),
            When(expires_at__lte=now + SOON, then=Value(APIKey.State.EXPIRES_SOON)),
            default=Value(APIKey.State.ACTIVE),
        )
        works = Q(state__in=[APIKey.State.ACTIVE, APIKey.State.EXPIRES_SOON])
        never, idle = Q(last_used_at=None, created_at__lt=now - NEVER_USED_AFTER), Q(last_used_at__lt=now - IDLE_AFTER)
        use = Case(When(works & never, then=Value(APIKey.Use.NEVER)), When(works & idle, then=Value(APIKey.Use.IDLE)))
        return self.annotate(state=state).annotate(use=use)


class APIKey(models.Model):
    """A key that lets one client call the API."""

    class Access(models.TextChoices):
        READ_ONLY = "read", "Read only"
        READ_AND_WRITE = "write", "Read and write"

    class State(models.TextChoices):
        ACTIVE = "active"
        EXPIRES_SOON = "soon", "Expires soon"
        EXPIRED = "expired"
        REVOKED = "revoked"
        REPLACED = "replaced"
        OTHER_ENVIRONMENT = "other", "Other environment"

    class Use(models.TextChoices):
        NEVER = "never", f"Never used, created over {NEVER_USED_AFTER.days} days ago"
        IDLE = "idle", f"Not used for {IDLE_AFTER.days} days"

    name = models.CharField(max_length=100, help_text="Who uses this key, for example “Acme's web shop”.")
    prefix = models.CharField(max_length=keys.PREFIX_LENGTH, db_index=True, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    environment = models.CharField(
        max_length=4,
        choices=[(name, name.capitalize()) for name in keys.ENVIRONMENTS],
        help_text="Test keys work only on a test service, live keys only on a live service.",
    )
    access = models.CharField(max_length=5, choices=Access, default=Access.READ_AND_WRITE)
    requests_per_minute = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_REQUESTS_PER_MINUTE)],
        help_text="Maximum number of requests per minute. Leave empty for no limit.",
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, editable=False, on_delete=models.SET_NULL
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True, help_text="Leave empty for a key that does not expire.")
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    # Both are written together, by petservice.apikeys.usage. The address is unknown behind an untrusted proxy.
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_address = models.GenericIPAddressField(null=True, blank=True, editable=False)
    # The key that a rotation created. Until the grace period ends, both keys work.
    replaced_by = models.OneToOneField(
        "self", null=True, blank=True, editable=False, on_delete=models.SET_NULL, related_name="replaces"
    )
    # The token of the form that created the key. It is unique, so that a form that is sent twice creates one key.
    form_token = models.UUIDField(null=True, unique=True, db_column="submission")

    objects = APIKeyManager()

    class Meta:
        verbose_name = "API key"
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(condition=~Q(name=""), name="apikeys_apikey_name_not_empty"),
            models.CheckConstraint(
                condition=Q(environment__in=keys.ENVIRONMENTS), name="apikeys_apikey_environment_known"
            ),
            models.CheckConstraint(condition=Q(access__in=["read", "write"]), name="apikeys_apikey_access_known"),
            models.CheckConstraint(
                condition=Q(requests_per_minute__gt=0), name="apikeys_apikey_requests_per_minute_positive"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def is_revoked(self) -> bool:
        return self.revoked_at is not None

    def is_expired(self, now: datetime) -> bool:
        return self.expires_at is not None and self.expires_at <= now

    def works(self, now: datetime) -> bool:
        return not (self.is_revoked or self.is_expired(now))

    def summary(self) -> str:
        """Return the settings of the key in words."""
        limit = f"{self.requests_per_minute:,} requests per minute" if self.requests_per_minute else "no limit"
        expiry = f"expires on {moment(self.expires_at)}" if self.expires_at else "does not expire"
        return f"{self.get_access_display()}, {limit}, {expiry}."

    def revoke(self) -> bool:
        """Revoke the key immediately, and return whether it was not revoked before."""
        revoked = APIKey.objects.filter(pk=self.pk, revoked_at=None).update(revoked_at=timezone.now())
        self.refresh_from_db(fields=["revoked_at"])
        return bool(revoked)

    def rotate(self, *, now: datetime, grace_period: timedelta = timedelta(0), **fields: Any) -> tuple["APIKey", str]:
        """Create a replacement with the same settings and these fields, and return it with its plain key.

        The caller has locked this key. If it works, it expires after the grace period, unless it expires earlier.
        """
        kept = model_to_dict(self, ["name", "environment", "access", "requests_per_minute"])
        replacement, plain = APIKey.objects.create_key(**kept, created_at=now, **fields)
        if self.works(now):
            end = now + grace_period
            self.expires_at = end if self.expires_at is None else min(end, self.expires_at)
        self.replaced_by = replacement
        self.save(update_fields=["expires_at", "replaced_by"])
        return replacement, plain


class KeyDay(models.Model):
    """The requests with one API key on one day (UTC), written by petservice.apikeys.usage."""

    # The constraint below has the index for it.
    api_key = models.ForeignKey(APIKey, on_delete=models.CASCADE, related_name="days", db_index=False)
    day = models.DateField()
    requests = models.PositiveBigIntegerField(default=0)
    # Responses with a status from 400 to 499: the client has to change its requests.
    client_errors = models.PositiveBigIntegerField(default=0)
    # Responses with a status from 500 on: the service has failed.
    server_errors = models.PositiveBigIntegerField(default=0)

    class Meta:
        default_permissions = ()  # the permission to view a key includes its use
        constraints = [models.UniqueConstraint(fields=["api_key", "day"], name="apikeys_keyday_once")]
        indexes = [models.Index(fields=["day"], name="apikeys_keyday_day")]

    def __str__(self) -> str:
        requests = "1 request" if self.requests == 1 else f"{self.requests:,} requests"
        rejected = f", {self.client_errors:,} rejected" if self.client_errors else ""
        failed = f", {self.server_errors:,} failed" if self.server_errors else ""
        return f"{requests}{rejected}{failed}"
