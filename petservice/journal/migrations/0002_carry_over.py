# ruff: noqa: N806  # models have the names of classes
import sys
from datetime import timedelta

from django.contrib.admin.models import LogEntry as DjangoLogEntry
from django.core.management.color import no_style
from django.db import migrations, models
from django.utils import timezone

# Number of rows that are read and written together.
BATCH = 2000
# A row of the history was written before or after the entry of the audit, in the same transaction.
SAME_TRANSACTION = timedelta(minutes=1)
TYPES = {"accounts.account": "auth.user", "store.inventoryitem": "pets.pet"}
KINDS = {
    "apikeys.apikey": {1: "key_created", 2: "key_changed"},
    "auth.user": {1: "account_added", 2: "account_changed"},
}
COMMON = ("id", "at", "kind", "account_id", "account_name", "address", "record_type", "count", "message")


def carry_over(apps, schema_editor):
    """Carry over Django's log of the admin, and the audit, the open undos and the trash of unreleased versions."""
    has_audit = "audit_auditentry" in schema_editor.connection.introspection.table_names()
    if has_audit:
        if schema_editor.connection.vendor == "postgresql":
            # Else commands and failed logins of the earlier version could add entries after they were read. It excludes
            # readers as well, because a failed login reads the table first, and would keep DROP TABLE from its end.
            schema_editor.execute("LOCK TABLE audit_auditentry IN ACCESS EXCLUSIVE MODE", params=None)
        carry_audit(apps)
        reset = schema_editor.connection.ops.sequence_reset_sql(no_style(), [apps.get_model("journal", "Event")])
        for statement in reset:
            schema_editor.execute(statement, params=None)
    carry_histories(apps, has_audit)
    if has_audit:
        carry_single_records(apps)
        carry_undos(apps)
        carry_trash(apps)
        schema_editor.execute("DROP TABLE audit_auditentry", params=None)


def batches(rows):
    """Yield all rows of a queryset in batches, and report the progress of long ones."""
    total, done, last = rows.count(), 0, 0
    while batch := [*rows.filter(pk__gt=last).order_by("pk")[:BATCH]]:
        yield batch
        last, done = batch[-1].pk, done + len(batch)
        if done % (25 * BATCH) == 0:
            print(f"  {done:,} of {total:,} rows of {rows.model._meta.db_table} are in the journal", file=sys.stderr)  # noqa: T201


def carry_audit(apps):
    Event = apps.get_model("journal", "Event")
    for batch in batches(apps.get_model("journal", "AuditEntry").objects):
        Event.objects.bulk_create(Event(**{name: getattr(entry, name) for name in COMMON}) for entry in batch)


def carry_histories(apps, has_audit):
    Event, Item = apps.get_model("journal", "Event"), apps.get_model("journal", "Item")
    Entry = apps.get_model("journal", "AuditEntry")
    for batch in batches(apps.get_model("admin", "LogEntry").objects.select_related("user", "content_type")):
        events, items = [], []
        for row in batch:
            kind_of_record = f"{row.content_type.app_label}.{row.content_type.model}" if row.content_type else ""
            record_type = TYPES.get(kind_of_record, kind_of_record)
            name, at = row.user.username, row.action_time
            # Django's method, which the model of a migration does not have.
            text = DjangoLogEntry(change_message=row.change_message).get_change_message()
            text = text or {1: "Added.", 3: "Deleted."}.get(row.action_flag, "Changed.")
            entry = None
            if has_audit:
                same = Entry.objects.filter(account_name=name, record_type=record_type)
                same = same.filter(record_id__in=["", row.object_id or ""])
                before = same.filter(at__gt=at - SAME_TRANSACTION, at__lt=at).order_by("-at", "-pk").first()
                after = same.filter(at__gte=at, at__lt=at + SAME_TRANSACTION).order_by("at", "pk").first()
                entry = min(filter(None, (before, after)), key=lambda one: abs(one.at - at), default=None)
            item = Item(record_id=row.object_id or "", record_name=row.object_repr, message=text)
            if entry is None:
                usual = {1: "added", 2: "changed", 3: "deleted"}[row.action_flag]
                kind = KINDS.get(record_type, {}).get(row.action_flag, usual)
                who = {"account_id": row.user_id, "account_name": name}
                item.event = Event(at=at, kind=kind, record_type=record_type, message=text, **who)
                item.message = ""
                events.append(item.event)
            else:
                item.event_id = entry.pk
            items.append(item)
        Event.objects.bulk_create(events)
        for item in items:
            item.event_id = item.event_id or item.event.pk
        Item.objects.bulk_create(items)


def carry_single_records(apps):
    """Add the records of entries that Django's log does not have, for example of commands."""
    Item = apps.get_model("journal", "Item")
    for batch in batches(apps.get_model("journal", "AuditEntry").objects.exclude(record_id="")):
        known = set(Item.objects.filter(event_id__in=[one.pk for one in batch]).values_list("event_id", flat=True))
        Item.objects.bulk_create(
            Item(event_id=one.pk, record_id=one.record_id, record_name=one.record_name)
            for one in batch
            if one.pk not in known
        )


def carry_undos(apps):
    Event, Item = apps.get_model("journal", "Event"), apps.get_model("journal", "Item")
    begin = timezone.now() - timedelta(hours=1)
    for change in apps.get_model("pets", "ChangeSet").objects.filter(undone_at=None, created_at__gt=begin):
        events = Event.objects.filter(account_id=change.owner_id, message__startswith=change.summary)
        event = events.filter(at__gte=change.created_at, permissions="").order_by("at", "pk").first()
        if event is None:
            continue  # it was made before the audit existed, in the last hour
        event.permissions = change.permissions
        event.save()
        items = {item.record_id: item for item in Item.objects.filter(event=event)}
        changed = []
        for pet in apps.get_model("pets", "ChangedPet").objects.filter(change_set=change):
            if pet.pet_id in items:
                item = items[pet.pet_id]
                item.before, item.after = pet.before, pet.after
                changed.append(item)
        Item.objects.bulk_update(changed, ["before", "after"], batch_size=500)


def carry_trash(apps):
    Event, Item = apps.get_model("journal", "Event"), apps.get_model("journal", "Item")
    period = timedelta(days=30)
    for row in apps.get_model("pets", "TrashedPet").objects.filter(deleted_at__gt=timezone.now() - period):
        pet_id = row.pet_id or row.pk
        ends = Item.objects.filter(record_id=pet_id, event__kind__in=["deleted", "undone"])
        item = ends.filter(event__at__gte=row.deleted_at).order_by("event__at", "pk").first()
        if item is None:
            who = {"account_name": row.deleted_by, "record_type": "pets.pet"}
            event = Event.objects.create(at=row.deleted_at, kind="deleted", message=f"“{row.name}” deleted.", **who)
            item = Item(event=event, record_id=pet_id, record_name=row.name)
        item.before = {name: getattr(row, name) for name in ("name", "tag", "status", "created_by")}
        item.before["created_at"] = row.created_at.isoformat()
        item.after, item.in_trash_until = None, row.deleted_at + period
        item.save()


class Migration(migrations.Migration):
    """The events of earlier versions. Django's own log keeps its rows, and nothing reads them any more."""

    dependencies = [
        ("journal", "0001_initial"),
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("pets", "0012_trash_key"),
    ]

    operations = [
        # A table that unreleased versions have, for the time of this migration.
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("id", models.BigAutoField(primary_key=True)),
                ("at", models.DateTimeField()),
                ("kind", models.CharField(max_length=20)),
                ("account_id", models.IntegerField(null=True)),
                ("account_name", models.CharField(max_length=150)),
                ("address", models.GenericIPAddressField(null=True)),
                ("record_type", models.CharField(max_length=100)),
                ("record_id", models.CharField(max_length=255)),
                ("record_name", models.CharField(max_length=255)),
                ("count", models.PositiveIntegerField()),
                ("message", models.TextField()),
            ],
            options={"managed": False, "db_table": "audit_auditentry"},
        ),
        migrations.RunPython(carry_over, migrations.RunPython.noop),
        migrations.DeleteModel("AuditEntry"),
    ]
